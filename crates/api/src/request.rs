//! What the verbs take: one request per verb.
//!
//! | verb | request |
//! |---|---|
//! | `run` | [`Run`] |
//! | `adopt` | [`Adopt`] |
//! | `list` | [`Filter`] |
//! | `show` | [`ForJob`]`<`[`Show`]`>` |
//! | `log` | [`ForJob`]`<`[`Log`]`>` |
//! | `watch` | [`ForJobs`]`<`[`ChangeWatch`]`>` |
//! | `label` | [`ForJobs`]`<`[`ChangeLabels`]`>` |
//! | `wait` | [`ForJobs`]`<`[`Wait`]`>` |
//! | `stop` | [`ForJobs`]`<`[`Stop`]`>` |
//! | `signal` | [`ForJob`]`<`[`SendSignal`]`>` |
//! | `send` | [`ForJob`]`<`[`Send`]`>` |
//! | `resize` | [`ForJob`]`<`[`Size`]`>` |
//! | `attach` | [`ForJob`]`<`[`Attach`]`>` |
//! | `inbox` | [`ForSession`]`<`[`Take`]`>`, [`ForSession`]`<`[`Ack`]`>` |
//! | `post` | [`NewPost`] |
//! | `session end` | [`ForSession`]`<`[`EndSession`]`>` |
//! | `prune` | [`Prune`] |
//! | `place add` | [`AddPlace`] |
//!
//! A function of the library takes the ids beside the rest, so it takes what is inside of `ForJob`, `ForJobs` and
//! `ForSession`. In JSON the ids are keys of the same object.
//!
//! A duration is a number of milliseconds in JSON. Whatever is left out has its default.

mod adopt;
mod environment;
mod inbox;
mod list;
mod log;
mod place;
mod post;
mod prune;
mod run;
mod selector;
mod send;
mod session;
mod stop;
mod wait;
mod watch;

pub use adopt::Adopt;
pub use environment::{BadVariablePattern, Environment, EnvironmentSource, VariablePattern};
pub use inbox::{Ack, Selection, Take};
pub use list::{Filter, StateFilter};
pub use log::{Log, LogForm, Part};
pub use place::AddPlace;
pub use post::NewPost;
pub use prune::Prune;
pub use run::{BadSetting, Command, Namesake, Run};
pub use selector::Selector;
pub use send::Send;
pub use session::{EndSession, Running, Waiting};
pub use stop::Stop;
pub use wait::{Until, Wait, WaitFor};
pub use watch::{ChangeLabels, ChangeWatch};

use crate::id::JobId;
use crate::label::Label;
use crate::signal::Signal;
use crate::terminal::Size;
use serde::{Deserialize, Serialize};

/// A request about one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForJob<R> {
    /// The job.
    pub job: JobId,
    /// What the verb takes besides.
    #[serde(flatten)]
    pub request: R,
}

/// A request about several jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForJobs<R> {
    /// The jobs. The reply has them in this order.
    #[serde(default)]
    pub jobs: Vec<JobId>,
    /// Also all jobs that this selects and that run, or that have left processes behind.
    #[serde(default)]
    pub select: Option<Selector>,
    /// What the verb takes besides.
    #[serde(flatten)]
    pub request: R,
}

/// A request about a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForSession<R> {
    /// The session.
    pub session: Label,
    /// What the verb takes besides.
    #[serde(flatten)]
    pub request: R,
}

/// How to show a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Show {
    /// How many of the last lines of its output to show.
    pub preview_lines: u64,
}

impl Default for Show {
    fn default() -> Show {
        Show {
            preview_lines: crate::defaults::PREVIEW_LINES,
        }
    }
}

/// The signal to send to every process of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SendSignal {
    /// The signal.
    pub signal: Signal,
}

/// How to attach a terminal to a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Attach {
    /// The size of the user's terminal, which the job's terminal gets. Without it, the job's terminal keeps its
    /// size.
    #[serde(deserialize_with = "crate::strict::read")]
    pub size: Option<Size>,
}
