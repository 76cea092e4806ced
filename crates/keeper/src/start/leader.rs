//! The job's first process, and how it ended.
//!
//! The status of a child is read before the child is reaped. So if the keeper dies in between, the standby can still read
//! it. A process that is not a child of this keeper (after an adoption) is different: newer kernels keep its exit record
//! for whoever holds its pidfd. Where they do not, the outcome is lost, and the record says so.

use crate::tree::host;
use outlive_core::adopted;
use outlive_core::event::Moment;
use outlive_core::outcome::Outcome;
use outlive_core::process::ProcRef;
use outlive_core::signal::Signal;
use outlive_core::{Millis, Spec, State, Usage};
use outlive_sys::child::GateInside;
use outlive_sys::poll::Interest;
use outlive_sys::process::{self, PidFd, Status, Used};
use std::io;

/// The leader as this keeper knows it.
#[derive(Debug)]
pub enum Leader {
    /// Our own child.
    Child(PidFd),
    /// Not a child of this process. It was found again by its pid and start time.
    Stranger {
        process: ProcRef,
        pidfd: PidFd,
        state: StrangerState,
        /// Whether the time of its end is known. Decided when it was found.
        moment: EndMoment,
        /// The reason if the kernel does not tell how it ended.
        untold: &'static str,
    },
    /// There is none any more, and this is why nothing more can be known.
    Gone(&'static str),
    /// Its program was never executed.
    NotStarted(Outcome),
    /// There is none yet, because the job waits for its turn (`turns`).
    ///
    /// This holds the leader's side of its gate, which is made before a standby is forked. It is gone if the start has
    /// failed and is to be retried.
    Waiting(Option<GateInside>),
    /// There is none: one attempt has ended, and the next has not begun.
    Between,
    /// There is none any more, and no further attempt follows the one that ended so.
    Attempted(Box<LeaderEnd>),
}

/// How much of a stranger's end was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrangerState {
    Running,
    /// It has ended, and its parent has not reaped it yet.
    Zombie,
}

/// Whether it is known when the leader ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndMoment {
    /// A keeper was alive and was woken by it.
    Seen,
    /// It ended while no keeper was alive: after the last event in the journal and before it was found. The kernel
    /// does not keep the time of an end.
    Unknown,
}

/// A leader's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderEnd {
    pub outcome: Outcome,
    pub usage: Option<Usage>,
    pub moment: EndMoment,
}

impl LeaderEnd {
    /// How long it took from `since` until it ended `at`.
    pub fn duration_ms(&self, since: Option<Moment>, at: Moment) -> Option<u64> {
        match (&self.outcome, self.moment) {
            // What never started took no time.
            (Outcome::NotStarted { .. } | Outcome::Lost { .. }, _) | (_, EndMoment::Unknown) => {
                None
            }
            (_, EndMoment::Seen) => Some(Millis::from(at.boot.since(since?.boot)).0),
        }
    }
}

const NO_RECORD: &str = "its keepers were killed, and this kernel keeps no exit record for others (Linux 6.15 and later do)";
const ENDED_ALONE: &str = "it ended while no keeper was alive to see how";
pub const UNREADABLE: &str = "its journal is damaged: the process it ran is not in it";
pub const STARTING: &str =
    "its keepers were killed while it was being started, so nobody knows whether it ran";
const OTHER_HOST: &str = "the machine was restarted while it ran";

impl Leader {
    /// The child that this process has just forked and not reaped, so the pid cannot have been reused.
    pub fn child(pid: i32) -> io::Result<Leader> {
        let pidfd = PidFd::open(pid)?;
        Ok(pidfd.map_or(Leader::Gone(ENDED_ALONE), Leader::Child))
    }

    /// For a job that ends in the pause after an attempt: it ends as that attempt did.
    pub fn attempted(state: &State) -> Leader {
        match &state.attempts {
            Some(attempts) => Leader::Attempted(Box::new(LeaderEnd {
                outcome: attempts.last.end.outcome.clone(),
                usage: attempts.last.end.usage,
                moment: EndMoment::Seen,
            })),
            None => Leader::Gone(UNREADABLE),
        }
    }

    /// Finds the leader that the journal names. A descriptor that was held all the time is of use even if the leader
    /// is gone.
    pub fn find(
        process: ProcRef,
        held: Option<PidFd>,
        state: &State,
        spec: &Spec,
    ) -> io::Result<Leader> {
        // Clients start no keeper for a job that may run on another host.
        if !host::has_processes_of(state) {
            return Ok(Leader::Gone(OTHER_HOST));
        }
        let found = match held {
            Some(held) => Some(held),
            None => PidFd::open_started(process.pid, process.started)?,
        };
        let Some(pidfd) = found else {
            return Ok(Leader::Gone(ENDED_ALONE));
        };
        // By now the number may be another process's.
        let stat = process::look(process.pid)?.filter(|stat| stat.started == process.started);
        let ours = stat.is_some_and(|stat| stat.parent == outlive_sys::process::own::pid());
        Ok(match ours {
            // The keeper has just died, and this process was woken by that.
            true => Leader::Child(pidfd),
            false => Leader::Stranger {
                process,
                pidfd,
                state: StrangerState::Running,
                moment: match stat {
                    Some(stat) if !stat.is_zombie() => EndMoment::Seen,
                    _ => EndMoment::Unknown,
                },
                untold: match spec.adopted {
                    Some(_) => adopted::NOT_TOLD,
                    None => NO_RECORD,
                },
            },
        })
    }

