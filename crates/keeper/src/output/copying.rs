//! Copying the output to standard output, for a job in the foreground. If the streams of the job are split, its standard
//! error is copied to standard error.
//!
//! The front (`front.rs`) starts a process of its own for this. So only the copy waits if the reader is slow, gone or out
//! of space, and a keeper that is killed does not affect it. The process reads the output as any client does: it asks the
//! keeper for news, and if that keeper dies, it asks the next one.
//!
//! Its position is in a file in memory that the front holds. If the process is killed, another one continues from there.
//! At most 64 KiB, which were written but not yet noted, are then written twice. Nothing is left out except the middle of
//! an output that is larger than its limit, if the reader is too slow.

use crate::errands::errand;
use crate::start::gate;
use outlive_core::control::{Reply, Request};
use outlive_core::layout::{self, CONTROL};
use outlive_core::streams::Runs;
use outlive_core::units::show_size;
use outlive_core::{JobDir, OutputFiles, Spec, State, Stream, Streams};
use outlive_sys::control::{self, Read};
use outlive_sys::poll::{self, Interest};
use outlive_sys::process::own::{self, Bell};
use outlive_sys::process::{self, Status};
use outlive_sys::{file, lock};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

/// The argument that starts this errand.
pub const WORD: &str = "copy";
/// The most bytes written at a time. After a crash they may be written again.
const CHUNK: u64 = 64 * 1024;
/// The size of the noted position.
const PLACE_BYTES: u64 = 8;
/// How many processes are started in all, if they are killed.
const MAX_STARTS: u32 = 16;
/// How long the front waits for the reader after it was asked to end. Engines kill it 10 s later at the earliest.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long to wait before a retry if no keeper listens, or if the disk is full.
const AGAIN: Duration = Duration::from_millis(20);
const FULL: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(2);

/// The copy, as the front knows it.
#[derive(Debug)]
pub struct Copying {
    out: File,
    errors: File,
    /// A file in memory: how many bytes of the output have been written (eight bytes), and then why no more can be
    /// written, once that is so.
    copied: File,
    worker: Worker,
    starts_left: u32,
    /// Why the copy ended before all was copied, if it did.
    cut: Option<String>,
}

/// The process that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worker {
    /// Nobody yet.
    Nobody,
    Process(i32),
    /// All is copied, or no more can be.
    Done,
}

impl Copying {
    pub fn new(out: File, errors: File) -> io::Result<Copying> {
        Ok(Copying {
            out,
            errors,
            copied: file::in_memory("outlive copied")?,
            worker: Worker::Nobody,
            starts_left: MAX_STARTS,
            cut: None,
        })
    }

    /// Why the copy ended before all was copied, if it did.
    pub fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Standard error.
    pub fn errors(&self) -> &File {
        &self.errors
    }

    fn give_up(&mut self, why: &str) {
        self.worker = Worker::Done;
        self.cut = Some(why.to_owned());
    }

    pub fn pid(&self) -> Option<i32> {
        match self.worker {
            Worker::Process(pid) => Some(pid),
            Worker::Nobody | Worker::Done => None,
        }
    }

    /// Starts the copy if it has not been started. If that fails, it is tried again at the end.
    pub fn begin(&mut self, job: &JobDir) {
        if self.worker == Worker::Nobody && self.starts_left == MAX_STARTS {
            self.start(job);
        }
    }

    fn start(&mut self, job: &JobDir) {
        let Some(left) = self.starts_left.checked_sub(1) else {
            return self.give_up("the process that copies failed or was killed too often");
        };
        self.starts_left = left;
        let start = || {
            let mut command = errand::own_program(job, WORD);
            command
                .stdin(self.copied.try_clone()?)
                .stdout(self.out.try_clone()?)
                .stderr(self.errors.try_clone()?);
            errand::send(job, &mut command)
        };
        self.worker = match start() {
            Ok(child) => Worker::Process(child.id() as i32),
            Err(_) => Worker::Nobody,
        };
    }

    /// Reaps the process that copied. Starts another one if it was killed or failed.
    pub fn has_ended(&mut self, job: &JobDir) {
        let Worker::Process(pid) = self.worker else {
            return;
        };
        match (process::wait_for_child(pid), self.why_no_more()) {
            (Ok(Status::Exited { code: 0 }), _) => self.worker = Worker::Done,
            (_, Some(why)) => self.give_up(&why),
            (Err(_), None) => self.give_up("the process that copies ended in an unknown way"),
            (Ok(_), None) => self.start(job),
        }
    }

