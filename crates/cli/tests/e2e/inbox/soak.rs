//! Many sessions, many short jobs, and SIGKILL for keepers and consumers at random. In the end every event was
//! received, and acked once.
//!
//! The long form has 2,000 jobs:
//! `cargo test -p outlive-cli --test e2e a_long_soak -- --ignored --nocapture`

use super::{configure, end_event, event_ids, waiting};
use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::world::World;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SESSIONS: usize = 20;

/// The state that all threads of a soak share.
struct Soak {
    world: World,
    jobs_each: usize,
    deadline: Instant,
    /// Jobs whose keepers may be killed.
    started: Mutex<Vec<String>>,
    /// How many consumers have received everything.
    done: AtomicUsize,
    keepers_killed: AtomicUsize,
    consumers_killed: AtomicUsize,
    received: AtomicUsize,
    repeated: AtomicUsize,
}

/// A small random generator, so that a seed repeats a run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[expect(
    clippy::print_stdout,
    reason = "whoever runs the long form wants to know what it came to"
)]
fn soak(jobs_each: usize, limit: Duration) {
    let soak = Soak {
        world: World::new(),
        jobs_each,
        deadline: Instant::now() + limit,
        started: Mutex::default(),
        done: AtomicUsize::new(0),
        keepers_killed: AtomicUsize::new(0),
        consumers_killed: AtomicUsize::new(0),
        received: AtomicUsize::new(0),
        repeated: AtomicUsize::new(0),
    };
    // The event of a killed consumer stays claimed for this long.
    configure(&soak.world, "[inbox]\nclaim = \"2s\"\n");
    let begun = Instant::now();
    let soak = &soak;
    thread::scope(|scope| {
        for session in 0..SESSIONS {
            scope.spawn(move || soak.consume(session));
        }
        scope.spawn(|| soak.kill_keepers());
        for number in 0..jobs_each {
            (0..SESSIONS).for_each(|session| soak.launch(session, number));
        }
    });
    soak.check_ledger();
    println!(
        "{} jobs in {:.1?}: {} keepers and {} consumers killed, {} events received, {} of them again",
        SESSIONS * jobs_each,
        begun.elapsed(),
        soak.keepers_killed.load(Ordering::Relaxed),
        soak.consumers_killed.load(Ordering::Relaxed),
        soak.received.load(Ordering::Relaxed),
        soak.repeated.load(Ordering::Relaxed),
    );
    assert!(soak.keepers_killed.load(Ordering::Relaxed) > jobs_each);
    assert!(soak.consumers_killed.load(Ordering::Relaxed) > jobs_each);
}

fn key(session: usize) -> String {
    format!("session-{session:02}")
}

impl Soak {
    fn launch(&self, session: usize, number: usize) {
        let id = format!("s{session:02}-{number:03}");
        let script = format!("sleep 0.{:02}; exit {}", number * 7 % 40, number % 3);
        let key = key(session);
        let args = ["run", "--session", &key, "--id", &id, "--shell", &script];
        assert_eq!(self.world.ok(&args), id);
        self.started.lock().unwrap().push(id);
    }

