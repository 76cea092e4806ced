//! Shows one job. Changes nothing about it, except that a job without a keeper gets one.

use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::told;
use crate::jobs::attempts;
use crate::jobs::away::{self, Away};
use crate::jobs::connection::PATIENCE;
use crate::jobs::crew::side_by_side;
use crate::jobs::descriptors;
use crate::jobs::job::{self, KeeperView, Sight};
use crate::jobs::presence::{self, LookResult, PendingLook, Presence};
use crate::jobs::usage;
use crate::output::{Look, Output};
use crate::redact::redact;
use crate::view;
use outlive_api::job::{Job, JobState, JobView};
pub use outlive_api::request::Show;
use outlive_core::place::LOCAL;
use outlive_core::{BootTime, Input, JobId, Spec, State};
use outlive_sys::process::Stat;
use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::time::Duration;

/// The job as it is now.
pub fn show(outlive: &Outlive, id: &JobId) -> Result<Job, Error> {
    with_attempts(outlive, id).map(|(job, _)| job)
}

fn with_attempts(outlive: &Outlive, id: &JobId) -> Result<(Job, State), Error> {
    let (mut job, _, state) = read(outlive, id)?;
    if job.restart.is_some() {
        job.attempts = attempts::newest(outlive, id)?;
    }
    Ok((job, state))
}

/// The job as it is now, with what it uses.
pub fn with_usage(outlive: &Outlive, id: &JobId) -> Result<Job, Error> {
    let (job, state) = with_attempts(outlive, id)?;
    Ok(Job {
        usage: job.usage.or_else(|| match job.place == LOCAL {
            true => usage::now(&outlive.job_dir(id), &state),
            false => None,
        }),
        ..job
    })
}

/// Adds what running jobs use. The journal of each is read again, because they are few.
pub(crate) fn add_usage(outlive: &Outlive, jobs: &mut [Job]) {
    let is_unknown = |job: &&mut Job| job.usage.is_none() && job.place == LOCAL;
    for job in jobs.iter_mut().filter(is_unknown) {
        let dir = outlive.job_dir(&job.id);
        if let Ok(journal) = dir.read_journal() {
            job.usage = usage::now(&dir, &journal.state);
        }
    }
}

/// The job as it is now, and the end of its output.
pub fn view(outlive: &Outlive, id: &JobId, asked: Show) -> Result<JobView, Error> {
    let job = with_usage(outlive, id)?;
    let preview = preview_of(outlive, &job, asked.preview_lines)?;
    Ok(JobView { job, preview })
}

/// The last lines of its output, or what is here of them if its place is not reached.
pub fn preview_of(outlive: &Outlive, job: &Job, lines: u64) -> Result<String, Error> {
    // It was just asked, and asking again takes as long.
    if job.state == JobState::Unreachable {
        return Ok(String::new());
    }
    match preview(outlive, &job.id, lines) {
        Err(_) if job.place != LOCAL => Ok(kept_preview(outlive, &job.id, lines)),
        other => other,
    }
}

fn kept_preview(outlive: &Outlive, id: &JobId, lines: u64) -> String {
    let kept = || {
        let state = outlive.job_dir(id).read_journal().ok()?.state;
        let output = Output::glimpse(outlive, &outlive.read_spec(id).ok()?, &state)?;
        let from = output.size.saturating_sub(MAX_PREVIEW_BYTES as u64);
        let whole = view::Options::default();
        output.rendered(from..output.size, Look::Plain(whole)).ok()
    };
    let text = kept().unwrap_or_default();
    let text = match outlive.shows_secrets() {
        true => text.into(),
        false => redact(&text),
    };
    last_lines(&text, lines).to_owned()
}

/// These jobs, each with the end of its output.
pub fn views(outlive: &Outlive, jobs: Vec<Job>, asked: Show) -> Result<Vec<JobView>, Error> {
    let view = |job: Job| {
        let preview = preview_of(outlive, &job, asked.preview_lines)?;
        Ok(JobView { job, preview })
    };
    jobs.into_iter().map(view).collect()
}

/// Notes, once the face has shown it, that the caller has seen how it ended. That does not count as
/// having been told.
pub fn seen(outlive: &Outlive, job: &Job) {
    if job.has_ended() {
        told::shown(outlive, &job.id);
    }
}

/// The last lines of its output, as a preview.
pub fn preview(outlive: &Outlive, id: &JobId, lines: u64) -> Result<String, Error> {
    let output = output(outlive, id)?;
    let preview = match outlive.shows_secrets() {
        true => glance(&output, id, lines),
        false => redacted_glance(&output, id, lines),
    };
    preview.map_err(Error::io("cannot read", outlive.job_dir(id).output()))
}

