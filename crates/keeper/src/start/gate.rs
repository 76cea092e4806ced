//! Bringing the leader to its program.
//!
//! The keeper forks, journals the pid, opens the gate, and learns whether the program was executed. If it is killed in
//! between, the standby continues. It opens the gate again for a leader that is in the journal. A leader that is not in
//! the journal ends by itself when the last holder of the gate closes it, and a new one is started.

use crate::hooks::{Hook, Role};
use crate::input::channel::LeaderEnds;
use crate::pair::shared::Shared;
use crate::start::tools;
use crate::supervise::ledger::Ledger;
use outlive_core::event::Event;
use outlive_core::outcome::{NotStarted, Outcome};
use outlive_core::{Spec, quote, words};
use outlive_sys::child::{ExecFailure, Gate, GateInside, Program, Start, Step};
use outlive_sys::process::{self, Limits};
use std::ffi::OsStr;
use std::io;

/// A leader that waits at the gate and is not in the journal yet. It must not run before it is.
#[derive(Debug)]
#[must_use]
pub struct Unwritten(i32);

/// Forks the leader with this standard input, output and error.
pub fn fork(
    role: Role,
    shared: &Shared,
    limits: Option<Limits>,
    inside: GateInside,
    ends: LeaderEnds,
) -> io::Result<Unwritten> {
    let spec = &shared.spec;
    let argv: Vec<&OsStr> = spec
        .argv
        .iter()
        .map(|argument| argument.as_os_str())
        .collect();
    let path = std::env::var_os("PATH");
    let program = Program::new(&argv, spec.cwd.as_os_str(), path.as_deref(), limits)?;
    let errors = ends.errors.as_ref().unwrap_or(&ends.output);
    let ends = [&ends.input, &ends.output, errors];
    let pid = program.spawn(ends, &shared.gate, shared.parking.as_ref(), inside)?;
    role.reach(Hook::Forked);
    Ok(Unwritten(pid))
}

impl Unwritten {
    /// Journals the leader, and where its output begins unless it is the first one. If that fails, the leader ends.
    pub fn write_down(self, ledger: &mut Ledger, output: Option<u64>) -> io::Result<()> {
        let Unwritten(pid) = self;
        let leader = tools::identify(pid)
            .map_err(|_| io::Error::other("the new process cannot be seen in /proc"));
        leader
            .and_then(|leader| ledger.write(&[Event::Spawned { leader, output }]))
            .inspect_err(|_| {
                let _ =
                    process::kill_child(pid).and_then(|()| process::wait_for_child(pid).map(drop));
            })
    }
}

/// Opens the gate and waits for the result. `Ok` once the program is executed.
pub fn open_gate(role: Role, gate: &Gate, spec: &Spec) -> io::Result<Result<(), Outcome>> {
    role.reach(Hook::Spawned);
    gate.open();
    role.reach(Hook::GateOpened);
    let start = gate.outcome()?;
    role.reach(Hook::Executed);
    Ok(match start {
        Start::Executed => Ok(()),
        Start::Failed(failure) => Err(not_started(failure, spec)),
    })
}

fn not_started(failure: ExecFailure, spec: &Spec) -> Outcome {
    let program = spec
        .argv
        .first()
        .map(|name| quote::word(&name.lossy(), quote::MAX_PATH))
        .unwrap_or_default();
    let error = io::Error::from_raw_os_error(failure.errno);
    let found = error.kind() != io::ErrorKind::NotFound;
    let (cause, reason) = match failure.step {
        Step::Session => (
            NotStarted::Failed,
            format!("cannot start a process: this system refuses the call setsid: {error}"),
        ),
        Step::Directory => (
            NotStarted::NotExecutable,
            format!(
                "cannot change to the directory {}: {}",
                quote::word(&spec.cwd.lossy(), quote::MAX_PATH),
                plain(&error)
            ),
        ),
        Step::Execute if !found => (
            NotStarted::NotFound,
            format!("{program}: command not found"),
        ),
        Step::Execute if failure.errno == outlive_sys::child::NO_INTERPRETER => (
            NotStarted::NotExecutable,
            format!("{program}: the interpreter or loader that it names does not exist"),
        ),
        Step::Execute => (
            NotStarted::NotExecutable,
            format!("{program} cannot be executed: {}", plain(&error)),
        ),
    };
    Outcome::NotStarted { reason, cause }
}

/// The outcome if the leader was killed at the gate.
pub fn killed_first() -> Outcome {
    Outcome::NotStarted {
        reason: "its process was killed before it could execute the command".to_owned(),
        cause: NotStarted::Failed,
    }
}

/// The outcome of a job that was stopped before it got its lock.
pub fn stopped(spec: &Spec) -> Outcome {
    Outcome::NotStarted {
        reason: words::stopped_waiting(spec),
        cause: NotStarted::Failed,
    }
}

/// The outcome if Outlive itself failed.
pub fn failed(what: &str, error: &io::Error) -> Outcome {
    Outcome::NotStarted {
        reason: format!("{what}: {}", plain(error)),
        cause: NotStarted::Failed,
    }
}

/// The error's text without the number that the standard library appends.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
