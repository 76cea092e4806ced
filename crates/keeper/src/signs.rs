//! What a job shows of itself while it runs: lines that are watched for, readiness, silence, prompts.
//!
//! ```text
//!  output ─► scanners ─► limit ─► breaker of the session ─► journal
//!  time   ─► silence, an unfinished line that is still, a process that waits for input ─► journal
//! ```
//! What was told is in the journal with where the keeper would have gone on; how far it has come since
//! is in a small file of its own, written after the journal. A successor goes on from the newer of the
//! two, so nothing is missed and nothing told twice.

mod breaker;
mod prompt;
mod silence;

pub use prompt::Prompt;
pub use silence::Silence;

use crate::watch::limit;
use crate::watch::{Limit, Patterns, Place, Scanner};
use breaker::Told;
use outlive_core::event::{Event, Matched};
use outlive_core::layout::PRIVATE;
use outlive_core::ready::Ready;
use outlive_core::watch::Pattern;
use outlive_core::{Input, JobDir, OutputFiles, Spec, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

/// Read and scanned at once; it stays in the processor's nearer caches.
const CHUNK: usize = 64 * 1024;
/// More than this is not kept in memory for a disk that takes nothing.
const MOST_UNWRITTEN: usize = 64;

/// What is looked for in one job.
#[derive(Debug)]
pub struct Signs {
    watch: Option<Watching>,
    /// Until the line has come.
    ready: Option<Scanner>,
    pub silence: Option<Silence>,
    pub prompt: Option<Prompt>,
    breaker: Option<breaker::Share>,
    /// How long an unfinished line must be still, and when that will be.
    still_ms: u64,
    still_at: Option<u64>,
    progress: File,
    resume: Resume,
    /// To be journaled as soon as that can be done.
    unwritten: VecDeque<Event>,
}

/// Lines that are watched for.
#[derive(Debug)]
struct Watching {
    scanner: Scanner,
    limit: Limit,
}

/// Where to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Resume {
    /// Counts changes: of two, the one with more is the newer.
    step: u64,
    watch: Place,
    limit: limit::State,
    ready: Place,
    breaker: breaker::Resume,
    /// The size of the output when its silence was told.
    silence: Option<u64>,
    /// How far output and input had come when a prompt was told.
    prompt: Option<(u64, u64)>,
}

impl Signs {
    /// What was asked of this job; `None` where nothing was.
    pub fn resume(
        job: &JobDir,
        spec: &Spec,
        state: &State,
        size: u64,
        now: u64,
    ) -> io::Result<Option<Signs>> {
        let talks = spec.input != Input::Null && spec.session.is_some();
        let asked = spec.watch.is_some() || matches!(spec.ready, Some(Ready::Line(_)));
        if state.end().is_some() || !(asked || talks || spec.quiet_after_ms.is_some()) {
            return Ok(None);
        }
        let progress = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(PRIVATE)
            .open(job.watch())?;
        let resume = newer(&progress, &state.signs.resume);
        let compiled = |patterns: &[Pattern]| {
            Patterns::compile(patterns).map_err(|bad| io::Error::other(bad.why))
        };
        let watch = match &spec.watch {
            Some(watch) if !state.signs.watch_disabled => Some(Watching {
                scanner: Scanner::resume(compiled(&watch.patterns)?, resume.watch),
                limit: Limit::resume(watch, resume.limit.clone()),
            }),
            _ => None,
        };
        let ready = match (&spec.ready, state.signs.ready) {
            (Some(Ready::Line(pattern)), None) => {
                let pattern = Pattern::Regex(pattern.clone());
                Some(Scanner::resume(compiled(&[pattern])?, resume.ready))
            }
            _ => None,
        };
        Ok(Some(Signs {
            watch,
            ready,
            silence: spec
                .quiet_after_ms
                .map(|after| Silence::begin(after, now, resume.silence == Some(size))),
            prompt: talks.then(|| Prompt::begin(now, resume.prompt)),
            breaker: breaker::Share::of(job, spec, resume.breaker),
            still_ms: spec.still_ms,
            still_at: None,
            progress,
            resume,
            unwritten: VecDeque::new(),
        }))
    }

