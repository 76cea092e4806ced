//! No supervisor, and the tools that only put a command into the background.

use super::{Contender, Entry, Output, Waiting, by_hands, output_of, program, waiting};
use crate::BenchError;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub const SETSID: Entry = Entry {
    name: "setsid -f",
    make: |_, dir| {
        let program = program("setsid")?;
        let to_file = |bare: &Bare, argv: &[&str]| {
            let mut command = Command::new(&bare.program);
            command.arg("-f").args(argv);
            command
        };
        Ok(Box::new(Bare::new("setsid -f", dir, program, to_file)))
    },
};

pub const NOHUP: Entry = Entry {
    name: "sh -c 'nohup … &'",
    make: |_, dir| {
        program("nohup")?;
        let shell = program("sh")?;
        let nohup = |bare: &Bare, argv: &[&str]| {
            let mut command = Command::new(&bare.program);
            command.args(["-c", "nohup \"$@\" &", "sh"]).args(argv);
            command
        };
        Ok(Box::new(Bare::new("sh -c 'nohup … &'", dir, shell, nohup)))
    },
};

pub const DAEMONIZE: Entry = Entry {
    name: "daemonize",
    make: |_, dir| {
        let daemonize = |bare: &Bare, argv: &[&str]| {
            let mut command = Command::new(&bare.program);
            let out = bare.output();
            command.arg("-o").arg(&out).arg("-e").arg(out).args(argv);
            command
        };
        let program = program("daemonize")?;
        Ok(Box::new(Bare::new("daemonize", dir, program, daemonize)))
    },
};

/// The command belongs to no supervisor, and writes its output to a file itself.
struct Bare {
    name: &'static str,
    dir: PathBuf,
    program: PathBuf,
    command: fn(&Bare, &[&str]) -> Command,
    started: usize,
}

impl Bare {
    fn new(
        name: &'static str,
        dir: PathBuf,
        program: PathBuf,
        command: fn(&Bare, &[&str]) -> Command,
    ) -> Bare {
        Bare {
            name,
            dir,
            program,
            command,
            started: 0,
        }
    }

    fn output(&self) -> PathBuf {
        self.dir.join(self.started.to_string())
    }
}

impl Contender for Bare {
    fn name(&self) -> &'static str {
        self.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.started += 1;
        let found = program(argv[0])?;
        let found = found.to_str().ok_or("a path that is no text")?;
        let argv = [&[found], &argv[1..]].concat();
        let both = File::create(self.output())
            .and_then(|file| Ok((file.try_clone()?, file)))
            .map_err(|error| error.to_string())?;
        let status = (self.command)(self, &argv)
            .stdin(Stdio::null())
            .stdout(both.0)
            .stderr(both.1)
            .status()
            .map_err(|error| error.to_string())?;
        match status.success() {
            true => Ok(self.started.to_string()),
            false => Err(format!("{} {status}", self.name)),
        }
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::ByTheJob)
    }

    /// The baseline: what fork, exec and wait cost any program.
    fn storm(&mut self, jobs: usize, width: usize) -> Result<(), BenchError> {
        if self.name != SETSID.name {
            return Err("it does not record how jobs end".into());
        }
        let program = program("true")?;
        by_hands(jobs, width, |_| {
            Command::new(&program)
                .status()
                .map(drop)
                .map_err(|error| error.to_string())
        })
    }
}

pub const NQ: Entry = Entry {
    name: "nq",
    make: |_, dir| {
        let program = program("nq")?;
        Ok(Box::new(Nq {
            program,
            dir,
            started: 0,
        }))
    },
};

/// A queue runs one job at a time, so each job gets its own queue.
struct Nq {
    program: PathBuf,
    dir: PathBuf,
    started: usize,
}

impl Contender for Nq {
    fn name(&self) -> &'static str {
        NQ.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.started += 1;
        let queue = self.dir.join(self.started.to_string());
        fs::create_dir(&queue).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.program);
        output_of(command.env("NQDIR", &queue).args(argv))
            .map(|id| format!("{}/{id}", self.started))
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::ByTheJob)
    }

    fn wait(&mut self, id: &str) -> Result<Waiting, BenchError> {
        let (queue, id) = id.split_once('/').ok_or("no such id")?;
        let mut command = Command::new(&self.program);
        waiting(command.env("NQDIR", self.dir.join(queue)).args(["-w", id]))
    }
}