/// The last lines, limited in length, because the first of them may be of any length.
fn glance(output: &Output, id: &JobId, lines: u64) -> io::Result<String> {
    let from = output.tail(lines)?;
    let earliest = output.size.saturating_sub(MAX_PREVIEW_BYTES as u64);
    if from >= earliest {
        return text(output, id, from, MAX_LINE_BYTES);
    }
    let start = line_at(output, earliest)?.start.clamp(from, earliest);
    if output.size - start <= MAX_READ_BYTES {
        return text(output, id, start, MAX_LINE_BYTES);
    }
    let end = text(output, id, earliest, MAX_PREVIEW_BYTES)?;
    // If the line was overwritten, as a progress bar is, its earlier content is gone.
    match is_written_anew(output, earliest)? {
        true => Ok(end),
        false => Ok(view::left_out(earliest - start) + &end),
    }
}

/// The line that contains this byte.
fn line_at(output: &Output, offset: u64) -> io::Result<Range<u64>> {
    let number = 1 + output.newlines_before(offset)?;
    Ok(output.line_start(number)?..output.line_start(number + 1)?)
}

fn is_written_anew(output: &Output, from: u64) -> io::Result<bool> {
    let mut bytes = Vec::new();
    for chunk in output.chunks(from..output.size) {
        bytes.extend(chunk?);
    }
    let mut pairs = bytes.windows(2);
    Ok(pairs.any(|pair| pair[0] == b'\r' && pair[1] != b'\n'))
}

/// Like [`glance`], without credentials.
fn redacted_glance(output: &Output, id: &JobId, lines: u64) -> io::Result<String> {
    // Text long before it may show what is secret, such as the first line of a key.
    const CONTEXT: u64 = 64 * 1024;
    let from = output.size.saturating_sub(CONTEXT);
    let context = text(output, id, from, MAX_LINE_BYTES)?;
    let redacted = redact(&context);
    let shown = last_lines(&redacted, lines);
    // A line that was cut may begin inside a secret.
    let is_cut = from > 0 && shown.len() == redacted.len();
    if !is_cut {
        return Ok(shown.to_owned());
    }
    let cut = line_at(output, from)?;
    let rest = shown.split_once('\n').map_or("", |(_, rest)| rest);
    Ok(format!("{}\n{rest}", view::left_out(cut.end - cut.start)))
}

/// The most bytes of a preview. A line may be of any length.
const MAX_PREVIEW_BYTES: usize = 4096;

/// The most bytes shown of a line.
const MAX_LINE_BYTES: usize = 2048;

/// Reading this much takes milliseconds.
const MAX_READ_BYTES: u64 = 1024 * 1024;

fn output(outlive: &Outlive, id: &JobId) -> Result<Output, Error> {
    let state = outlive.job_dir(id).read_journal()?.state;
    Output::open(outlive, &outlive.read_spec(id)?, &state)
}

fn text(output: &Output, id: &JobId, from: u64, line_limit: usize) -> io::Result<String> {
    // Keep everything that was read.
    let whole = view::Options {
        budget: usize::MAX,
        line_limit,
    };
    let text = output.text(id, from..output.size, Look::Plain(whole))?;
    Ok(text.text)
}

fn last_lines(text: &str, lines: u64) -> &str {
    let mut from = text.len();
    for line in text.split_inclusive('\n').rev().take(lines as usize) {
        from -= line.len();
    }
    &text[text.ceil_char_boundary(from.max(text.len().saturating_sub(MAX_PREVIEW_BYTES)))..]
}

/// The job with the records that it was made from.
pub(crate) fn read(outlive: &Outlive, id: &JobId) -> Result<(Job, Spec, State), Error> {
    let record = Record::read(outlive, id, &mut Vec::new())?;
    if let Presence::Away(away) = &record.presence {
        let reach = away::resolve(outlive, away)?.settings.reach;
        let (job, state) = record.far_job(outlive, away, reach)?;
        return Ok((job, record.spec, state));
    }
    let sight = match record.is_worth_asking() {
        true => presence::look(outlive, id, PATIENCE).map(Record::sight),
        false => Ok(Sight::Clear(KeeperView::default())),
    };
    let sight = sight.or_else(not_answering)?;
    let (spec, state) = (record.spec.clone(), record.state.clone());
    Ok((record.job(outlive, sight), spec, state))
}

/// Shows several jobs. All suspended keepers together cost at most this much time.
pub fn show_all(outlive: &Outlive, ids: &[JobId], patience: Duration) -> Vec<Result<Job, Error>> {
    let at_once = descriptors::budget(ids.len()).connections.min(MAX_PENDING);
    let until = clock::boot() + patience;
    side_by_side(ids, |ids, threads| {
        let mut shown = Vec::with_capacity(ids.len());
        let (mut begun, mut buffer) = (Vec::new(), Vec::new());
        for ids in ids.chunks((at_once / threads).max(1)) {
            begun.extend(ids.iter().map(|id| begin(outlive, id, until, &mut buffer)));
            let begun = ids.iter().zip(begun.drain(..));
            finish(outlive, begun, until, &mut shown);
        }
        shown
    })
}

/// What keepers that are asked late get all the same: those that are not suspended answer sooner.
const AT_LEAST: Duration = Duration::from_millis(20);

/// The number of keepers asked at once. Each needs a file descriptor meanwhile.
const MAX_PENDING: usize = 128;

