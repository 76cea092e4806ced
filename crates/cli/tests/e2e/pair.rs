//! The pair: killing the keeper or its standby at any instant loses nothing.

use crate::world::{Ran, World, is_alive, kill, until};
use outlive_sys::procfs;
use serde_json::{Value, json};
use std::fmt::Display;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

pub const KILL: i32 = 9;
pub const CONT: i32 = 18;
pub const STOP: i32 = 19;

/// Cells of a matrix mostly wait for processes, so more run at once than there are processors.
const AT_ONCE: usize = 6;

/// Whether a job of some kind comes by a hook.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Comes {
    Always,
    /// It depends on which of two things happens first.
    Perhaps,
    Never,
}
use Comes::{Always, Never, Perhaps};

/// Every hook of a keeper, and which of `KINDS` come by.
const HOOKS: [(&str, [Comes; 5]); 20] = [
    ("Begun", [Always; 5]),
    ("Forked", [Always; 5]),
    ("Spawned", [Always; 5]),
    ("GateOpened", [Always; 5]),
    ("Executed", [Always; 5]),
    ("Started", [Always; 5]),
    ("Ready", [Always; 5]),
    ("Captured", [Perhaps, Always, Always, Always, Always]),
    ("StopAsked", [Never, Never, Always, Always, Always]),
    ("StopWritten", [Never, Never, Always, Always, Never]),
    ("Terminated", [Never, Never, Always, Always, Always]),
    ("LeaderEnded", [Always; 5]),
    ("Drained", [Always; 5]),
    ("OutputSynced", [Always; 5]),
    ("EndedRecorded", [Always; 5]),
    ("Noted", [Always; 5]),
    ("Told", [Always; 5]),
    ("Reaped", [Always; 5]),
    ("Closed", [Perhaps, Perhaps, Perhaps, Perhaps, Always]),
    ("Retired", [Always; 5]),
];

/// One kind of job, and how it must end whatever happens to its keepers.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    options: &'static [&'static str],
    script: &'static str,
    course: Course,
    output: fn() -> Vec<u8>,
    exit_code: i32,
    outcome: fn() -> Value,
    ended_by: &'static str,
}

/// What a test does between the start of a job and its end.
#[derive(Clone, Copy, Debug)]
enum Course {
    Nothing,
    /// Stops it once it is up.
    Stop,
    /// Sees its end, lets what lingers write more, and stops that.
    StopLeftovers,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "short",
        options: &[],
        script: "echo hello; exit 7",
        course: Course::Nothing,
        output: || b"hello\n".to_vec(),
        exit_code: 7,
        outcome: || json!({ "kind": "exited", "code": 7 }),
        ended_by: "itself",
    },
    Kind {
        name: "chatty",
        options: &[],
        script: "seq 1 200000; exit 3",
        course: Course::Nothing,
        output: || numbers(200_000),
        exit_code: 3,
        outcome: || json!({ "kind": "exited", "code": 3 }),
        ended_by: "itself",
    },
    Kind {
        name: "stubborn",
        options: &["--grace", "100ms"],
        script: "trap '' TERM; echo up; exec sleep 60",
        course: Course::Stop,
        output: || b"up\n".to_vec(),
        exit_code: 137,
        outcome: || json!({ "kind": "signaled", "signal": "SIGKILL", "core_dumped": false }),
        ended_by: "stop",
    },
    Kind {
        name: "overdue",
        options: &["--timeout", "500ms"],
        script: "echo up; exec sleep 60",
        course: Course::Nothing,
        output: || b"up\n".to_vec(),
        exit_code: 143,
        outcome: || json!({ "kind": "signaled", "signal": "SIGTERM", "core_dumped": false }),
        ended_by: "timeout",
    },
    Kind {
        name: "lingering",
        options: &[],
        script: "(until [ -e \"$GO\" ]; do sleep 0.02; done; echo late; exec sleep 60) & echo main; exit 5",
        course: Course::StopLeftovers,
        output: || b"main\nlate\n".to_vec(),
        exit_code: 5,
        outcome: || json!({ "kind": "exited", "code": 5 }),
        ended_by: "itself",
    },
];