    /// Looks at output that has come, all of it that will; what lies below `dropped.end` is not there.
    pub fn look(
        &mut self,
        output: &OutputFiles,
        size: u64,
        spec: &Spec,
        now: u64,
    ) -> io::Result<()> {
        let dropped = spec.dropped(size);
        for scanner in [
            self.watch.as_mut().map(|watch| &mut watch.scanner),
            self.ready.as_mut(),
        ]
        .into_iter()
        .flatten()
        {
            if scanner.end() < dropped.end && scanner.end() >= dropped.start {
                scanner.skip_to(dropped.end);
            }
        }
        let Some(from) = self.scanned().filter(|from| *from < size) else {
            return Ok(());
        };
        let mut buffer = vec![0; CHUNK.min((size - from) as usize)];
        let mut at = from;
        while at < size {
            let most = (size - at).min(CHUNK as u64) as usize;
            let read = output.read_at(&mut buffer[..most], at)?;
            if read == 0 {
                break;
            }
            self.scan(at, &buffer[..read], now);
            at += read as u64;
        }
        self.still_at = self.is_begun().then_some(now + self.still_ms);
        Ok(())
    }

    /// How far all scanners have come.
    fn scanned(&self) -> Option<u64> {
        let watch = self.watch.as_ref().map(|watch| watch.scanner.end());
        let ready = self.ready.as_ref().map(Scanner::end);
        [watch, ready].into_iter().flatten().min()
    }

    /// Whether a line is begun that might be a match as it is.
    fn is_begun(&self) -> bool {
        let begun = |scanner: &Scanner| {
            let place = scanner.place();
            !place.told && place.from < scanner.end()
        };
        self.watch
            .as_ref()
            .is_some_and(|watch| begun(&watch.scanner))
            || self.ready.as_ref().is_some_and(begun)
    }

    fn scan(&mut self, at: u64, bytes: &[u8], now: u64) {
        let new = |scanner: &Scanner| {
            let skipped = scanner.end().saturating_sub(at).min(bytes.len() as u64);
            skipped as usize
        };
        if let Some(watch) = &mut self.watch {
            let mut found = Vec::new();
            let Watching { scanner, limit } = watch;
            let from = new(scanner);
            scanner.push(&bytes[from..], &mut |hit| {
                if let Some(event) = limit.matched(now, || hit.to_match()) {
                    found.push((event, hit.after, limit.state().clone()));
                }
            });
            for (event, place, state) in found {
                self.tell(event, place, state, now);
            }
        }
        if let Some(ready) = &mut self.ready {
            let from = new(ready);
            let mut seen = false;
            ready.push(&bytes[from..], &mut |_| seen = true);
            self.is_ready(seen);
        }
    }

    fn is_ready(&mut self, seen: bool) {
        if seen {
            self.ready = None;
            self.write(Event::Ready);
        }
    }

    /// The output has been still: an unfinished line is looked at as it is.
    fn look_at_begun(&mut self, now: u64) {
        let mut found = Vec::new();
        if let Some(Watching { scanner, limit }) = &mut self.watch {
            scanner.still(&mut |hit| {
                if let Some(event) = limit.matched(now, || hit.to_match()) {
                    found.push((event, hit.after, limit.state().clone()));
                }
            });
        }
        for (event, place, state) in found {
            self.tell(event, place, state, now);
        }
        if let Some(ready) = &mut self.ready {
            let mut seen = false;
            ready.still(&mut |_| seen = true);
            self.is_ready(seen);
        }
    }

    /// Says what is due now; `size` and `accepted` are how far output and input have come.
    pub fn tick(&mut self, now: u64, size: u64) {
        if self.still_at.is_some_and(|at| at <= now) {
            self.still_at = None;
            self.look_at_begun(now);
        }
        if let Some(Watching { scanner, limit }) = &mut self.watch
            && let Some(event) = limit.tick(now)
        {
            let (place, state) = (scanner.place(), limit.state().clone());
            self.tell(event, place, state, now);
        }
        if let Some(event) = self.breaker.as_mut().and_then(|breaker| breaker.tick(now)) {
            self.write(event);
        }
        if let Some(event) = self.silence.as_mut().and_then(|silence| silence.tick(now)) {
            self.resume.silence = Some(size);
            self.write(event);
        }
    }