/// Awaits the answers of these jobs.
fn finish<'a>(
    outlive: &Outlive,
    begun: impl Iterator<Item = (&'a JobId, Showing)>,
    until: BootTime,
    shown: &mut Vec<Result<Job, Error>>,
) {
    let until = until.max(clock::boot() + AT_LEAST);
    let mut silent = HashSet::new();
    let mut finish = |id: &JobId, begun: Showing| match begun {
        Showing::Shown(job) => job,
        Showing::Asked(record, asked) => {
            let sight = asked.answer(outlive, id, until).map(Record::sight);
            Ok(record.job(outlive, sight.or_else(not_answering)?))
        }
        Showing::Far(record, away) => {
            // A silent place is asked once, and not for each of its jobs.
            let left = match silent.contains(&away.place) {
                true => Duration::ZERO,
                false => until.since(clock::boot()),
            };
            let (job, _) = record.far_job(outlive, &away, left)?;
            if job.state == JobState::Unreachable {
                silent.insert(away.place.clone());
            }
            Ok(job)
        }
    };
    shown.extend(begun.map(|(id, begun)| finish(id, begun)));
}

/// How far a job has been read before any answer is awaited. Most jobs need none: they are finished here, so that their
/// records need no memory meanwhile.
#[expect(
    clippy::large_enum_variant,
    reason = "most jobs are of the large variant, and there are few at a time"
)]
enum Showing {
    Shown(Result<Job, Error>),
    /// Its keeper was asked.
    Asked(Box<Record>, PendingLook),
    /// Its place is to be asked.
    Far(Box<Record>, Away),
}

fn begin(outlive: &Outlive, id: &JobId, until: BootTime, buffer: &mut Vec<u8>) -> Showing {
    let record = match Record::read(outlive, id, buffer) {
        Ok(record) => record,
        Err(error) => return Showing::Shown(Err(error)),
    };
    if let Presence::Away(away) = &record.presence {
        let away = away.clone();
        return Showing::Far(record.into(), away);
    }
    if !record.is_worth_asking() {
        let nothing = Sight::Clear(KeeperView::default());
        return Showing::Shown(Ok(record.job(outlive, nothing)));
    }
    let left = until.since(clock::boot()).max(AT_LEAST);
    match PendingLook::of(outlive, id, left) {
        Ok(asked) => Showing::Asked(record.into(), asked),
        Err(error) => Showing::Shown(not_answering(error).map(|sight| record.job(outlive, sight))),
    }
}

/// If a keeper does not answer, the files are shown anyway.
fn not_answering(error: Error) -> Result<Sight, Error> {
    match error.is_silence() {
        true => Ok(Sight::Silent),
        false => Err(error),
    }
}

/// The records of a job.
struct Record {
    spec: Spec,
    presence: Presence,
    state: State,
    leader: Option<Stat>,
}

impl Record {
    fn read(outlive: &Outlive, id: &JobId, buffer: &mut Vec<u8>) -> Result<Record, Error> {
        let dir = outlive.job_dir(id);
        // Whether there is such a job at all is looked at only if this fails.
        let spec = outlive.read_spec_in(&dir, id, buffer)?;
        let met = presence::meet_and_look(outlive, &dir, &spec, buffer)?;
        Ok(Record {
            spec,
            presence: met.presence,
            state: met.state,
            leader: met.leader,
        })
    }

    /// Only a keeper knows about remaining processes and about waiting for input.
    fn is_worth_asking(&self) -> bool {
        let has_more = self.state.end().is_some() || self.spec.input != Input::Null;
        self.presence == Presence::Kept && has_more
    }

    fn sight(looked: LookResult) -> Sight {
        match looked {
            LookResult::Seen(seen) => Sight::Clear(seen),
            LookResult::Silent => Sight::Silent,
        }
    }

    fn job(self, outlive: &Outlive, sight: Sight) -> Job {
        let sight = match &self.presence {
            Presence::Elsewhere(there) => Sight::Elsewhere(there.clone()),
            Presence::Away(away) => Sight::Far(away::recall(outlive, away, &self.spec.id)),
            Presence::Kept | Presence::Over => sight,
        };
        let leader = self.leader.as_ref();
        job::build(outlive, self.spec, &self.state, sight, leader)
    }

    /// A job of a place. The place has so long to answer.
    fn far_job(
        &self,
        outlive: &Outlive,
        away: &Away,
        within: Duration,
    ) -> Result<(Job, State), Error> {
        let id = &self.spec.id;
        let sight = match within.is_zero() {
            true => away::recall(outlive, away, id),
            false => away::look(outlive, away, id, within)?,
        };
        // The replica has by now what the answer speaks of.
        let (presence, state) = presence::meet(outlive, id)?;
        let sight = match presence {
            Presence::Over => Sight::Clear(KeeperView::default()),
            _ => Sight::Far(sight),
        };
        let job = job::build(outlive, self.spec.clone(), &state, sight, None);
        Ok((job, state))
    }
}
