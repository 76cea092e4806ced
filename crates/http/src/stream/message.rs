//! The messages of the WebSocket. All are JSON, except output, which is binary: four bytes with the number of the
//! subscription, eight with the offset of the first byte (big-endian), and then the bytes.

use crate::failure::Refused;
use outlive::api::failure::Failure;
use outlive::api::input::WriteId;
use outlive::api::request::Selector;
use outlive::api::terminal::Size;
use outlive::{JobId, Label};
use serde::{Deserialize, Serialize};

/// What a page asks.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// Begin a subscription.
    Follow(Follow),
    /// End it.
    End { sub: u32 },
    /// All that came with this `sent` and before it was taken.
    Taken { sub: u32, sent: u64 },
    /// Do something with the terminal or the input of a job.
    Type(Input),
}

/// A subscription.
#[derive(Clone, Debug, Deserialize)]
pub struct Follow {
    /// Its number, which the page chooses.
    pub sub: u32,
    /// What to follow.
    pub what: What,
    /// So many bytes may be under way. Without it, as much as is useful.
    #[serde(default)]
    pub window: Option<u64>,
}

/// What can be followed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// The list of jobs: those that there are, then each change.
    Jobs(OfJobs),
    /// What sessions have not been told.
    Events(OfSessions),
    /// The exact output from this byte on, until the job ends.
    Output(OfOutput),
    /// The last lines, with their colours, as they come.
    Tail(OfTail),
    /// The screen of a job's terminal, and what changes on it.
    Screen(OfJob),
    /// What changes all the time, once a second: sizes of outputs, use of the machine, waiting for input.
    Samples(OfSamples),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct OfJobs {
    /// Only jobs that this selects.
    #[serde(flatten)]
    pub select: Selector,
    /// At the beginning, also so many of the newest ended ones.
    pub ended: usize,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OfSessions {
    /// Those of these sessions; of every session if `None`.
    pub sessions: Option<Vec<Label>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfOutput {
    pub job: JobId,
    #[serde(default)]
    pub from: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfTail {
    pub job: JobId,
    /// At most so many lines at once.
    pub lines: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfJob {
    pub job: JobId,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfSamples {
    pub jobs: Vec<JobId>,
    /// Also what they use of the machine.
    #[serde(default)]
    pub usage: bool,
}

/// Something for the terminal or the input of a job.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub job: JobId,
    /// A repetition with this id does nothing. It is named in the answer.
    pub id: WriteId,
    /// What to write.
    #[serde(default)]
    pub text: String,
    /// The new size of the terminal.
    #[serde(default)]
    pub size: Option<Size>,
}

/// What a page is told beside the parts of its subscriptions.
#[derive(Debug, Serialize)]
pub struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<WriteId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    /// The subscription is over, or the input was accepted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    end: bool,
}

impl Answer {
    pub fn end(sub: u32) -> Answer {
        Answer {
            sub: Some(sub),
            id: None,
            error: None,
            end: true,
        }
    }

    pub fn done(id: WriteId) -> Answer {
        Answer {
            sub: None,
            id: Some(id),
            error: None,
            end: true,
        }
    }

    pub fn refused(sub: Option<u32>, id: Option<WriteId>, refused: Refused) -> Answer {
        Answer {
            sub,
            id,
            error: Some(refused.into_failure()),
            end: false,
        }
    }

    pub fn text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

/// A part of what a subscription follows.
#[derive(Debug, Serialize)]
pub struct Part<'a, P> {
    pub sub: u32,
    /// How many bytes of parts were sent, with this one.
    pub sent: u64,
    pub part: &'a P,
}
