//! `places/<key>/log`: what a courier has to say when nobody asks.

use crate::clock;
use crate::redact::redact;
use outlive_core::layout::{self, NEW};
use outlive_core::{BootTime, Timestamp, quote};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The largest size of the file. When it is full, the older half is removed.
const MAX_BYTES: u64 = 64 * 1024;
/// The most characters in a line.
const MAX_LINE_CHARS: usize = 1000;

/// What was noted is not noted again for so long: a place that fails in the same way again and again fills nothing.
const ONCE_IN: Duration = Duration::from_secs(600);
/// Of so many texts.
const REMEMBERED: usize = 64;

/// The log of one courier.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    /// The texts of the newest lines.
    noted: Mutex<Vec<(BootTime, String)>>,
}

impl Log {
    pub fn of(directory: &Path) -> Log {
        Log {
            path: directory.join("log"),
            noted: Mutex::default(),
        }
    }

    /// Adds a line. If that fails, there is nobody to tell.
    pub fn note(&self, text: &str) {
        if !self.is_new(text) {
            return;
        }
        let text = quote::line(&redact(text));
        let line: String = format!("{} {text}", Timestamp::from(clock::wall()))
            .chars()
            .take(MAX_LINE_CHARS)
            .collect();
        let _ = self.append(&line);
    }

    fn is_new(&self, text: &str) -> bool {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::boot();
        noted.retain(|(at, _)| now < *at + ONCE_IN);
        if noted.iter().any(|(_, before)| before == text) {
            return false;
        }
        if noted.len() >= REMEMBERED {
            noted.remove(0);
        }
        noted.push((now, text.to_owned()));
        true
    }

    fn append(&self, line: &str) -> io::Result<()> {
        let size = fs::symlink_metadata(&self.path).map_or(0, |metadata| metadata.len());
        if size + line.len() as u64 >= MAX_BYTES {
            let kept = self.newer_half(size)?;
            let new = self.path.with_file_name(format!("{NEW}log"));
            layout::open_to_replace(&new)?.write_all(&kept)?;
            fs::rename(&new, &self.path)?;
        }
        layout::open_to_append(&self.path)?.write_all(format!("{line}\n").as_bytes())
    }

    fn newer_half(&self, size: u64) -> io::Result<Vec<u8>> {
        let mut file = layout::open(&self.path)?;
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
    fn the_same_is_noted_once_in_a_while_and_on_one_line() {
        let world = tempfile::tempdir().unwrap();
        let log = Log::of(world.path());
        for _ in 0..3 {
            log.note("not reached: the link\nis \u{1b}[31mdown");
            log.note("not reached: no answer in time");
        }
        let text = fs::read_to_string(&log.path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].ends_with("not reached: the link\\nis \\x1b[31mdown"),
            "{text}"
        );
    }

    #[test]
    fn the_log_stays_small_and_keeps_the_newest() {
        let world = tempfile::tempdir().unwrap();
        let log = Log::of(world.path());
        for number in 0..3000 {
            log.note(&format!(
                "line {number} of a courier that says the same again and again"
            ));
        }
        let text = fs::read_to_string(&log.path).unwrap();
        assert!(text.len() as u64 <= MAX_BYTES);
        assert!(text.ends_with("line 2999 of a courier that says the same again and again\n"));
    }
}
