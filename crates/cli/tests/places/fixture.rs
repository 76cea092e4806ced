//! Hosts, jobs on them, and what must hold in the end.

use outlive_testkit::checks::{assert_same_bytes, exited};
use outlive_testkit::places::Hosts;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::waiting::{try_until_within, until};
use outlive_testkit::world::World;
use serde_json::Value;
use std::env;
use std::fs;
use std::time::{Duration, Instant};

/// Hosts, and the home here that uses them.
pub struct Net {
    // Dropped first: the jobs there end with their hosts.
    pub hosts: Hosts,
    pub world: World,
}

impl Net {
    pub fn of(count: usize) -> Net {
        let mut world = World::new();
        let hosts = Hosts::start(&world, count).unwrap();
        let path = env::var_os("PATH").unwrap_or_default();
        let own = [hosts.programs()];
        let path = env::join_paths(own.into_iter().chain(env::split_paths(&path)));
        world.set("PATH", path.unwrap());
        Net { hosts, world }
    }

    /// Starts a job at a host, for session `s`. It counts its starts, prints 1 to 1000, waits for [`Net::let_go`], prints
    /// 1001 to 2000, and exits with 7.
    pub fn start(&self, host: usize, id: &str) -> Ran {
        let place = self.hosts.place(host);
        let script = self.script(host, id);
        let args = ["run", "--id", id, "--session", "s", "--place", &place];
        self.world
            .outlive(&[&args[..], &["--shell", &script]].concat())
    }

    fn script(&self, host: usize, id: &str) -> String {
        let home = self.hosts.home(host).display().to_string();
        format!(
            "echo started >> {home}/starts-{id}; seq 1 1000; \
             until [ -e {home}/go-{id} ]; do sleep 0.05; done; seq 1001 2000; exit 7"
        )
    }

    pub fn let_go(&self, host: usize, id: &str) {
        fs::write(self.hosts.home(host).join(format!("go-{id}")), "").unwrap();
    }

    pub fn starts(&self, host: usize, id: &str) -> usize {
        let file = self.hosts.home(host).join(format!("starts-{id}"));
        fs::read_to_string(file).unwrap_or_default().lines().count()
    }

    /// The state of a job, as `show` says it.
    pub fn state(&self, id: &str) -> String {
        self.world.show(id)["state"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn until_state(&self, id: &str, state: &str, limit: Duration) {
        let what = format!("{id} is {state}");
        try_until_within(limit, &what, || self.state(id) == state).unwrap();
    }

    /// Checks that a job of [`Net::start`] has ended as it should, that it was started once and that it ended once.
    #[track_caller]
    pub fn assert_exact(&self, host: usize, id: &str) {
        let waited = self.world.outlive(&["wait", id, "--timeout", "120s"]);
        assert_eq!(waited.code, 7, "{id}: {waited:?}");
        let job = self.world.show(id);
        assert_eq!(job["outcome"], exited(7), "{job}");
        let log = self
            .world
            .outlive(&["log", id, "--raw", "--peek", "--bytes", "0:"]);
        assert_same_bytes(id, &log.bytes, &numbers(2000));
        assert_eq!(self.starts(host, id), 1, "{id} was started once");
        assert_eq!(self.world.events(id, "ended").len(), 1, "{id} ended once");
    }

    /// Everything that session `s` is told from now on, acked, until nothing more comes.
    pub fn told(&self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let inbox = self
                .world
                .json(&["inbox", "--session", "s", "--json", "--ack-all"]);
            let new = inbox["events"].as_array().unwrap().clone();
            if new.is_empty() {
                return events;
            }
            events.extend(new);
        }
    }

    /// Waits until nothing of us runs on a host.
    #[track_caller]
    pub fn until_nothing_runs(&self, host: usize) {
        until("no keeper is left there", || {
            self.hosts.keepers(host).is_empty()
        });
    }
}

/// How long something took, for the report.
pub fn took(start: Instant) -> String {
    format!("{:.1} s", start.elapsed().as_secs_f64())
}
