//! Records what an answer told, after the answer was printed.
//!
//! `wait`, `stop`, a `log` of the whole output and a failed `run` report an end as well as the inbox
//! would. It is recorded after the answer is printed: if the process is killed before that, the session
//! is told again instead of never. Until the receipt is dropped, nobody else tells the same (see
//! `answering.rs`).

use super::answering::Reservation;
use super::{all_of, told};
use crate::error::Error;
use crate::home::outlive::Outlive;
use outlive_api::event::EventKind;
use outlive_core::JobId;
use outlive_core::told::ToldBy;

/// The events that an answer tells the calling session.
#[derive(Clone, Debug)]
#[must_use = "call `told` once the answer is out"]
pub struct Receipt {
    outlive: Outlive,
    answers: Vec<Answered>,
    _reserved: Vec<Reservation>,
}

/// Records several answers as told. If one fails, the others are still recorded.
pub fn all_told<'a>(receipts: impl Iterator<Item = &'a Receipt>) -> Result<(), Error> {
    all_of(receipts.map(Receipt::told))
}

/// The events of one job that an answer tells.
#[derive(Clone, Debug)]
struct Answered {
    job: JobId,
    by: ToldBy,
    /// All events of these kinds …
    kinds: Vec<EventKind>,
    /// … and the events with these sequence numbers.
    seqs: Vec<u64>,
}

impl Receipt {
    /// An answer that tells nothing.
    pub fn nothing(outlive: &Outlive) -> Receipt {
        Receipt {
            outlive: outlive.clone(),
            answers: Vec::new(),
            _reserved: Vec::new(),
        }
    }

    /// Nobody else tells the reserved events until this is dropped.
    pub(crate) fn reserving(mut self, reserved: impl IntoIterator<Item = Reservation>) -> Receipt {
        self._reserved.extend(reserved);
        self
    }

    /// The answer tells the events of these kinds and the events with these sequence numbers.
    pub(crate) fn telling(
        mut self,
        job: &JobId,
        by: ToldBy,
        kinds: &[EventKind],
        seqs: Vec<u64>,
    ) -> Receipt {
        self.answers.push(Answered {
            job: job.clone(),
            by,
            kinds: kinds.to_vec(),
            seqs,
        });
        self
    }

    /// Whether the answer tells the calling session something.
    pub fn tells(&self) -> bool {
        let tells = |answered: &Answered| !answered.kinds.is_empty() || !answered.seqs.is_empty();
        self.outlive.calling_session().is_some() && self.answers.iter().any(tells)
    }

    /// The answer tells how a job ended, other than by waiting for it.
    pub fn of_end(outlive: &Outlive, job: &JobId) -> Receipt {
        Receipt::nothing(outlive).telling(job, ToldBy::Wait, &[EventKind::Ended], Vec::new())
    }

    /// Call this after the answer is printed: records that the calling session was told. A job whose
    /// record cannot be written does not keep it from the others.
    pub fn told(&self) -> Result<(), Error> {
        all_of(self.answers.iter().map(|answered| {
            told::heard(&self.outlive, &answered.job, answered.by, |kind, seq| {
                answered.kinds.contains(&kind) || answered.seqs.contains(&seq)
            })
        }))
    }
}
