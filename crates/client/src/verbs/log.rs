//! The output of a job.

use crate::error::Error;
use crate::outlive::Outlive;
use crate::output::{Follow, LogText, Output};
use crate::presence;
use crate::screen::{Emulation, Screen};
use crate::verbs::show;
use outlive_core::JobId;
use std::ops::Range;

/// Which part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    LastLines(u64),
    Bytes { from: u64, to: Option<u64> },
}

/// A part of an output, to be read.
#[derive(Debug)]
pub struct Log {
    id: JobId,
    output: Output,
    range: Range<u64>,
}

/// What a person would see on the job's terminal now.
pub fn screen(outlive: &Outlive, id: &JobId) -> Result<Screen, Error> {
    let (_, spec, state) = show::read(outlive, id)?;
    Ok(Emulation::of(outlive, &spec, &state)?.screen(id))
}

/// Finds the part that was asked for.
pub fn log(outlive: &Outlive, id: &JobId, part: &Part) -> Result<Log, Error> {
    let (_, state) = presence::meet(outlive, id)?;
    let output = Output::open(outlive, id, &state)?;
    let range = match part {
        Part::LastLines(lines) => {
            let from = output
                .tail(*lines)
                .map_err(Error::io("cannot read", outlive.job_dir(id).output()))?;
            from..output.size
        }
        Part::Bytes { from, to } => {
            let from = (*from).min(output.size);
            from..to.unwrap_or(output.size).clamp(from, output.size)
        }
    };
    Ok(Log {
        id: id.clone(),
        output,
        range,
    })
}

impl Log {
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    pub fn dropped_bytes(&self) -> u64 {
        self.output.dropped_bytes
    }

    /// The exact bytes, a chunk at a time.
    pub fn chunks(&self) -> impl Iterator<Item = std::io::Result<Vec<u8>>> + '_ {
        self.output.chunks(self.range.clone())
    }

    /// The same as text, with where it lies.
    pub fn text(&self) -> std::io::Result<LogText> {
        self.output.text(&self.id, self.range.clone())
    }

    /// What comes after it, as it comes.
    pub fn follow<'a>(&self, outlive: &'a Outlive) -> Follow<'a> {
        Follow::new(outlive, &self.id, self.range.end)
    }
}
