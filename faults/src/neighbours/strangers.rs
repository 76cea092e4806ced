//! Pids that were reused. In a PID namespace of its own, the kernel can be told which pid to assign next, so that
//! another process really gets the pid of a leader, a keeper or a standby.

use crate::row::{Context, Row, Tried};
use outlive_sys::filter;
use outlive_testkit::ran::Ran;
use std::fmt;
use std::process::Command;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "neighbour: a recycled pid",
        promise: "a process that got the pid of one of ours is never signalled or mistaken for it",
        run,
    }]
}

/// Whose pid the unrelated process gets, a description, and which processes are killed before that.
const CASES: [(&str, &str, &str); 4] = [
    (
        "leader",
        "leader, both keepers gone",
        "$standby $keeper $leader",
    ),
    ("keeper", "keeper, the standby has taken over", "$keeper"),
    ("standby", "standby, the keeper goes on", "$standby"),
    (
        "keeper",
        "keeper, both gone and the job running",
        "$standby $keeper",
    ),
];

struct Case {
    number: usize,
    /// Whether the kernel has no pidfds. Then a process is identified by its pid and start time.
    by_number: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.by_number {
            ", without pidfds"
        } else {
            ""
        };
        write!(to, "the {}{how}", CASES[self.number].1)
    }
}

/// Runs as the first process of the namespace, which ends with it.
const SCRIPT: &str = r#"
set -u
outlive=$1 whose=$2
"$outlive" run --id job --shell 'echo up; trap "" USR1; trap "echo asked; exit 4" TERM; while :; do sleep 0.05; done' || exit 90
kept() { grep -o "\"$1\":{\"pid\":[0-9]*" "$OUTLIVE_HOME/jobs/job/journal" | tail -n 1 | grep -o '[0-9]*$'; }
leader=$(kept leader) keeper=$(kept keeper) standby=$(kept standby)
for pid in VICTIMS; do kill -9 $pid; done
for pid in VICTIMS; do while [ -e /proc/$pid ]; do sleep 0.01; done; done
wanted=$(eval echo \$$whose)
for try in $(seq 200); do
  echo $((wanted - 1)) > /proc/sys/kernel/ns_last_pid
  setsid sleep 1000 & stranger=$!
  [ $stranger = $wanted ] && break
  kill -9 $stranger
done
[ $stranger = $wanted ] || exit 91
"$outlive" show job --json
"$outlive" signal job USR1 > /dev/null 2>&1
"$outlive" stop job --grace 300ms > /dev/null || exit 92
"$outlive" show job --json
kill -0 $stranger && [ "$(cat /proc/$stranger/comm)" = sleep ] || exit 93
grep -q 'State:.S' /proc/$stranger/status || exit 94
"#;

fn run(context: &Context) -> Tried {
    if let Some(not_run) = Tried::unless_root() {
        return not_run;
    }
    let both = |number| [false, true].map(|by_number| Case { number, by_number });
    let cases: Vec<Case> = (0..CASES.len()).flat_map(both).collect();
    context.try_cases(cases, 2 * CASES.len(), |case| {
        let (whose, _, victims) = CASES[case.number];
        let world = context.world()?;
        let outlive = world.command::<&str>([]);
        let mut command = Command::new("unshare");
        command
            .args([
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "bash",
                "-c",
            ])
            .arg(SCRIPT.replace("VICTIMS", victims))
            .arg("bash")
            .arg(outlive.get_program())
            .arg(whose);
        world.give_environment(&mut command);
        if case.by_number {
            filter::refuse(&mut command, &filter::linux_4_18());
        }
        // Without pidfds only the parent can learn how the leader ended.
        let may_be_lost = case.by_number && victims.contains("$standby $keeper");
        judge(&Ran::try_of(&mut command)?, whose, may_be_lost)
    })
}

fn judge(ran: &Ran, whose: &str, may_be_lost: bool) -> Result<(), String> {
    let why = match ran.code {
        0 => None,
        91 => Some("the kernel would not give that pid"),
        93 | 94 => Some("the stranger was hit"),
        _ => Some("the case could not be carried out"),
    };
    if let Some(why) = why {
        return Err(format!("{why}: {ran}"));
    }
    let last = ran.text();
    let last = last.lines().last().unwrap_or_default();
    let job: serde_json::Value =
        serde_json::from_str(last).map_err(|error| format!("{error}: {ran}"))?;
    let outcome = &job["outcome"];
    let is_right = match whose {
        // The processes that could have seen the exit status are dead.
        _ if may_be_lost && outcome["kind"] == "lost" => true,
        "leader" => outcome["kind"] == "lost" || outcome["signal"] == "SIGKILL",
        _ => outcome["kind"] == "exited" && outcome["code"] == 4,
    };
    match is_right {
        true => Ok(()),
        false => Err(format!("the job ended wrongly: {job}")),
    }
}
