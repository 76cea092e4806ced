//! What a keeper needs and its successor could not create again. It is opened before the keeper is forked.

use crate::clock;
use crate::errands::keep_awake::KeepAwake;
use crate::errands::lock_wait::NamedLock;
use crate::input::channel::Channel;
use crate::output::capture::Source;
use crate::output::mirror;
use crate::pair::front::Front;
use crate::pair::partner::Backoff;
use crate::turns::{self, place::Place};
use outlive_core::layout::{self, CONTROL};
use outlive_core::limits::{self, Files};
use outlive_core::restart::Environment;
use outlive_core::{BootTime, Input, JobDir, Phase, ProcRef, Spec, Streams};
use outlive_sys::capture;
use outlive_sys::cgroup::OomBell;
use outlive_sys::child::{self, Gate, GateInside, Parking};
use outlive_sys::control::Listener;
use outlive_sys::process::{Limits, PidFd};
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::thread;

/// Even with the fewest files that a keeper can work with, this many clients can be connected.
const FEWEST_CLIENTS: usize = 8;
/// The limit on clients if the limit on files is not known.
const MAX_CLIENTS: usize = 128;

/// What a keeper needs and its successor could not create again.
#[derive(Debug)]
pub struct Shared {
    pub directory: JobDir,
    pub spec: Spec,
    pub feed: File,
    /// The feed of standard error, if the job's streams are split.
    pub feed_of_stderr: Option<File>,
    pub listener: Listener,
    pub channel: Channel,
    /// The keeper's side of the gate through which the leader starts.
    pub gate: Gate,
    /// Where a keeper leaves the gates of later attempts for its successor, if the job is restarted.
    pub parking: Option<Parking>,
    /// Whose environment this pair has.
    pub environment: Environment,
    /// Set in the foreground only.
    pub front: Option<Box<Front>>,
    /// The caller's own log, locked.
    pub log: Option<File>,
    /// The named lock, if the job has one.
    pub named_lock: Option<NamedLock>,
    /// Its place in the queue, if the job has a queue.
    pub place: Option<Box<Place>>,
    /// Rings when a job with a limit of memory runs out of it.
    pub oom_bell: Option<OomBell>,
    pub max_clients: usize,
    pub limits: Option<Limits>,
    /// The leader and a descriptor of it, in a standby that was forked after the leader, and in both keepers of a
    /// process that was adopted.
    pub leader: Option<(ProcRef, PidFd)>,
    /// The job's processes do not descend from this one, although the job was not adopted: this process was a child of
    /// the keeper that it took over from.
    pub orphaned: bool,
    /// When the present keeper began, and how many keepers before it died young.
    pub begun: BootTime,
    pub backoff: Backoff,
    /// The file that the pair has locked.
    lock: FileId,
    /// The machine is kept awake until this is closed.
    _awake: Option<KeepAwake>,
    /// Writing here tells the launcher that the start is decided.
    ready: File,
}

impl Shared {
    /// The job's directory and spec.
    pub fn asked(&self) -> (&JobDir, &Spec) {
        (&self.directory, &self.spec)
    }

    /// Opens everything, and the leader's side of the gate.
    ///
    /// Kept out of line: its large stack frame must not lie below what its caller reads before.
    #[inline(never)]
    pub fn open(
        job: JobDir,
        lock: FileId,
        spec: Spec,
        ready: &File,
        limits: Option<Limits>,
    ) -> io::Result<(Shared, GateInside)> {
        let needed = Files::of(&spec);
        let refusal =
            limits.and_then(|may| limits::refusal(needed, may.open_files(), may.file_size()));
        if let Some(reason) = refusal {
            return Err(io::Error::other(reason));
        }
        let (gate, inside) = child::gate()?;
        // For most jobs it does not matter, so the journal is not read.
        let matters = spec.log.is_some()
            || spec.queue.is_some()
            || spec.input != Input::Null
            || spec.restart.is_some();
        let begun = matters && has_begun(&job)?;
        let log = match mirror::open_log(&spec) {
            // A job that already runs is supervised without its log.
            Err(_) if begun => None,
            other => other?,
        };
        let leader = open_adopted(&spec)?;
        let named_lock = spec.lock.as_ref().map(|name| NamedLock::open(&job, name));
        let limited = spec.limits.memory_bytes;
        let oom_bell = limited.map(|_| OomBell::new()).transpose()?;
        let shared = Shared {
            front: None,
            log,
            named_lock: named_lock.transpose()?,
            place: turns::open_place(&job, &spec, begun)?,
            oom_bell,
            max_clients: limits.map_or(MAX_CLIENTS, |limits| {
                limits.open_files() - needed.0 + FEWEST_CLIENTS
            }),
            feed: open_feed(&job.feed(), spec.streams)?,
            feed_of_stderr: match spec.streams {
                Streams::Merged => None,
                Streams::Split => Some(open_feed(&job.feed_of_stderr(), spec.streams)?),
            },
            listener: listen(&job)?,
            channel: Channel::open(&job, &spec, begun)?,
            _awake: KeepAwake::begin(&job, &spec),
            directory: job,
            parking: spec.restart.map(|_| Parking::new()).transpose()?,
            environment: match begun {
                true => Environment::Foreign,
                false => Environment::OfTheJob,
            },
            spec,
            gate,
            ready: ready.try_clone()?,
            limits,
            leader,
            orphaned: false,
            begun: clock::now(),
            backoff: Backoff::default(),
            lock,
        };
        Ok((shared, inside))
    }

