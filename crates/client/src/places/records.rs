//! The files of a place and of a placed job here.
//!
//! ```text
//! home-id                   names this home to places
//! places/<key>/known        which machine and home answered, and when it was last heard: one JSON object, replaced
//! places/<key>/courier      the courier's socket
//! places/<key>/lock         held by the courier
//! places/<key>/log          what the courier has to say when nobody asks; at most 64 KiB
//! jobs/<id>/placed          how the start went: JSON lines, appended
//! ```

use outlive_core::WallTime;
use outlive_core::far::Instance;
use serde::{Deserialize, Serialize};

/// The socket of a courier, in the directory of its place.
pub const SOCKET: &str = "courier";

/// What is known of a place: the file `known`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Which machine and home the place's jobs are at. Set by the first contact and never changed by itself.
    pub instance: Instance,
    /// When something was last heard from it.
    pub heard_at: WallTime,
    /// Set while nobody can be reached there.
    pub unreached: Option<Silence>,
}

/// Since when and why a place is not reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    pub since: WallTime,
    pub why: String,
}

/// A line of `placed`: a step of a start at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacedStep {
    /// The start may be sent from now on. Synced before it is.
    Asked { instance: Instance, at: WallTime },
    /// The job is there.
    Answered { at: WallTime },
    /// The job is not there, and no earlier request can start it any more.
    NotStarted { reason: String, at: WallTime },
    /// The job was given up by request, or its instance is gone for good.
    Lost { reason: String, at: WallTime },
    /// A configured doorbell rang here, or failed to.
    Rung {
        doorbell: String,
        attempt: u32,
        failure: Option<String>,
        at: WallTime,
    },
}
