//! Detects what a job shows of itself while it runs: watched lines, readiness, silence, prompts.
//!
//! ```text
//!  output ─► scanners ─► limit ─► breaker of the session ─► journal
//!  time   ─► silence, an unfinished line after a pause, a process that waits for input ─► journal
//! ```
//! Each report in the journal says where the keeper would continue. How far it has come since the last report is in a
//! small file of its own (`progress`), which is written after the journal. A successor continues from the newer of the
//! two, so nothing is missed and nothing is reported twice.

mod attempts;
mod look_back;
mod rewatch;

use super::breaker::{self, MatchVerdict};
use super::progress::{Progress, Resume};
use super::prompt::Prompt;
use super::silence::Silence;
use super::unwritten::Unwritten;
use crate::signs::watch::limit;
use crate::signs::watch::{Limit, Patterns, Place, Scanner};
use outlive_core::control::InputKind;
use outlive_core::event::{Event, Matched};
use outlive_core::ready::Ready;
use outlive_core::watch::Pattern;
use outlive_core::{BootTime, Input, JobDir, Millis, OutputFiles, Phase, Spec, State};
use serde_json::Value;
use std::io;
use std::ops::Range;

/// How many bytes are read and scanned at once. They fit into the processor's nearer caches.
const CHUNK: usize = 64 * 1024;

pub use rewatch::{Asked, Rewatch};

/// What one job is watched for.
#[derive(Debug)]
pub struct Signs {
    watch: Option<Watching>,
    /// Until the line of readiness has come.
    ready: Option<Scanner>,
    pub silence: Option<Silence>,
    pub prompt: Option<Prompt>,
    breaker: Option<breaker::Share>,
    /// How long an unfinished line must stay unchanged before it is checked, and when that time is over.
    still: Millis,
    still_at: Option<BootTime>,
    progress: Progress,
    resume: Resume,
    unwritten: Unwritten,
}

/// The watch for lines.
#[derive(Debug)]
struct Watching {
    scanner: Scanner,
    limit: Limit,
    /// To name the one that matched.
    patterns: Vec<Pattern>,
}

/// Whether anybody is to be told of prompts.
fn talks(spec: &Spec) -> bool {
    spec.input != Input::Null && spec.session.is_some()
}

fn compiled(patterns: &[Pattern]) -> io::Result<Patterns> {
    Patterns::compile(patterns).map_err(|bad| io::Error::other(bad.why))
}

/// Looks for the line of readiness from this place on, if there is to be one.
fn ready_scanner(spec: &Spec, from: Place) -> io::Result<Option<Scanner>> {
    let Some(Ready::Line(pattern)) = &spec.ready else {
        return Ok(None);
    };
    let pattern = compiled(&[Pattern::Regex(pattern.clone())])?;
    Ok(Some(Scanner::resume(pattern, from)))
}

impl Signs {
    /// Continues what a predecessor began. `None` if the spec asks for no signs: then nothing is allocated.
    pub fn resume(
        job: &JobDir,
        spec: &Spec,
        state: &State,
        size: u64,
        now: BootTime,
    ) -> io::Result<Option<Box<Signs>>> {
        if state.end().is_some() || !Signs::are_asked(spec, state) {
            return Ok(None);
        }
        Signs::of(job, spec, state, size, now, Progress::open(job)?).map(Some)
    }

    fn are_asked(spec: &Spec, state: &State) -> bool {
        let lines = state.watch(spec).is_some() || matches!(spec.ready, Some(Ready::Line(_)));
        lines || talks(spec) || spec.quiet_after_ms.is_some()
    }