    /// Whether the leader has ended without executing its program. For a running leader this costs one system call. If
    /// the leader is gone and reaped, this cannot be known.
    pub fn never_executed(&self, process: ProcRef) -> bool {
        let may_have_ended = match self {
            Leader::Child(pidfd) => matches!(pidfd.peek(), Ok(Some(_))),
            Leader::Stranger { .. } => true,
            Leader::Gone(_)
            | Leader::NotStarted(_)
            | Leader::Waiting(_)
            | Leader::Between
            | Leader::Attempted(_) => false,
        };
        let stat = may_have_ended.then(|| process::stat(process.pid)).flatten();
        let stat = stat.filter(|stat| stat.started == process.started);
        stat.is_some_and(|stat| stat.is_zombie() && stat.never_executed())
    }

    /// The leader's descriptor, to be given to another process.
    pub fn into_pidfd(self) -> Option<PidFd> {
        match self {
            Leader::Child(pidfd) | Leader::Stranger { pidfd, .. } => Some(pidfd),
            Leader::Gone(_)
            | Leader::NotStarted(_)
            | Leader::Waiting(_)
            | Leader::Between
            | Leader::Attempted(_) => None,
        }
    }

    /// What to sleep on until it ends. `None` if it has ended already.
    pub fn awaited(&self) -> Option<(&PidFd, Interest)> {
        match self {
            Leader::Child(pidfd)
            | Leader::Stranger {
                pidfd,
                state: StrangerState::Running,
                ..
            } => Some((pidfd, Interest::Readable)),
            Leader::Stranger {
                pidfd,
                state: StrangerState::Zombie,
                ..
            } => Some((pidfd, Interest::HangUp)),
            Leader::Gone(_)
            | Leader::NotStarted(_)
            | Leader::Waiting(_)
            | Leader::Between
            | Leader::Attempted(_) => None,
        }
    }

    /// Whether nothing reports its end: it is not a child of this process and has no descriptor to sleep on.
    pub fn ends_unheard(&self) -> bool {
        matches!(self, Leader::Stranger { pidfd, .. } if pidfd.bell().is_none())
    }

    /// How it ended. `None` if it has not ended, or if that cannot be known yet.
    pub fn look(&mut self) -> io::Result<Option<LeaderEnd>> {
        match self {
            Leader::Child(pidfd) => Ok(pidfd.peek()?.map(|(status, used)| LeaderEnd {
                outcome: outcome(status),
                usage: Some(usage(used)),
                moment: EndMoment::Seen,
            })),
            Leader::Stranger {
                process,
                pidfd,
                state,
                moment,
                untold,
            } => Ok(
                look_at_stranger(*process, pidfd, state, untold).map(|ended| LeaderEnd {
                    moment: *moment,
                    ..ended
                }),
            ),
            Leader::Gone(reason) => Ok(Some(lost(reason))),
            Leader::NotStarted(outcome) => Ok(Some(LeaderEnd {
                outcome: outcome.clone(),
                usage: None,
                moment: EndMoment::Seen,
            })),
            Leader::Waiting(_) | Leader::Between => Ok(None),
            Leader::Attempted(ended) => Ok(Some((**ended).clone())),
        }
    }

    /// Reaps the leader, if it is an ended child.
    pub fn reap(&self) {
        if let Leader::Child(pidfd) = self {
            // A failure does no harm: the zombie disappears when this process ends.
            let _ = pidfd.reap();
        }
    }
}

fn look_at_stranger(
    process: ProcRef,
    pidfd: &PidFd,
    state: &mut StrangerState,
    untold: &str,
) -> Option<LeaderEnd> {
    let known = |status| {
        Some(LeaderEnd {
            outcome: outcome(status),
            usage: None,
            moment: EndMoment::Seen,
        })
    };
    if let Some(status) = pidfd.exit_record() {
        return known(status);
    }
    match process::stat(process.pid) {
        Some(stat) if stat.started == process.started && stat.is_zombie() => {
            *state = StrangerState::Zombie;
            // A zero may also mean that the kernel does not tell the code. Then the parent must reap it first.
            (stat.exit_code != 0 || process::tells_exit_code(process.pid, process.started))
                .then(|| Status::from_wait(stat.exit_code))
                .and_then(known)
        }
        Some(stat) if stat.started == process.started => None,
        // It has been reaped at this moment. Its exit record is there now or never.
        _ => match pidfd.exit_record() {
            Some(status) => known(status),
            None => Some(lost(untold)),
        },
    }
}

fn lost(reason: &str) -> LeaderEnd {
    LeaderEnd {
        outcome: Outcome::Lost {
            reason: reason.to_owned(),
        },
        usage: None,
        moment: EndMoment::Unknown,
    }
}

fn outcome(status: Status) -> Outcome {
    match status {
        Status::Exited { code } => Outcome::Exited { code },
        Status::Signaled {
            signal,
            core_dumped,
        } => match Signal::from_linux_number(signal) {
            Some(signal) => Outcome::Signaled {
                signal,
                core_dumped,
            },
            None => Outcome::Lost {
                reason: format!("the kernel reported the unknown signal {signal}"),
            },
        },
    }
}

fn usage(used: Used) -> Usage {
    Usage {
        user_ms: used.user_ms,
        system_ms: used.system_ms,
        max_rss_bytes: used.max_rss_bytes,
        ..Usage::default()
    }
}
