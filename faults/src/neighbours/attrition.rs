//! Every second the keeper or its standby is killed, while the job writes or reads.

use super::{ended, output_of, pair, until_written, write};
use crate::invariants::{deliver, kinds, nothing_is_left, same};
use crate::random::Random;
use crate::row::{Context, Row, Tried};
use outlive_sys::{offers, process};
use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fmt;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "neighbour: one of the pair killed every second",
        promise: "output, input, terminal and outcome are exact, and nobody has to adopt the job",
        run,
    }]
}

const EVERY: Duration = Duration::from_secs(1);
const ROUNDS_LONG: usize = 60;
const ROUNDS_SHORT: usize = 6;
const CODE: i64 = 7;

/// What the job does while its keepers are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// It writes numbered lines as fast as it can.
    Writes,
    /// It reads numbered lines and writes them back.
    IsTalkedTo,
}

struct Case {
    load: Load,
    terminal: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let through = if self.terminal { "a terminal" } else { "pipes" };
        write!(to, "{:?} through {through}", self.load)
    }
}

fn run(context: &Context) -> Tried {
    let mut cases = Vec::new();
    for load in [Load::Writes, Load::IsTalkedTo] {
        for terminal in [false, true] {
            cases.push(Case { load, terminal });
        }
    }
    let all = cases.len();
    context.try_cases(cases, all, |case| check(context, case))
}

impl Case {
    fn script(&self, world: &World) -> String {
        let quiet = if self.terminal { "stty -echo; " } else { "" };
        match self.load {
            Load::Writes => format!(
                "n=0; until [ -e '{}' ]; do n=$((n+1)); echo $n; done; echo $n > '{}'; exit {CODE}",
                world.path("go").display(),
                world.path("last").display()
            ),
            Load::IsTalkedTo => format!(
                "{quiet}echo 0; while read -r n && [ $n != over ]; do echo $n; done; exit {CODE}"
            ),
        }
    }

    fn options(&self) -> &'static [&'static str] {
        match (self.terminal, self.load) {
            (true, _) => &["--pty"],
            (false, Load::IsTalkedTo) => &["--stdin", "pipe"],
            (false, Load::Writes) => &[],
        }
    }

    /// Runs the load until the killing is over, then lets the job end. Returns the last number.
    fn drive(&self, world: &World, over: impl Fn() -> bool) -> Result<usize, String> {
        match self.load {
            Load::Writes => {
                while !over() {
                    thread::sleep(Duration::from_millis(20));
                }
                write(&world.path("go"))?;
                let mut last = None;
                try_until("the job has noted its last number", || {
                    let noted = fs::read_to_string(world.path("last")).unwrap_or_default();
                    last = noted.strip_suffix('\n').and_then(|text| text.parse().ok());
                    last.is_some()
                })?;
                last.ok_or_else(|| "no last number".to_owned())
            }
            Load::IsTalkedTo => {
                // Echo must be off before the first line is sent. Otherwise the terminal would write that line too.
                until_written(world, "job", "0")?;
                let mut sent = 0;
                while !over() {
                    sent += 1;
                    say(world, &sent.to_string())?;
                }
                say(world, "over").map(|()| sent)
            }
        }
    }
}

/// Sends a line with a write ID, so that it can be sent again if its keeper was killed.
fn say(world: &World, line: &str) -> Result<(), String> {
    world
        .try_ok(&["send", "job", line, "--enter", "--write-id", line])
        .map(drop)
}

fn check(context: &Context, case: &Case) -> Result<(), String> {
    let world = context.world()?;
    let rounds = if context.is_long {
        ROUNDS_LONG
    } else {
        ROUNDS_SHORT
    };
    let script = case.script(&world);
    let mut args = vec![
        "run",
        "--id",
        "job",
        "--session",
        "asker",
        "--max-output",
        "4G",
    ];
    args.extend(case.options());
    args.extend(["--shell", &script]);
    world.try_ok(&args)?;
    let last = thread::scope(|scope| {
        let killing = scope.spawn(|| kill_in_turn(&world, context.seed, rounds));
        let last = case.drive(&world, || killing.is_finished());
        let killed = killing.join();
        killed.map_err(|_| "the killer panicked".to_owned())??;
        last
    })?;
    let ended = ended(&world, "job")?;
    is_exact(&world, case, last, &ended)?;
    nothing_is_left(&world)
}

/// Kills the keeper or the standby every second, once both are there.
fn kill_in_turn(world: &World, seed: u64, rounds: usize) -> Result<(), String> {
    let mut random = Random::new(seed);
    let lives = |pid: i32| process::stat(pid).is_some_and(|stat| !stat.is_zombie());
    for _ in 0..rounds {
        let next = Instant::now() + EVERY;
        let mut both = None;
        try_until("there are two again", || {
            both = match pair(world, "job") {
                (Some(keeper), Some(standby)) => Some([keeper, standby]),
                _ => None,
            };
            both.is_some_and(|both| both.into_iter().all(lives))
        })?;
        if let Some(both) = both {
            kill(both[random.below(2)], KILL);
        }
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

fn is_exact(world: &World, case: &Case, last: usize, ended: &Value) -> Result<(), String> {
    // Before Linux 6.15 the kernel reports the exit status only to the parent.
    let may_be_lost = !offers::exit_records().map_err(|error| error.to_string())?;
    if ended["outcome"]["code"] != CODE && !(may_be_lost && ended["outcome"]["kind"] == "lost") {
        return Err(format!("the job ended wrongly: {ended}"));
    }
    same(
        "output.complete",
        &ended["output"]["complete"],
        &Value::Bool(true),
    )?;
    let newline = if case.terminal { "\r\n" } else { "\n" };
    let output = output_of(world, "job");
    let text = String::from_utf8_lossy(&output);
    let first = if case.load == Load::Writes { 1 } else { 0 };
    let mut count = first;
    for line in text.split_inclusive('\n') {
        if line != format!("{count}{newline}") {
            return Err(format!("after {count} lines the output has {line:?}"));
        }
        count += 1;
    }
    same("the last number", count, last + 1)?;
    let events = world.all_events("job");
    let how = |(kind, data): &(String, Value)| {
        (kind == "kept").then(|| data["how"].as_str().unwrap_or_default().to_owned())
    };
    let keepings: Vec<String> = events.iter().filter_map(how).collect();
    if keepings.iter().any(|how| how == "adopted") {
        return Err(format!("both keepers were lost: {keepings:?}"));
    }
    let ends = events.iter().filter(|(kind, _)| kind == "ended").count();
    same("ends in the journal", ends, 1)?;
    let told = deliver(world)?;
    same("told", kinds(&Value::Array(told)), vec!["ended"])
}
