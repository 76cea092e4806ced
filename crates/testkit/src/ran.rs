//! The exit code and the output of a command.

use crate::processes::{KILL, kill, sleeps_in};
use crate::waiting::PATIENCE;
use serde_json::Value;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{RwLock, RwLockWriteGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Locked exclusively while a process is started here. Between its fork and its exec, the new process has every file
/// of this process open, and so holds their locks. Code that calls the library `outlive` in this process must hold a
/// shared lock.
pub static STARTING: RwLock<()> = RwLock::new(());

/// The exit code and the output of a command.
#[derive(Clone)]
pub struct Ran {
    /// The exit code; 128+n after signal n.
    pub code: i32,
    /// The standard output as text.
    pub stdout: String,
    /// The standard output, byte for byte.
    pub bytes: Vec<u8>,
    pub stderr: String,
}

impl Ran {
    pub fn new(code: i32, stdout: Vec<u8>, stderr: &[u8]) -> Ran {
        Ran {
            code,
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            bytes: stdout,
            stderr: String::from_utf8_lossy(stderr).into_owned(),
        }
    }

    /// Runs a command to its end. Captures the streams that the command does not redirect.
    #[track_caller]
    pub fn of(command: &mut Command) -> Ran {
        Ran::from(command.output().unwrap())
    }

    /// Runs a command to its end and captures its output. If it does not end, it is killed, and this returns an error.
    pub fn try_of(command: &mut Command) -> Result<Ran, String> {
        let shown = format!("{:?}", command.get_args().collect::<Vec<_>>());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = {
            let _alone = nobody_in_library();
            command.spawn()
        };
        let child = child.map_err(|error| format!("{shown} could not be run: {error}"))?;
        let pid = child.id() as i32;
        let (done, ended) = mpsc::channel();
        thread::spawn(move || done.send(child.wait_with_output()));
        match ended.recv_timeout(PATIENCE) {
            Ok(Ok(output)) => Ok(Ran::from(output)),
            Ok(Err(error)) => Err(format!("{shown}: {error}")),
            Err(_) => {
                let place = sleeps_in(pid);
                kill(pid, KILL);
                Err(format!("{shown} did not end (asleep in {place:?})"))
            }
        }
    }

    /// Waits for the end of a process that was started with pipes for its output.
    pub fn end_of(child: Child) -> Ran {
        Ran::from(child.wait_with_output().unwrap())
    }

    /// The standard output without the line end.
    pub fn text(&self) -> String {
        self.stdout.trim_end().to_owned()
    }

    /// The only job in the printed answer.
    pub fn job(&self) -> Value {
        only_job(&serde_json::from_slice(&self.bytes).unwrap())
    }

    /// The only job in the printed answer, or null.
    pub fn job_or_null(&self) -> Value {
        let answer: Value = serde_json::from_slice(&self.bytes).unwrap_or_default();
        answer["jobs"][0].clone()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let signal = output.status.signal().unwrap_or_default();
        let code = output.status.code().unwrap_or(128 + signal);
        Ran::new(code, output.stdout, &output.stderr)
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stdout: String = self.text().chars().take(2000).collect();
        write!(
            to,
            "code {}, stdout {stdout:?}, stderr {:?}",
            self.code, self.stderr
        )
    }
}

/// Leaves out the bytes, which would only repeat the text.
impl fmt::Debug for Ran {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Ran")
            .field("code", &self.code)
            .field("stdout", &self.stdout)
            .field("stderr", &self.stderr)
            .finish_non_exhaustive()
    }
}

/// While this is held, no thread calls the library. A call that never ends is reported elsewhere, so after some time
/// the command is started anyway.
fn nobody_in_library() -> Option<RwLockWriteGuard<'static, ()>> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Ok(alone) = STARTING.try_write() {
            return Some(alone);
        }
        thread::sleep(Duration::from_micros(200));
    }
    None
}

/// The only job in an answer.
#[track_caller]
pub fn only_job(answer: &Value) -> Value {
    let jobs = answer["jobs"].as_array().unwrap();
    let [job] = jobs.as_slice() else {
        panic!("{answer}")
    };
    job.clone()
}

/// The ids of the jobs in an answer, in its order.
pub fn ids_of(answer: &Value) -> Vec<String> {
    let id = |job: &Value| job["id"].as_str().unwrap().to_owned();
    answer["jobs"].as_array().unwrap().iter().map(id).collect()
}
