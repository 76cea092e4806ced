//! Whose turn it is in a queue, and sleeping until that may have changed.
//!
//! ```text
//!  running  running │ first ◄── second ◄── third ◄── …
//!      ▲       ▲    │  │ one thread for each running job, and one for the bell
//!      └───────┴───────┘
//! ```
//! Each job that waits sleeps on the line's lock of the job before it. Only the first one sleeps on the running jobs.
//! So the end of a job wakes one process, and so does each turn that is taken: nobody polls, and no herd wakes.
//!
//! The first in the line takes its turn when fewer jobs run than the queue is wide. Only the first may, and whoever
//! decides holds a lock meanwhile. So there are never more than that, and turns come in the order of the tickets.
//!
//! Nobody holds what would wake the first when the queue becomes wider. So it has a bell, a FIFO. A job that joins
//! rings it if the first could go on.
//!
//! To sleep on a job takes a descriptor and a thread. If the queue is wider than the limits allow, the first looks once a
//! second at the jobs for which it has none.

use crate::errands::lock_wait::running_leader;
use crate::hooks;
use outlive_core::queue::{Key, QueueDir, Ticket};
use outlive_core::{Home, JobDir, layout};
use outlive_sys::process::own;
use outlive_sys::{capture, lock};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::mem;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// These threads call the kernel and little else.
const STACK: usize = 128 * 1024;

/// How many files are open beside those of the jobs that are slept on: its own, and a few at a time to decide.
const OTHER_FILES: usize = 16;

/// The pause before looking again at what cannot be slept on.
const PAUSE: Duration = Duration::from_secs(1);

/// Whether a job's turn has come.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// It has come, and is taken.
    Turn,
    /// This job is before it in the line.
    Behind(Ticket),
    /// It is the first in the line, and as many jobs run as the queue is wide.
    First { running: Vec<Ticket> },
}

/// Decides whether the turn of this job has come, and takes it then: releases the lock on its line. The caller holds
/// the lock of those who decide.
pub fn decide(home: &Home, queue: &QueueDir, own: &Key, line: &File) -> io::Result<Decision> {
    let tickets = queue.tickets()?;
    let before = tickets.iter().take_while(|ticket| ticket.key != *own);
    let before: Vec<&Ticket> = before.collect();
    for ticket in before.into_iter().rev() {
        if is_owned(&queue.line(&ticket.key))? {
            return Ok(Decision::Behind(ticket.clone()));
        }
    }
    let running = running(home, queue, &tickets, own)?;
    if running.len() >= queue.width() as usize {
        return Ok(Decision::First { running });
    }
    lock::release(line)?;
    Ok(Decision::Turn)
}

/// The tickets of the jobs that had their turn and may still run. Tickets of jobs that are gone are removed.
fn running(
    home: &Home,
    queue: &QueueDir,
    tickets: &[Ticket],
    own: &Key,
) -> io::Result<Vec<Ticket>> {
    let mut running = Vec::new();
    for ticket in tickets.iter().filter(|ticket| ticket.key != *own) {
        if is_owned(&queue.line(&ticket.key))? {
            continue;
        }
        if is_owned(&queue.ticket(ticket))? || running_leader(home, &ticket.key.job)?.is_some() {
            running.push(ticket.clone());
        } else {
            remove(queue, ticket);
        }
    }
    Ok(running)
}

/// Whether a job's keepers have locked this file. Those who sleep on a lock share it for a moment, and do not count.
pub fn is_owned(path: &Path) -> io::Result<bool> {
    match layout::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => lock::is_owned(&other?),
    }
}

/// Removes the files of a job that has left the queue.
pub fn remove(queue: &QueueDir, ticket: &Ticket) {
    // The ticket comes first: while it is there, others look for the rest.
    for path in [
        queue.ticket(ticket),
        queue.line(&ticket.key),
        queue.bell(&ticket.key),
    ] {
        let _ = fs::remove_file(path);
    }
}

