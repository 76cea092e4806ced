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

use super::settings::Place;
use crate::clock;
use crate::error::Error;
use crate::home::outlive::{Outlive, make_private};
use crate::random;
use outlive_core::far::Instance;
use outlive_core::layout::{self, NEW};
use outlive_core::{JobDir, WallTime};
use outlive_sys::lock::{self, Lock, LockResult};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// The socket of a courier, in the directory of its place.
pub const SOCKET: &str = "courier";

/// The reason of [`PlacedStep::Lost`] for a job that was given up with its place, which has no courier from then on.
pub const FORGOTTEN: &str = "forgotten by request";

/// The largest replica. A job that is restarted as often as any can be has a quarter of that.
const MAX_REPLICA: u64 = 64 << 20;

/// Why nothing more is believed of a job whose replica is that large.
pub const TOO_MANY_RECORDS: &str =
    "the place sends more records of it than any job has, so what it says is not understood";

/// Whether the place sent more records of a job than any has, so that no more are taken.
pub fn has_too_many(job: &JobDir) -> bool {
    let size = fs::symlink_metadata(job.journal()).map(|metadata| metadata.len());
    size.is_ok_and(is_too_large)
}

/// Whether a replica of this size takes no more.
pub fn is_too_large(replica: u64) -> bool {
    replica >= MAX_REPLICA
}

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
    Lost {
        reason: String,
        at: WallTime,
        /// When its place was last heard from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        heard_at: Option<WallTime>,
    },
    /// A configured doorbell rang here, or failed to.
    Rung {
        doorbell: String,
        attempt: u32,
        failure: Option<String>,
        at: WallTime,
    },
}

/// The directory of a place.
pub fn directory(outlive: &Outlive, place: &Place) -> PathBuf {
    outlive.home().place(&place.key())
}

/// Makes the directory of a place, if needed.
pub fn make_directory(outlive: &Outlive, place: &Place) -> Result<PathBuf, Error> {
    outlive.prepare()?;
    let directory = directory(outlive, place);
    make_private(&directory)?;
    Ok(directory)
}

/// What is known of a place. A file that cannot be read counts as none: the next contact writes it again.
pub fn read_known(outlive: &Outlive, place: &Place) -> Option<Known> {
    let bytes = layout::read(&directory(outlive, place).join(KNOWN)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Replaces what is known of a place, in one step. Only the first contact is synced: the rest is said again.
pub fn write_known(outlive: &Outlive, place: &Place, known: &Known) -> io::Result<()> {
    let path = directory(outlive, place).join(KNOWN);
    let token = random::token().map_err(io::Error::other)?;
    let new = path.with_file_name(format!("{NEW}{token}"));
    let mut file = layout::make(&new)?;
    let written = file
        .write_all(&serde_json::to_vec(known)?)
        .and_then(|()| match path.exists() {
            true => Ok(()),
            false => layout::sync(&file),
        })
        .and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

const KNOWN: &str = "known";

/// The file `placed` of a job whose start is not decided, locked. While this exists, the process that starts the job
/// lives, and no courier concludes from "it is not there" that it never will be.
#[derive(Debug)]
pub struct Placing {
    _lock: Lock,
}

impl Placing {
    /// Writes and syncs the first step into the directory of a new job, which need not have its name yet.
    pub fn begin(job: &JobDir, instance: Instance) -> io::Result<Placing> {
        let mut file = layout::make(&job.placed())?;
        let at = clock::wall();
        file.write_all(&line(&PlacedStep::Asked { instance, at })?)?;
        layout::sync(&file)?;
        match lock::take(file)? {
            LockResult::Acquired(lock) => Ok(Placing { _lock: lock }),
            LockResult::Held => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// What `placed` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    pub steps: Vec<PlacedStep>,
}

/// How far a start has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// The job may be there, or may come to be.
    Asked,
    /// The job is there, or was.
    Answered,
    NotStarted(&'a str),
    Lost(&'a str),
}

impl Placed {
    /// Reads what is there. An incomplete last line is ignored.
    pub fn read(job: &JobDir) -> io::Result<Placed> {
        let bytes = layout::read(&job.placed())?;
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let complete = lines.filter_map(|line| line.strip_suffix(b"\n"));
        let steps = complete.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(Placed {
            steps: steps.collect(),
        })
    }

    /// Where the start was sent; `None` if the file is damaged.
    pub fn instance(&self) -> Option<&Instance> {
        self.steps.iter().find_map(|step| match step {
            PlacedStep::Asked { instance, .. } => Some(instance),
            _ => None,
        })
    }

    /// When the place of a lost job was last heard from.
    pub fn last_heard_at(&self) -> Option<WallTime> {
        self.steps.iter().find_map(|step| match step {
            PlacedStep::Lost { heard_at, .. } => *heard_at,
            _ => None,
        })
    }

    /// How the start went. The first decision counts, except that a job that was there can be lost.
    pub fn start(&self) -> Start<'_> {
        let mut start = Start::Asked;
        for step in &self.steps {
            start = match (&start, step) {
                (Start::Asked, PlacedStep::Answered { .. }) => Start::Answered,
                (Start::Asked, PlacedStep::NotStarted { reason, .. }) => Start::NotStarted(reason),
                (Start::Asked | Start::Answered, PlacedStep::Lost { reason, .. }) => {
                    Start::Lost(reason)
                }
                _ => start,
            };
        }
        start
    }
}

/// Appends a step. The caller holds the job's lock.
pub fn append_placed(job: &JobDir, step: &PlacedStep) -> io::Result<()> {
    let (bytes, mut file) = layout::read_to_append(&job.placed())?;
    let mut text = Vec::new();
    // Whoever wrote the last line was interrupted.
    if bytes.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    text.extend(line(step)?);
    file.write_all(&text)
}

/// Appends a step and syncs it. The caller holds the job's lock.
pub fn append_placed_synced(job: &JobDir, step: &PlacedStep) -> io::Result<()> {
    append_placed(job, step)?;
    layout::sync(&layout::open(&job.placed())?)
}

fn line(step: &PlacedStep) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(step)?;
    line.push(b'\n');
    Ok(line)
}
