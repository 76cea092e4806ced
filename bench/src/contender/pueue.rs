//! pueue: a daemon with a queue.

use super::{Contender, Entry, Output, Waiting, output_of, services::background, waiting};
use crate::BenchError;
use crate::processes::until;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

pub const ENTRY: Entry = Entry {
    name: "pueue",
    make: |bench, dir| {
        let programs = bench.pueue.clone().ok_or("pueue was not built")?;
        let client = programs.join("pueue");
        if !client.exists() {
            return Err("pueue was not built".into());
        }
        let at = dir.display();
        let settings = format!(
            "shared:\n  pueue_directory: {at}\n  runtime_directory: {at}\n  use_unix_socket: true\n\
             client: {{}}\ndaemon: {{}}\n"
        );
        fs::write(dir.join("conf"), settings).map_err(|error| error.to_string())?;
        let pueue = Pueue { client, dir };
        background(
            Command::new(programs.join("pueued"))
                .arg("-c")
                .arg(pueue.settings()),
        )?;
        until("pueued answers", || {
            output_of(&mut pueue.command(&["status"])).is_ok()
        })?;
        output_of(&mut pueue.command(&["parallel", "2000"]))?;
        Ok(Box::new(pueue))
    },
};

struct Pueue {
    client: PathBuf,
    dir: PathBuf,
}

impl Pueue {
    fn settings(&self) -> PathBuf {
        self.dir.join("conf")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.client);
        command.arg("-c").arg(self.settings()).args(args);
        command
    }
}

impl Contender for Pueue {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        output_of(&mut self.command(&[&["add", "--print-task-id", "--"], argv].concat()))
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::ByTheJob)
    }

    fn wait(&mut self, id: &str) -> Result<Waiting, BenchError> {
        waiting(&mut self.command(&["wait", "--quiet", id]))
    }

    fn list(&mut self) -> Result<(), BenchError> {
        output_of(&mut self.command(&["status"])).map(drop)
    }

    fn storm(&mut self, jobs: usize, width: usize) -> Result<(), BenchError> {
        output_of(&mut self.command(&["parallel", &width.to_string()]))?;
        (0..jobs).try_for_each(|_| self.start(&["true"]).map(drop))?;
        output_of(&mut self.command(&["wait", "--quiet", "--all"])).map(drop)
    }
}
