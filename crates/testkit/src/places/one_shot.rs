//! Places that can only run one command and return its text.
//!
//! All of them run a script on this machine with another home. It can do to commands and their texts what services and
//! harnesses do: print greetings, cut long texts, damage bytes, end commands, lose answers, and execute twice.

use super::{far_home, shared};
use crate::couriers::{far_ends_at, kill_all};
use crate::place::{Local, Place, processes_below};
use crate::processes::Process;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXECUTE: &str = include_str!("one_shot/execute.sh");

/// What a place does to commands and their texts, as lines of `execute.sh`.
#[derive(Clone, Debug, Default)]
pub struct Ways(String);

impl Ways {
    /// These assignments of `execute.sh`.
    pub fn of(assignments: &str) -> Ways {
        Ways(
            assignments
                .split_whitespace()
                .map(|it| format!("{it}\n"))
                .collect(),
        )
    }

    /// Everything that is known of services at once, except that calls are lost.
    pub fn rough() -> Ways {
        Ways::of("noise=1 merge=1 ascii=1 cut=16384")
    }
}

/// `text:sh execute.sh …`
#[derive(Clone, Debug)]
pub struct OneShot {
    name: &'static str,
    ways: Ways,
    /// Lines of the place's table in the configuration.
    settings: &'static str,
}

impl OneShot {
    /// A place that does nothing but execute.
    pub fn plain() -> OneShot {
        OneShot::with("text", Ways::default())
    }

    pub fn with(name: &'static str, ways: Ways) -> OneShot {
        OneShot {
            name,
            ways,
            settings: "secrets = \"argv\"",
        }
    }

    /// The same with these lines in its table, in place of those that let variables travel.
    #[must_use]
    pub fn configured(mut self, settings: &'static str) -> OneShot {
        self.settings = settings;
        self
    }

    /// From now on the place is like this.
    pub fn change(&self, scratch: &Path, ways: &Ways) {
        write_setting(&state_of(scratch), scratch, ways).unwrap();
    }

    /// How many calls were made.
    pub fn calls(&self, scratch: &Path) -> u64 {
        calls_at(scratch)
    }
}

/// How many calls were made at the place with this directory.
pub fn calls_at(scratch: &Path) -> u64 {
    fs::metadata(state_of(scratch).join("calls")).map_or(0, |calls| calls.len())
}

/// Every command that was executed at the place with this directory.
pub fn commands_at(scratch: &Path) -> String {
    let bytes = fs::read(state_of(scratch).join("commands")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The words that run a command at the place with this directory, which they prepare.
pub fn prepare(scratch: &Path, ways: &Ways) -> io::Result<Vec<String>> {
    let state = state_of(scratch);
    fs::create_dir_all(&state)?;
    write_setting(&state, scratch, ways)?;
    let script = state.join("execute.sh");
    fs::write(&script, EXECUTE)?;
    let words = [Path::new("sh"), &script, &state];
    Ok(words.map(|word| word.display().to_string()).to_vec())
}

fn state_of(scratch: &Path) -> PathBuf {
    scratch.with_file_name("one-shot")
}

fn write_setting(state: &Path, scratch: &Path, ways: &Ways) -> io::Result<()> {
    let (home, cache) = (scratch.display(), shared().display());
    let text = format!("home='{home}'\ncache='{cache}'\n{}", ways.0);
    crate::place::write_whole(&state.join("setting"), text.as_bytes())
}

/// Writes the table of the place of a test into its configuration.
pub fn configure(here: &Path, at: &str, settings: &str) -> io::Result<()> {
    let directory = here.join("config/outlive");
    fs::create_dir_all(&directory)?;
    let text = format!("[place.box]\nat = {at:?}\n{settings}\n");
    fs::write(directory.join("config.toml"), text)
}

impl Place for OneShot {
    fn name(&self) -> &str {
        self.name
    }

    fn direct(&self, command: &mut Command, _: &Path) {
        command.env("OUTLIVE_PLACE", "box");
    }

    fn scratch(&self, here: &Path) -> io::Result<PathBuf> {
        let there = here.join("there");
        fs::create_dir(&there)?;
        let words = prepare(&there, &self.ways)?;
        configure(here, &format!("text:{}", words.join(" ")), self.settings)?;
        Ok(there)
    }

    /// The files are in the test's own directory. A far end would wait for calls that never come.
    fn remove_scratch(&self, scratch: &Path) {
        kill_all(&far_ends_at(scratch));
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Local.read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Local.write(path, bytes)
    }

    fn process(&self, pid: i32) -> Option<Process> {
        Local.process(pid)
    }

    fn signal(&self, process: Process, signal: i32) {
        Local.signal(process, signal);
    }

    fn processes(&self, scratch: &Path) -> Vec<Process> {
        processes_below(&far_home(scratch))
    }
}
