//! Going on with another watch.
//!
//! The change is journaled first, with the position to go on from. Then the detector is made again from the journal, as a
//! successor would make it. So the two cannot differ.

use super::look_back::{self, Found};
use super::{Progress, Resume, Signs};
use crate::signs::watch::{Patterns, Place, limit};
use outlive_core::change::NewWatch;
use outlive_core::event::{Event, Matched};
use outlive_core::watch::Watch;
use outlive_core::{BootTime, JobDir, OutputFiles, Spec, State};
use serde_json::Value;
use std::io;

/// How to go on with a new watch.
#[derive(Debug)]
pub struct Rewatch {
    /// What the old watch has found and not told.
    pub before: Option<Event>,
    /// What was found in output from before.
    pub found: Option<Event>,
    /// The position to go on from.
    pub resume: Value,
    progress: Progress,
}

/// What is needed to find out.
#[derive(Debug)]
pub struct Asked<'a> {
    pub new: &'a NewWatch,
    /// Look at this many bytes of output from before.
    pub look_back: Option<u64>,
}

impl Signs {
    /// Whether the watch has turned itself off, or has reached its limit.
    pub fn has_stopped_watching(&self) -> bool {
        self.watch.is_none()
    }

    /// Whether something that was found could not be journaled yet.
    pub fn has_unwritten(&self) -> bool {
        self.unwritten().is_some()
    }

    /// The text of the pattern that the last line of a report matched.
    pub(super) fn pattern_of(&self, event: &limit::Event) -> Option<String> {
        let limit::Event::Matched { last, .. } = event else {
            return None;
        };
        let patterns = &self.watch.as_ref()?.patterns;
        Some(patterns.get(last.pattern?)?.source().to_owned())
    }

    /// Finds out how to go on with a new watch. Changes nothing.
    pub fn plan(
        signs: Option<&Signs>,
        (job, spec, state): (&JobDir, &Spec, &State),
        output: &OutputFiles,
        size: u64,
        asked: &Asked<'_>,
    ) -> io::Result<Rewatch> {
        let progress = Progress::open(job)?;
        let mut resume = match signs {
            Some(signs) => signs.position(),
            None => progress.newer(&state.signs.resume),
        };
        let watched = signs.and_then(|signs| signs.watch.as_ref());
        let begin = match watched {
            Some(_) => resume.watch,
            None => {
                let line = look_back::line_start(output, size)?;
                let told = false;
                Place {
                    line,
                    from: line,
                    told,
                }
            }
        };
        let found = match asked.look_back {
            Some(most) => {
                let from = look_back::line_start(output, begin.line.saturating_sub(most))?;
                let (new, dropped) = (asked.new, spec.dropped(size));
                let range = from..begin.line;
                look_back::search(output, range, dropped, &new.watch, &new.added)?
            }
            None => None,
        };
        let waiting = watched.and_then(|watched| {
            let event = watched.limit.clone().finish()?;
            Some((signs?.pattern_of(&event), event))
        });
        let seen = found.as_ref().map_or(0, |found| found.count);
        resume.watch = begin;
        resume.limit = limit::State::begin(&asked.new.watch, seen);
        resume.step += 1;
        let mark = serde_json::to_value(&resume)?;
        Ok(Rewatch {
            before: waiting.and_then(|(pattern, event)| untold(event, pattern, &resume)),
            found: found.map(|found| looked_back(found, &asked.new.watch, mark.clone())),
            resume: mark,
            progress,
        })
    }

    /// Goes on as the journal says now.
    pub fn anew(
        old: Option<Box<Signs>>,
        (job, spec, state): (&JobDir, &Spec, &State),
        size: u64,
        now: BootTime,
        rewatch: Rewatch,
    ) -> io::Result<Option<Box<Signs>>> {
        if !Signs::are_asked(spec, state) {
            return Ok(None);
        }
        let mut signs = Signs::of(job, spec, state, size, now, rewatch.progress)?;
        // A silence or a wait for input goes on, whatever is watched for.
        if let Some(old) = old {
            signs.silence = old.silence;
            signs.prompt = old.prompt;
            signs.breaker = old.breaker;
        }
        Ok(Some(signs))
    }

    /// Why this watch cannot be used, if it cannot.
    pub fn refusal(watch: &Watch) -> Option<String> {
        let refused = Patterns::compile(&watch.patterns).err();
        refused.map(|bad| bad.to_string())
    }
}

/// Matches that the old watch has counted. They are told before the new watch begins.
fn untold(event: limit::Event, pattern: Option<String>, resume: &Resume) -> Option<Event> {
    let limit::Event::Matched {
        count, last, lines, ..
    } = event
    else {
        return None;
    };
    Some(Event::Matched(Matched {
        count,
        last,
        pattern,
        lines,
        looked_back: false,
        // The event of the change, in the same write, says where to go on.
        resume: serde_json::to_value(resume).unwrap_or_default(),
    }))
}

fn looked_back(found: Found, watch: &Watch, resume: Value) -> Event {
    let Found { count, last, lines } = found;
    let pattern = last.pattern.and_then(|number| watch.patterns.get(number));
    Event::Matched(Matched {
        count,
        pattern: pattern.map(|pattern| pattern.source().to_owned()),
        lines: match count {
            1 => Vec::new(),
            _ => lines,
        },
        last,
        looked_back: true,
        resume,
    })
}
