//! Disks that are full, read-only, gone or frozen while jobs run on them.
//!
//! Each case has a filesystem of its own, in a file (`image.rs`). A job that ends or is stopped meanwhile ends at
//! once and does not wait for the disk. Its end is recorded, with the right time, as soon as that is possible.

mod image;

use crate::row::{Context, Row, Tried};
use image::{BTRFS, EXT4, Frozen, Image, Kind, XFS, must};
use outlive_sys::{clock, process};
use outlive_testkit::environment::behind;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "disk: full while jobs run",
            promise: "every end is recorded at once, exactly and with its own time",
            run: |context| try_on(context, &[EXT4, XFS, BTRFS], full),
        },
        Row {
            name: "disk: read-only for whoever asks",
            promise: "verbs that look, wait, signal or stop work",
            run: |context| try_on(context, &[EXT4, XFS, BTRFS], read_only),
        },
        Row {
            name: "disk: fails while jobs run",
            promise: "stopped and timed-out jobs end; none is reported as a success",
            run: |context| try_on(context, &[EXT4, XFS], failing),
        },
        Row {
            name: "disk: frozen while jobs run",
            promise: "stopped and timed-out jobs end; all is recorded later, with the right time",
            run: |context| try_on(context, &[EXT4, XFS, BTRFS], frozen),
        },
    ]
}

/// Tries each filesystem that this machine has.
fn try_on(
    context: &Context,
    kinds: &[Kind],
    check: fn(&World, &Image) -> Result<(), String>,
) -> Tried {
    let (present, missing) = look_for(context, kinds);
    let tried = context.try_cases(present, kinds.len(), |kind| {
        let world = context.world()?;
        let image = Image::new(&world, *kind)?;
        check(&world, &image)
    });
    tried.without(&missing)
}

/// Finds the filesystems that can be made and mounted on this machine, and why the others cannot. Tries each once and
/// keeps the answer.
fn look_for(context: &Context, kinds: &[Kind]) -> (Vec<Kind>, Vec<String>) {
    static FOUND: OnceLock<Vec<(Kind, Result<(), String>)>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let make = |kind: Kind| {
            let made = context
                .world()
                .and_then(|world| Image::new(&world, kind).map(drop));
            (kind, made)
        };
        [EXT4, XFS, BTRFS].map(make).into()
    });
    let (mut present, mut missing) = (Vec::new(), Vec::new());
    for (kind, made) in found.iter().filter(|(kind, _)| kinds.contains(kind)) {
        match made {
            Ok(()) => present.push(*kind),
            Err(why) => missing.push(format!("{kind}: {why}")),
        }
    }
    (present, missing)
}

/// The longest time that a verb may take if it has nothing to wait for, also on a busy machine.
const PROMPT: Duration = Duration::from_secs(8);

fn promptly(world: &World, args: &[&str]) -> Result<Ran, String> {
    let begun = Instant::now();
    let ran = world.try_outlive(args)?;
    match begun.elapsed() {
        took if took < PROMPT => Ok(ran),
        took => Err(format!("outlive {args:?} took {took:?}: {ran}")),
    }
}

/// Starts a job that runs until it is stopped.
fn start(world: &World, id: &str, options: &[&str], script: &str) -> Result<(), String> {
    let words = [&["run", "--id", id], options, &["--shell", script]].concat();
    world.try_ok(&words)?;
    try_until("it is up", || {
        fs::read(world.job_dir(id).join("output")).is_ok_and(|output| output == b"up\n")
    })
}

const SLEEPS: &str = "echo up; exec sleep 1000";
/// Only KILL ends it.
const IGNORES: &str = "trap '' TERM; echo up; while :; do sleep 1000; done";

/// Starts a job that ends with 7 when the case says so.
fn start_waiting(world: &World, id: &str) -> Result<(), String> {
    let go = world.path("go");
    let script = format!(
        "echo up; until [ -e '{}' ]; do sleep 0.02; done; exit 7",
        go.display()
    );
    start(world, id, &["--session", "s"], &script)
}

fn go(world: &World) -> Result<(), String> {
    fs::write(world.path("go"), "").map_err(|error| error.to_string())
}

fn leader(world: &World, id: &str) -> Option<i32> {
    let events = world.all_events(id);
    let spawned = events
        .iter()
        .find_map(|(_, data)| data["leader"]["pid"].as_i64());
    spawned.and_then(|pid| i32::try_from(pid).ok())
}

fn lives(pid: Option<i32>) -> bool {
    pid.and_then(process::stat)
        .is_some_and(|stat| !stat.is_zombie())
}