    /// The reason that the copying process has noted.
    fn why_no_more(&self) -> Option<String> {
        let mut why = [0; 256];
        let count = self.copied.read_at(&mut why, PLACE_BYTES).ok()?;
        (count > 0).then(|| String::from_utf8_lossy(&why[..count]).into_owned())
    }

    /// Waits until all is copied or nobody reads any more. If the front `was_asked` to end, it waits only for a short
    /// time.
    pub fn finish(&mut self, job: &JobDir, bell: &Bell, was_asked: bool) {
        let mut until = was_asked.then(|| Instant::now() + LAST_WORDS);
        // If no start was tried, there is no job to copy from. If starts have failed, this tries again.
        if self.worker == Worker::Nobody && self.starts_left < MAX_STARTS {
            self.start(job);
            if self.worker == Worker::Nobody {
                return self.give_up("the process that copies could not be started");
            }
        }
        let Ok(children) = Bell::for_relatives() else {
            return self.give_up("the process that copies could not be waited for");
        };
        while let Worker::Process(pid) = self.worker {
            children.quiet();
            if process::has_child_ended(pid).unwrap_or(true) {
                self.has_ended(job);
                continue;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let on = [
                (children.as_fd(), Interest::Readable),
                (bell.as_fd(), Interest::Readable),
            ];
            match poll::wait(&on, left).as_deref() {
                Ok([_, true]) => {
                    bell.quiet();
                    until.get_or_insert_with(|| Instant::now() + LAST_WORDS);
                }
                Ok(_) if until.is_none_or(|until| Instant::now() < until) => {}
                _ => {
                    let _ = process::kill_child(pid).and_then(|()| process::wait_for_child(pid));
                    return self.give_up("the reader was too slow");
                }
            }
        }
    }
}

/// Copies until the job is over or nobody reads any more. This is all that the copying process does.
///
/// Standard input is the file in which it notes its position. Standard output is where it copies to.
pub fn run(job: JobDir, front: i32) -> io::Result<()> {
    own::die_with_parent(front)?;
    let errors = own::standard_error()?;
    let handed = own::take_handed_down()?;
    // A broken pipe must be an error here, not a signal.
    own::quiet_signals()?;
    // Leave the front's group, because somebody may signal the whole group. In a session of its own, no keeper takes
    // this process for one of its errands.
    let _ = own::new_session();
    // The job must not be pruned before all is copied.
    let _hold = layout::open(&job.spec()).and_then(lock::share);
    let mut at = [0; 8];
    // If this fails, nothing is noted yet.
    let _ = handed.input.read_exact_at(&mut at, 0);
    let mut copier = Copier {
        spec: job.read_spec().map_err(io::Error::other)?,
        job,
        out: handed.output,
        errors,
        to: Stream::Stdout,
        copied: handed.input,
        at: u64::from_ne_bytes(at),
        keeper: None,
    };
    copier.copy()
}

struct Copier {
    job: JobDir,
    spec: Spec,
    out: File,
    errors: File,
    /// Which of the two is written to now.
    to: Stream,
    copied: File,
    at: u64,
    keeper: Option<control::Stream>,
}

impl Copier {
    fn copy(&mut self) -> io::Result<()> {
        loop {
            // Read the journal before the output: if the journal is final, the output found afterwards is, too.
            let journal = self.job.read_journal().map_err(io::Error::other)?;
            let state = journal.state;
            self.catch_up(&state)?;
            if state.is_final() {
                return Ok(());
            }
            while self.await_news(state.seq) == News::Output {
                let before = self.at;
                self.catch_up(&state)?;
                // The keeper reports more output than there is, so the job has truncated its output file.
                if self.at == before {
                    thread::sleep(AGAIN);
                }
            }
        }
    }

    /// Copies the output that there is now.
    fn catch_up(&mut self, state: &State) -> io::Result<()> {
        let Some(files) = OutputFiles::open(&self.job, self.spec.bound())? else {
            return Ok(());
        };
        let mut buffer = Vec::new();
        let mut until_now = files.size()?;
        let mut runs = self.runs()?;
        while self.at < files.size()? {
            if self.at >= until_now {
                // The runs of what has come since then.
                until_now = files.size()?;
                runs = self.runs()?;
            }
            if let Some(missing) = self.missing(state, files.size()?) {
                let lacks = show_size(missing.end - self.at);
                self.put(format!("\n[… {lacks} of output were not kept here …]\n").as_bytes())?;
                self.move_on(missing.end)?;
                continue;
            }
            let until = self.next_missing(state, until_now);
            let until = until.min(self.turn_to(runs.as_ref())?);
            buffer.resize((until - self.at).min(CHUNK) as usize, 0);
            let count = files.read_at(&mut buffer, self.at)?;
            // Bytes that were dropped while they were read may have been read as zeros.
            let until = self.next_missing(state, files.size()?);
            let count = (count as u64).min(until.saturating_sub(self.at)) as usize;
            if count == 0 && self.missing(state, files.size()?).is_none() {
                return Ok(());
            }
            self.put_output(&buffer[..count])?;
        }
        Ok(())
    }

