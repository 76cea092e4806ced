//! `adopt`

use crate::id::JobId;
use crate::label::{BadLabel, Label};
use crate::notify::{Leftovers, Notify};
#[cfg(feature = "schema")]
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A request to make a job of a process that runs already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Adopt {
    /// The number of the process.
    pub pid: i32,
    /// An id chosen by the caller: a second adoption with it is refused. Without one, an id is made.
    #[serde(default)]
    pub id: Option<JobId>,
    /// A name to find it by.
    #[serde(default)]
    pub name: Option<Label>,
    /// Who asks: whose inbox gets its events.
    #[serde(default)]
    pub session: Option<Label>,
    /// The unit of work it belongs to.
    #[serde(default)]
    pub task: Option<Label>,
    /// Stop it this long after the adoption; never if `None` or zero.
    #[serde(default, rename = "timeout_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub timeout: Option<Duration>,
    /// The time from TERM to KILL when it is stopped.
    #[serde(default, rename = "grace_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub grace: Option<Duration>,
    /// For which ends its session is told.
    #[serde(default)]
    pub notify: Notify,
    /// Run this with a shell once it has ended, before the doorbells that the user has configured.
    #[serde(default)]
    pub on_end: Option<String>,
    /// What becomes of processes that outlive it.
    #[serde(default)]
    pub leftovers: Leftovers,
    /// Adopt it even if it is an ancestor of the caller. A stop of the job would then end the caller, too.
    #[serde(default)]
    pub force: bool,
}

impl Adopt {
    /// A request with defaults for all but the process.
    pub fn pid(pid: i32) -> Adopt {
        Adopt {
            pid,
            id: None,
            name: None,
            session: None,
            task: None,
            timeout: None,
            grace: None,
            notify: Notify::End,
            on_end: None,
            leftovers: Leftovers::Keep,
            force: false,
        }
    }

    /// A name to find it by.
    pub fn name(mut self, name: &str) -> Result<Adopt, BadLabel> {
        self.name = Some(Label::parse(name)?);
        Ok(self)
    }

    /// Who asks: whose inbox gets its events.
    pub fn session(mut self, session: &str) -> Result<Adopt, BadLabel> {
        self.session = Some(Label::parse(session)?);
        Ok(self)
    }

    /// The unit of work it belongs to.
    pub fn task(mut self, task: &str) -> Result<Adopt, BadLabel> {
        self.task = Some(Label::parse(task)?);
        Ok(self)
    }

    /// Stops it this long after the adoption.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Adopt {
        self.timeout = Some(timeout);
        self
    }

    /// For which ends its session is told.
    #[must_use]
    pub fn notify(mut self, notify: Notify) -> Adopt {
        self.notify = notify;
        self
    }
}
