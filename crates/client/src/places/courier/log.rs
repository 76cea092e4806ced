//! `places/<key>/log`: what a courier has to say when nobody asks.

use crate::clock;
use crate::redact::redact;
use outlive_core::Timestamp;
use outlive_core::layout::{self, NEW};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The largest size of the file. When it is full, the older half is removed.
const MAX_BYTES: u64 = 64 * 1024;
/// The most characters in a line.
const MAX_LINE_CHARS: usize = 1000;

/// The log of one courier.
#[derive(Debug)]
pub struct Log(PathBuf);

impl Log {
    pub fn of(directory: &Path) -> Log {
        Log(directory.join("log"))
    }

    /// Adds a line. If that fails, there is nobody to tell.
    pub fn note(&self, text: &str) {
        let text = redact(text).replace(['\n', '\r'], " ");
        let line: String = format!("{} {text}", Timestamp::from(clock::wall()))
            .chars()
            .take(MAX_LINE_CHARS)
            .collect();
        let _ = self.append(&line);
    }

    fn append(&self, line: &str) -> io::Result<()> {
        let size = fs::symlink_metadata(&self.0).map_or(0, |metadata| metadata.len());
        if size + line.len() as u64 >= MAX_BYTES {
            let kept = self.newer_half(size)?;
            let new = self.0.with_file_name(format!("{NEW}log"));
            layout::open_to_replace(&new)?.write_all(&kept)?;
            fs::rename(&new, &self.0)?;
        }
        layout::open_to_append(&self.0)?.write_all(format!("{line}\n").as_bytes())
    }

    fn newer_half(&self, size: u64) -> io::Result<Vec<u8>> {
        let mut file = layout::open(&self.0)?;
        file.seek(SeekFrom::Start(size.saturating_sub(MAX_BYTES / 2)))?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES / 2).read_to_end(&mut bytes)?;
        let start = bytes.iter().position(|byte| *byte == b'\n');
        Ok(bytes.split_off(start.map_or(bytes.len(), |at| at + 1)))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn the_log_stays_small_and_keeps_the_newest() {
        let world = tempfile::tempdir().unwrap();
        let log = Log::of(world.path());
        for number in 0..3000 {
            log.note(&format!(
                "line {number} of a courier that says the same again and again"
            ));
        }
        let text = fs::read_to_string(&log.0).unwrap();
        assert!(text.len() as u64 <= MAX_BYTES);
        assert!(text.ends_with("line 2999 of a courier that says the same again and again\n"));
    }
}
