//! 500 jobs over two hosts while everything between is killed at random: each is started once, ends once, and is told
//! once; nothing is left anywhere.

use crate::fixture::{Net, took};
use outlive_testkit::checks::{assert_same_bytes, exited};
use outlive_testkit::couriers::processes_that;
use outlive_testkit::processes::{KILL, Process};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::waiting::until;
use serde_json::Value;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const HOSTS: usize = 2;

/// How many clients work at the same time.
const CLIENTS: usize = 6;

/// How many jobs; fewer for a quick look.
fn jobs() -> usize {
    let asked = env::var("OUTLIVE_SOAK_JOBS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(500)
}

/// How a job went, as its client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// Started and ended exactly.
    Exact,
    /// The start was not answered in time; it has not run, and its record says so.
    NotStarted,
    /// The keepers were killed before there was a job; its record says so.
    KilledBeforeItBegan,
    /// Both its keepers were killed, and nobody saw its end.
    Lost,
    /// Refused before anything was made.
    Refused,
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_soak_with_kills_everywhere() {
    needs!(Hosts);
    let net = Net::of(HOSTS);
    let start = Instant::now();
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let seen = Mutex::new(BTreeMap::new());
    let kills = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        let killer = scope.spawn(|| kill_at_random(&net, &is_over, &kills));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| work(&net, &next, &seen)))
            .collect();
        for client in clients {
            // A failed client is reported when the scope ends; the killer must not go on for ever.
            if client.join().is_err() {
                is_over.store(true, Ordering::SeqCst);
            }
        }
        is_over.store(true, Ordering::SeqCst);
        killer.join().unwrap();
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), jobs());
    settle(&net, &seen);
    report(&seen, &kills.into_inner().unwrap(), start);
}

fn work(net: &Net, next: &AtomicUsize, seen: &Mutex<BTreeMap<String, Seen>>) {
    loop {
        let number = next.fetch_add(1, Ordering::SeqCst);
        if number >= jobs() {
            return;
        }
        let id = format!("soak-{number:04}");
        let how = one_job(net, number % HOSTS + 1, &id);
        seen.lock().unwrap().insert(id, how);
    }
}

/// Runs a job that reads two lines, and returns how it went.
fn one_job(net: &Net, host: usize, id: &str) -> Seen {
    let home = net.hosts.home(host).display().to_string();
    let script = format!(
        "echo started >> {home}/starts-{id}; cat; seq 1 1000; sleep 1; seq 1001 2000; exit 7"
    );
    let place = net.hosts.place(host);
    let args = [
        "run",
        "--id",
        id,
        "--session",
        "s",
        "--stdin",
        "pipe",
        "--place",
        &place,
    ];
    let ran = net
        .world
        .outlive(&[&args[..], &["--shell", &script]].concat());
    if ran.code == 125 {
        return refused(net, id, &ran);
    }
    assert_eq!(ran.code, 0, "{id}: {ran:?}");
    for (write, text, options) in [
        ("w1", "one", &["--enter"][..]),
        ("w2", "two", &["--enter", "--eof"]),
    ] {
        let args = ["send", id, text, "--write-id", write];
        until(&format!("{id} gets {text}"), || {
            let sent = net.world.outlive(&[&args[..], options].concat());
            // A job whose keepers were both killed has no input any more.
            sent.code == 0 || net.state(id) == "ended" || sent.stderr.contains("input")
        });
    }
    let waited = net
        .world
        .outlive(&["wait", id, "--timeout", "170s", "--json"]);
    let job = waited.job_or_null();
    assert_eq!(job["state"], "ended", "{id}: {waited:?} {job}");
    match job["outcome"]["kind"].as_str().unwrap() {
        "lost" => Seen::Lost,
        "not_started" => Seen::KilledBeforeItBegan,
        _ => {
            assert_eq!(job["outcome"], exited(7), "{job}");
            let mut log = Ran::new(1, Vec::new(), b"");
            // What was killed meanwhile is said with the exit code; what is read with 0 is whole.
            until(&format!("the output of {id} is read"), || {
                let args = ["log", id, "--raw", "--peek", "--bytes", "0:"];
                log = net.world.outlive(&args);
                log.code == 0
            });
            let whole = [b"one\ntwo\n".as_slice(), &numbers(2000)].concat();
            assert_same_bytes(id, &log.bytes, &whole);
            Seen::Exact
        }
    }
}

