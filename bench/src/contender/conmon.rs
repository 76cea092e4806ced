//! conmon, which supervises one container each for podman and CRI-O.
//!
//! It starts its command through a container runtime. Our runtime (`runtime`) only starts the command,
//! which is less than any real one does. Like podman, we read the process ID from its sync pipe.

use super::{Contender, Entry, Output, by_hands, directory, program};
use crate::BenchError;
use crate::processes::until;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

pub const ENTRY: Entry = Entry {
    name: "conmon",
    make: |_, dir| {
        let program = program("conmon")?;
        directory(dir.join("exits"))?;
        Ok(Box::new(Conmon {
            program,
            dir,
            started: AtomicUsize::new(0),
        }))
    },
};

/// How the runtime gets its command: the words, with this separator.
const JOB: &str = "OUTLIVE_BENCH_JOB";
const BETWEEN: &str = "\x1f";

struct Conmon {
    program: PathBuf,
    dir: PathBuf,
    started: AtomicUsize,
}

impl Conmon {
    fn launch(&self, argv: &[&str]) -> Result<String, BenchError> {
        let id = format!("j{}", self.started.fetch_add(1, Ordering::Relaxed));
        let bundle = directory(self.dir.join(&id))?;
        let runtime = std::env::current_exe().map_err(|error| error.to_string())?;
        let (pids, sync) = pipe_with(PipeFlags::empty()).map_err(|error| error.to_string())?;
        let status = Command::new(&self.program)
            .args(["-c", &id, "-u", &id, "-n", &id, "--full-attach"])
            .arg("-b")
            .arg(&bundle)
            .arg("-p")
            .arg(bundle.join("pid"))
            .arg("-l")
            .arg(format!("k8s-file:{}", bundle.join("log").display()))
            .arg("-r")
            .arg(runtime)
            .arg("--exit-dir")
            .arg(self.dir.join("exits"))
            .env(JOB, argv.join(BETWEEN))
            .env("_OCI_SYNCPIPE", sync.as_raw_fd().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|error| error.to_string())?;
        drop(sync);
        let mut line = String::new();
        BufReader::new(File::from(pids))
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        // `{"data": 123}` or `{ "exit_code": …}`, depending on the version. A process ID is a positive
        // number.
        let pid = line.chars().filter(|c| c.is_ascii_digit() || *c == '-');
        match pid.collect::<String>().parse::<i32>() {
            Ok(pid) if pid > 0 => Ok(id),
            _ => Err(format!("conmon {status}: {line:?}")),
        }
    }
}

impl Contender for Conmon {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.launch(argv)
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::BySupervisor)
    }

    fn storm(&mut self, jobs: usize, width: usize) -> Result<(), BenchError> {
        let before = self.ends();
        by_hands(jobs, width, |_| self.launch(&["true"]).map(drop))?;
        until("every exit file is there", || self.ends() == before + jobs)
    }
}

impl Conmon {
    fn ends(&self) -> usize {
        fs::read_dir(self.dir.join("exits")).map_or(0, Iterator::count)
    }
}

/// The command line of the runtime: `create --bundle DIR --pid-file FILE ID`.
pub fn runtime(arguments: &[String]) -> ExitCode {
    let pid_file = arguments
        .iter()
        .skip_while(|word| *word != "--pid-file")
        .nth(1);
    let job = std::env::var(JOB).unwrap_or_default();
    let mut words = job.split(BETWEEN);
    let mut command = Command::new(words.next().unwrap_or_default());
    let started = command.args(words).env_remove(JOB).spawn();
    match (pid_file, started) {
        (Some(file), Ok(child)) if fs::write(file, child.id().to_string()).is_ok() => {
            ExitCode::SUCCESS
        }
        _ => ExitCode::FAILURE,
    }
}
