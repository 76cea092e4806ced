//! Jobs at places that can only run one command, while their calls are lost and everything between is killed at random: each
//! is started once, ends once, and is told once; nothing is left anywhere.

use crate::fixture::took;
use outlive_testkit::checks::{assert_same_bytes, exited};
use outlive_testkit::needs::{Need, are_met};
use outlive_testkit::place::Place;
use outlive_testkit::places::one_shot::{Ways, calls_at};
use outlive_testkit::places::{Lent, OneShot, SweRex};
use outlive_testkit::processes::{KILL, Process};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How many clients work at the same time.
const CLIENTS: usize = 4;

/// How many jobs at each kind of place; fewer for a quick look.
fn jobs() -> usize {
    let asked = env::var("OUTLIVE_SOAK_JOBS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(150)
}

/// How a job went, as its client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// Started and ended exactly.
    Exact,
    /// Its record says that nothing of it ran, or that both its keepers were killed.
    NotExact,
    /// Refused before anything was made.
    Refused,
}

type Counts = Mutex<BTreeMap<&'static str, usize>>;

/// Runs the jobs at this place. `also` kills or changes something that only this kind of place has.
fn soak(name: &str, place: Arc<dyn Place>, also: impl Fn(&World, u64) + Sync) {
    let world = World::at(place);
    let start = Instant::now();
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (seen, kills) = (Mutex::new(BTreeMap::new()), Counts::default());
    thread::scope(|scope| {
        let killer = scope.spawn(|| kill_at_random(&world, &is_over, &kills, &also));
        let work = || {
            loop {
                let number = next.fetch_add(1, Ordering::SeqCst);
                if number >= jobs() {
                    return;
                }
                let id = format!("soak-{number:03}");
                let how = one_job(&world, &id);
                seen.lock().unwrap().insert(id, how);
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(work)).collect();
        for client in clients {
            if client.join().is_err() {
                is_over.store(true, Ordering::SeqCst);
            }
        }
        is_over.store(true, Ordering::SeqCst);
        killer.join().unwrap();
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), jobs(), "each job has a client");
    settle(&world, &seen);
    let calls = calls_at(&world.path_there(""));
    println!(
        "{name}: {} jobs with {calls} calls in {}",
        seen.len(),
        took(start)
    );
    for how in [Seen::Exact, Seen::NotExact, Seen::Refused] {
        let count = seen.values().filter(|it| **it == how).count();
        println!("{name}: {count} {how:?}");
    }
    for (what, count) in kills.into_inner().unwrap() {
        println!("{name}: killed: {what}: {count}");
    }
}

/// Runs a job that reads two lines, and returns how it went.
fn one_job(world: &World, id: &str) -> Seen {
    let file = world.path_there(&format!("starts-{id}"));
    let go = world.path_there(&format!("go-{id}"));
    let script = format!(
        "echo started >> '{}'; cat; until [ -e '{}' ]; do sleep 0.05; done; seq 1 1000; exit 7",
        file.display(),
        go.display()
    );
    let args = ["run", "--id", id, "--session", "s", "--stdin", "pipe"];
    let ran = world.outlive(&[&args[..], &["--shell", &script]].concat());
    if ran.code != 0 && world.outlive(&["show", id, "--json"]).code == 3 {
        return Seen::Refused;
    }
    for (write, text, options) in [
        ("w1", "one", &["--enter"][..]),
        ("w2", "two", &["--enter", "--eof"]),
    ] {
        let args = ["send", id, text, "--write-id", write];
        until(&format!("{id} gets {text}"), || {
            let sent = world.outlive(&[&args[..], options].concat());
            // A job whose keepers were both killed has no input any more.
            sent.code == 0 || world.show(id)["state"] == "ended" || sent.stderr.contains("input")
        });
    }
    world.place().write(&go, b"").unwrap();
    let waited = world.outlive(&["wait", id, "--timeout", "170s", "--json"]);
    let job = waited.job_or_null();
    assert_eq!(job["state"], "ended", "{id}: {waited:?} {job}");
    if job["outcome"] != exited(7) {
        let kind = job["outcome"]["kind"].as_str().unwrap();
        assert!(["lost", "not_started"].contains(&kind), "{job}");
        return Seen::NotExact;
    }
    let mut log = Ran::new(1, Vec::new(), b"");
    until(&format!("the output of {id} is read"), || {
        log = world.outlive(&["log", id, "--raw", "--peek", "--bytes", "0:"]);
        log.code == 0
    });
    let whole = [b"one\ntwo\n".as_slice(), &numbers(1000)].concat();
    // The input of a job whose keepers were both killed may have ended early.
    if log.bytes != whole && log.bytes.ends_with(&numbers(1000)) {
        return Seen::NotExact;
    }
    assert_same_bytes(id, &log.bytes, &whole);
    Seen::Exact
}

fn kill_at_random(
    world: &World,
    is_over: &AtomicBool,
    kills: &Counts,
    also: &(impl Fn(&World, u64) + Sync),
) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let count = |what| *kills.lock().unwrap().entry(what).or_default() += 1;
    while !is_over.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(50 + random(350)));
        let (what, victims): (_, Vec<Process>) = match random(10) {
            0..=2 => ("far ends", world.far_ends()),
            3..=4 => ("couriers", world.couriers()),
            5..=6 => ("near ends", world.transports()),
            7..=8 => ("keepers or standbys", keepers(world)),
            _ => {
                also(world, random(1 << 20));
                count("what executes, or how");
                continue;
            }
        };
        if !victims.is_empty() {
            victims[random(victims.len() as u64) as usize].signal(KILL);
            count(what);
        }
    }
}

