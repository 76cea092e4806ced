//! A sandbox that a program here lends: `caller:box`. This process is the harness: it runs `outlive place lend` and executes
//! what that asks, with the script of the one-shot places.

use super::far_home;
use super::one_shot::{Ways, configure, prepare};
use crate::couriers::{far_ends_at, kill_all};
use crate::place::{Local, Place, processes_below};
use crate::processes::{KILL, Process, kill};
use crate::programs;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// What is lent in all tests has this name.
const NAME: &str = "box";

/// A harness with a sandbox for each test.
#[derive(Debug, Default)]
pub struct Lent {
    ways: Ways,
    /// Options of `outlive place lend`.
    options: Vec<&'static str>,
    /// Who lends, by the directory of the test there.
    lenders: Mutex<HashMap<PathBuf, Lender>>,
}

/// A running `outlive place lend`.
#[derive(Debug)]
struct Lender {
    child: Child,
    harness: Harness,
}

/// Executes what is asked.
#[derive(Clone, Debug)]
struct Harness {
    /// What executes a command there.
    words: Arc<Vec<String>>,
    /// Writes to the lender.
    answers: Arc<Mutex<ChildStdin>>,
    running: Arc<Mutex<HashMap<u64, i32>>>,
}

impl Lent {
    pub fn with(ways: Ways, options: &[&'static str]) -> Lent {
        Lent {
            ways,
            options: options.to_vec(),
            lenders: Mutex::default(),
        }
    }

    /// Lends from now on, for the test with this home here and this directory there.
    pub fn lend(&self, home: &Path, scratch: &Path) -> io::Result<()> {
        let words = prepare(scratch, &self.ways)?;
        let lender = Lender::start(home, words, &self.options)?;
        let mut lenders = self.lenders.lock().unwrap();
        lenders.insert(scratch.to_owned(), lender);
        Ok(())
    }

    /// Kills whoever lends. What it was executing goes on.
    pub fn die(&self, scratch: &Path) {
        let lender = self.lenders.lock().unwrap().remove(scratch);
        if let Some(mut lender) = lender {
            lender.child.kill().unwrap();
            lender.child.wait().unwrap();
        }
    }
}

impl Lender {
    fn start(home: &Path, words: Vec<String>, options: &[&str]) -> io::Result<Lender> {
        let mut command = Command::new(programs::outlive());
        crate::environment::remove_foreign(&mut command);
        let config = home.with_file_name("config");
        let mut child = command
            .env("OUTLIVE_HOME", home)
            .env("XDG_CONFIG_HOME", config)
            .args(["place", "lend", NAME])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (input, output) = ends.ok_or_else(|| io::Error::other("no pipes"))?;
        let harness = Harness {
            words: Arc::new(words),
            answers: Arc::new(Mutex::new(input)),
            running: Arc::default(),
        };
        let mut lines = BufReader::new(output).lines();
        let first = lines.next().transpose()?;
        assert_eq!(
            first.as_deref(),
            Some(r#"{"lent":{"place":"caller:box"}}"#),
            "the lender begins"
        );
        let mine = harness.clone();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                mine.take(&serde_json::from_str(&line).unwrap());
            }
        });
        Ok(Lender { child, harness })
    }
}

impl Harness {
    fn take(&self, asked: &Value) {
        if let Some(command) = asked.get("execute") {
            let (mine, command) = (self.clone(), command.clone());
            thread::spawn(move || mine.execute(&command));
        } else if let Some(id) = asked["cancel"]["id"].as_u64()
            && let Some(pid) = self.running.lock().unwrap().remove(&id)
        {
            kill(pid, KILL);
        }
    }

    fn execute(&self, asked: &Value) {
        let id = asked["id"].as_u64().unwrap();
        let input = asked["input"].as_str();
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command.arg(asked["command"].as_str().unwrap());
        let stdin = match input {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        };
        let child = command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        self.running
            .lock()
            .unwrap()
            .insert(id, child.id().cast_signed());
        if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
            let _ = pipe.write_all(text.as_bytes());
        }
        let output = child.wait_with_output().unwrap();
        if self.running.lock().unwrap().remove(&id).is_none() {
            return;
        }
        let output = String::from_utf8_lossy(&output.stdout);
        let line = json!({"result": {"id": id, "output": output}});
        // The lender may have been killed.
        let _ = writeln!(self.answers.lock().unwrap(), "{line}");
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        for pid in self.harness.running.lock().unwrap().values() {
            kill(*pid, KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Place for Lent {
    fn name(&self) -> &str {
        "caller"
    }

    fn direct(&self, command: &mut Command, _: &Path) {
        command.env("OUTLIVE_PLACE", "box");
    }

    fn scratch(&self, here: &Path) -> io::Result<PathBuf> {
        let there = here.join("there");
        fs::create_dir(&there)?;
        let settings = match self.options.contains(&"--input") {
            true => "",
            false => "secrets = \"argv\"",
        };
        configure(here, &format!("caller:{NAME}"), settings)?;
        self.lend(&here.join("home"), &there)?;
        Ok(there)
    }

    /// The files are in the test's own directory.
    fn remove_scratch(&self, scratch: &Path) {
        self.lenders.lock().unwrap().remove(scratch);
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
