//! Containers of the engines that run here: whatever happens to one, each job in it has one true answer.
//!
//! Each row is a function that is run with Podman and with Docker. Those with Podman that are quick are part of every run
//! of the tests.

mod grounds;
mod identity;
mod standing;

use outlive_testkit::checks::{assert_same_bytes, exited};
use outlive_testkit::places::engine::{Engine, Kind};
use outlive_testkit::places::{Inside, shared};
use outlive_testkit::scripts::numbers;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// An engine, and a home here that uses it.
struct Site {
    // Dropped first: what runs there ends with its container.
    engine: Engine,
    world: World,
}

/// The name of the container of a test.
const BOX: &str = "box";

impl Site {
    /// A site whose container was started with these options, and finds our program.
    fn with(kind: Kind, options: &[&str]) -> Site {
        let site = Site::empty(kind);
        site.begin(options);
        site
    }

    /// A site whose container was started with these options, and has nothing else.
    fn without_program(kind: Kind, options: &[&str]) -> Site {
        let site = Site::empty(kind);
        site.engine.begin(BOX, options);
        site
    }

    /// Starts a container that finds our program, so that it need not be sent.
    fn begin(&self, options: &[&str]) {
        let programs = format!("{0}:{0}", shared().display());
        let cache = format!("XDG_CACHE_HOME={}", shared().display());
        let found = ["--volume", &programs, "--env", &cache];
        self.engine.begin(BOX, &[options, &found].concat());
    }

    /// A site without a container.
    fn empty(kind: Kind) -> Site {
        let mut world = World::new();
        let engine = Engine::start(kind, &world.path("engine")).unwrap();
        for (name, value) in engine.variables() {
            world.set(name, value);
        }
        world.set("OUTLIVE_PLACE", format!("{}:{BOX}", kind.as_str()));
        Site { engine, world }
    }

    /// Configures the container as the place `far`, with these settings.
    fn configure(&mut self, settings: &str) {
        let directory = self.world.path("config").join("outlive");
        fs::create_dir_all(&directory).unwrap();
        let at = format!("{}:{BOX}", self.engine.kind.as_str());
        let text = format!("[place.far]\nat = \"{at}\"\n{settings}\n");
        fs::write(directory.join("config.toml"), text).unwrap();
        self.world.set("OUTLIVE_PLACE", "far");
    }

    fn inside(&self) -> Inside {
        self.engine.first(BOX).and_then(Inside::of).unwrap()
    }

    /// Starts a job for session `s`, which counts its starts, prints 1 to 1000, waits for [`Site::let_go`], prints the
    /// rest up to 2000, and exits with 7.
    #[track_caller]
    fn start(&self, id: &str, options: &[&str]) {
        let script = format!(
            "echo started >> /tmp/starts-{id}; seq 1 1000; until [ -e /tmp/go-{id} ]; do sleep 0.05; done; \
             seq 1001 2000; exit 7"
        );
        let args = ["run", "--id", id, "--session", "s"];
        self.world
            .ok(&[&args[..], options, &["--shell", &script]].concat());
        until("it has printed", || {
            let log = self.world.outlive(&["log", id, "--peek", "--lines", "1"]);
            log.stdout.trim_end() == "1000"
        });
    }

    fn let_go(&self, id: &str) {
        let file = format!("/tmp/go-{id}");
        fs::write(self.inside().path(Path::new(&file)), "").unwrap();
    }

    /// Checks that a job of [`Site::start`] ends as it should, and is told once.
    #[track_caller]
    fn assert_exact(&self, id: &str) {
        let job = self.world.wait(id);
        assert_eq!(job["outcome"], exited(7), "{job}");
        let args = ["log", id, "--raw", "--peek", "--bytes", "0:"];
        let log = self.world.outlive(&args);
        assert_eq!(log.code, 0, "{log:?}");
        assert_same_bytes(id, &log.bytes, &numbers(2000));
        assert_eq!(self.told(), [format!("{id} ended exited")]);
        let file = format!("/tmp/starts-{id}");
        let starts = fs::read_to_string(self.inside().path(Path::new(&file))).unwrap();
        assert_eq!(starts.lines().count(), 1, "{id} is started once");
    }

    /// Checks that a job is lost, for a reason with these words, and that this is told once.
    #[track_caller]
    fn assert_lost(&self, id: &str, words: &[&str]) {
        let job = self.world.wait(id);
        assert_eq!(job["outcome"]["kind"], "lost", "{job}");
        let reason = job["outcome"]["reason"].as_str().unwrap();
        for word in words {
            assert!(reason.contains(word), "{word:?} is not in {reason:?}");
        }
        assert_eq!(self.told(), [format!("{id} ended lost")]);
        assert_eq!(self.told(), [""; 0], "once");
    }

    /// Checks that a job is not reached, for a reason with these words, and that nothing of it is told.
    #[track_caller]
    fn assert_unreachable(&self, id: &str, words: &[&str]) -> Value {
        let job = self.world.show(id);
        assert_eq!(job["state"], "unreachable", "{job}");
        assert_eq!(job["outcome"], Value::Null, "{job}");
        let reason = job["unreachable"]["reason"].as_str().unwrap();
        for word in words {
            assert!(reason.contains(word), "{word:?} is not in {reason:?}");
        }
        assert_eq!(self.told(), [""; 0]);
        job
    }

    /// The ends that session `s` has not been told of, which are told now. A job that reads may have waited for input.
    #[track_caller]
    fn told(&self) -> Vec<String> {
        let args = ["inbox", "--session", "s", "--json", "--ack-all"];
        let inbox = self.world.json(&args);
        let events = inbox["events"].as_array().unwrap().iter();
        let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let ends = events.filter(|event| event["kind"] == "ended");
        ends.map(|event| {
            let outcome = &event["data"]["outcome"]["kind"];
            format!("{} ended {}", word(&event["job"]), word(outcome))
        })
        .collect()
    }

    /// The error of a start that is refused: nothing was started, and there is no job.
    #[track_caller]
    fn refusal(&self) -> String {
        let ran = self
            .world
            .outlive(&["run", "--id", "refused", "--", "true"]);
        assert_eq!(ran.code, 125, "{ran:?}");
        let shown = self.world.outlive(&["show", "refused"]);
        assert_eq!(shown.code, 3, "{shown:?}");
        ran.stderr
    }
}

/// Makes a test of a row for each engine. Those of `quick` are part of every run with Podman.
macro_rules! rows {
    (quick: $($quick:ident),* ; long: $($long:ident),* $(,)?) => {
        mod podman {
            use outlive_testkit::places::engine::Kind;
            $(#[test] fn $quick() { needs!(Podman); super::$quick(Kind::Podman); })*
            $(#[test] #[ignore = "cargo xtask places runs it"]
            fn $long() { needs!(Podman); super::$long(Kind::Podman); })*
        }
        mod docker {
            use outlive_testkit::places::engine::Kind;
            $(#[test] #[ignore = "cargo xtask places runs it"]
            fn $quick() { needs!(Docker); super::$quick(Kind::Docker); })*
            $(#[test] #[ignore = "cargo xtask places runs it"]
            fn $long() { needs!(Docker); super::$long(Kind::Docker); })*
        }
    };
}
use rows;