/// Checks that the job ended with this outcome, that its end is recorded once, and that it took at most this long.
fn has_ended(
    world: &World,
    id: &str,
    how: (&str, i64),
    by: &str,
    most_ms: u64,
) -> Result<(), String> {
    let job = world.try_json(&["show", id, "--json"])?;
    let outcome = match how {
        ("exited", code) => job["outcome"]["code"] == code,
        (signal, _) => job["outcome"]["signal"] == signal,
    };
    let ends = world.all_events(id);
    let ends = ends.iter().filter(|(kind, _)| kind == "ended").count();
    let took = job["duration_ms"].as_u64();
    let is_right =
        outcome && job["ended_by"] == by && ends == 1 && took.is_some_and(|took| took <= most_ms);
    match is_right {
        true => Ok(()),
        false => Err(format!(
            "{id} should have ended with {how:?} by {by} within {most_ms} ms, but shows {job}"
        )),
    }
}

fn full(world: &World, image: &Image) -> Result<(), String> {
    let report = world.try_json(&["doctor", "--json"])?;
    let checks = report["checks"].as_array().cloned().unwrap_or_default();
    let reserved = checks
        .iter()
        .find(|check| check["name"] == "reserved space");
    if reserved.is_none_or(|check| check["verdict"] != "good") {
        return Err(format!(
            "doctor does not rate this disk as good: {reserved:?}"
        ));
    }
    let begun = clock::boot_ms();
    start_waiting(world, "ends")?;
    start(world, "stopped", &[], SLEEPS)?;
    start(world, "killed", &["--grace", "200ms"], IGNORES)?;
    start(world, "timed", &["--timeout", "3s"], SLEEPS)?;
    image.fill()?;
    go(world)?;
    world.try_ok(&["stop", "stopped", "killed"])?;
    let waited = promptly(world, &["wait", "ends"])?;
    let timed = promptly(world, &["wait", "timed"])?;
    if (waited.code, timed.code) != (7, 128 + 15) {
        return Err(format!("waiting told {waited} and {timed}"));
    }
    let most = clock::boot_ms() - begun;
    has_ended(world, "ends", ("exited", 7), "itself", most)?;
    has_ended(world, "stopped", ("SIGTERM", 0), "stop", most)?;
    has_ended(world, "killed", ("SIGKILL", 0), "stop", most)?;
    has_ended(world, "timed", ("SIGTERM", 0), "timeout", 4500)
}

/// Runs `outlive` with the home mounted read-only for it.
fn on_read_only(world: &World, args: &[&str]) -> Result<Ran, String> {
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
    let home = world.home();
    let words = ["--mount", "sh", "-c", script].map(OsStr::new);
    let words = [&words[..], &[home.as_os_str()]].concat();
    Ran::try_of(&mut behind("unshare", words, &world.command(args)))
}

fn read_only(world: &World, _: &Image) -> Result<(), String> {
    start(world, "job", &["--session", "s", "--stdin", "pipe"], SLEEPS)?;
    start_waiting(world, "ended")?;
    go(world)?;
    world.try_outlive(&["wait", "ended"])?;
    for (args, code) in [
        (&["list"][..], 0),
        (&["list", "--json"], 0),
        (&["show", "job"], 0),
        (&["show", "ended", "--json"], 0),
        (&["log", "job"], 0),
        (&["log", "ended"], 0),
        (&["wait", "job", "--timeout", "200ms"], 124),
        (&["wait", "ended"], 7),
        (&["inbox", "--session", "s", "--peek"], 0),
        (&["signal", "job", "CONT"], 0),
        (&["run", "--", "true"], 125),
        (&["stop", "job"], 0),
        (&["show", "job"], 0),
    ] {
        let ran = on_read_only(world, args)?;
        if ran.code != code {
            return Err(format!("outlive {args:?} should end with {code}: {ran}"));
        }
    }
    has_ended(world, "job", ("SIGTERM", 0), "stop", 60_000)?;
    let told = world.try_json(&["inbox", "--session", "s", "--json"])?;
    match told["events"].as_array().map(Vec::len) {
        Some(2) => Ok(()),
        _ => Err(format!("the inbox should have both ends: {told}")),
    }
}

/// Makes every later write to the disk fail.
fn fail(world: &World) -> Result<(), String> {
    let home = world.home().display().to_string();
    must("mount", &["-o", "remount,abort", &home])
        .or_else(|_| must("xfs_io", &["-x", "-c", "shutdown", &home]))
}