    /// Kills a keeper, a standby or both of one of the newest jobs, until every session is done.
    fn kill_keepers(&self) {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        while self.done.load(Ordering::Relaxed) < SESSIONS && Instant::now() < self.deadline {
            thread::sleep(Duration::from_millis(3 + random.below(12)));
            let Some(id) = self.victim(&mut random) else {
                continue;
            };
            if self.world.live(&id).symlink_metadata().is_err() {
                continue;
            }
            let pair = self.world.pair(&id);
            let both = [pair.standby, Some(pair.keeper)];
            let which = match random.below(3) {
                0 => &both[..1],
                1 => &both[1..],
                _ => &both[..],
            };
            for pid in which.iter().flatten() {
                kill(*pid, KILL);
                self.keepers_killed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn victim(&self, random: &mut Random) -> Option<String> {
        let started = self.started.lock().unwrap();
        let newest = started.len().min(40) as u64;
        let back = random.below(newest.max(1)) as usize;
        started.iter().rev().nth(back).cloned()
    }

    /// The receiver of one session. It takes events and acks them until it has all, though its programs are killed.
    fn consume(&self, session: usize) {
        let mut receiver = Receiver {
            soak: self,
            key: key(session),
            random: Random(0x2545_f491_4f6c_dd1d ^ (session as u64 + 1)),
            received: BTreeSet::new(),
            acked: BTreeSet::new(),
        };
        let _done = Done(&self.done);
        let is_done = |receiver: &Receiver<'_>| {
            receiver.received.len() == self.jobs_each && waiting(&self.world, &receiver.key) == 0
        };
        while !is_done(&receiver) {
            let late = Instant::now() > self.deadline;
            assert!(!late, "{} received {:?}", receiver.key, receiver.received);
            match session % 2 {
                0 => receiver.take_and_ack(),
                _ => receiver.take_acking(),
            }
        }
    }

    /// Checks in the jobs' own records that each end was told once, through the inbox, and never claimed after that.
    fn check_ledger(&self) {
        let started = self.started.lock().unwrap();
        assert_eq!(started.len(), SESSIONS * self.jobs_each);
        for id in started.iter() {
            self.world.until_over(id);
            assert_eq!(self.world.events(id, "ended").len(), 1, "{id}");
            let record = fs::read_to_string(self.world.job_dir(id).join("told")).unwrap();
            let notes: Vec<Value> = record
                .lines()
                .filter(|line| !line.is_empty())
                .map(|line| serde_json::from_str::<Value>(line).unwrap()["note"].clone())
                .collect();
            let told = notes.iter().filter(|note| note.get("told").is_some());
            assert_eq!(told.count(), 1, "{id}: {record}");
            assert_eq!(
                notes.last().unwrap()["told"]["how"],
                "inbox",
                "{id}: {record}"
            );
        }
        // Killed consumers may have left bells that were not finished. `prune` leaves those for a minute.
        self.world.ok(&["prune"]);
        let inboxes = self.world.home().join("inbox");
        for inbox in names_in(&inboxes) {
            let left = names_in(&inboxes.join(inbox));
            assert!(
                left.iter().all(|name| name.starts_with(".new-")),
                "{left:?}"
            );
        }
    }
}

/// Counts a consumer as done when it is dropped, also if it panics.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Receiver<'a> {
    soak: &'a Soak,
    key: String,
    random: Random,
    /// The IDs of the received events. An event that comes again does not count.
    received: BTreeSet<String>,
    /// The events whose ack was confirmed.
    acked: BTreeSet<String>,
}

impl Receiver<'_> {
    /// Takes events, and acks them with a second command.
    fn take_and_ack(&mut self) {
        let (ran, _) = self.run(&["--wait=1s"]);
        let events = self.receive(&ran);
        if !events.is_empty() {
            let ids: Vec<&str> = events.iter().map(String::as_str).collect();
            let (ran, killed) = self.run(&[&["--ack"], &ids[..]].concat());
            assert!(killed || ran.code == 0, "{ran:?}");
            if !killed {
                self.acked.extend(events);
            }
        }
    }

    /// Takes events with `--ack-all`, which acks them once they are printed.
    fn take_acking(&mut self) {
        let (ran, killed) = self.run(&["--wait=1s", "--ack-all"]);
        let events = self.receive(&ran);
        if !killed {
            self.acked.extend(events);
        }
    }

    /// Records the printed events. An incomplete answer does not count as received.
    fn receive(&mut self, ran: &Ran) -> Vec<String> {
        let Ok(answer) = serde_json::from_str::<Value>(&ran.stdout) else {
            return Vec::new();
        };
        assert_eq!(answer.get("dropped"), None, "{answer}");
        let events = event_ids(&answer);
        for event in &events {
            assert!(!self.acked.contains(event), "{event} came after its ack");
            let id = event.split(':').next().unwrap();
            assert_eq!(*event, end_event(&self.soak.world, id));
            self.soak.received.fetch_add(1, Ordering::Relaxed);
            if !self.received.insert(event.clone()) {
                self.soak.repeated.fetch_add(1, Ordering::Relaxed);
            }
        }
        events
    }

    /// Runs `outlive inbox`, which is sometimes killed. Also returns whether it was.
    fn run(&mut self, options: &[&str]) -> (Ran, bool) {
        let own = ["inbox", "--session", &self.key, "--json"];
        let mut command = self.soak.world.command([&own, options].concat());
        let ran = match self.random.below(8) {
            0 => self.killed_at_a_step(command),
            1 => self.killed_at_some_time(command),
            _ => Ran::of(&mut command),
        };
        let killed = ran.code == 128 + KILL;
        if killed {
            self.soak.consumers_killed.fetch_add(1, Ordering::Relaxed);
        }
        assert!(killed || [0, 124].contains(&ran.code), "{ran:?}");
        (ran, killed)
    }

    fn killed_at_a_step(&mut self, mut command: Command) -> Ran {
        let steps = ["Looked", "Claimed", "Delivered", "Acked"];
        let step = steps[self.random.below(4) as usize];
        Ran::of(command.env("OUTLIVE_HOOKS", format!("consumer:{step}=kill")))
    }

    fn killed_at_some_time(&mut self, command: Command) -> Ran {
        let child = outlive_testkit::processes::begin(command);
        thread::sleep(Duration::from_millis(self.random.below(80)));
        kill(child.id() as i32, KILL);
        Ran::end_of(child)
    }
}

#[test]
fn a_short_soak() {
    soak(10, Duration::from_secs(120));
}

#[test]
#[ignore = "takes minutes"]
fn a_long_soak() {
    soak(100, Duration::from_secs(1500));
}