/// The processes that keep the jobs there.
fn keepers(world: &World) -> Vec<Process> {
    let runs_ours = |pid: &i32| {
        let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("far-")
    };
    let keepers = world.processes().into_iter().filter(runs_ours);
    keepers.filter_map(Process::find).collect()
}

/// What must hold when all is over.
fn settle(world: &World, seen: &BTreeMap<String, Seen>) {
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    loop {
        let inbox = world.json(&["inbox", "--session", "s", "--json", "--ack-all"]);
        let events = inbox["events"].as_array().unwrap().clone();
        if events.is_empty() {
            break;
        }
        for event in events.iter().filter(|event| event["kind"] == "ended") {
            let id = event["job"].as_str().unwrap().to_owned();
            *ends.entry(id).or_default() += 1;
        }
    }
    for (id, how) in seen {
        let file = world.path_there(&format!("starts-{id}"));
        let text = world.place().read(&file).unwrap_or_default();
        let starts = text.iter().filter(|byte| **byte == b'\n').count();
        let told = ends.get(id).copied().unwrap_or_default();
        match how {
            Seen::Exact => assert_eq!((starts, told), (1, 1), "{id}: starts, told"),
            Seen::NotExact => assert!(starts <= 1 && told <= 1, "{id}: {starts}, {told}"),
            Seen::Refused => assert_eq!((starts, told), (0, 0), "{id}: starts, told"),
        }
        if *how != Seen::Refused {
            assert_eq!(world.events(id, "ended").len(), 1, "{id}");
        }
    }
    until("no job is left there", || world.processes().is_empty());
    let listed = world.json(&["list", "--state", "running", "--json"]);
    assert_eq!(listed["jobs"], Value::Array(Vec::new()), "{listed}");
    for courier in world.couriers() {
        courier.signal(KILL);
    }
    until("no near end is left", || world.near_ends().is_empty());
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn one_shot_a_soak_where_calls_are_lost() {
    let ways = |seed: u64| {
        Ways::of(&format!(
            "noise=1 merge=1 ascii=1 cut=16384 lose=8 twice=8 break=4 seed={seed}"
        ))
    };
    let place = Arc::new(OneShot::with("text", ways(1)));
    let changed = place.clone();
    soak("text", place, move |world, random| {
        changed.change(Path::new(&world.path_there("")), &ways(random));
    });
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn one_shot_a_soak_whose_lender_dies() {
    let place = Arc::new(Lent::with(Ways::of("lose=5 twice=5"), &["--input"]));
    let lender = place.clone();
    soak("caller", place, move |world, random| {
        let scratch = world.path_there("");
        lender.die(&scratch);
        thread::sleep(Duration::from_millis(random % 1500));
        lender.lend(&world.home(), &scratch).unwrap();
    });
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn one_shot_a_soak_whose_server_of_swe_rex_dies() {
    if !are_met(&[Need::SweRex]) {
        return;
    }
    let place = Arc::new(SweRex::default());
    let server = place.clone();
    soak("swerex", place, move |world, random| {
        let scratch = world.path_there("");
        server.kill(&scratch);
        thread::sleep(Duration::from_millis(random % 1500));
        server.serve(&scratch).unwrap();
    });
}