/// Removes what jobs have left that were killed before they joined. A job that is about to join has keepers, and
/// they hold its lock.
pub fn sweep(home: &Home, queue: &QueueDir) -> io::Result<()> {
    for (path, job) in queue.without_ticket()? {
        let is_kept = layout::open(&home.job(&job).lock()).and_then(|file| lock::is_taken(&file));
        let is_gone = match is_kept {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(is_kept) => !is_kept,
        };
        if is_gone {
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

/// Sleeps until the job has taken its turn. This is all that the errand does. Its standard input is the file of the
/// line's lock, which it shares with the keepers.
pub fn wait(job: &JobDir, parent: i32) -> io::Result<()> {
    own::die_with_parent(parent)?;
    let line = own::take_handed_down()?.input;
    let spec = job.read_spec().map_err(io::Error::other)?;
    let asked = spec.queue.as_ref();
    let name = &asked.ok_or(io::ErrorKind::InvalidInput)?.name;
    let (home, _) = job.place()?;
    let mut waiting = Waiting {
        queue: home.queue(name),
        home,
        key: Key::of(&spec),
        line,
        sleepers: None,
    };
    waiting.ring_first()?;
    while waiting.step()? == Step::Again {}
    Ok(())
}

/// A job that waits in the line.
struct Waiting {
    home: Home,
    queue: QueueDir,
    key: Key,
    line: File,
    /// Made when the job is the first.
    sleepers: Option<Sleepers>,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Done,
    Again,
}

impl Waiting {
    fn step(&mut self) -> io::Result<Step> {
        // Made before the decision: whoever rings has changed something before.
        let sleepers = match self.sleepers.take() {
            Some(sleepers) => Some(sleepers),
            None if self.is_first()? => Some(Sleepers::with_bell(&self.queue, &self.key)?),
            None => None,
        };
        let decision = self.decide()?;
        match (decision, sleepers) {
            (Decision::Turn, _) => return Ok(Step::Done),
            (Decision::Behind(other), _) => sleep_on(&self.queue.line(&other.key))?,
            // It has become the first since it looked.
            (Decision::First { .. }, None) => {}
            (Decision::First { running }, Some(mut sleepers)) => {
                sleepers.sleep(&self.home, &self.queue, running);
                self.sleepers = Some(sleepers);
            }
        }
        Ok(Step::Again)
    }

    fn decide(&self) -> io::Result<Decision> {
        // A predecessor of this errand may have taken the turn, and was killed before its keeper knew.
        if !is_owned(&self.queue.line(&self.key))? {
            return Ok(Decision::Turn);
        }
        let _deciding = deciding(&self.queue)?;
        let decision = decide(&self.home, &self.queue, &self.key, &self.line)?;
        if decision == Decision::Turn {
            hooks::errand_took_turn();
        }
        Ok(decision)
    }

    fn is_first(&self) -> io::Result<bool> {
        Ok(first(&self.queue)?.is_none_or(|ticket| ticket.key == self.key))
    }

    /// Wakes the first job of the line if it could go on: the queue has become wider.
    fn ring_first(&self) -> io::Result<()> {
        let _deciding = deciding(&self.queue)?;
        let Some(first) = first(&self.queue)?.filter(|first| first.key != self.key) else {
            return Ok(());
        };
        let tickets = self.queue.tickets()?;
        let running = running(&self.home, &self.queue, &tickets, &self.key)?;
        if running.len() < self.queue.width() as usize {
            // If nobody listens, the first has just become the first, and decides when this one has let go.
            if let Ok(mut bell) = capture::open_writer(&self.queue.bell(&first.key)) {
                let _ = bell.write(b"!");
            }
        }
        Ok(())
    }
}

/// The lock of those who decide. It is held for a few system calls only.
fn deciding(queue: &QueueDir) -> io::Result<File> {
    let file = layout::open_or_make(&queue.turns())?;
    lock::wait(&file)?;
    Ok(file)
}

/// The first job in the line.
fn first(queue: &QueueDir) -> io::Result<Option<Ticket>> {
    for ticket in queue.tickets()? {
        if is_owned(&queue.line(&ticket.key))? {
            return Ok(Some(ticket));
        }
    }
    Ok(None)
}

/// Sleeps until no keeper has locked this file.
fn sleep_on(path: &Path) -> io::Result<()> {
    match layout::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => lock::wait_shared(&other?),
    }
}

/// What the first job of the line sleeps on: one thread for each, because the kernel waits for one lock at a time.
struct Sleepers {
    news: Arc<News>,
    on: BTreeSet<Ticket>,
}

/// What the threads have to say. A channel of the standard library would do the same. But its thread-local variables
/// would take one more page of memory in each keeper, because this program is the keeper.
#[derive(Default)]
struct News {
    /// Jobs that have ended; `None` for the bell.
    unread: Mutex<Vec<Option<Ticket>>>,
    come: Condvar,
}

impl News {
    fn tell(&self, news: Option<Ticket>) {
        self.unread().push(news);
        self.come.notify_one();
    }

    /// Sleeps until there is something, at most for so long, and takes it.
    fn take(&self, at_most: Option<Duration>) -> Vec<Option<Ticket>> {
        let is_empty = |unread: &mut Vec<_>| unread.is_empty();
        let unread = self.unread();
        let mut unread = match at_most {
            None => {
                let told = self.come.wait_while(unread, is_empty);
                told.unwrap_or_else(PoisonError::into_inner)
            }
            Some(limit) => {
                let told = self.come.wait_timeout_while(unread, limit, is_empty);
                told.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        mem::take(&mut *unread)
    }

    fn unread(&self) -> MutexGuard<'_, Vec<Option<Ticket>>> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sleepers {
    /// Begins to listen to the bell. It is a new one: an errand that ran before this one may still read the old one.
    fn with_bell(queue: &QueueDir, own: &Key) -> io::Result<Sleepers> {
        let path = queue.bell(own);
        let _ = fs::remove_file(&path);
        capture::make_fifo(&path)?;
        let mut bell = capture::open_both(&path)?;
        let news: Arc<News> = Arc::default();
        let rung = Arc::downgrade(&news);
        start(move || {
            while bell.read(&mut [0]).is_ok()
                && let Some(news) = rung.upgrade()
            {
                news.tell(None);
            }
        })?;
        Ok(Sleepers {
            news,
            on: BTreeSet::new(),
        })
    }

    /// Sleeps until one of these jobs has ended, or the bell was rung. If there are too many to sleep on all of them,
    /// sleeps for a moment at most.
    fn sleep(&mut self, home: &Home, queue: &QueueDir, running: Vec<Ticket>) {
        let most = own::open_file_limit().unwrap_or(usize::MAX);
        let most = most.saturating_sub(OTHER_FILES);
        let mut has_all = true;
        for ticket in running {
            if self.on.contains(&ticket) {
                continue;
            }
            let watch = || self.watch(home.clone(), queue.ticket(&ticket), ticket.clone());
            match self.on.len() < most && watch().is_ok() {
                true => drop(self.on.insert(ticket)),
                false => has_all = false,
            }
        }
        let limit = (!has_all).then_some(PAUSE);
        for news in self.news.take(limit).into_iter().flatten() {
            self.on.remove(&news);
        }
    }

    fn watch(&self, home: Home, path: std::path::PathBuf, ticket: Ticket) -> io::Result<()> {
        let news = Arc::clone(&self.news);
        start(move || {
            let slept = sleep_on(&path).and_then(|()| wait_for_process(&home, &ticket));
            if slept.is_err() {
                // The errand looks again, and not in a loop while the error lasts.
                thread::sleep(PAUSE);
            }
            news.tell(Some(ticket));
        })
    }
}

/// The keepers of a job are gone, or let its place go. If they were killed, its process may still run.
fn wait_for_process(home: &Home, ticket: &Ticket) -> io::Result<()> {
    match running_leader(home, &ticket.key.job)? {
        Some(process) => process.wait_for_end(None).map(drop),
        None => Ok(()),
    }
}

fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(work)
        .map(drop)
}
