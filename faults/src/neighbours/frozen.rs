//! Keepers and consumers that are suspended and continued.

use super::{ended, pair, until_written};
use crate::invariants::{self, Allowed};
use crate::job::{self, KINDS};
use crate::random::Random;
use crate::row::{Context, Row, Tried};
use outlive_sys::process::{self, PidFd};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "neighbour: keepers suspended at random",
            promise: "after it continues, all is exact, and each event is told once",
            run: run_keepers,
        },
        Row {
            name: "neighbour: verbs beside a suspended keeper",
            promise: "every verb answers in time, and says what is not known",
            run: run_verbs,
        },
        Row {
            name: "neighbour: consumers suspended with a claim",
            promise: "each event reaches somebody, and is acked by one",
            run: run_consumers,
        },
    ]
}

const STOP: i32 = 19;
const CONT: i32 = 18;

fn signal(pid: i32, number: i32) {
    if let Ok(Some(process)) = PidFd::open(pid) {
        let _ = process.signal(number);
    }
}

/// The index of a kind of job, and a seed for the random pauses.
struct Case(usize, u64);

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "a {} job, moments {}", KINDS[self.0].name, self.1)
    }
}

fn run_keepers(context: &Context) -> Tried {
    let each = if context.is_long { 20 } else { 1 };
    let cases = (0..KINDS.len())
        .flat_map(|kind| (0..each).map(move |seed| Case(kind, seed)))
        .collect();
    context.try_cases(cases, KINDS.len(), |case| {
        let kind = &KINDS[case.0];
        let world = context.world()?;
        let started = Ran::try_of(&mut kind.start(&world))?;
        if started.code != 0 {
            return Err(format!("it could not be started: {started}"));
        }
        let ended = thread::scope(|scope| {
            scope.spawn(|| shake(&world, case.1 * 7 + case.0 as u64));
            kind.go_on(&world)
        })?;
        invariants::check(&world, kind, &ended, Allowed::Exact)
    })
}

/// The longest time that a verb may take beside a suspended keeper if it waits for nothing, also on a busy machine.
const PROMPT: Duration = Duration::from_secs(4);

/// Jobs that read input. Only the keeper knows what such a job waits for.
const TALKED_TO: [&[&str]; 2] = [&["--pty"], &["--stdin", "pipe"]];

struct TalkedTo(usize);

impl fmt::Display for TalkedTo {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "a job with {}", TALKED_TO[self.0].join(" "))
    }
}

fn run_verbs(context: &Context) -> Tried {
    let cases = (0..TALKED_TO.len()).map(TalkedTo).collect();
    context.try_cases(cases, TALKED_TO.len(), |case| {
        let world = context.world()?;
        let script = "echo up; read -r line; exit 6";
        let run = ["run", "--id", job::ID, "--shell", script];
        world.try_ok(&[&run[..], TALKED_TO[case.0]].concat())?;
        until_written(&world, job::ID, "up")?;
        let (keeper, _) = pair(&world, job::ID);
        let keeper = keeper.ok_or("nobody keeps it")?;
        signal(keeper, STOP);
        try_until("it is suspended", || is_stopped(keeper as u32))?;
        let answered = verbs(&world);
        signal(keeper, CONT);
        answered?;
        world.try_ok(&["send", job::ID, "x", "--enter"])?;
        let ended = ended(&world, job::ID)?;
        match ended["outcome"]["code"] == 6 {
            true => Ok(()),
            false => Err(format!("the job ended wrongly: {ended}")),
        }
    })
}

fn verbs(world: &World) -> Result<(), String> {
    let mut shown = Value::Null;
    for (args, code) in [
        (&["list", "--json"][..], 0),
        (&["log", job::ID], 0),
        (&["show", job::ID, "--json"], 0),
        (&["wait", "--timeout", "200ms"], 124),
        (&["wait", job::ID, "--timeout", "200ms"], 124),
    ] {
        let begun = Instant::now();
        let ran = world.try_outlive(args)?;
        let took = begun.elapsed();
        if ran.code != code || took > PROMPT {
            return Err(format!("outlive {args:?} took {took:?}: {ran}"));
        }
        if args[0] == "show" {
            shown = serde_json::from_slice(&ran.bytes).unwrap_or_default();
        }
    }
    match shown["state"] == "running" && shown["keeper_silent"] == true {
        true => Ok(()),
        false => Err(format!(
            "the suspended keeper is not reported as silent: {shown}"
        )),
    }
}

