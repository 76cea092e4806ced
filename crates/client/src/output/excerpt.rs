//! The beginning and the end of an output of a place, kept here for the texts of events and for previews: these never
//! wait for a network.
//!
//! The file `excerpt` of the job has a line of JSON, which says how long each part is, and then both parts. It is made
//! when the job is over and somebody looks.

use super::far::FarOutput;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::away::{self, Away};
use crate::places::dial;
use crate::random;
use outlive_core::layout::{self, NEW};
use outlive_core::{JobDir, Spec, State};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::time::Duration;

/// How much is kept of the beginning, and of the end.
const HEAD: u64 = 4 * 1024;
const TAIL: u64 = 16 * 1024;

/// How long the place may take.
const PATIENCE: Duration = Duration::from_millis(300);

/// The beginning and the end of an output of this size.
#[derive(Debug)]
pub(super) struct Excerpt {
    pub size: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    size: u64,
    head: usize,
    tail: usize,
}

impl Excerpt {
    /// The excerpt that is here, or one that the place gives at once. `None` if there is neither.
    pub fn of(outlive: &Outlive, spec: &Spec, state: &State) -> Option<Excerpt> {
        let dir = outlive.job_dir(&spec.id);
        if state.is_final()
            && let Some(kept) = Excerpt::read(&dir)
        {
            return Some(kept);
        }
        let fetched = Excerpt::fetch(outlive, spec, state).ok()??;
        if state.is_final() {
            // Without it, the place is asked again.
            let _ = fetched.write(&dir);
        }
        Some(fetched)
    }

    fn fetch(outlive: &Outlive, spec: &Spec, state: &State) -> Result<Option<Excerpt>, Error> {
        let place = spec.place.clone();
        let place = away::resolve(outlive, &Away { place })?;
        if dial::known(outlive, &place).is_some_and(|known| known.unreached.is_some()) {
            return Ok(None);
        }
        let far = FarOutput::open_within(outlive, spec, state, None, PATIENCE)?;
        let part = |from: u64, to: u64| {
            let mut bytes = vec![0; (to - from) as usize];
            let count = far.read_at(&mut bytes, from);
            let failed = Error::io("cannot read", outlive.job_dir(&spec.id).output());
            bytes.truncate(count.map_err(failed)?);
            Ok::<_, Error>(bytes)
        };
        let size = far.size;
        Ok(Some(Excerpt {
            size,
            head: part(0, HEAD.min(size))?,
            tail: part(size.saturating_sub(TAIL), size)?,
        }))
    }

    fn read(dir: &JobDir) -> Option<Excerpt> {
        let bytes = layout::read(&dir.excerpt()).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let header: Header = serde_json::from_slice(&bytes[..end]).ok()?;
        let rest = &bytes[end + 1..];
        let whole = header.head.checked_add(header.tail) == Some(rest.len());
        whole.then(|| Excerpt {
            size: header.size,
            head: rest[..header.head].to_vec(),
            tail: rest[header.head..].to_vec(),
        })
    }

    fn write(&self, dir: &JobDir) -> io::Result<()> {
        let header = Header {
            size: self.size,
            head: self.head.len(),
            tail: self.tail.len(),
        };
        let mut bytes = serde_json::to_vec(&header)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(&self.tail);
        let token = random::token().map_err(io::Error::other)?;
        let new = dir.path().join(format!("{NEW}{token}"));
        let written = layout::make(&new)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| fs::rename(&new, dir.excerpt()));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// Reads bytes that are here. Fails for those between both parts.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let tail = self.size - self.tail.len() as u64;
        let from = match at {
            at if at >= self.size => return Ok(0),
            at if at >= tail => &self.tail[(at - tail) as usize..],
            at if at < self.head.len() as u64 => &self.head[at as usize..],
            _ => return Err(io::Error::other("it is kept at a place")),
        };
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }
}
