//! The stream of journals: asks for the records of the jobs of this place, and adds them to the replicas as they come.
//!
//! ```text
//!  reader ─► replica appended ─► clerk ─► synced ─► acked ─► session woken ─► over? acked for good, live link removed
//! ```
//! The reader appends before it passes on later frames, so whoever reads an answer finds in the replica what it speaks
//! of. It does not wait for the disk: another thread, the **clerk**, syncs and acks.
//!
//! A place may lie about its jobs, but it fills neither the disk nor the memory here: what it says counts only for a job
//! that is followed, and of each job so much is taken.

use super::desk::Courier;
use super::owed;
use super::replicas::{self, Taken};
use super::wire::{End, ROOM_STEP, Sink, Wire};
use crate::clock;
use crate::hooks::{self, CourierHook};
use crate::inbox;
use crate::places::Unreached;
use crate::places::records::{Placed, PlacedStep, Start, TOO_MANY_RECORDS};
use outlive_core::JobId;
use outlive_core::far::{FromJournals, MAX_LINE, Opening, ToJournals, words};
use outlive_core::wire::Room;
use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A line with a record as a JSON string may be longer than the record.
const MAX_TOLD: usize = 2 * MAX_LINE + 4096;

/// The most bytes that wait for room. A far end takes these lines as they come.
const MAX_UNSENT: usize = 64 << 20;

/// The stream of journals of one wire.
pub struct JournalStream {
    courier: Arc<Courier>,
    number: AtomicU64,
    input: Mutex<Input>,
    output: Mutex<Output>,
    /// The jobs that cannot be followed, of which that is in the log.
    failed: Mutex<HashSet<JobId>>,
}

#[derive(Default)]
struct Input {
    /// The beginning of a line.
    bytes: Vec<u8>,
    /// Taken since room was given.
    taken: usize,
}

#[derive(Default)]
struct Output {
    room: Room,
    /// What waits for room.
    bytes: Vec<u8>,
}

impl JournalStream {
    pub fn open(courier: &Arc<Courier>, wire: &Wire) -> Result<Arc<JournalStream>, Unreached> {
        let stream = Arc::new(JournalStream {
            courier: Arc::clone(courier),
            number: AtomicU64::new(0),
            input: Mutex::default(),
            output: Mutex::default(),
            failed: Mutex::default(),
        });
        let number = wire.open(&Opening::Journals, stream.clone())?;
        stream.number.store(number, Ordering::Relaxed);
        Ok(stream)
    }

    /// Asks for the records of a job that are not here. `stopped` if what it was started in has been stopped since.
    pub fn follow(&self, wire: &Wire, job: &JobId, stopped: bool) -> io::Result<()> {
        if let Some(after) = self.courier.replicas.follow(&self.courier, job)? {
            let job = job.clone();
            let follow = ToJournals::Follow {
                job,
                after,
                stopped,
            };
            self.say(wire, &follow);
        }
        Ok(())
    }

    /// Sends a line as soon as there is room.
    pub fn say(&self, wire: &Wire, line: &ToJournals) {
        let Ok(text) = serde_json::to_vec(line) else {
            return;
        };
        let mut output = lock(&self.output);
        if output.bytes.len() > MAX_UNSENT {
            let why = "it does not read what is asked of it";
            return wire.cut(Unreached::NotUnderstood(why.to_owned()));
        }
        output.bytes.extend_from_slice(&text);
        output.bytes.push(b'\n');
        self.flush(wire, &mut output);
    }

    fn flush(&self, wire: &Wire, output: &mut Output) {
        let count = output.room.left().min(output.bytes.len());
        if count > 0 {
            output.room.use_up(count);
            let bytes: Vec<u8> = output.bytes.drain(..count).collect();
            wire.send(self.number.load(Ordering::Relaxed), &bytes);
        }
    }

    fn take(&self, line: &[u8]) -> Result<(), Unreached> {
        let told: FromJournals = serde_json::from_slice(line).map_err(|error| {
            Unreached::NotUnderstood(format!("a line about journals cannot be read: {error}"))
        })?;
        match told {
            FromJournals::Record { job, line } => {
                let taken = self.courier.replicas.take(&self.courier, &job, &line);
                let taken = taken.map_err(|error| {
                    Unreached::Refused(format!("cannot write the record of {job} here: {error}"))
                })?;
                match taken {
                    Taken::Appended => self.courier.clerk.add(Task::Sync(job)),
                    Taken::TooMany => self.courier.clerk.add(Task::GiveUp(job)),
                    Taken::Ignored => {}
                }
            }
            // What it says of jobs that are not followed is of no use, or a lie.
            FromJournals::Gone { job } if self.courier.replicas.has(&job) => {
                self.courier.clerk.add(Task::Gone(job));
            }
            FromJournals::Failed { job, reason } if self.courier.replicas.has(&job) => {
                if lock(&self.failed).insert(job.clone()) {
                    let reason = words(&reason);
                    let log = &self.courier.log;
                    log.note(&format!("{job} cannot be followed: {reason}"));
                }
            }
            FromJournals::Finished { job } => owed::is_paid(&self.courier, &job),
            FromJournals::Gone { .. } | FromJournals::Failed { .. } => {}
        }
        Ok(())
    }
}

impl Sink for JournalStream {
    fn data(&self, wire: &Wire, stream: u64, bytes: &[u8]) -> Result<(), Unreached> {
        let mut input = lock(&self.input);
        input.bytes.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(end) = memchr::memchr(b'\n', &input.bytes[from..]) {
            self.take(&input.bytes[from..from + end])?;
            from += end + 1;
        }
        input.bytes.drain(..from);
        if input.bytes.len() > MAX_TOLD {
            let why = "a line about journals is longer than any can be";
            return Err(Unreached::NotUnderstood(why.to_owned()));
        }
        input.taken += bytes.len();
        if input.taken >= ROOM_STEP {
            wire.give_room(stream, std::mem::take(&mut input.taken));
        }
        Ok(())
    }

