//! Jobs that kill every process they can find: their parent, its parent, their own group, and all processes with the
//! job's environment variable.

use super::{bystander_is_unharmed, ended, output_of, start_bystander};
use crate::invariants::nothing_is_left;
use crate::row::{Context, Row, Tried};
use serde_json::Value;
use std::fmt;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "neighbour: kills its keepers",
        promise: "one killed: all is exact; both killed: no unseen outcome counts as success; other jobs are unharmed",
        run,
    }]
}

/// Which processes the job kills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Keeper,
    Standby,
    /// The keeper, then the standby that replaced it.
    Heirs,
    Both,
    OwnGroup,
    /// Every process whose environment names the job, and at the end itself.
    Marked,
}

struct Case {
    victim: Victim,
    options: &'static [&'static str],
    /// Whether it kills before its first output or after it.
    first: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.first { "at once" } else { "later" };
        write!(to, "{:?} {when}, options {:?}", self.victim, self.options)
    }
}

const VICTIMS: [Victim; 6] = [
    Victim::Keeper,
    Victim::Standby,
    Victim::Heirs,
    Victim::Both,
    Victim::OwnGroup,
    Victim::Marked,
];

fn run(context: &Context) -> Tried {
    let mut cases = Vec::new();
    for victim in VICTIMS {
        for options in [&[][..], &["--pty"], &["--stdin", "pipe"]] {
            for first in [true, false] {
                cases.push(Case {
                    victim,
                    options,
                    first,
                });
            }
        }
    }
    let all = cases.len();
    context.try_cases(cases, all, |case| check(context, case))
}

/// A shell function that finds the parent of a process.
const PARENT: &str =
    "parent() { local line; read -r line < /proc/$1/stat; set -- ${line##*) }; echo $2; }";

fn deed(victim: Victim) -> &'static str {
    match victim {
        Victim::Keeper => "kill -9 $PPID",
        Victim::Standby => "kill -9 $(parent $PPID)",
        Victim::Heirs => {
            "first=$PPID; kill -9 $first; while [ $(parent $$) = $first ]; do sleep 0.01; done; \
             kill -9 $(parent $$)"
        }
        Victim::Both => "above=$(parent $PPID); kill -9 $above $PPID",
        Victim::OwnGroup => "kill -9 0",
        Victim::Marked => {
            "for it in /proc/[0-9]*; do pid=${it#/proc/}; [ $pid = $$ ] && continue; \
             grep -qza \"^OUTLIVE_JOB_DIR=$OUTLIVE_JOB_DIR\\$\" $it/environ 2> /dev/null \
             && kill -9 $pid; done; kill -9 $$"
        }
    }
}

fn check(context: &Context, case: &Case) -> Result<(), String> {
    let world = context.world()?;
    start_bystander(&world)?;
    let deed = deed(case.victim);
    let script = match case.first {
        true => format!("{PARENT}; {deed}; echo one; echo two; exit 7"),
        false => format!("{PARENT}; echo one; {deed}; echo two; exit 7"),
    };
    let mut args = vec!["run", "--id", "job", "--session", "s"];
    args.extend(case.options);
    args.extend(["--shell", &script]);
    // If both keepers die at once, `run` may fail because it does not know whether the job started.
    let started = world.try_outlive(&args)?;
    super::is_clear(&started, "run")?;
    let ended = ended(&world, "job")?;
    let outcome = &ended["outcome"];
    let is = |kind: &str| outcome["kind"] == kind;
    let is_own = is("exited") && outcome["code"] == 7;
    let is_killed = is("signaled") && outcome["signal"] == "SIGKILL";
    // If no process holds the terminal, the kernel sends SIGHUP to the job.
    let is_hung_up = is("signaled") && outcome["signal"] == "SIGHUP";
    let is_right = match case.victim {
        Victim::Keeper | Victim::Standby => is_own,
        Victim::OwnGroup => is_killed,
        Victim::Heirs | Victim::Both => is_own || is("lost") || is_hung_up,
        Victim::Marked => is_killed || is_hung_up || is("lost"),
    };
    if !is_right {
        return Err(format!("the job ended wrongly: {ended}"));
    }
    if is_own && ended["output"]["complete"] == true {
        let newline = if case.options == ["--pty"] {
            "\r\n"
        } else {
            "\n"
        };
        let expected = format!("one{newline}two{newline}");
        let output = output_of(&world, "job");
        if output != expected.as_bytes() {
            return Err(format!(
                "its output is {:?}",
                String::from_utf8_lossy(&output)
            ));
        }
    }
    let events = world.all_events("job");
    let ends = events.iter().filter(|(kind, _)| kind == "ended").count();
    if ends != 1 {
        return Err(format!("its journal has {ends} ends"));
    }
    // The standby must have taken over by itself. A later adoption by a verb is not enough.
    let is_heir = |(kind, kept): &(String, Value)| kind == "kept" && kept["how"] == "taken_over";
    if case.victim == Victim::Keeper && !events.iter().any(is_heir) {
        return Err("its standby did not take over".to_owned());
    }
    bystander_is_unharmed(&world)?;
    nothing_is_left(&world)
}