    /// Kept out of line: most jobs are not watched, and the stack frame of this function is larger than a page.
    #[inline(never)]
    fn of(
        job: &JobDir,
        spec: &Spec,
        state: &State,
        size: u64,
        now: BootTime,
        progress: Progress,
    ) -> io::Result<Box<Signs>> {
        let resume = progress.newer(&state.signs.resume);
        let compiled = |patterns: &[Pattern]| {
            Patterns::compile(patterns).map_err(|bad| io::Error::other(bad.why))
        };
        let watch = match state.watch(spec) {
            Some(watch) if !state.signs.watch_disabled && !resume.limit.is_over() => {
                Some(Watching {
                    scanner: Scanner::resume(compiled(&watch.patterns)?, resume.watch),
                    limit: Limit::resume(watch, resume.limit.clone()),
                    patterns: watch.patterns.clone(),
                })
            }
            _ => None,
        };
        let is_between = matches!(state.phase, Phase::Backoff { .. });
        let attempt_from = state
            .attempts
            .as_ref()
            .map_or(0, |attempts| attempts.output_from);
        let ready = match state.signs.ready {
            None if !is_between => ready_scanner(spec, resume.ready.not_before(attempt_from))?,
            _ => None,
        };
        let is_told = is_between || resume.silence == Some(size);
        Ok(Box::new(Signs {
            watch,
            ready,
            silence: spec
                .quiet_after_ms
                .map(|after| Silence::begin(Millis(after), now, is_told)),
            prompt: talks(spec).then(|| Prompt::begin(now, resume.prompt)),
            breaker: breaker::Share::of(job, spec, resume.breaker),
            still: Millis(spec.still_ms),
            still_at: None,
            progress,
            resume,
            unwritten: Unwritten::default(),
        }))
    }

    /// Scans the output up to `size`. The dropped middle is skipped.
    pub fn look(
        &mut self,
        output: &OutputFiles,
        size: u64,
        spec: &Spec,
        now: BootTime,
    ) -> io::Result<()> {
        let dropped = spec.dropped(size);
        self.skip(&dropped);
        let Some(from) = self.scanned().filter(|from| *from < size) else {
            return Ok(());
        };
        let mut buffer = vec![0; CHUNK.min((size - from) as usize)];
        let mut at = from;
        while at < size {
            if dropped.contains(&at) {
                self.skip(&dropped);
                at = dropped.end;
                continue;
            }
            let until = if at < dropped.start {
                dropped.start
            } else {
                size
            };
            let most = (until.min(size) - at).min(CHUNK as u64) as usize;
            let read = output.read_at(&mut buffer[..most], at)?;
            if read == 0 {
                break;
            }
            self.scan(at, &buffer[..read], now);
            at += read as u64;
        }
        self.still_at = self.is_begun().then_some(now + self.still);
        Ok(())
    }

    /// Lets scanners that have come to the dropped range continue behind it.
    fn skip(&mut self, dropped: &Range<u64>) {
        let watch = self.watch.as_mut().map(|watch| &mut watch.scanner);
        for scanner in watch.into_iter().chain(self.ready.as_mut()) {
            if dropped.contains(&scanner.end()) {
                scanner.skip_to(dropped.end);
            }
        }
    }

    /// The offset up to which all scanners have read.
    fn scanned(&self) -> Option<u64> {
        let watch = self.watch.as_ref().map(|watch| watch.scanner.end());
        let ready = self.ready.as_ref().map(Scanner::end);
        [watch, ready].into_iter().flatten().min()
    }

    /// Whether there is an unfinished line that may match as it is.
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

    fn scan(&mut self, at: u64, bytes: &[u8], now: BootTime) {
        let new = |scanner: &Scanner| {
            let skipped = scanner.end().saturating_sub(at).min(bytes.len() as u64);
            skipped as usize
        };
        if let Some(watch) = &mut self.watch {
            let mut found = Vec::new();
            let Watching { scanner, limit, .. } = watch;
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
            self.unwritten.put(vec![Event::Ready]);
        }
    }

