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

use crate::clock;
use outlive_core::far::Instance;
use outlive_core::{JobDir, WallTime, layout};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

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

/// The name of the record of a start, in the directory of its job.
pub const PLACED: &str = "placed";

/// Notes that the start may be sent, in the directory of a job that is being made. Synced.
pub fn begin(job: &JobDir, instance: &Instance) -> io::Result<()> {
    let asked = PlacedStep::Asked {
        instance: instance.clone(),
        at: clock::wall(),
    };
    let mut line = serde_json::to_vec(&asked)?;
    line.push(b'\n');
    let mut file = layout::make(&job.path().join(PLACED))?;
    file.write_all(&line)?;
    layout::sync_all(&file)
}

/// The steps of a start; empty for a job that is of no place.
pub fn read_placed(job: &JobDir) -> io::Result<Vec<PlacedStep>> {
    let bytes = match layout::read(&job.path().join(PLACED)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.filter(|line| line.ends_with(b"\n"));
    Ok(whole.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}
