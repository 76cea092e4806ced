//! Another user who tries everything on a running job.

use super::{User, public_programs, set_mode};
use crate::invariants::nothing_is_left;
use crate::row::{Context, Row, Tried};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use std::fmt;
use std::fs;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "rights: another user",
        promise: "cannot read, list, connect, signal, trace or replace anything",
        run,
    }]
}

/// What the other user tries: a script that succeeds if the attack was possible. `$J` is the job's directory, `$H` the
/// home; `$K`, `$S` and `$L` are the pids of keeper, standby and leader.
const TRIED: [(&str, &str); 16] = [
    ("lists the home", "ls $H"),
    ("lists the job's directory", "ls $J"),
    ("reads the spec", "cat $J/spec.json"),
    ("reads the journal", "cat $J/journal"),
    ("reads the output", "cat $J/output"),
    ("writes to the feed", "echo x > $J/feed"),
    ("appends to the journal", "echo x >> $J/journal"),
    ("replaces the output", "ln -sf /dev/null $J/output"),
    ("removes the job", "mv $J $J.away || rm -r $J"),
    ("moves the home away", "mv $H $H.away"),
    ("puts a job there", "mkdir $H/jobs/planted"),
    ("kills the keeper", "kill -9 $K"),
    ("kills the standby", "kill -9 $S"),
    ("kills the leader", "kill -9 $L"),
    (
        "reads the keeper's environment",
        "cat /proc/$K/environ /proc/$L/environ",
    ),
    (
        "looks at the keeper's files",
        "ls -l /proc/$K/fd/ | grep -q '>'",
    ),
];

/// Connects to the control socket and asks the keeper to kill the job.
const CONNECT: &str = "import socket,sys,os
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.settimeout(3)
s.connect('control')
s.sendall(b'{\"signal\":{\"signal\":\"SIGKILL\"}}\\n')
sys.exit(0 if s.recv(100) else 1)";

#[derive(Clone, Copy)]
enum Case {
    Script(usize),
    Connect,
    /// Like `Connect`, but the file modes allow it. Then the keeper must check which user connects.
    ConnectThroughOpenDoors,
    Verb(usize),
}

const VERBS: [&[&str]; 9] = [
    &["list"],
    &["show", "job"],
    &["log", "job"],
    &["wait", "job", "--timeout", "1s"],
    &["stop", "job"],
    &["signal", "job", "KILL"],
    &["send", "job", "x"],
    &["prune", "--all", "--force"],
    &["run", "--", "true"],
];

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Case::Script(place) => to.write_str(TRIED[*place].0),
            Case::Connect => to.write_str("connects"),
            Case::ConnectThroughOpenDoors => to.write_str("connects, though all doors are open"),
            Case::Verb(place) => write!(to, "outlive {:?}", VERBS[*place]),
        }
    }
}

/// All attacks are tried on one job, one after the other. At the end the job must be unaffected.
fn run(context: &Context) -> Tried {
    if let Some(not_run) = Tried::unless_root() {
        return not_run;
    }
    let mut cases: Vec<Case> = (0..TRIED.len()).map(Case::Script).collect();
    cases.extend((0..VERBS.len()).map(Case::Verb));
    cases.extend([Case::Connect, Case::ConnectThroughOpenDoors]);
    let all = cases.len();
    match begin(context) {
        Ok((world, user, pids)) => {
            // One attack at a time, because one of them needs open file modes.
            let mut tried = context
                .try_cases_at_once(1, cases, all, |case| attempt(&world, user, &pids, *case));
            tried.losses.extend(end(&world).err());
            tried
        }
        Err(loss) => Tried::lost(loss),
    }
}

/// The pids of keeper, standby and leader.
type Pids = [i64; 3];

fn begin(context: &Context) -> Result<(World, User, Pids), String> {
    let world = context.world()?;
    public_programs(&world)?;
    let script = format!(
        "echo secret; until [ -e '{}' ]; do sleep 0.1; done; echo done; exit 3",
        world.path("go").display()
    );
    world.try_ok(&["run", "--id", "job", "--stdin", "pipe", "--shell", &script])?;
    let events = world.all_events("job");
    let of = |kind: &str| {
        events
            .iter()
            .rev()
            .find(|(is, _)| is == kind)
            .map(|(_, data)| data.clone())
    };
    let kept = of("kept").unwrap_or_default();
    let spawned = of("spawned").unwrap_or_default();
    let pid = |value: &serde_json::Value| value["pid"].as_i64().ok_or("no pid in the journal");
    let pids = [
        pid(&kept["keeper"])?,
        pid(&kept["standby"])?,
        pid(&spawned["leader"])?,
    ];
    Ok((world, User::numbered(0), pids))
}

fn attempt(world: &World, user: User, pids: &Pids, case: Case) -> Result<(), String> {
    let job = world.job_dir("job");
    let [keeper, standby, leader] = pids;
    match case {
        Case::Script(place) => {
            let names = format!(
                "J='{}' H='{}' K={keeper} S={standby} L={leader}; ",
                job.display(),
                world.home().display()
            );
            could_not(user.shell(world, &(names + TRIED[place].1))?)
        }
        Case::Verb(place) => {
            let program = world.path("bin/outlive");
            let mut command = user.command(world, [program]);
            let ran = Ran::try_of(command.args(VERBS[place]))?;
            match ran.code == 125 && ran.stderr.contains("another user") {
                true => Ok(()),
                false => Err(format!("it was not refused because of the owner: {ran}")),
            }
        }
        Case::Connect => could_not(connect(world, user)?),
        Case::ConnectThroughOpenDoors => {
            let doors = [world.home(), world.home().join("jobs"), job.clone()];
            for door in &doors {
                set_mode(door, 0o755)?;
            }
            set_mode(&job.join("control"), 0o777)?;
            let ran = connect(world, user);
            for door in &doors {
                set_mode(door, 0o700)?;
            }
            could_not(ran?)
        }
    }
}

fn connect(world: &World, user: User) -> Result<Ran, String> {
    let job = world.job_dir("job");
    let words = ["/usr/bin/python3", "-c", CONNECT];
    Ran::try_of(user.command(world, words).arg(job))
}

fn could_not(ran: Ran) -> Result<(), String> {
    match ran.code {
        0 => Err(format!("the attack succeeded: {ran}")),
        126 | 127 => Err(format!("the attack could not be tried: {ran}")),
        _ => Ok(()),
    }
}

/// Lets the job end and checks that it was not affected.
fn end(world: &World) -> Result<(), String> {
    fs::write(world.path("go"), "").map_err(|error| error.to_string())?;
    let ran = world.try_outlive(&["wait", "job", "--timeout", "30s"])?;
    let output = fs::read(world.job_dir("job").join("output")).unwrap_or_default();
    if ran.code != 3 || output != b"secret\ndone\n" {
        return Err(format!("the job was affected: {ran}, {output:?}"));
    }
    try_until("nothing is left running", || world.processes().is_empty())?;
    nothing_is_left(world)
}
