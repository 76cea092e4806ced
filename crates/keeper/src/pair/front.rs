//! Running a job in the foreground: for a batch engine that watches the process it started, and as the first process of
//! a container.
//!
//! ```text
//!  engine ─starts─► front: the standby, in the engine's session and group
//!                     ├─fork─► keeper (own session) ─fork─► leader (own session)
//!                     └start─► copying (`copying.rs`): the output, to the front's standard output
//! ```
//! The front is the process that the engine watches. TERM or INT to the front stops the job with its grace period: as a
//! standby the front passes the signal on to the keeper, as the keeper it stops the job itself. It ends last, with the
//! job's exit code. A job in the foreground does not outlive its front: if the front is killed, the keeper stops the job.
//!
//! A signal that the front's parent has set to be ignored stays ignored (a shell does that with INT for `command &`). HUP
//! does not stop the job.

use crate::MARK;
use crate::output::copying::Copying;
use crate::pair::enter;
use crate::supervise::keeper::Keeper;
use outlive_core::event::{StopCause, StopRequest};
use outlive_core::outcome::{EndedBy, Outcome};
use outlive_core::signal::Signal;
use outlive_core::{JobDir, layout, quote};
use outlive_sys::lock::{self, Lock, LockResult};
use outlive_sys::process::own::{self, Bell};
use outlive_sys::{process, spawn};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The argument that asks for the foreground.
pub const WORD: &str = "foreground";
/// The signals that ask the job to end.
const STOPS: [Signal; 2] = [Signal::TERM, Signal::INT];
/// The exit code if the outcome is not known or Outlive failed.
const UNKNOWN: i32 = 125;
const UNSEEN: &str = "how the job ended is not known here; another process may supervise it";
/// Why a job is stopped whose front is gone.
const GONE: &str = "the process that ran it in the foreground was killed";

/// What the two processes know about the front.
#[derive(Debug)]
pub struct Front {
    pid: i32,
    bell: Bell,
    /// The last signal that this process got.
    heard: Option<Signal>,
    /// This process has begun to stop the job because of the front.
    has_stopped: bool,
    /// `None` except in the front itself.
    stage: Option<Stage>,
}

/// What only the front needs.
#[derive(Debug)]
struct Stage {
    copying: Copying,
    /// A shared lock, so that nobody prunes the job before its exit code is read.
    _hold: Option<Lock>,
}

/// Whether a process is a front. Processes that a front has forked have the same arguments, but other pids.
pub fn is_front(pid: i32) -> bool {
    let arguments = process::arguments(pid);
    match arguments.as_slice() {
        [.., manner, front] if manner == WORD.as_bytes() => {
            let own = process::innermost_pid(pid).map(|own| own.to_string());
            own.is_some_and(|own| own.as_bytes() == front)
        }
        _ => false,
    }
}

/// Supervises the job in this directory, in the foreground. Returns the job's exit code.
pub fn run(directory: &Path, named: &[OsString]) -> i32 {
    let mut front = None;
    let mut run = || {
        // Signals to a process with the pid 1 are discarded unless it blocks or handles them.
        own::block_signals(&STOPS.map(Signal::linux_number))?;
        let job = JobDir::at(std::path::absolute(directory)?);
        mark(&job, named)?;
        let words = own::standard_error()?;
        let Some(mut handed) = enter::settle_in(&job)? else {
            let said = "the job cannot be supervised here; its record says why";
            return Err(io::Error::other(said));
        };
        // Nobody waits for the byte that says that the start is decided.
        let null = File::options().write(true).open("/dev/null")?;
        let out = std::mem::replace(&mut handed.output, null);
        front = Some(Front::new(&job, out, words)?);
        enter::enter(&job, handed, Ok(()), &mut front)?;
        Ok(job)
    };
    let ran: io::Result<JobDir> = run();
    match (ran, front) {
        (Ok(job), Some(mut front)) if front.is_here() => front.leave(&job),
        // A keeper or standby that the front has forked, and which has finished.
        (Ok(_), _) => 0,
        (Err(error), front) => {
            if front.is_none_or(|front| front.is_here()) {
                // Without a descriptor to spare, only the standard one is left.
                let _ = writeln!(io::stderr(), "outlive: {error}");
            }
            UNKNOWN
        }
    }
}

/// Gives this process the job's mark, which the job's processes inherit, and arguments that show that it is the front.
/// To do this, the process executes itself again.
fn mark(job: &JobDir, named: &[OsString]) -> io::Result<()> {
    let pid = own::pid().to_string();
    if std::env::var_os(MARK).is_some_and(|mark| mark == job.path()) && named == [pid.as_str()] {
        return Ok(());
    }
    let id = job.path().file_name().map(OsString::from);
    let mut again = Command::new("/proc/self/exe");
    again
        .arg0("outlive-keeper")
        .arg(job.path())
        .arg(WORD)
        .arg(pid)
        .env(MARK, job.path())
        .env("OUTLIVE_JOB", id.unwrap_or_default());
    Err(spawn::become_with_own_signals(&mut again))
}

impl Front {
    fn new(job: &JobDir, out: File, words: File) -> io::Result<Box<Front>> {
        let pid = own::pid();
        let heeded = STOPS.map(Signal::linux_number).into_iter();
        let heeded: Vec<i32> = heeded
            .filter(|signal| !process::ignores(pid, *signal))
            .collect();
        let hold = layout::open(&job.spec()).and_then(lock::share);
        Ok(Box::new(Front {
            pid,
            bell: Bell::for_signals(&heeded)?,
            heard: None,
            has_stopped: false,
            stage: Some(Stage {
                copying: Copying::new(out, words)?,
                _hold: match hold {
                    Ok(LockResult::Acquired(lock)) => Some(lock),
                    // The job runs without this lock, too.
                    Ok(LockResult::Held) | Err(_) => None,
                },
            }),
        }))
    }

