//! `text:TEMPLATE`: a command of the user's that is given a command line and prints what it printed.
//!
//! The template is split into words as a shell splits them, but no shell sees it. The command line is the word `{}`, or one
//! more word at the end: `text:docker exec web sh -c`.

use super::execute::{Execute, Execution, Failed, Nature, Private, Text};
use crate::clock;
use crate::places::transport::template_line;
use crate::places::{Calls, Secrets, Unreached};
use outlive_core::BootTime;
use outlive_sys::poll::{self, Interest};
use outlive_sys::process::PidFd;
use outlive_sys::spawn;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where the command line goes.
const HERE: &str = "{}";

/// More text is not read: no answer is so long.
const MAX_TEXT: usize = 32 * 1024 * 1024;

/// After the command has ended, processes that it left may keep its output open.
const REST: Duration = Duration::from_millis(20);

/// Without a descriptor for the command's process, this often it is asked whether it has ended.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Template {
    words: String,
    private: Option<Private>,
}

impl Template {
    pub fn new(words: &str, calls: &Calls) -> Template {
        let passes_input = calls.secrets == Some(Secrets::Stdin);
        Template {
            words: words.to_owned(),
            private: passes_input.then_some(Private::Input),
        }
    }

    fn command(&self, line: &str) -> Result<Command, Unreached> {
        let refused = |why: &str| Unreached::Refused(format!("text:{}: {why}", self.words));
        let split = shlex::split(&self.words).ok_or_else(|| refused("a quote is not closed"))?;
        let mut has_place = false;
        let mut words: Vec<&str> = Vec::new();
        for word in &split {
            let is_place = word == HERE;
            has_place |= is_place;
            words.push(if is_place { line } else { word });
        }
        if !has_place {
            words.push(line);
        }
        template_line(&words)?.command()
    }
}

impl Execute for Template {
    fn nature(&self) -> Result<Nature, Unreached> {
        Ok(Nature {
            is_serial: false,
            private: self.private,
        })
    }

    fn execute(&self, execution: &Execution<'_>) -> Result<Text, Failed> {
        let mut command = self.command(execution.command).map_err(Failed::Unreached)?;
        command
            .stdin(match execution.private {
                Some(_) => Stdio::piped(),
                None => Stdio::null(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let cannot = |error| Unreached::Refused(format!("cannot start {program}: {error}"));
        let child = spawn::start(&mut command).map_err(cannot);
        let mut child = child.map_err(Failed::Unreached)?;
        // A request fits into a pipe, so this does not wait.
        if let (Some(text), Some(mut input)) = (execution.private, child.stdin.take()) {
            let _ = input.write_all(text.as_bytes());
        }
        let read = read(&mut child, execution);
        if read.is_err() {
            let _ = child.kill();
        }
        let how = match child.wait() {
            Ok(status) if status.success() => String::new(),
            Ok(status) => format!("{program} ended with {status}"),
            Err(error) => error.to_string(),
        };
        let [output, errors] = read?;
        let errors = String::from_utf8_lossy(&errors.text).trim().to_owned();
        let remarks = [errors, how].into_iter().filter(|part| !part.is_empty());
        Ok(Text {
            output: output.text,
            remark: remarks.collect::<Vec<_>>().join("; "),
        })
    }
}

/// What a command writes to one of its outputs.
#[derive(Debug, Default)]
struct Pipe {
    file: Option<File>,
    text: Vec<u8>,
}

/// Reads what the command writes, until it has ended. Processes that it left are not waited for.
fn read(child: &mut Child, execution: &Execution<'_>) -> Result<[Pipe; 2], Failed> {
    let by = clock::boot() + execution.limit;
    let broken = |error: io::Error| Failed::Broken(error.to_string());
    let process = PidFd::open(child.id().cast_signed()).ok().flatten();
    let mut pipes = [Pipe::of(child.stdout.take()), Pipe::of(child.stderr.take())];
    let mut has_ended = false;
    while pipes.iter().any(|pipe| pipe.file.is_some()) {
        let open: Vec<usize> = (0..2).filter(|at| pipes[*at].file.is_some()).collect();
        let files = open.iter().filter_map(|at| pipes[*at].file.as_ref());
        let mut on: Vec<_> = files
            .map(|file| (file.as_fd(), Interest::Readable))
            .collect();
        let bell = process.as_ref().and_then(PidFd::bell);
        on.extend(
            bell.filter(|_| !has_ended)
                .map(|bell| (bell, Interest::Readable)),
        );
        let ready = poll::wait(&on, Some(left(by, has_ended)?)).map_err(broken)?;
        if has_ended && !ready.contains(&true) {
            break;
        }
        for (at, _) in open.iter().zip(&ready).filter(|(_, ready)| **ready) {
            pipes[*at].take().map_err(broken)?;
        }
        has_ended |= matches!(child.try_wait(), Ok(Some(_)));
    }
    Ok(pipes)
}

/// How long to wait for more.
fn left(by: BootTime, has_ended: bool) -> Result<Duration, Failed> {
    match by.since(clock::boot()) {
        left if left.is_zero() => Err(Failed::TimedOut),
        _ if has_ended => Ok(REST),
        // Some systems do not tell of the end of a process.
        left => Ok(left.min(LOOK_AGAIN)),
    }
}

impl Pipe {
    fn of(end: Option<impl Into<OwnedFd>>) -> Pipe {
        Pipe {
            file: end.map(|end| File::from(end.into())),
            text: Vec::new(),
        }
    }

    /// Reads what is there. Closes the pipe at its end.
    fn take(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        let read = self.file.as_mut().map(|file| file.read(&mut buffer));
        match read {
            None => {}
            Some(Ok(0)) => self.file = None,
            Some(Ok(count)) => self.text.extend_from_slice(&buffer[..count]),
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Some(Err(error)) => return Err(error),
        }
        match self.text.len() > MAX_TEXT {
            true => Err(io::Error::other("it printed more than any answer has")),
            false => Ok(()),
        }
    }
}
