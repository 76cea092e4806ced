//! Making what was asked and all names of the job last: the standby does, once the job runs.
//!
//! A disk can take seconds for it. A keeper that waited would hear of nothing meanwhile, take no output and
//! note an end late; and an end would wait for it. So the standby is asked, which has nothing else to do. A
//! keeper whose standby does not say that it is done does it itself, at the end.

use crate::hooks;
use outlive_core::ending::{self, Findable};
use outlive_core::{JobDir, Spec};
use outlive_sys::poll::{self, Interest};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A standby that takes longer for the rest of it has been suspended.
const PATIENCE: Duration = Duration::from_secs(1);

/// How a keeper knows.
#[derive(Debug)]
pub enum Finding {
    /// Nobody has seen to it.
    Open,
    /// There is a standby to be asked.
    Standby(UnixStream),
    /// The standby will say, or end.
    Asked(UnixStream),
    Done(Findable),
}

/// The standby's side.
#[derive(Debug)]
pub struct Request(UnixStream);

/// Before the fork: both sides.
pub fn both_sides() -> io::Result<(Finding, Request)> {
    let (keeper, standby) = UnixStream::pair()?;
    Ok((Finding::Standby(keeper), Request(standby)))
}

impl Request {
    /// Readable once there is one, or nobody left who could make it.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Sees to it, if that is what was asked, and says so.
    pub fn answer(mut self, job: &JobDir, spec: &Spec) -> Finding {
        if !matches!(self.0.read(&mut [0]), Ok(1)) {
            return Finding::Open;
        }
        hooks::standby_asked();
        let findable = ending::make_findable(job, Some(spec));
        if findable.lasts {
            // A keeper that is gone need not hear it.
            let _ = self.0.write_all(b"f");
        }
        Finding::Done(findable)
    }
}

impl Finding {
    /// Now nobody who starts the job waits for the disk; at its end somebody will.
    pub fn ask(&mut self) {
        *self = match std::mem::replace(self, Finding::Open) {
            Finding::Standby(standby) => match (&standby).write_all(b"a") {
                Ok(()) => Finding::Asked(standby),
                Err(_) => Finding::Open,
            },
            other => other,
        };
    }

    /// It is done when this returns, or cannot be.
    pub fn done(&mut self, job: &JobDir, spec: &Spec) -> Findable {
        let findable = match self {
            Finding::Done(findable) if findable.lasts => *findable,
            Finding::Asked(standby) if says_so(standby) => Findable { lasts: true },
            _ => ending::make_findable(job, Some(spec)),
        };
        *self = Finding::Done(findable);
        findable
    }
}

fn says_so(mut standby: &UnixStream) -> bool {
    let on = [(standby.as_fd(), Interest::Readable)];
    let spoke = poll::wait(&on, Some(PATIENCE)).is_ok_and(|woken| woken.contains(&true));
    spoke && matches!(standby.read(&mut [0]), Ok(1))
}
