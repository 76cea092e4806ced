//! Tests whether systemd creates a scope, by asking for one. Runs programs, so a launch must not call
//! it.

use super::{Delegated, command};
use crate::environment::inherited::JobVariables;
use outlive_core::JobId;
use outlive_sys::spawn;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Far longer than systemd needs.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts a program that ends at once, in the way that a launch starts a keeper. Returns the reason if
/// it fails. Error messages go to a file in `scratch`, because a remaining process could hold a pipe
/// open.
pub fn try_scope(scratch: &Path) -> Result<(), String> {
    let said = scratch.join("systemd-run");
    let tried = started(&said).map_err(|error| error.to_string())?;
    match tried {
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            let words = fs::read_to_string(&said).unwrap_or_default();
            let line = words.lines().find(|line| !line.trim().is_empty());
            Err(line.map_or_else(|| status.to_string(), |line| line.trim().to_owned()))
        }
        None => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

/// The exit status; `None` if the program did not end in time and was killed.
fn started(said: &Path) -> io::Result<Option<ExitStatus>> {
    let id = JobId::parse("doctor").map_err(io::Error::other)?;
    let nothing = JobVariables::default();
    let command = command(&id, &nothing, || Delegated::Nothing);
    let mut command = command.ok_or(io::ErrorKind::NotFound)?;
    command
        .arg("true")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(said)?);
    let mut child = spawn::start(&mut command)?;
    let ended = wait(&mut child);
    if !matches!(ended, Ok(Some(_))) {
        child.kill()?;
        child.wait()?;
    }
    ended
}

fn wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + PATIENCE;
    loop {
        match child.try_wait()? {
            None if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
            ended => return Ok(ended),
        }
    }
}