    fn room(&self, wire: &Wire, bytes: usize) {
        let mut output = lock(&self.output);
        output.room.give(bytes);
        self.flush(wire, &mut output);
    }

    fn end(&self, wire: &Wire, end: End) {
        // It stays open as long as the wire.
        match end {
            End::Lost(_) => {}
            End::Well => wire.cut(Unreached::Refused("it sends no more journals".to_owned())),
            End::Refused(failure) => wire.cut(Unreached::Refused(failure.message)),
        }
    }
}

impl Courier {
    /// Asks for the journal of a job.
    pub fn follow(&self, wire: &Wire, job: &JobId) -> io::Result<()> {
        match wire.journals() {
            Some(journals) => journals.follow(wire, job, false),
            None => Ok(()),
        }
    }

    /// Says something on the stream of journals, if there is a wire.
    pub fn tell_journals(&self, line: &ToJournals) {
        if let Some(wire) = self.wire_now()
            && let Some(journals) = wire.journals()
        {
            journals.say(&wire, line);
        }
    }
}

/// What the clerk is to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// Records of this job were appended.
    Sync(JobId),
    /// The place says that this job is not there.
    Gone(JobId),
    /// The place sends more records of this job than any has.
    GiveUp(JobId),
}

/// Does what waits for the disk.
#[derive(Default)]
pub struct Clerk {
    tasks: Mutex<BTreeSet<Task>>,
    changed: Condvar,
}

impl Clerk {
    pub fn add(&self, task: Task) {
        lock(&self.tasks).insert(task);
        self.changed.notify_one();
    }

    /// Works for this courier for ever.
    pub fn work(&self, courier: &Arc<Courier>) {
        loop {
            let tasks = {
                let waits = |tasks: &mut BTreeSet<Task>| tasks.is_empty();
                let waited = self.changed.wait_while(lock(&self.tasks), waits);
                std::mem::take(&mut *waited.unwrap_or_else(PoisonError::into_inner))
            };
            for task in tasks {
                let (done, job) = match &task {
                    Task::Sync(job) => (sync(courier, job), job),
                    Task::Gone(job) => (gone(courier, job), job),
                    Task::GiveUp(job) => {
                        give_up(courier, job);
                        continue;
                    }
                };
                if let Err(error) = done {
                    courier
                        .log
                        .note(&format!("cannot record what became of {job}: {error}"));
                }
            }
        }
    }
}

/// Syncs a replica, and tells the place and whoever waits here.
fn sync(courier: &Arc<Courier>, job: &JobId) -> io::Result<()> {
    let Some(synced) = courier.replicas.sync(job)? else {
        return Ok(());
    };
    hooks::reach_courier(CourierHook::Synced);
    let (job, seq) = (job.clone(), synced.seq);
    courier.tell_changed(&job);
    if let Some(session) = &synced.spec.session {
        inbox::wake(&courier.outlive, session);
    }
    if synced.is_final {
        return finish_far(courier, &job, seq);
    }
    if synced.has_ended {
        courier.ring_for(&job);
    }
    courier.tell_journals(&ToJournals::Ack { job, seq });
    Ok(())
}

/// Everything that the place will ever say of a job is on the disk here.
pub fn finish_far(courier: &Arc<Courier>, job: &JobId, seq: u64) -> io::Result<()> {
    owed::note(courier, job)?;
    courier.tell_journals(&ToJournals::Finish {
        job: job.clone(),
        seq,
    });
    hooks::reach_courier(CourierHook::Acked);
    courier.replicas.leave(job);
    courier.ring_for(job);
    replicas::retire(&courier.outlive, job)
}

/// Takes no more records of a job.
fn give_up(courier: &Arc<Courier>, job: &JobId) {
    courier.replicas.leave(job);
    courier.tell_journals(&ToJournals::Leave { job: job.clone() });
    courier.log.note(&format!("{job}: {TOO_MANY_RECORDS}"));
    courier.tell_changed(job);
}

/// The home to which a job was sent does not have it.
pub fn gone(courier: &Arc<Courier>, job: &JobId) -> io::Result<()> {
    // While its start is being decided, that is no news.
    let Some(_claim) = courier.claims.try_take(job) else {
        return Ok(());
    };
    let placed = Placed::read(&courier.outlive.job_dir(job))?;
    let at_this_home =
        placed.instance().map(|instance| &instance.home) == courier.far_home().as_ref();
    if placed.start() != Start::Answered || !at_this_home {
        return Ok(());
    }
    let reason = format!("it was removed at {}", courier.place.name);
    let lost = PlacedStep::Lost {
        reason,
        at: clock::wall(),
        heard_at: Some(clock::wall()),
    };
    replicas::note(&courier.outlive, job, &lost)?;
    finish(courier, job)
}

/// Records and tells the end of a job that was not started or is lost.
pub fn finish(courier: &Arc<Courier>, job: &JobId) -> io::Result<()> {
    courier.replicas.leave(job);
    replicas::close(courier, job)?;
    courier.tell_changed(job);
    if let Ok(spec) = courier.outlive.read_spec(job)
        && let Some(session) = &spec.session
    {
        inbox::wake(&courier.outlive, session);
    }
    courier.ring_for(job);
    replicas::retire(&courier.outlive, job)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
