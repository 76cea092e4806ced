//! A job's place in its queue: a ticket with a number, and the lock of its place in the line.
//!
//! ```text
//!  ticket   line      the job
//!  locked   locked    waits in the line
//!  locked   free      has its turn: it is being started, or runs
//!  free     free      is gone, unless its keepers were killed and its process still runs
//! ```
//! Both keepers share both open files. So one keeper's death changes nothing, and if both are killed, the kernel
//! releases the place. To take the turn is one call: it releases the line's lock. There is no state between the two.

use crate::errands::lock_wait::LockState;
use crate::hooks::{Hook, Role};
use crate::turns::line::{self, Decision};
use outlive_core::layout;
use outlive_core::queue::{Key, QueueDir, Ticket, width_text};
use outlive_core::spec::Queue;
use outlive_core::{Home, JobDir, Spec};
use outlive_sys::lock::{self, LockResult};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};

/// The place of a job in its queue.
#[derive(Debug)]
pub struct Place {
    pub(super) home: Home,
    pub(super) queue: QueueDir,
    pub(super) key: Key,
    width: Option<u32>,
    ticket: File,
    /// `None` for a job that had its turn before this pair.
    line: Option<File>,
}

impl Place {
    /// Makes the files of a place that is not in the order yet, and locks them.
    pub fn make(job: &JobDir, queue: &Queue, spec: &Spec) -> io::Result<Place> {
        let (home, _) = job.place()?;
        let directory = home.queue(&queue.name);
        DirBuilder::new()
            .recursive(true)
            .mode(layout::PRIVATE_DIRECTORY)
            .create(directory.path())?;
        let key = Key::of(spec);
        // Opened before the ticket can be seen, so that nobody sees a ticket without its line.
        let line = layout::open_or_make(&directory.line(&key))?;
        let ticket = layout::open_or_make(&directory.new_ticket(&key))?;
        for file in [&line, &ticket] {
            if let LockResult::Held = lock::take(file.try_clone()?)? {
                return Err(io::Error::other(
                    "another process has its place in the queue",
                ));
            }
        }
        Ok(Place {
            home,
            queue: directory,
            key,
            width: queue.width,
            ticket,
            line: Some(line),
        })
    }

    /// Finds the place of a job that has begun. `None` if somebody removed it.
    pub fn find(job: &JobDir, queue: &Queue, spec: &Spec) -> io::Result<Option<Box<Place>>> {
        let (home, _) = job.place()?;
        let directory = home.queue(&queue.name);
        let key = Key::of(spec);
        let open = |ticket: Ticket| layout::open_or_make(&directory.ticket(&ticket)).ok();
        let ticket = directory.find(&key).ok().flatten().and_then(open);
        Ok(ticket.map(|ticket| {
            Box::new(Place {
                home,
                queue: directory,
                key,
                width: None,
                ticket,
                line: None,
            })
        }))
    }

    /// Joins the queue at its end, unless this was done before.
    pub fn join(&self, role: Role) -> io::Result<()> {
        if self.line.is_none() || self.queue.find(&self.key)?.is_some() {
            return Ok(());
        }
        if let Some(width) = self.width {
            let file = layout::open_or_make(&self.queue.width_file())?;
            file.write_all_at(width_text(width).as_bytes(), 0)?;
        }
        role.reach(Hook::QueueWidened);
        let ticket = Ticket::new(self.next_number()?, self.key.clone());
        role.reach(Hook::QueueNumbered);
        fs::rename(self.queue.new_ticket(&self.key), self.queue.ticket(&ticket))?;
        role.reach(Hook::QueueJoined);
        // What is left there of others does no harm.
        let _ = line::sweep(&self.home, &self.queue);
        Ok(())
    }

    /// Each number is given once: the kernel appends one byte after the other.
    fn next_number(&self) -> io::Result<u64> {
        let mut counter = File::options()
            .append(true)
            .create(true)
            .mode(layout::PRIVATE)
            .open(self.queue.counter())?;
        counter.write_all(b".")?;
        counter.stream_position()
    }

    /// Takes the turn if it has come. Does not wait: if another job's turn is being decided now, the errand waits.
    pub fn take(&self, role: Role) -> io::Result<LockState> {
        let Some(line) = &self.line else {
            return Ok(LockState::Ours);
        };
        if !self.is_in_line()? {
            return Ok(LockState::Ours);
        }
        let turns = layout::open_or_make(&self.queue.turns())?;
        let LockResult::Acquired(_deciding) = lock::take(turns)? else {
            return Ok(LockState::Held);
        };
        match line::decide(&self.home, &self.queue, &self.key, line)? {
            Decision::Turn => {
                role.reach(Hook::TurnTaken);
                Ok(LockState::Ours)
            }
            Decision::Behind(_) | Decision::First { .. } => Ok(LockState::Held),
        }
    }

    /// Whether the pair still has the line's lock. An open file does not see its own locks, so this opens it again.
    fn is_in_line(&self) -> io::Result<bool> {
        line::is_owned(&self.queue.line(&self.key))
    }

    /// Whether somebody has removed the ticket, for example with the whole queue.
    pub fn is_removed(&self) -> bool {
        self.ticket
            .metadata()
            .is_ok_and(|ticket| ticket.nlink() == 0)
    }

    /// The open file of the line's lock, for the errand that takes the turn.
    pub fn line(&self) -> io::Result<File> {
        match &self.line {
            Some(line) => line.try_clone(),
            None => Err(io::Error::other("the job had its turn before")),
        }
    }

    /// Locks the ticket again for a running job whose keepers were killed. If a job that waits has it locked at this
    /// moment, the running process counts all the same.
    pub fn retake(&self) {
        let _ = self.ticket.try_clone().and_then(lock::take);
    }

    /// Leaves the queue, whether the turn had come or not.
    pub fn release(&self) {
        for file in self.line.iter().chain([&self.ticket]) {
            let _ = lock::release(file);
        }
        if let Ok(Some(ticket)) = self.queue.find(&self.key) {
            line::remove(&self.queue, &ticket);
        }
        // The job may not have joined.
        let _ = fs::remove_file(self.queue.new_ticket(&self.key));
        let _ = fs::remove_file(self.queue.line(&self.key));
    }
}
