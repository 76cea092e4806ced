//! Programs of different releases in one home, in both directions. The older programs and their homes are in
//! `compat/` at the root of the repository.

mod adopting;
mod changing;
mod homes;
mod keeping;
mod limited;
mod queues;
pub mod releases;
mod restarts;
mod streams;
mod talking;
mod telling;

use outlive_testkit::checks::every;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{go, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use releases::Release;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An event's id as the first release writes it: without the job's incarnation.
fn bare(event: &str) -> String {
    let (source, rest) = event.rsplit_once(':').unwrap();
    let seq = rest.split('.').next().unwrap();
    format!("{source}:{seq}")
}

/// The `outlive` of one release, used in the home of a test. It starts the keepers of the same release.
struct Side<'a> {
    world: &'a World,
    outlive: &'a Path,
}

impl Side<'_> {
    /// Its `outlive`, with `$GO` set for the jobs that it starts.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.within(self.outlive.to_str().unwrap(), args);
        command.env("GO", go(self.world));
        command
    }

    fn ran(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs it; it must succeed. Returns what it printed, trimmed.
    fn ok(&self, args: &[&str]) -> String {
        let ran = self.ran(args);
        assert_eq!(ran.code, 0, "outlive {args:?}: {ran:?}");
        ran.stdout.trim_end().to_owned()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    fn show(&self, id: &str) -> Value {
        self.json(&["show", id, "--json"])
    }

    /// The exit code of `wait`.
    fn wait(&self, id: &str) -> i32 {
        self.ran(&["wait", id, "--timeout", "30s"]).code
    }

    /// Starts a shell job with these options; returns its id.
    fn start(&self, options: &[&str], script: &str) -> String {
        self.ok(&[&["run"], options, &["--shell", script]].concat())
    }

    /// Whether `run` of this release has the option.
    fn knows(&self, option: &str) -> bool {
        self.ok(&["run", "--help"]).contains(option)
    }

    /// Checks that this release's program keeps the job.
    fn assert_keeps(&self, id: &str) {
        let keeper = self.world.pair(id).keeper;
        let program = fs::read_link(format!("/proc/{keeper}/exe")).unwrap();
        assert_eq!(program.parent(), self.outlive.parent());
    }

    /// Waits until `show` prints this value for a job.
    fn until_shown(&self, id: &str, key: &str, value: &Value) {
        until(&format!("{id} is shown with {key} {value}"), || {
            self.show(id)[key] == *value
        });
    }

    /// Claims the untold events of this session and returns them.
    fn inbox(&self, session: &str, options: &[&str]) -> Vec<Value> {
        let answer = self.json(&[&["inbox", "--session", session, "--json"], options].concat());
        answer["events"].as_array().unwrap().clone()
    }
}

/// Two releases that use one home.
struct Meeting<'a> {
    world: &'a World,
    /// The release that starts the jobs.
    host: Side<'a>,
    /// The release that uses them.
    guest: Side<'a>,
}

impl Meeting<'_> {
    /// Lets the jobs continue that wait for `$GO`.
    fn let_go(&self) {
        let_go(self.world);
    }
}

/// Which of the two releases is older: the one that starts the jobs, or the one that uses them.
#[derive(Clone, Copy, Debug)]
enum Older {
    Host,
    Guest,
}

fn own_outlive() -> PathBuf {
    PathBuf::from(outlive_testkit::programs::outlive())
}

/// Runs a check in both directions with every stored release.
fn both_ways(check: impl Fn(&Meeting) + Sync) {
    let releases = Release::all();
    let cells: Vec<(&Release, Older)> = releases
        .iter()
        .flat_map(|release| [(release, Older::Host), (release, Older::Guest)])
        .collect();
    let name = |(release, older): &(&Release, Older)| {
        format!("the {older:?} is older, of {}", release.name)
    };
    every(&cells, name, |(release, older)| {
        let world = World::new();
        let own = own_outlive();
        let (host, guest) = match older {
            Older::Host => (&release.outlive, &own),
            Older::Guest => (&own, &release.outlive),
        };
        let side = |outlive| Side {
            world: &world,
            outlive,
        };
        check(&Meeting {
            world: &world,
            host: side(host),
            guest: side(guest),
        });
    });
}

/// Checks that the newer answer has every value of the older one. It may have more keys, but none that differ.
fn assert_same_as_far_as_known(what: &str, older: &Value, newer: &Value) {
    match (older, newer) {
        (Value::Object(older), Value::Object(newer)) => {
            // Earlier releases hide the number of the first process once it has ended.
            let is_hidden = |key: &str| key == "pid" && older["state"] == "ended";
            for (key, value) in older.iter().filter(|(key, _)| !is_hidden(key)) {
                let there = newer.get(key).unwrap_or(&Value::Null);
                assert_same_as_far_as_known(&format!("{what}.{key}"), value, there);
            }
        }
        _ => assert_eq!(older, newer, "{what}"),
    }
}
