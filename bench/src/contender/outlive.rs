//! Outlive itself, as a user has it.

use super::{Contender, Entry, Output, Waiting, by_hands, output_of, waiting};
use crate::BenchError;
use outlive_testkit::environment::remove_foreign;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

pub const ENTRY: Entry = Entry {
    name: "outlive",
    make: |bench, dir| Ok(Box::new(Outlive::new("outlive", &bench.outlive, dir, &[]))),
};

pub struct Outlive {
    name: &'static str,
    program: PathBuf,
    pub home: PathBuf,
    /// Further options of `run`.
    options: &'static [&'static str],
}

impl Outlive {
    pub fn new(
        name: &'static str,
        program: &Path,
        home: PathBuf,
        options: &'static [&'static str],
    ) -> Outlive {
        Outlive {
            name,
            program: program.to_owned(),
            home,
            options,
        }
    }

    /// `outlive` with these arguments, in the home of this contender.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        remove_foreign(&mut command)
            .args(args)
            .env("OUTLIVE_HOME", &self.home);
        command
    }

    pub fn ok(&self, args: &[&str]) -> Result<String, BenchError> {
        output_of(&mut self.command(args))
    }
}

impl Contender for Outlive {
    fn name(&self) -> &'static str {
        self.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.ok(&[&["run"], self.options, &["--"], argv].concat())
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::BySupervisor)
    }

    fn wait(&mut self, id: &str) -> Result<Waiting, BenchError> {
        waiting(&mut self.command(&["wait", id]))
    }

    fn list(&mut self) -> Result<(), BenchError> {
        self.ok(&["list", "--state", "running"]).map(drop)
    }

    fn storm(&mut self, jobs: usize, width: usize) -> Result<(), BenchError> {
        let ids = Mutex::new(Vec::new());
        by_hands(jobs, width, |_| {
            let id = self.ok(&["run", "--", "true"])?;
            ids.lock().map_err(|error| error.to_string())?.push(id);
            Ok(())
        })?;
        let ids = ids.into_inner().map_err(|error| error.to_string())?;
        let mut wait = vec!["wait"];
        wait.extend(ids.iter().map(String::as_str));
        self.ok(&wait).map(drop)
    }
}
