//! Task spooler: a server that learns of jobs from the clients that run them.

use super::{Contender, Entry, Output, Waiting, output_of, program, waiting};
use crate::BenchError;
use crate::processes::until;
use std::path::PathBuf;
use std::process::Command;

pub const ENTRY: Entry = Entry {
    name: "task-spooler",
    make: |_, dir| {
        let program = program("tsp")?;
        let tsp = Tsp { program, dir };
        output_of(&mut tsp.command(&["-l"]))?;
        Ok(Box::new(tsp))
    },
};

struct Tsp {
    program: PathBuf,
    dir: PathBuf,
}

impl Tsp {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env("TS_SOCKET", self.dir.join("s"))
            .env("TMPDIR", &self.dir)
            .env("TS_SLOTS", "2000")
            .env("TS_MAXCONN", "4000")
            .env("TS_MAXFINISHED", "200000");
        command
    }
}

impl Contender for Tsp {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        output_of(&mut self.command(argv))
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::ByTheJob)
    }

    fn wait(&mut self, id: &str) -> Result<Waiting, BenchError> {
        waiting(&mut self.command(&["-w", id]))
    }

    fn list(&mut self) -> Result<(), BenchError> {
        output_of(&mut self.command(&["-l"])).map(drop)
    }

    fn storm(&mut self, jobs: usize, width: usize) -> Result<(), BenchError> {
        output_of(&mut self.command(&["-S", &width.to_string()]))?;
        let mut last = String::new();
        for _ in 0..jobs {
            last = self.start(&["true"])?;
        }
        // Jobs end almost in order; the list checks the last few.
        self.wait(&last)?()?;
        until("all have ended", || {
            output_of(&mut self.command(&["-l"]))
                .is_ok_and(|list| !list.contains("running") && !list.contains("queued"))
        })
    }
}