    /// For a successor: takes the gate of the newest attempt, if the predecessor made one after the fork.
    pub fn take_parked_gate(&mut self) -> io::Result<()> {
        if let Some(parking) = &self.parking
            && let Some(gate) = parking.take()?
        {
            self.gate = gate;
        }
        Ok(())
    }

    /// Whether the directory still belongs to the job of this pair. When the job is over it may be pruned, and another
    /// job may get its id.
    pub fn is_still_here(&self) -> bool {
        FileId::at(&self.directory.lock()).is_ok_and(|id| id == self.lock)
    }

    /// Call this before taking over. It pauses if keepers have died one after the other.
    pub fn pause_before_taking_over(&mut self) {
        let lived = clock::now().since(self.begun);
        thread::sleep(self.backoff.after(lived));
    }

    /// What to read the job's output from.
    pub fn source(&self) -> Source<'_> {
        Source {
            feed: &self.feed,
            feed_of_stderr: self.feed_of_stderr.as_ref(),
            terminal: match &self.channel {
                Channel::Terminal(terminal) => Some(terminal),
                Channel::None | Channel::Pipe(_) | Channel::Lost(_) => None,
            },
        }
    }

    /// Tells the launcher that the start is decided. The launcher may be gone.
    pub fn ring_ready(&self) {
        let _ = (&self.ready).write_all(b"r");
    }
}

/// Identifies a file, for as long as some process has it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub fn at(path: &Path) -> io::Result<FileId> {
        fs::metadata(path).map(FileId::from)
    }

    pub fn of(file: &File) -> io::Result<FileId> {
        file.metadata().map(FileId::from)
    }
}

impl From<Metadata> for FileId {
    fn from(file: Metadata) -> FileId {
        FileId {
            device: file.dev(),
            inode: file.ino(),
        }
    }
}

/// Opens the process that an adopted job was made of, for both keepers: once its own parent has reaped it, the kernel
/// tells how it ended only to those who have it open.
fn open_adopted(spec: &Spec) -> io::Result<Option<(ProcRef, PidFd)>> {
    let Some(adopted) = &spec.adopted else {
        return Ok(None);
    };
    let process = adopted.process;
    let opened = PidFd::open_started(process.pid, process.started)?;
    Ok(opened.map(|pidfd| (process, pidfd)))
}

fn has_begun(job: &JobDir) -> io::Result<bool> {
    let journal = job.read_journal().map_err(io::Error::other)?;
    Ok(journal.state.phase != Phase::Accepted)
}

fn listen(job: &JobDir) -> io::Result<Listener> {
    let listen = || Listener::bind(job.path(), CONTROL);
    // The socket of a dead keeper has been replaced. A directory in its place is renamed first.
    listen().or_else(|_| {
        layout::set_aside(&job.control(), |kind| !kind.is_dir())?;
        listen()
    })
}

/// The reading end of a feed. If the FIFO was deleted, a new one is created: the old one's writers cannot be reached
/// any more.
fn open_feed(feed: &Path, streams: Streams) -> io::Result<File> {
    let open = match streams {
        Streams::Merged => capture::open_reader,
        Streams::Split => capture::open_reader_to_look,
    };
    layout::set_aside(feed, FileTypeExt::is_fifo)?;
    match open(feed) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            capture::make_fifo(feed)?;
            open(feed)
        }
        other => other,
    }
}
