//! A person who types commands. The transcript has the commands, their output, and the exit codes other than 0.

use regex::Regex;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for something to happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A home, a working directory, and everything typed and printed so far.
pub struct Session {
    directory: tempfile::TempDir,
    transcript: String,
    /// The IDs of the jobs and posts, in the order in which they first appeared.
    ids: Vec<String>,
}

impl Session {
    pub fn new() -> Session {
        let directory = tempfile::Builder::new()
            .prefix("outlive-snapshot-")
            .tempdir()
            .unwrap();
        let session = Session {
            directory,
            transcript: String::new(),
            ids: Vec::new(),
        };
        fs::create_dir_all(session.path("work")).unwrap();
        session
    }

    /// A path in the person's home directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn state(&self) -> PathBuf {
        self.path(".local/state/outlive")
    }

    /// Types a command line of `outlive`. It is split at spaces that are not quoted.
    pub fn types(&mut self, line: &str) {
        self.types_in(&[], line);
    }

    /// Like [`Session::types`], with these environment variables.
    pub fn types_in(&mut self, variables: &[(&str, &str)], line: &str) {
        let output = self.runs(variables, line);
        self.sees_ids();
        self.transcript.push_str("$ ");
        for (name, value) in variables {
            self.transcript.push_str(&format!("{name}={value} "));
        }
        self.transcript.push_str(&format!("outlive {line}\n"));
        self.transcript.push_str(&text(&output.stdout));
        for line in text(&output.stderr).lines() {
            self.transcript.push_str(format!("2> {line}").trim_end());
            self.transcript.push('\n');
        }
        if let Some(code) = code(&output) {
            self.transcript.push_str(&format!("[exit code {code}]\n"));
        }
        self.transcript.push('\n');
    }

    /// Runs a command line without showing it; returns its stdout.
    #[track_caller]
    pub fn does(&mut self, line: &str) -> String {
        let output = self.runs(&[], line);
        self.sees_ids();
        assert!(
            !matches!(code(&output), Some(2 | 3 | 125)),
            "outlive {line}: {output:?}"
        );
        text(&output.stdout)
    }

    /// Repeats this command line until its output contains a text.
    #[track_caller]
    pub fn until(&mut self, line: &str, expected: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let printed = self.does(line);
            if printed.contains(expected) {
                return;
            }
            assert!(Instant::now() < deadline, "no {expected:?} in {printed}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn runs(&self, variables: &[(&str, &str)], line: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_outlive"))
            .args(shlex::split(line).unwrap())
            .env_clear()
            .env("HOME", self.directory.path())
            .env("PATH", format!("{}:/usr/bin:/bin", programs().display()))
            .envs(variables.iter().copied())
            .current_dir(self.path("work"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Adds the content of a file to the transcript, as `cat` prints it.
    pub fn shows(&mut self, name: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        self.transcript.push_str(&format!("$ cat ~/{name}\n{text}"));
    }

    /// Creates a file that the person has.
    pub fn has(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn sees_ids(&mut self) {
        for kind in ["jobs", "posts"] {
            let mut new = names(&self.state().join(kind));
            new.retain(|id| is_drawn(id) && !self.ids.contains(id));
            new.sort();
            self.ids.extend(new);
        }
    }

    /// Everything typed and printed, with fixed words for text that differs from run to run.
    pub fn transcript(&self) -> String {
        let mut text = self
            .transcript
            .replace(self.directory.path().to_str().unwrap(), "/home/you")
            .replace(programs().to_str().unwrap(), "/usr/local/bin");
        for (number, id) in self.ids.iter().enumerate() {
            let letter = char::from(b'a' + number as u8).to_string();
            text = text.replace(id, &format!("1{}", letter.repeat(9)));
        }
        for (pattern, fixed) in FIXED {
            text = Regex::new(pattern)
                .unwrap()
                .replace_all(&text, fixed)
                .into_owned();
        }
        text
    }
}

/// Patterns of text that differs from run to run, and the fixed words for them.
const FIXED: [(&str, &str); 10] = [
    // The incarnation in the ID of an event.
    (r"(\b[\w-]+:\d+)\.[0-9a-z]{6}\b", "$1.k3f9x2"),
    (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
        "2026-11-15T08:00:00.123Z",
    ),
    // A duration in a sentence, and one in the table of `list` with its heading.
    (r"(after|for|of) (\d+ms|\d+\.\d+s)", "$1 0.1s"),
    (r"  (\d+ms|\d+\.\d+s) +", "  0.1s  "),
    (r"  - +(\d[\d.]* \w*B )", "  -     $1"),
    (r"TIME +", "TIME  "),
    (r"(?m)(pid +|PID )\d+", "${1}4242"),
    (
        r"(?m)^uses .*",
        "uses      0.01 s of CPU, 3.0 MiB of memory now, 0 B read, 0 B written, 1 process",
    ),
    (
        r"(?m)^used .*",
        "used      0.01 s of CPU, 3.0 MiB of memory at most in one process",
    ),
    (r"freed [1-9][0-9.]* \w+", "freed 8.0 KiB"),
];

/// The directory of the programs under test.
fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_outlive")).parent().unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Whether this ID was made by Outlive: ten letters and digits.
fn is_drawn(id: &str) -> bool {
    id.len() == 10 && id.starts_with('1') && id.chars().all(|c| c.is_ascii_alphanumeric())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn code(output: &Output) -> Option<i32> {
    let code = output.status.code();
    code.or_else(|| Some(128 + output.status.signal()?))
        .filter(|code| *code != 0)
}

/// Stops every job, and the processes that ended jobs left behind.
impl Drop for Session {
    fn drop(&mut self) {
        let jobs = names(&self.state().join("jobs"));
        if !jobs.is_empty() {
            self.runs(&[], &format!("stop --grace 0 {}", jobs.join(" ")));
        }
    }
}