/// A start that was not answered: what is known later.
fn refused(net: &Net, id: &str, ran: &Ran) -> Seen {
    let shown = net.world.outlive(&["show", id, "--json"]);
    if shown.code == 3 {
        return Seen::Refused;
    }
    assert!(ran.stderr.contains("not"), "{id}: {ran:?}");
    let mut how = Seen::NotStarted;
    until(&format!("it is known what became of {id}"), || {
        let job = net.world.show(id);
        if job["state"] == "running" {
            // It was started after all. It waits for its input.
            net.world
                .outlive(&["send", id, "one\ntwo\n", "--eof", "--write-id", "w3"]);
        }
        how = match job["outcome"]["kind"].as_str() {
            Some("exited") => Seen::Exact,
            Some("lost") => Seen::Lost,
            _ => Seen::NotStarted,
        };
        job["state"] == "ended"
    });
    how
}

/// What is killed, and how often it was.
type Kills = Mutex<BTreeMap<&'static str, usize>>;

fn kill_at_random(net: &Net, is_over: &AtomicBool, kills: &Kills) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    while !is_over.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(100 + random(400)));
        let host = random(HOSTS as u64) as usize + 1;
        let (what, victims) = match random(12) {
            0..=2 => ("far ends", net.hosts.far_ends(host)),
            3..=4 => ("couriers", net.world.couriers()),
            5..=7 => ("keepers or standbys", net.hosts.keepers(host)),
            8..=9 => ("ssh", net.world.transports()),
            10 => ("sessions of sshd", net.hosts.sessions(host)),
            _ => {
                net.hosts.unplug(host);
                thread::sleep(Duration::from_millis(random(3000)));
                net.hosts.plug(host);
                count(kills, "links that were down for up to 3 s");
                continue;
            }
        };
        if !victims.is_empty() {
            let victim: Process = victims[random(victims.len() as u64) as usize];
            victim.signal(KILL);
            count(kills, what);
        }
    }
}

fn count(kills: &Kills, what: &'static str) {
    *kills.lock().unwrap().entry(what).or_default() += 1;
}

/// What must hold when all is over.
fn settle(net: &Net, seen: &BTreeMap<String, Seen>) {
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for event in net.told() {
        if event["kind"] == "ended" {
            let id = event["job"].as_str().unwrap().to_owned();
            *ends.entry(id).or_default() += 1;
        }
    }
    for (number, (id, how)) in seen.iter().enumerate() {
        let starts = net.starts(number % HOSTS + 1, id);
        let expected: &[usize] = match how {
            Seen::Exact => &[1],
            Seen::NotStarted | Seen::Refused => &[0],
            Seen::Lost | Seen::KilledBeforeItBegan => &[0, 1],
        };
        assert!(expected.contains(&starts), "{id}, {how:?}: {starts} starts");
        let told = ends.get(id).copied().unwrap_or_default();
        // The start has told its caller of a job that was not started.
        let wanted: &[usize] = match how {
            Seen::Refused => &[0],
            Seen::NotStarted | Seen::KilledBeforeItBegan => &[0, 1],
            Seen::Exact | Seen::Lost => &[1],
        };
        assert!(wanted.contains(&told), "{id}, {how:?}: told {told} times");
        if *how != Seen::Refused {
            assert_eq!(net.world.events(id, "ended").len(), 1, "{id}");
        }
    }
    for host in 1..=HOSTS {
        net.until_nothing_runs(host);
    }
    let listed = net.world.json(&["list", "--state", "running", "--json"]);
    assert_eq!(listed["jobs"], Value::Array(Vec::new()), "{listed}");
    for courier in net.world.couriers() {
        courier.signal(KILL);
    }
    until("no transport of ours is left", || {
        let configuration = net.hosts.programs().with_file_name("ssh_config");
        let configuration = configuration.display().to_string();
        processes_that(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&configuration)
        })
        .is_empty()
    });
}

fn report(seen: &BTreeMap<String, Seen>, kills: &BTreeMap<&'static str, usize>, start: Instant) {
    let mut counts: BTreeMap<Seen, usize> = BTreeMap::new();
    for how in seen.values() {
        *counts.entry(*how).or_default() += 1;
    }
    println!(
        "soak: {} jobs over {HOSTS} hosts in {}",
        seen.len(),
        took(start)
    );
    for (how, count) in counts {
        println!("soak: {count} {how:?}");
    }
    for (what, count) in kills {
        println!("soak: killed or cut: {what}: {count}");
    }
}
