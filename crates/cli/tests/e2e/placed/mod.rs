//! What the verbs here do for jobs of a place: their options, what they say of a place that is not reached, and what
//! stays here. That each verb does at a place what it does here is checked by the conformance table.

mod after;
mod asking;
mod bells;
mod homeless;
mod silent;
mod starting;
mod telling;
mod undecided;

use outlive_testkit::places::CmdSh;
use outlive_testkit::processes::of_jobs_in;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A world with a place `far`, which is reached as long as a file is there. Other jobs run here.
pub struct Far {
    pub world: World,
}

impl Far {
    pub fn new() -> Far {
        Far::with("")
    }

    /// The same with more settings of the place.
    pub fn with(settings: &str) -> Far {
        let far = Far {
            world: World::new(),
        };
        let world = &far.world;
        fs::create_dir(far.there("")).unwrap();
        let address = CmdSh::default().address(&far.there(""));
        let (up, script) = (world.path("up"), world.path("go-there"));
        let text = format!(
            "[ -e '{}' ] || {{ echo 'the link is down' >&2; exit 1; }}\nexec {}\n",
            up.display(),
            address.strip_prefix("cmd:").unwrap()
        );
        fs::write(&script, text).unwrap();
        fs::write(&up, "").unwrap();
        far.configure(&format!(
            "[place.far]\nat = \"cmd:sh {}\"\nreach = \"20s\"\n{settings}\n",
            script.display()
        ));
        far
    }

    /// A path below the login directory there.
    fn there(&self, name: &str) -> PathBuf {
        self.world.path("there").join(name)
    }

    /// Whether a process of a job runs there.
    fn is_busy(&self) -> bool {
        !of_jobs_in(&self.there(".local/state/outlive/jobs")).is_empty()
    }

    /// Whether somebody waits for the place.
    fn is_listened_to(&self) -> bool {
        self.world.clients_of_couriers() > 0
    }

    pub fn configure(&self, text: &str) {
        let directory = self.world.path("config").join("outlive");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("config.toml"), text).unwrap();
    }

    /// Cuts the link, and lets nobody through any more.
    pub fn cut(&self) {
        fs::remove_file(self.world.path("up")).unwrap();
        self.world.kill_couriers();
    }

    pub fn mend(&self) {
        fs::write(self.world.path("up"), "").unwrap();
    }

    /// Starts a job there. Returns when it runs.
    #[track_caller]
    pub fn start(&self, id: &str, script: &str) {
        self.world.ok(&[
            "run",
            "--place",
            "far",
            "--id",
            id,
            "--session",
            "s",
            "--shell",
            script,
        ]);
    }

    /// What is known of the place, with the silence having begun long ago.
    #[track_caller]
    fn silent_since_long_ago(&self) {
        let path = self.world.home().join("places/far/known");
        let mut known: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let since = known["unreached"]["since"].as_u64().unwrap();
        known["unreached"]["since"] = (since - 600_000).into();
        fs::write(&path, known.to_string()).unwrap();
    }

    /// The events that the inbox of the session `s` has now.
    #[track_caller]
    fn told(&self) -> Vec<Value> {
        let inbox = self.world.json(&["inbox", "--session", "s", "--json"]);
        let events = inbox["events"].as_array().unwrap().clone();
        for event in &events {
            let id = event["event"].as_str().unwrap();
            self.world.ok(&["inbox", "--session", "s", "--ack", id]);
        }
        events
    }

    #[track_caller]
    fn kinds_told(&self) -> Vec<String> {
        let kind = |event: &Value| event["kind"].as_str().unwrap().to_owned();
        self.told().iter().map(kind).collect()
    }
}
