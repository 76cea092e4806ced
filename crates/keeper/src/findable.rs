//! Making what was asked and all names of the job last: the standby does, while the keeper starts it.
//!
//! So no launch waits for the disk, and an end finds it done. A keeper whose standby says nothing does it
//! itself.

use outlive_core::ending::{self, Findable};
use outlive_core::{JobDir, Spec};
use outlive_sys::poll::{self, Interest};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

/// A disk may take this long; a standby that does has been suspended.
const PATIENCE: Duration = Duration::from_secs(1);

/// How a keeper knows.
#[derive(Debug)]
pub enum Finding {
    /// The standby will say, or end.
    Asked(PipeReader),
    Done(Findable),
    /// Nobody has seen to it.
    Open,
}

/// The standby's side.
#[derive(Debug)]
pub struct Teller(PipeWriter);

/// Before the fork: both sides.
pub fn ask() -> io::Result<(Finding, Teller)> {
    let (reader, writer) = io::pipe()?;
    Ok((Finding::Asked(reader), Teller(writer)))
}

impl Teller {
    /// Sees to it, and says so.
    pub fn see_to_it(mut self, job: &JobDir, spec: &Spec) -> Findable {
        let findable = ending::make_findable(job, Some(spec));
        if findable.lasts {
            // A keeper that is gone need not hear it.
            let _ = self.0.write_all(b"f");
        }
        findable
    }
}

impl Finding {
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

fn says_so(mut standby: &PipeReader) -> bool {
    let on = [(standby.as_fd(), Interest::Readable)];
    let spoke = poll::wait(&on, Some(PATIENCE)).is_ok_and(|woken| woken.contains(&true));
    spoke && standby.read(&mut [0]).is_ok_and(|count| count == 1)
}