/// Suspends the keeper, the standby or both several times, for a few milliseconds each. Both run at the end.
fn shake(world: &World, seed: u64) {
    let mut random = Random::new(seed);
    let mut next = |most: usize| random.below(most) as u64;
    let (keeper, standby) = pair(world, job::ID);
    for _ in 0..30 {
        let both = [keeper, standby].into_iter().flatten();
        let chosen: Vec<i32> = both.filter(|_| next(3) > 0).collect();
        chosen.iter().for_each(|pid| signal(*pid, STOP));
        thread::sleep(Duration::from_millis(1 + next(15)));
        [keeper, standby]
            .into_iter()
            .flatten()
            .for_each(|pid| signal(pid, CONT));
        thread::sleep(Duration::from_millis(next(6)));
    }
}

/// The steps at which a consumer is suspended.
const STEPS: [&str; 3] = ["Looked", "Claimed", "Delivered"];

struct Step(usize);

impl fmt::Display for Step {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "at {}", STEPS[self.0])
    }
}

fn run_consumers(context: &Context) -> Tried {
    context.try_cases((0..STEPS.len()).map(Step).collect(), 3, |step| {
        let jobs = if context.is_long { 40 } else { 6 };
        consumers(context, STEPS[step.0], jobs)
    })
}

fn consumer(world: &World, options: &[&str]) -> Command {
    let mut command = world.command(["inbox", "--session", "s", "--json"]);
    command
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

fn is_stopped(pid: u32) -> bool {
    process::stat(pid as i32).is_none_or(|stat| stat.state == b'T')
}

fn consumers(context: &Context, step: &str, jobs: usize) -> Result<(), String> {
    let world = context.world()?;
    for n in 0..jobs {
        world.try_ok(&[
            "run",
            "--id",
            &format!("j{n}"),
            "--session",
            "s",
            "--",
            "true",
        ])?;
    }
    try_until("all have ended", || {
        let over = |n: usize| {
            let events = world.all_events(&format!("j{n}"));
            events.iter().any(|(kind, _)| kind == "closed")
        };
        (0..jobs).all(over)
    })?;
    // Each of these consumers takes one event and is suspended while it handles it.
    let suspended: Vec<Child> = (0..3)
        .map(|_| {
            let options = ["--limit", "1", "--claim", "1s", "--ack-all"];
            consumer(&world, &options)
                .env("OUTLIVE_HOOKS", format!("consumer:{step}=stop"))
                .spawn()
                .map_err(|error| error.to_string())
        })
        .collect::<Result<_, _>>()?;
    try_until("they are suspended", || {
        suspended.iter().all(|child| is_stopped(child.id()))
    })?;
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    let mut note = |stdout: &[u8]| {
        let inbox: Value = serde_json::from_slice(stdout).unwrap_or_default();
        for event in inbox["events"].as_array().into_iter().flatten() {
            *told.entry(event["event"].to_string()).or_default() += 1;
        }
    };
    // The suspended consumers do not block the others. Those get the unclaimed events first, then the claimed ones
    // once their claims have expired.
    let mut left = jobs;
    while left > 0 {
        let ran = Ran::try_of(&mut consumer(
            &world,
            &["--wait=20s", "--claim", "60s", "--ack-all"],
        ))?;
        note(&ran.bytes);
        let inbox: Value = serde_json::from_slice(&ran.bytes).unwrap_or_default();
        match inbox["events"].as_array().map_or(0, Vec::len) {
            0 => break,
            some => left = left.saturating_sub(some),
        }
    }
    for mut child in suspended {
        try_until("it ends", || {
            signal(child.id() as i32, CONT);
            child.try_wait().is_ok_and(|ended| ended.is_some())
        })?;
        let out = child
            .wait_with_output()
            .map_err(|error| error.to_string())?;
        // What a consumer had printed before it was suspended counts as told.
        note(&out.stdout);
    }
    let most = if step == "Delivered" { 2 } else { 1 };
    if told.len() != jobs || told.values().any(|times| *times > most) {
        return Err(format!("{jobs} events, told so often: {told:?}"));
    }
    let again = Ran::try_of(&mut consumer(&world, &[]))?;
    let inbox: Value = serde_json::from_slice(&again.bytes).unwrap_or_default();
    match inbox["events"].as_array().map_or(0, Vec::len) {
        0 => Ok(()),
        _ => Err(format!("told once more after all: {again}")),
    }
}
