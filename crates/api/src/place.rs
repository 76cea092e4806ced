//! What the verbs of places answer: other machines that jobs run on.

use crate::failure::Failure;
use crate::id::JobId;
use crate::os_text::OsText;
use crate::reply::Check;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What `place list` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceList {
    /// The configuration file, if there is one.
    pub file: Option<OsText>,
    /// The places of the configuration, and those that jobs were started at by their address.
    pub places: Vec<PlaceStatus>,
}

/// A place, as far as it is known without asking it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceStatus {
    /// What `--place` takes: its name in the configuration, else its address.
    pub name: String,
    /// How it is reached; `null` if its jobs are still known and its name is no longer configured.
    pub address: Option<String>,
    /// Whether it was reached at the last attempt.
    pub contact: Contact,
    /// When something was last heard from it.
    pub heard_at: Option<Timestamp>,
    /// Since when and why it is not reached.
    pub unreachable: Option<PlaceSilence>,
    /// How many jobs of this home are there.
    pub jobs: u64,
    /// How many of them are not known to be over.
    pub running: u64,
}

/// Whether a place was reached at the last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Contact {
    /// It was.
    Reached,
    /// It was not, or the connection was lost.
    Unreachable,
    /// Nobody has reached it yet.
    Never,
}

impl Contact {
    /// The word for it in JSON and in text.
    pub fn as_str(self) -> &'static str {
        match self {
            Contact::Reached => "reached",
            Contact::Unreachable => "unreachable",
            Contact::Never => "never",
        }
    }
}

/// When the output of a job at a place is copied here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fetch {
    /// When the job ends.
    End,
    /// Never. It is read there.
    Never,
}

impl Fetch {
    /// The word for it in JSON and in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Fetch::End => "end",
            Fetch::Never => "never",
        }
    }
}

/// Since when and why a place is not reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceSilence {
    /// Since when.
    pub since: Timestamp,
    /// Why.
    pub reason: String,
}

/// What `place check` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceChecks {
    /// The places, in the order that they were asked for.
    pub places: Vec<PlaceCheck>,
}

impl PlaceChecks {
    /// Whether a place was not reached, or jobs cannot run there.
    pub fn is_broken(&self) -> bool {
        self.places.iter().any(|place| place.answer.is_none())
    }
}

/// What became of the attempt to reach a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceCheck {
    /// What `--place` takes.
    pub name: String,
    /// How it is reached.
    pub address: String,
    /// Who answered.
    pub answer: Option<PlaceAnswer>,
    /// Why nobody answered.
    pub error: Option<Failure>,
}

/// Who answers at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceAnswer {
    /// The name that the machine has for itself.
    pub host: String,
    /// The user there.
    pub user: String,
    /// Its system: kernel, release and machine type.
    pub system: String,
    /// The directory that holds the jobs there.
    pub home: OsText,
    /// Where jobs start, unless they are told another directory.
    pub directory: OsText,
    /// How long a question and its answer take, in microseconds.
    pub round_trip_us: u64,
    /// What `doctor` finds there that is less than it is here, or keeps jobs from running.
    pub less: Vec<Check>,
    /// What else is less than it would be here.
    pub notes: Vec<String>,
}

/// What `place add` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceAdded {
    /// The name of the place.
    pub name: String,
    /// How it is reached.
    pub address: String,
    /// The configuration file that it was written to.
    pub file: OsText,
    /// Whether it took the place of an earlier table of this name.
    pub replaced: bool,
}

/// What `place remove` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceRemoved {
    /// The name of the place.
    pub name: String,
    /// The configuration file that it was removed from; `null` if it was not configured.
    pub file: Option<OsText>,
    /// Jobs that were not over and whose outcome is now `lost`. They may still run there.
    pub forgotten: Vec<JobId>,
}

/// What `place connect` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceConnected {
    /// The name of the place.
    pub name: String,
    /// Whether it was logged in before.
    pub already: bool,
}

/// What `place clean` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceCleaned {
    /// The name of the place.
    pub name: String,
    /// The programs of other versions that were removed there.
    pub removed: Vec<String>,
}
