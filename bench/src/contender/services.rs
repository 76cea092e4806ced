//! Service supervisors: they run what directories define, each with a logger.

use super::{Contender, Entry, Output, directory, output_of, program, script};
use crate::BenchError;
use crate::processes::until;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const NO_LAUNCH: &str =
    "it starts what a directory describes, and no command returns when the job runs";

pub const S6: Entry = Entry {
    name: "s6 with s6-log",
    make: |_, dir| {
        let scan = directory(dir.join("scan"))?;
        let mut svscan = Command::new(program("s6-svscan")?);
        background(svscan.args(["-c", "2000"]).arg(&scan))?;
        let control = program("s6-svscanctl")?;
        Ok(Box::new(S6Scan {
            scan,
            control,
            started: 0,
        }))
    },
};

struct S6Scan {
    scan: PathBuf,
    control: PathBuf,
    started: usize,
}

impl Contender for S6Scan {
    fn name(&self) -> &'static str {
        S6.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.start_many(argv, 1)?;
        Ok(self.started.to_string())
    }

    fn start_many(&mut self, argv: &[&str], count: usize) -> Result<(), BenchError> {
        for _ in 0..count {
            self.started += 1;
            // The directory gets its final name when it is complete, because a scan may be running.
            let draft = directory(self.scan.join(format!(".{}", self.started)))?;
            script(&draft.join("run"), argv)?;
            let log = directory(draft.join("log"))?;
            script(&log.join("run"), &["s6-log", "n5", "s16777215", "./kept"])?;
            fs::rename(&draft, self.scan.join(self.started.to_string()))
                .map_err(|error| error.to_string())?;
        }
        // A scan may have started a moment ago.
        until("s6-svscan listens", || {
            output_of(Command::new(&self.control).arg("-a").arg(&self.scan)).is_ok()
        })
    }

    fn no_launch(&self) -> Option<&'static str> {
        Some(NO_LAUNCH)
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::BySupervisor)
    }
}

pub const RUNIT: Entry = Entry {
    name: "runit with svlogd",
    make: |_, dir| {
        let runsv = program("runsv")?;
        Ok(Box::new(Runit {
            runsv,
            dir,
            started: 0,
        }))
    },
};

struct Runit {
    runsv: PathBuf,
    dir: PathBuf,
    started: usize,
}

impl Contender for Runit {
    fn name(&self) -> &'static str {
        RUNIT.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.started += 1;
        let service = directory(self.dir.join(self.started.to_string()))?;
        script(&service.join("run"), argv)?;
        let log = directory(service.join("log"))?;
        directory(log.join("kept"))?;
        script(&log.join("run"), &["svlogd", "./kept"])?;
        background(Command::new(&self.runsv).arg(&service))?;
        Ok(self.started.to_string())
    }

    fn no_launch(&self) -> Option<&'static str> {
        Some(NO_LAUNCH)
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::BySupervisor)
    }
}

/// Starts a process that stays until the sweep.
pub fn background(command: &mut Command) -> Result<(), BenchError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
        .map_err(|error| error.to_string())
}
