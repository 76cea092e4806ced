//! The detector's position, for a successor.
//!
//! Each event in the journal contains the position. Between events it is saved in a small file, which is written after
//! the journal. The newer of the two counts.

use super::breaker;
use crate::signs::watch::{Place, limit};
use outlive_core::JobDir;
use outlive_core::layout;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The position to continue from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resume {
    /// Counts changes. Of two positions, the one with the higher count is the newer.
    pub step: u64,
    pub watch: Place,
    pub limit: limit::State,
    pub ready: Place,
    pub breaker: breaker::Resume,
    /// The size of the output when its silence was reported.
    pub silence: Option<u64>,
    /// How much output and input there was when a prompt was reported.
    pub prompt: Option<(u64, u64)>,
}

/// At most this many bytes are read. The file is never larger unless somebody else writes to it.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The file.
#[derive(Debug)]
pub struct Progress(File);

impl Progress {
    pub fn open(job: &JobDir) -> io::Result<Progress> {
        layout::open_or_make(&job.watch()).map(Progress)
    }

    /// The newer of the positions in the file and in the journal.
    pub fn newer(&self, journaled: &Value) -> Resume {
        let size = self.0.metadata().map_or(0, |metadata| metadata.len());
        let mut bytes = vec![0; size.min(MAX_FILE_BYTES) as usize];
        let _ = self.0.read_exact_at(&mut bytes, 0);
        let line = bytes.split(|byte| *byte == b'\n').next();
        let saved: Resume = line
            .and_then(|line| serde_json::from_slice(line).ok())
            .unwrap_or_default();
        let told = Resume::deserialize(journaled).unwrap_or_default();
        if told.step > saved.step { told } else { saved }
    }

    pub fn write(&self, resume: &Resume) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(resume)?;
        bytes.push(b'\n');
        // An older, longer position may leave bytes behind the end. They are ignored.
        self.0.write_all_at(&bytes, 0)
    }
}
