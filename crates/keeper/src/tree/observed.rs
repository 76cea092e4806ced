//! The job's processes as a keeper observes them: which they are, and how it learns that they have ended.
//!
//! The kernel reports the end of a child, and of a process whose pidfd the keeper sleeps on. All other processes are
//! polled (`polling.rs`).

use crate::clock;
use crate::start::leader::Leader;
use crate::tree::members::{Member, Tree};
use crate::tree::polling::Polling;
use outlive_core::BootTime;
use std::os::fd::BorrowedFd;

/// At most this many processes are watched. More are found when one of the watched ones has ended.
const MAX_WATCHED: usize = 256;

/// The job's processes.
#[derive(Debug)]
pub(crate) struct Observed {
    pub tree: Tree,
    /// Processes of an adopted job. They are not children of this keeper, so no SIGCHLD reports their ends.
    watched: Vec<Member>,
    /// While the end of some process can be learned only by polling.
    polling: Option<Polling>,
}

impl Observed {
    pub fn new(tree: Tree) -> Observed {
        Observed {
            tree,
            watched: Vec::new(),
            polling: None,
        }
    }

    /// Watches these processes, unless SIGCHLD reports their ends.
    pub fn watch(&mut self, mut members: Vec<Member>) {
        members.truncate(MAX_WATCHED);
        self.watched = match self.tree.is_own() {
            true => Vec::new(),
            false => members,
        };
    }

    /// What to sleep on for the ends of the watched processes.
    pub fn bells(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.watched.iter().filter_map(|member| member.pidfd.bell())
    }

    /// Before the keeper sleeps: begins or ends polling. `leader` is the one whose end is still awaited, if any.
    pub fn arrange_polling(&mut self, leader: Option<&Leader>) {
        let unreported = leader.is_some_and(Leader::ends_unheard)
            || self
                .watched
                .iter()
                .any(|member| member.pidfd.bell().is_none());
        self.polling = match (unreported, self.polling) {
            (true, Some(polling)) => Some(polling),
            (true, None) => Some(Polling::begin(clock::now())),
            (false, _) => None,
        };
    }

    /// When the processes are to be polled.
    pub fn poll_at(&self) -> Option<BootTime> {
        self.polling.map(|polling| polling.at)
    }

    /// Whether it is time to poll. If so, the next time is set.
    pub fn is_poll_due(&mut self, now: BootTime) -> bool {
        match self.polling {
            Some(polling) if polling.at <= now => {
                self.polling = Some(polling.go_on(now));
                true
            }
            _ => false,
        }
    }
}