    /// The runs of the output, if its streams are told apart.
    fn runs(&self) -> io::Result<Option<Runs>> {
        match self.spec.streams {
            Streams::Merged => Ok(None),
            Streams::Split => Runs::open(&self.job),
        }
    }

    /// Writes to where the next byte belongs, from now on. Returns where its run ends.
    fn turn_to(&mut self, runs: Option<&Runs>) -> io::Result<u64> {
        let Some(runs) = runs else {
            return Ok(u64::MAX);
        };
        let run = runs.at(self.at)?;
        // A byte of an unknown stream goes where it would go if the streams were not told apart.
        self.to = run.stream.unwrap_or(Stream::Stdout);
        Ok(run.range.end)
    }

    fn ranges<'a>(&self, state: &'a State, size: u64) -> impl Iterator<Item = Range<u64>> + 'a {
        let gaps = state.gaps.iter().cloned();
        gaps.chain([self.spec.dropped(size)])
            .filter(|range| !range.is_empty())
    }

    /// The missing range (a gap or the dropped middle) that contains the next byte.
    fn missing(&self, state: &State, size: u64) -> Option<Range<u64>> {
        let at = self.at;
        self.ranges(state, size).find(|range| range.contains(&at))
    }

    /// Where the available bytes end that begin at the present position.
    fn next_missing(&self, state: &State, size: u64) -> u64 {
        let starts = self.ranges(state, size).map(|range| range.start);
        let later = starts.filter(|start| *start >= self.at);
        let here = self.missing(state, size).map(|_| self.at);
        later.chain(here).min().unwrap_or(size).min(size)
    }

    /// Writes bytes of the output, and notes the position after each step.
    fn put_output(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.write(bytes)?;
            self.move_on(self.at + count as u64)?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.write(bytes)?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Writes some of the bytes, however long that takes. Fails if nobody reads any more.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut to = match self.to {
                Stream::Stdout => &self.out,
                Stream::Stderr => &self.errors,
            };
            match to.write(bytes) {
                // Whoever opened it may have set it to non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll::wait(&[(to.as_fd(), Interest::Writable)], None)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if file::is_full(&error) && !self.is_over() => thread::sleep(FULL),
                Err(error) => {
                    let why = gate::plain(&error);
                    let _ = self.copied.write_all_at(why.as_bytes(), PLACE_BYTES);
                    return Err(error);
                }
                Ok(count) => return Ok(count),
            }
        }
    }

    fn is_over(&self) -> bool {
        let journal = self.job.read_journal();
        journal.is_ok_and(|journal| journal.state.is_final())
    }

    fn move_on(&mut self, at: u64) -> io::Result<()> {
        self.at = at;
        self.copied.write_all_at(&at.to_ne_bytes(), 0)
    }

    /// Sleeps until there is more output, or something else happens.
    fn await_news(&mut self, seq: u64) -> News {
        let asked = self.ask(seq);
        match asked {
            Ok(Some(Reply::News { seq: now, .. })) if now == seq => News::Output,
            Ok(Some(_)) => News::Other,
            Ok(None) | Err(_) => {
                // The next keeper has not begun yet, or the job is over.
                self.keeper = None;
                thread::sleep(AGAIN);
                News::Other
            }
        }
    }

    /// Asks the keeper. `None` if no keeper listens.
    fn ask(&mut self, seq: u64) -> io::Result<Option<Reply>> {
        if self.keeper.is_none() {
            self.keeper = control::Stream::connect(self.job.path(), CONTROL, PATIENCE)?;
        }
        let Some(keeper) = &self.keeper else {
            return Ok(None);
        };
        let request = Request::News {
            seq,
            output: Some(self.at),
        };
        let mut line = serde_json::to_vec(&request)?;
        line.push(b'\n');
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            rest = &rest[keeper.write(rest)?..];
        }
        let mut answer = Vec::new();
        let mut buffer = [0; 512];
        while !answer.ends_with(b"\n") {
            match keeper.read(&mut buffer)? {
                Read::Bytes(count) => answer.extend_from_slice(&buffer[..count]),
                Read::Empty => {}
                Read::End => return Ok(None),
            }
        }
        Ok(serde_json::from_slice(&answer).ok())
    }
}

/// What woke the copier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Output,
    /// The journal has more, or nobody could be asked.
    Other,
}
