//! Syncing the job's spec and names to the disk. The standby does this shortly after it has started.
//!
//! A disk can take seconds for it. A keeper that waited would handle no events meanwhile, take no output and note an end
//! late. So the standby does it, which has nothing else to do. If the standby does not report that it is done, the keeper
//! does it at the end. For a job that ends at once this is the cheapest way.

use crate::hooks;
use outlive_core::ending::{self, Findable};
use outlive_core::{JobDir, Spec, layout};
use outlive_sys::file;
use outlive_sys::poll::{self, Interest};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A standby that takes longer than this to finish is taken for suspended.
const PATIENCE: Duration = Duration::from_secs(1);

/// The standby begins after this time. A job that ends sooner is synced by its keeper, together with its end.
pub const MOMENT: Duration = Duration::from_millis(20);

const BEGUN: u8 = b'b';
const DONE: u8 = b'd';

/// What a keeper knows about the sync.
#[derive(Debug)]
pub enum Finding {
    /// Nobody has done it.
    Open,
    /// There is a standby, which reports when it begins and when it is done.
    Standby(UnixStream),
    Done(Findable),
}

/// The standby's end of the connection.
#[derive(Debug)]
pub struct Syncing(UnixStream);

/// Creates both ends of the connection. Called before the fork.
pub fn both_sides() -> io::Result<(Finding, Syncing)> {
    let (keeper, standby) = UnixStream::pair()?;
    keeper.set_nonblocking(true)?;
    Ok((Finding::Standby(keeper), Syncing(standby)))
}

impl Syncing {
    /// Syncs, and reports it. The keeper may be gone.
    pub fn see_to(mut self, job: &JobDir, spec: &Spec) -> Finding {
        let _ = self.0.write_all(&[BEGUN]);
        hooks::standby_syncs();
        let findable = ending::make_findable(job, Some(spec));
        if findable.lasts {
            let _ = self.0.write_all(&[DONE]);
        }
        Finding::Done(findable)
    }
}

impl Finding {
    /// What another process may know. The connection to this process's standby is of no use to it.
    pub fn known(&self) -> Finding {
        match self {
            Finding::Done(findable) => Finding::Done(*findable),
            Finding::Open | Finding::Standby(_) => Finding::Open,
        }
    }

    /// Returns when the sync is done or cannot be done.
    pub fn done(&mut self, job: &JobDir, spec: &Spec) -> Findable {
        let findable = match self {
            Finding::Done(findable) if findable.lasts => *findable,
            Finding::Standby(standby) if is_done(standby) => Findable { lasts: true },
            _ => {
                // Written out before the first sync, this data is a part of that sync and needs none of its own.
                let _ = layout::open(&job.spec()).map(|asked| file::write_out(&asked));
                ending::make_findable(job, Some(spec))
            }
        };
        *self = Finding::Done(findable);
        findable
    }
}

/// Whether the standby has synced. If it has begun, this waits for it.
fn is_done(standby: &UnixStream) -> bool {
    match last_word(standby) {
        Some(BEGUN) => {
            let on = [(standby.as_fd(), Interest::Readable)];
            poll::wait(&on, Some(PATIENCE)).is_ok() && last_word(standby) == Some(DONE)
        }
        word => word == Some(DONE),
    }
}

fn last_word(mut standby: &UnixStream) -> Option<u8> {
    let mut words = [0; 2];
    let count = standby.read(&mut words).ok()?;
    words[..count].last().copied()
}