fn failing(world: &World, image: &Image) -> Result<(), String> {
    start(world, "stopped", &["--grace", "200ms"], IGNORES)?;
    start(
        world,
        "timed",
        &["--timeout", "2s", "--grace", "200ms"],
        IGNORES,
    )?;
    start_waiting(world, "ends")?;
    let leaders: Vec<_> = ["stopped", "timed", "ends"]
        .map(|id| leader(world, id))
        .into();
    // The power-loss guarantee holds only a moment after a start, so sync the requests to the disk first.
    must("sync", &["-f", &world.home().display().to_string()])?;
    fail(world)?;
    go(world)?;
    for args in [&["list"][..], &["show", "stopped"], &["log", "stopped"]] {
        is_clear(&promptly(world, args)?, args)?;
    }
    let stopped = promptly(world, &["stop", "stopped"])?;
    if stopped.code != 125 {
        return Err(format!(
            "a stop that cannot be recorded must fail: {stopped}"
        ));
    }
    is_clear(&stopped, &["stop"])?;
    try_until("all of them have ended", || {
        !leaders.iter().any(|pid| lives(*pid))
    })?;
    let told = promptly(world, &["wait", "ends", "timed", "--timeout", "300ms"])?;
    is_clear(&told, &["wait"])?;
    image.mount_again()?;
    for (id, code) in [("stopped", 137), ("timed", 137), ("ends", 7)] {
        let job = world.try_json(&["show", id, "--json"])?;
        // Newer kernels keep the exit status, so the right exit code may be known.
        if job["outcome"]["kind"] != "lost" && job["exit_code"] != code {
            return Err(format!("the outcome of {id} is wrong: {job}"));
        }
    }
    Ok(())
}

/// Checks that the verb succeeded, or says why it failed. "No such job" would be a wrong reason.
fn is_clear(ran: &Ran, args: &[&str]) -> Result<(), String> {
    let is_there = !ran.stderr.contains("no job");
    match is_there && ran.code < 128 && (ran.code == 0 || !ran.stderr.trim().is_empty()) {
        true => Ok(()),
        false => Err(format!(
            "outlive {args:?} does not say what is wrong: {ran}"
        )),
    }
}

fn frozen(world: &World, _: &Image) -> Result<(), String> {
    start(world, "stopped", &["--session", "s"], SLEEPS)?;
    start(world, "killed", &["--grace", "300ms"], IGNORES)?;
    start_waiting(world, "ends")?;
    start(
        world,
        "timed",
        &["--timeout", "2s", "--grace", "300ms"],
        IGNORES,
    )?;
    let ids = ["stopped", "killed", "ends", "timed"];
    let leaders: Vec<_> = ids.map(|id| leader(world, id)).into();
    let frozen = Frozen::new(world)?;
    let looked = look_at_frozen(world);
    go(world)?;
    let mut stop = world.command(["stop", "stopped", "killed"]);
    let (ended, stopped) = thread::scope(|scope| {
        let stop = scope.spawn(|| Ran::try_of(&mut stop));
        let ended = try_until("all of them have ended", || {
            !leaders.iter().any(|pid| lives(*pid))
        });
        let ended = ended.map(|()| clock::boot_ms());
        // Leaves time between the end of the jobs and the recording of it, so that the two can be told apart.
        thread::sleep(Duration::from_millis(1500));
        drop(frozen);
        (ended, stop.join())
    });
    looked?;
    let ended_ms = ended?;
    match stopped {
        // The stop either waited for the record or says that there is none yet.
        Ok(Ok(ran)) if ran.code == 0 || ran.code == 125 => is_clear(&ran, &["stop"])?,
        other => return Err(format!("the stop gave {other:?}")),
    }
    world.try_outlive(&[
        "wait",
        "stopped",
        "killed",
        "ends",
        "timed",
        "--timeout",
        "30s",
    ])?;
    has_ended(world, "stopped", ("SIGTERM", 0), "stop", 60_000)?;
    has_ended(world, "killed", ("SIGKILL", 0), "stop", 60_000)?;
    has_ended(world, "ends", ("exited", 7), "itself", 60_000)?;
    has_ended(world, "timed", ("SIGKILL", 0), "timeout", 60_000)?;
    // `ends` is left out: its keeper may be busy with the last output before it notices the end.
    for id in ["stopped", "killed", "timed"] {
        let at = ended_at(world, id);
        if at.is_none_or(|at| at > ended_ms + 500) {
            return Err(format!(
                "{id} had ended before {ended_ms}, but the record says {at:?} (ms since boot)"
            ));
        }
    }
    Ok(())
}

fn look_at_frozen(world: &World) -> Result<(), String> {
    for (args, code) in [
        (&["list"][..], 0),
        (&["list", "--json"], 0),
        (&["show", "stopped"], 0),
        (&["log", "stopped"], 0),
        (&["wait", "stopped", "--timeout", "200ms"], 124),
        (&["inbox", "--session", "s", "--peek"], 0),
        (&["inbox", "--session", "nobody", "--peek"], 0),
        (&["signal", "stopped", "CONT"], 0),
    ] {
        let ran = promptly(world, args)?;
        if ran.code != code {
            return Err(format!("outlive {args:?} should end with {code}: {ran}"));
        }
    }
    Ok(())
}

/// The time of the end in the journal, in milliseconds since boot.
fn ended_at(world: &World, id: &str) -> Option<u64> {
    let journal = fs::read(world.job_dir(id).join("journal")).ok()?;
    let records = journal.split(|byte| *byte == b'\n');
    records
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .find(|record| record["event"]["ended"].is_object())
        .and_then(|record| record["at"]["boot_ms"].as_u64())
}