    /// When something is due next.
    pub fn due_at(&self) -> Option<u64> {
        let limit = self.watch.as_ref().and_then(|watch| watch.limit.due_at());
        let silence = self.silence.as_ref().and_then(Silence::due_at);
        let breaker = self.breaker.as_ref().and_then(breaker::Share::due_at);
        let prompt = self.prompt.as_ref().and_then(Prompt::look_at);
        [limit, silence, breaker, prompt, self.still_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// The job has ended: what was seen and not told is told now.
    pub fn finish(&mut self, now: u64) {
        self.look_at_begun(now);
        if let Some(Watching { scanner, limit }) = &mut self.watch
            && let Some(event) = limit.finish()
        {
            let (place, state) = (scanner.place(), limit.state().clone());
            self.tell(event, place, state, now);
        }
    }

    /// Has an event of the watch journaled, if the session's other watches leave room for it.
    fn tell(&mut self, event: limit::Event, place: Place, state: limit::State, now: u64) {
        let seen = state.seen;
        self.resume.watch = place;
        self.resume.limit = state;
        match event {
            limit::Event::Disabled { untold } => {
                self.watch = None;
                let resume = self.mark();
                self.write(Event::WatchDisabled {
                    matches: seen,
                    untold,
                    resume,
                });
            }
            limit::Event::Matched { count, last, .. } => {
                let told = self
                    .breaker
                    .as_mut()
                    .map_or(Told::Yes, |breaker| breaker.ask(now));
                let resume = self.mark();
                match told {
                    Told::Yes => {}
                    Told::No => return,
                    Told::Overflow { silence_ms } => {
                        return self.write(Event::WatchOverflow { silence_ms, resume });
                    }
                    Told::Resumed { silenced } => self.write(Event::WatchResumed { silenced }),
                }
                self.write(Event::Matched(Matched {
                    count,
                    last,
                    resume,
                }));
            }
        }
    }

    /// Where to go on after what is about to be journaled.
    fn mark(&mut self) -> Value {
        self.resume.step += 1;
        if let Some(breaker) = &self.breaker {
            self.resume.breaker = breaker.resume();
        }
        serde_json::to_value(&self.resume).unwrap_or_default()
    }

    pub fn write(&mut self, event: Event) {
        if self.unwritten.len() < MOST_UNWRITTEN {
            self.unwritten.push_back(event);
        }
    }

    /// What is to be journaled next.
    pub fn unwritten(&self) -> Option<&Event> {
        self.unwritten.front()
    }

    pub fn has_written(&mut self) {
        self.unwritten.pop_front();
    }

    /// Notes how far it has come, once everything before is journaled.
    pub fn save(&mut self) -> io::Result<()> {
        let mut resume = self.resume.clone();
        if let Some(Watching { scanner, limit }) = &self.watch {
            resume.watch = scanner.place();
            resume.limit = limit.state().clone();
        }
        if let Some(ready) = &self.ready {
            resume.ready = ready.place();
        }
        if let Some(prompt) = &self.prompt {
            resume.prompt = prompt.told();
        }
        if let Some(breaker) = &self.breaker {
            resume.breaker = breaker.resume();
        }
        if resume == self.resume {
            return Ok(());
        }
        resume.step += 1;
        let mut bytes = serde_json::to_vec(&resume)?;
        bytes.push(b'\n');
        // What an older and longer one leaves behind its end is passed over.
        self.progress.write_all_at(&bytes, 0)?;
        self.resume = resume;
        Ok(())
    }
}

/// The newer of what is in the file and what is in the journal.
fn newer(progress: &File, journaled: &Value) -> Resume {
    let mut bytes = vec![
        0;
        progress
            .metadata()
            .map_or(0, |metadata| metadata.len() as usize)
    ];
    let _ = progress.read_exact_at(&mut bytes, 0);
    let line = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let saved: Resume = serde_json::from_slice(line).unwrap_or_default();
    let told: Resume = serde_json::from_value(journaled.clone()).unwrap_or_default();
    if told.step > saved.step { told } else { saved }
}