/// What `seq 1 LAST` prints.
pub fn numbers(last: u32) -> Vec<u8> {
    (1..=last)
        .map(|n| format!("{n}\n"))
        .collect::<String>()
        .into()
}

/// Checks every cell, several at once, and names all that fail.
pub fn every<C: Sync>(cells: &[C], name: impl Fn(&C) -> String + Sync, check: impl Fn(&C) + Sync) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(panic) = panic::catch_unwind(AssertUnwindSafe(|| check(cell))) {
                let why = panic.downcast_ref::<String>().cloned();
                let why = why.unwrap_or_else(|| "(see above)".to_owned());
                failed
                    .lock()
                    .unwrap()
                    .push(format!("{}: {why}", name(cell)));
            }
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{} of {} cells failed:\n{}",
        failed.len(),
        cells.len(),
        failed.join("\n")
    );
}

/// The file whose making lets a job go on that waits for `$GO`.
pub fn go(world: &World) -> PathBuf {
    world.path("go")
}

/// `outlive` with `$GO` set for the jobs it starts.
pub fn with_go(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env("GO", go(world));
    command
}

/// Starts a job that may wait for `$GO`; returns its id.
pub fn start(world: &World, script: &str) -> String {
    let ran = Ran::of(&mut with_go(world, &["run", "--shell", script]));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

/// How each keeper came to act.
pub fn keepings(world: &World, id: &str) -> Vec<String> {
    let word = |kept: &Value| kept["how"].as_str().unwrap().to_owned();
    world.events(id, "kept").iter().map(word).collect()
}

/// Kills a process and waits until it is gone.
pub fn kill_for_good(pid: i32) {
    kill(pid, KILL);
    until("a killed process is gone", || !is_alive(pid));
}

/// Waits until the job has written exactly this.
pub fn until_output(world: &World, id: &str, expected: &str) {
    until(&format!("{id} has written {expected:?}"), || {
        world.output(id) == expected.as_bytes()
    });
}

/// Nothing of the job is left but its record.
pub fn assert_nothing_is_left(world: &World, id: &str) {
    until("no process is left", || world.processes().is_empty());
    let dir = world.job_dir(id);
    let link = world.home().join("live").join(id);
    until("feed, control and live link are gone", || {
        [dir.join("feed"), dir.join("control"), link.clone()]
            .iter()
            .all(|path| path.symlink_metadata().is_err())
    });
}

/// Bytes compared without printing megabytes.
pub fn assert_same_bytes(what: impl Display, actual: &[u8], expected: &[u8]) {
    let same = actual
        .iter()
        .zip(expected)
        .take_while(|(a, b)| a == b)
        .count();
    assert!(
        actual == expected,
        "{what}: {} bytes for {}, the same up to {same}",
        actual.len(),
        expected.len()
    );
}

impl Kind {
    /// Takes a job of this kind from its start to its end.
    fn drive(&self, world: &World, hooks: &str) -> String {
        let mut args = vec!["run"];
        args.extend(self.options);
        args.extend(["--shell", self.script]);
        let ran = Ran::of(with_go(world, &args).env("OUTLIVE_HOOKS", hooks));
        assert_eq!(ran.code, 0, "run: {ran:?}");
        let id = ran.stdout.trim_end().to_owned();
        match self.course {
            Course::Nothing => {}
            Course::Stop => {
                until_output(world, &id, "up\n");
                world.ok(&["stop", &id]);
            }
            Course::StopLeftovers => {
                world.wait(&id);
                fs::write(go(world), "").unwrap();
                until_output(world, &id, "main\nlate\n");
                assert_eq!(world.show(&id)["lingering"], 1);
                world.ok(&["stop", &id]);
            }
        }
        self.assert_ended(world, &id, &world.wait(&id));
        id
    }

    fn assert_ended(&self, world: &World, id: &str, job: &Value) {
        assert_eq!(job["state"], "ended", "{job}");
        assert_eq!(job["outcome"], (self.outcome)(), "{job}");
        assert_eq!(job["exit_code"], self.exit_code, "{job}");
        assert_eq!(job["ended_by"], self.ended_by, "{job}");
        assert_same_bytes("output", &world.output(id), &(self.output)());
    }

    /// What must be true of its record, and of verbs that come later.
    fn assert_settled(&self, world: &World, id: &str) {
        assert_nothing_is_left(world, id);
        for (kind, count) in [("ended", 1), ("spawned", 1), ("started", 1), ("closed", 1)] {
            assert_eq!(world.events(id, kind).len(), count, "{kind} events");
        }
        let output = (self.output)();
        assert_eq!(
            world.events(id, "closed")[0]["output_bytes"].as_u64(),
            Some(output.len() as u64)
        );
        self.assert_ended(world, id, &world.show(id));
        assert_eq!(world.outlive(&["wait", id]).code, self.exit_code);
        assert_eq!(world.show(id)["lingering"], 0);
        assert_same_bytes(
            "log",
            world
                .outlive(&["log", id, "--bytes", "0"])
                .stdout
                .as_bytes(),
            &output,
        );
        let list = world.json(&["list", "--state", "all", "--json"]);
        let jobs = list["jobs"].as_array().unwrap();
        assert_eq!(jobs.len(), 1, "{list}");
        self.assert_ended(world, id, &jobs[0]);
        self.assert_ended(world, id, &world.json(&["stop", id, "--json"]));
        assert_nothing_is_left(world, id);
    }
}

/// One cell of the matrix.
#[derive(Debug)]
struct Cell {
    hook: &'static str,
    comes: Comes,
    kind: &'static Kind,
}

impl Cell {
    fn name(&self) -> String {
        format!("{} job at {}", self.kind.name, self.hook)
    }

    /// Whether what was to happen at the hook happened as often as the job comes by.
    fn assert_happened(&self, what: &str, happened: bool) {
        match self.comes {
            Always => assert!(happened, "{what}: never came to the hook"),
            Never => assert!(!happened, "{what}: came to the hook"),
            Perhaps => {}
        }
    }
}

/// The hooks that a kind of job can come by.
fn cells(kind: &str) -> Vec<Cell> {
    static TABLE: [Kind; 5] = KINDS;
    let place = TABLE.iter().position(|row| row.name == kind).unwrap();
    HOOKS
        .iter()
        .filter(|(_, comes)| comes[place] != Never)
        .map(|(hook, comes)| Cell {
            hook,
            comes: comes[place],
            kind: &TABLE[place],
        })
        .collect()
}

fn a_keeper_killed_at_any_hook_loses_nothing_of_a(kind: &str) {
    every(&cells(kind), Cell::name, |cell| {
        let world = World::new();
        let id = cell
            .kind
            .drive(&world, &format!("keeper:{}=kill", cell.hook));
        cell.kind.assert_settled(&world, &id);
        let taken_over = keepings(&world, &id)
            .iter()
            .filter(|how| *how == "taken_over")
            .count();
        assert!(taken_over <= 1, "{:?}", keepings(&world, &id));
        cell.assert_happened("takeover", taken_over == 1);
    });
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_short_job() {
    a_keeper_killed_at_any_hook_loses_nothing_of_a("short");
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_chatty_job() {
    a_keeper_killed_at_any_hook_loses_nothing_of_a("chatty");
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_job_that_ignores_term() {
    a_keeper_killed_at_any_hook_loses_nothing_of_a("stubborn");
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_job_that_times_out() {
    a_keeper_killed_at_any_hook_loses_nothing_of_a("overdue");
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_job_that_lingers() {
    a_keeper_killed_at_any_hook_loses_nothing_of_a("lingering");
}

/// A keeper that stopped at its hook.
fn stopped_keeper(world: &World) -> Option<i32> {
    let is_stopped = |pid: &i32| procfs::stat(*pid).is_some_and(|stat| stat.state == b'T');
    world.processes().into_iter().find(is_stopped)
}

/// Kills the standby while the keeper stands still at its hook, then keeps the keeper going until
/// the job is over. Says whether the hook was reached.
fn kill_the_standby_meanwhile<T>(world: &World, job: &ScopedJoinHandle<'_, T>) -> bool {
    let mut keeper = None;
    until("the job is over", || {
        match keeper {
            // A hook that is passed often stops it each time.
            Some(keeper) => kill(keeper, CONT),
            None => {
                keeper = stopped_keeper(world);
                let parent = keeper.and_then(procfs::stat).map(|stat| stat.parent);
                parent.into_iter().for_each(kill_for_good);
            }
        }
        job.is_finished() && world.processes().is_empty()
    });
    keeper.is_some()
}

fn a_standby_killed_at_any_hook_loses_nothing_of_a(kind: &str) {
    every(&cells(kind), Cell::name, |cell| {
        let world = World::new();
        let hooks = format!("keeper:{}=stop", cell.hook);
        thread::scope(|scope| {
            let job = scope.spawn(|| cell.kind.drive(&world, &hooks));
            let killed = kill_the_standby_meanwhile(&world, &job);
            let id = job.join().unwrap();
            cell.assert_happened("standby killed", killed);
            cell.kind.assert_settled(&world, &id);
            assert_eq!(keepings(&world, &id), ["launched"]);
        });
    });
}

#[test]
fn a_standby_killed_at_any_hook_loses_nothing_of_a_short_job() {
    a_standby_killed_at_any_hook_loses_nothing_of_a("short");
}

#[test]
fn a_standby_killed_at_any_hook_loses_nothing_of_a_chatty_job() {
    a_standby_killed_at_any_hook_loses_nothing_of_a("chatty");
}

#[test]
fn a_standby_killed_at_any_hook_loses_nothing_of_a_job_that_ignores_term() {
    a_standby_killed_at_any_hook_loses_nothing_of_a("stubborn");
}

#[test]
fn a_standby_killed_at_any_hook_loses_nothing_of_a_job_that_times_out() {
    a_standby_killed_at_any_hook_loses_nothing_of_a("overdue");
}

#[test]
fn a_standby_killed_at_any_hook_loses_nothing_of_a_job_that_lingers() {
    a_standby_killed_at_any_hook_loses_nothing_of_a("lingering");
}

#[test]
fn the_matrix_has_every_hook_there_is() {
    let source = include_str!("../../../keeper/src/hooks.rs");
    let (_, after) = source.split_once("pub enum Hook {").unwrap();
    let (body, _) = after.split_once("\n}").unwrap();
    let there_are: Vec<&str> = body
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .map(|line| line.trim_end_matches(','))
        .collect();
    assert_eq!(HOOKS.map(|(hook, _)| hook).to_vec(), there_are);
}

/// Some number below `limit`, another each time.
fn any_below(limit: u64) -> u64 {
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64;
    nanos.wrapping_mul(0x9E37_79B9_7F4A_7C15) % limit
}

fn output_len(world: &World, id: &str) -> u64 {
    fs::metadata(world.job_dir(id).join("output")).map_or(0, |metadata| metadata.len())
}

/// Starts a job that writes `numbers(300_000)` as fast as it can once `$GO` is there, and ends once
/// `$GO.end` is.
pub fn start_stream(world: &World) -> String {
    let wait_for = |file: &str| format!("until [ -e \"{file}\" ]; do sleep 0.02; done");
    let (begin, end) = (wait_for("$GO"), wait_for("$GO.end"));
    start(world, &format!("{begin}; seq 1 300000; {end}; exit 7"))
}

/// Lets the stream flow until so much of it is written.
pub fn stream_to(world: &World, id: &str, bytes: u64) {
    fs::write(go(world), "").unwrap();
    while output_len(world, id) < bytes {
        thread::yield_now();
    }
}

/// Lets the streaming job end, and checks that it did so with all it wrote.
pub fn assert_whole_stream(world: &World, id: &str) {
    fs::write(go(world).with_extension("end"), "").unwrap();
    assert_eq!(world.outlive(&["wait", id]).code, 7);
    assert_same_bytes("output", &world.output(id), &numbers(300_000));
    assert_eq!(world.events(id, "ended").len(), 1);
    assert_nothing_is_left(world, id);
}

/// So many places in the stream, others each time.
pub fn places_in_the_stream(count: usize) -> Vec<u64> {
    const LENGTH: u64 = 1_988_895;
    (0..count).map(|_| any_below(LENGTH)).collect()
}

#[test]
fn a_keeper_killed_at_any_moment_of_a_fast_stream_loses_and_doubles_nothing() {
    every(
        &places_in_the_stream(30),
        |at| format!("killed at byte {at}"),
        |at| {
            let world = World::new();
            let id = start_stream(&world);
            let keeper = world.pair(&id).keeper;
            stream_to(&world, &id, *at);
            kill(keeper, KILL);
            assert_whole_stream(&world, &id);
            assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
        },
    );
}

#[test]
fn a_standby_killed_at_any_moment_of_a_fast_stream_changes_nothing() {
    every(
        &places_in_the_stream(8),
        |at| format!("killed at byte {at}"),
        |at| {
            let world = World::new();
            let id = start_stream(&world);
            let standby = world.pair(&id).standby.unwrap();
            stream_to(&world, &id, *at);
            kill(standby, KILL);
            assert_whole_stream(&world, &id);
            assert_eq!(keepings(&world, &id), ["launched"]);
        },
    );
}

#[test]
fn a_keeper_that_is_paused_in_mid_stream_loses_nothing() {
    let world = World::new();
    let waits = "until [ -e \"$GO\" ]; do sleep 0.02; done";
    let id = start(&world, &format!("echo up; {waits}; exec seq 1 100000"));
    let leader = world.show(&id)["pid"].as_i64().unwrap() as i32;
    let keeper = world.pair(&id).keeper;
    let state = |pid| procfs::stat(pid).map(|stat| stat.state);
    until_output(&world, &id, "up\n");
    kill(keeper, STOP);
    until("the keeper stands still", || state(keeper) == Some(b'T'));
    fs::write(go(&world), "").unwrap();
    until("the job waits for it", || {
        fs::read(format!("/proc/{leader}/comm")).is_ok_and(|name| name == b"seq\n")
            && state(leader) == Some(b'S')
    });
    assert_eq!(world.output(&id), b"up\n");
    kill(keeper, CONT);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    let expected = [b"up\n".to_vec(), numbers(100_000)].concat();
    assert_same_bytes("output", &world.output(&id), &expected);
    assert_eq!(keepings(&world, &id), ["launched"]);
}

#[test]
fn no_signal_but_kill_moves_the_keeper_or_its_standby() {
    const SIGNALS: [i32; 9] = [1, 2, 3, 10, 12, 13, 14, 15, 17];
    let world = World::new();
    let id = start(
        &world,
        "until [ -e \"$GO\" ]; do sleep 0.02; done; echo done; exit 7",
    );
    let pair = world.pair(&id);
    let standby = pair.standby.unwrap();
    for signal in SIGNALS {
        kill(pair.keeper, signal);
        kill(standby, signal);
    }
    // The keeper answers this, so it has been past every signal sent before.
    world.ok(&["signal", &id, "CONT"]);
    assert!(is_alive(pair.keeper) && is_alive(standby));
    fs::write(go(&world), "").unwrap();
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 7);
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(world.output(&id), b"done\n");
    assert_eq!(keepings(&world, &id), ["launched"]);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_launcher_that_ignores_sigchld_changes_nothing() {
    let world = World::new();
    let outlive = world.command(["run", "--shell", "echo hello; exit 7"]);
    let mut command = Command::new("env");
    command
        .arg("--ignore-signal=CHLD")
        .arg(outlive.get_program())
        .args(outlive.get_args());
    command.env("OUTLIVE_HOME", world.home());
    let ran = Ran::of(&mut command);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.stdout.trim_end();
    let waited = world.outlive(&["wait", id, "--timeout", "5s"]);
    assert_eq!(waited.code, 7, "{waited:?}");
    assert_eq!(world.output(id), b"hello\n");
}

#[test]
fn a_launcher_that_ignores_sigchld_does_not_keep_the_standby_from_taking_over() {
    let world = World::new();
    let outlive = world.command(["run", "--", "sleep", "60"]);
    let mut command = Command::new("env");
    command
        .arg("--ignore-signal=CHLD")
        .arg(outlive.get_program())
        .args(outlive.get_args());
    command.env("OUTLIVE_HOME", world.home());
    let id = Ran::of(&mut command).stdout.trim_end().to_owned();
    let pair = world.pair(&id);
    kill_for_good(pair.keeper);
    assert_eq!(world.json(&["stop", &id, "--json"])["exit_code"], 143);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
}

#[test]
fn a_heir_keeps_stopping_what_the_keeper_began_to_stop() {
    let world = World::new();
    let script = "trap '' TERM; echo up; while :; do sleep 60; done";
    let id = world.shell(script);
    until_output(&world, &id, "up\n");
    let mut stop = world
        .command(["stop", &id, "--grace", "1s"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the stop is written", || {
        !world.events(&id, "stop_requested").is_empty()
    });
    kill(world.pair(&id).keeper, KILL);
    assert!(stop.wait().unwrap().success());
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 137);
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(world.events(&id, "stop_requested").len(), 1);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
    // Asked at the start of its second, it is killed at the end of it and not of a new one.
    let ms = job["duration_ms"].as_u64().unwrap();
    assert!(ms >= 1000, "{ms}");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn many_stoppers_and_a_killed_keeper_make_one_stop_and_one_end() {
    let world = World::new();
    let id = world.shell("trap '' TERM; echo up; exec sleep 60");
    until_output(&world, &id, "up\n");
    let stop = |_| {
        let mut command = world.command(["stop", &id, "--grace", "300ms"]);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let stops: Vec<Child> = (0..8).map(stop).collect();
    until("a stop is written", || {
        !world.events(&id, "stop_requested").is_empty()
    });
    kill(world.pair(&id).keeper, KILL);
    for mut stop in stops {
        assert_eq!(stop.wait().unwrap().code(), Some(0));
    }
    assert_eq!(world.events(&id, "stop_requested").len(), 1);
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(world.show(&id)["exit_code"], 137);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_heir_finishes_an_end_without_any_verb_being_called() {
    let hooks = [
        "LeaderEnded",
        "Drained",
        "OutputSynced",
        "EndedRecorded",
        "Noted",
        "Told",
        "Reaped",
        "Retired",
    ];
    every(
        &hooks,
        |hook| (*hook).to_owned(),
        |hook| {
            let world = World::new();
            let script = "until [ -e \"$GO\" ]; do sleep 0.02; done; echo hello; exit 7";
            let hooks = format!("keeper:{hook}=kill");
            let mut run = with_go(&world, &["run", "--id", "job", "--shell", script]);
            assert_eq!(Ran::of(run.env("OUTLIVE_HOOKS", hooks)).code, 0);
            fs::write(go(&world), "").unwrap();
            assert_nothing_is_left(&world, "job");
            assert_eq!(keepings(&world, "job"), ["launched", "taken_over"]);
            assert_eq!(world.events("job", "ended").len(), 1);
            assert_eq!(
                world.events("job", "ended")[0]["outcome"],
                json!({ "kind": "exited", "code": 7 })
            );
            assert_eq!(world.output("job"), b"hello\n");
            let list = world.json(&["list", "--json"]);
            assert_eq!(list["jobs"].as_array().unwrap().len(), 1, "{list}");
        },
    );
}