    /// The output has paused, so an unfinished line is checked as it is.
    fn look_at_begun(&mut self, now: BootTime) {
        let mut found = Vec::new();
        if let Some(Watching { scanner, limit, .. }) = &mut self.watch {
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

    /// The job has been started. The time before counts neither as silence nor as a wait for input.
    pub fn begin(&mut self, now: BootTime) {
        if let Some(silence) = &mut self.silence {
            silence.is_broken(now);
        }
        if let Some(prompt) = &mut self.prompt {
            prompt.is_alive(now);
        }
    }

    /// Handles what is due now. `size` is the size of the output.
    pub fn tick(&mut self, now: BootTime, size: u64) {
        if self.still_at.is_some_and(|at| at <= now) {
            self.still_at = None;
            self.look_at_begun(now);
        }
        if let Some(Watching { scanner, limit, .. }) = &mut self.watch
            && let Some(event) = limit.tick(now)
        {
            let (place, state) = (scanner.place(), limit.state().clone());
            self.tell(event, place, state, now);
        }
        if let Some(silenced) = self.breaker.as_mut().and_then(|breaker| breaker.tick(now)) {
            let resume = self.mark();
            let event = Event::WatchResumed { silenced, resume };
            self.unwritten.put(vec![event]);
        }
        if let Some(Millis(after_ms)) = self.silence.as_mut().and_then(|silence| silence.tick(now))
        {
            self.resume.silence = Some(size);
            let resume = self.mark();
            self.unwritten.put(vec![Event::Quiet { after_ms, resume }]);
        }
    }

    /// The keeper has checked whether the job waits for input. `size` and `accepted` say how much output and input
    /// there was.
    pub fn looked(&mut self, awaiting: Option<InputKind>, size: u64, accepted: u64) {
        if let Some(prompt) = &mut self.prompt
            && prompt.looked(awaiting.is_some(), size, accepted)
            && let Some(awaiting) = awaiting
        {
            self.resume.prompt = prompt.told();
            let resume = self.mark();
            let event = Event::AwaitingInput { awaiting, resume };
            self.unwritten.put(vec![event]);
        }
    }

    /// When something is due next.
    pub fn due_at(&self) -> Option<BootTime> {
        let limit = self.watch.as_ref().and_then(|watch| watch.limit.due_at());
        let silence = self.silence.as_ref().and_then(Silence::due_at);
        let breaker = self.breaker.as_ref().and_then(breaker::Share::due_at);
        let prompt = self.prompt.as_ref().and_then(Prompt::look_at);
        [limit, silence, breaker, prompt, self.still_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// The job has ended: what was found and not reported is reported now.
    pub fn finish(&mut self, now: BootTime) {
        self.look_at_begun(now);
        if let Some(Watching { scanner, limit, .. }) = &mut self.watch
            && let Some(event) = limit.finish()
        {
            let (place, state) = (scanner.place(), limit.state().clone());
            self.tell(event, place, state, now);
        }
    }

    /// Adds an event of the watch to those to be journaled, unless the session's breaker silences it.
    fn tell(&mut self, event: limit::Event, place: Place, state: limit::State, now: BootTime) {
        let seen = state.seen;
        let pattern = self.pattern_of(&event);
        if state.is_over() {
            self.watch = None;
        }
        self.resume.watch = place;
        self.resume.limit = state;
        let events = match event {
            limit::Event::Disabled { untold } => vec![Event::WatchDisabled {
                matches: seen,
                untold,
                resume: self.mark(),
            }],
            limit::Event::Matched {
                count, last, lines, ..
            } => {
                let told = self
                    .breaker
                    .as_mut()
                    .map_or(MatchVerdict::Report, |breaker| breaker.ask(now, count));
                let resume = self.mark();
                let matched = |resume| {
                    Event::Matched(Matched {
                        count,
                        last,
                        pattern,
                        lines,
                        looked_back: false,
                        resume,
                    })
                };
                match told {
                    MatchVerdict::Report => vec![matched(resume)],
                    MatchVerdict::Suppress => return,
                    MatchVerdict::Overflow { silence_ms } => {
                        vec![Event::WatchOverflow { silence_ms, resume }]
                    }
                    // Both in one write. Otherwise a successor would ask the breaker again, and report the end of the
                    // silence twice.
                    MatchVerdict::Resumed { silenced } => {
                        let resumed = Event::WatchResumed {
                            silenced,
                            resume: resume.clone(),
                        };
                        vec![resumed, matched(resume)]
                    }
                }
            }
        };
        self.unwritten.put(events);
    }

    /// The position to continue from after the next event is journaled.
    fn mark(&mut self) -> Value {
        self.resume.step += 1;
        if let Some(breaker) = &self.breaker {
            self.resume.breaker = breaker.resume();
        }
        serde_json::to_value(&self.resume).unwrap_or_default()
    }

    /// The events to be journaled next, in one write.
    pub fn unwritten(&self) -> Option<&[Event]> {
        self.unwritten.first()
    }

    pub fn has_written(&mut self) {
        self.unwritten.first_is_written();
    }

    /// Saves the position to the progress file, once all events before it are journaled.
    pub fn save(&mut self) -> io::Result<()> {
        let mut resume = self.position();
        if resume == self.resume {
            return Ok(());
        }
        resume.step += 1;
        self.progress.write(&resume)?;
        self.resume = resume;
        Ok(())
    }

    /// The position that has been reached.
    fn position(&self) -> Resume {
        let mut resume = self.resume.clone();
        if let Some(Watching { scanner, limit, .. }) = &self.watch {
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
        resume
    }
}