    /// Whether this process is the front.
    pub fn is_here(&self) -> bool {
        own::pid() == self.pid
    }

    /// Whether this process is a keeper whose front is gone. The front is the parent of the first keeper and of the
    /// standbys that the front forks.
    fn is_gone(&self) -> bool {
        !self.is_here() && own::parent_pid() != Some(self.pid)
    }

    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Call this in each process after a fork. The front starts to copy. Any other process closes what belongs to the
    /// front.
    pub fn take_place(&mut self, job: &JobDir) {
        match &mut self.stage {
            Some(stage) if own::pid() == self.pid => stage.copying.begin(job),
            _ => self.stage = None,
        }
    }

    fn listen(&mut self) {
        while let Some(number) = self.bell.next_signal() {
            self.heard = Signal::from_linux_number(number).or(self.heard);
        }
    }

    /// As a standby: passes signals on to the keeper. They are also remembered, in case the keeper dies before it
    /// handles them.
    pub fn pass_on(&mut self, keeper: i32) {
        while let Some(number) = self.bell.next_signal() {
            self.heard = Signal::from_linux_number(number).or(self.heard);
            // The keeper is a child that is not reaped, so its pid cannot have been reused.
            let _ = process::signal_child(keeper, number);
        }
    }

    /// As a standby: reaps children that have ended, except the keeper. The first process of a container gets all
    /// orphans.
    pub fn let_children_go(&mut self, job: &JobDir, keeper: i32) {
        while let Ok(Some(pid)) = process::any_ended_child() {
            if pid == keeper {
                return;
            }
            if !self.copy_ended(job, pid) {
                let _ = process::reap_child(pid);
            }
        }
    }

    /// The process that copies, if this process started it.
    pub fn copying(&self) -> Option<i32> {
        self.stage.as_ref()?.copying.pid()
    }

    /// Whether this ended child was copying. If so, it is reaped, and started again if it was killed.
    fn copy_ended(&mut self, job: &JobDir, pid: i32) -> bool {
        match &mut self.stage {
            Some(stage) if stage.copying.pid() == Some(pid) => {
                stage.copying.has_ended(job);
                true
            }
            _ => false,
        }
    }

    /// Why the job must be stopped now. Returned only once.
    fn asks(&mut self) -> Option<String> {
        self.listen();
        let why = match self.heard {
            Some(signal) => signal.to_string(),
            None if self.is_gone() => GONE.to_owned(),
            None => return None,
        };
        (!std::mem::replace(&mut self.has_stopped, true)).then_some(why)
    }

    /// The job is over: waits for the copy, and returns the job's exit code.
    fn leave(&mut self, job: &JobDir) -> i32 {
        self.listen();
        let Some(stage) = &mut self.stage else {
            return UNKNOWN;
        };
        stage.copying.finish(job, &self.bell, self.heard.is_some());
        let end = job.read_journal().ok().and_then(|journal| {
            let end = journal.state.end()?;
            Some((end.outcome.clone(), end.ended_by))
        });
        let id = job.path().file_name().unwrap_or_default().display();
        let ended = match &end {
            Some((Outcome::NotStarted { reason, .. } | Outcome::Lost { reason }, _)) => {
                Some(quote::visible(reason).into_owned())
            }
            Some((_, EndedBy::Timeout)) => Some(format!("{id}: timed out")),
            Some((_, EndedBy::Memory)) => Some(format!("{id}: out of memory")),
            Some((Outcome::Exited { .. } | Outcome::Signaled { .. }, _)) => None,
            None => Some(UNSEEN.to_owned()),
        };
        let cut = stage.copying.cut().map(|why| {
            format!("the copy of the output ended early ({why}); `outlive log {id}` has all of it")
        });
        for words in [ended, cut].into_iter().flatten() {
            // Standard error also says why the exit code is not the job's own.
            let _ = writeln!(stage.copying.errors(), "outlive: {words}");
        }
        end.and_then(|(outcome, _)| outcome.exit_code())
            .unwrap_or(UNKNOWN)
    }
}

impl Keeper<'_> {
    /// Stops the job if its front was asked to end or was killed.
    pub(crate) fn heed_place(&mut self) -> io::Result<()> {
        let asks = self
            .job
            .shared
            .front
            .as_mut()
            .and_then(|front| front.asks());
        let Some(why) = asks else {
            return Ok(());
        };
        self.stop(StopRequest {
            by: StopCause::Place,
            detail: Some(why),
            grace_ms: self.job.spec().grace_ms,
            session: None,
        })
    }

    /// Whether this ended child copied the output. This can only be so in the front.
    pub(crate) fn was_copying(&mut self, pid: i32) -> io::Result<bool> {
        let shared = &mut *self.job.shared;
        let front = shared.front.as_mut();
        Ok(front.is_some_and(|front| front.copy_ended(&shared.directory, pid)))
    }

    /// Ends the standby of a front, because the front must be the last to end.
    pub(crate) fn dismiss_standby(&mut self) {
        if let (Some(_), Some(pid)) = (&self.job.shared.front, self.pair.child()) {
            let _ = process::kill_child(pid).and_then(|()| process::wait_for_child(pid));
        }
    }
}
