//! The file that says where the output changes from one stream to the other (`core/streams.rs`), being written.
//!
//! It grows with each switch. So when the middle of the output is dropped and the file has grown to twice its size since,
//! the switches of what is kept go to a new file, which then takes its place. A keeper that is killed in between leaves
//! the old file, which says the same, and perhaps a part of a new one, which the next keeper removes.

use crate::hooks::{Hook, Role};
use outlive_core::streams::{Encoder, Runs, Switch};
use outlive_core::{JobDir, Stream, layout};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// A smaller file is never made shorter.
const SMALL: u64 = 16 * 1024;

/// The switches, being written.
#[derive(Debug)]
pub struct Switches {
    job: JobDir,
    /// `None` if it could not be opened yet.
    file: Option<File>,
    encoder: Encoder,
    /// The length at which the file is made shorter.
    long: u64,
    /// Whether the file has got a new inode, whose name is not on the disk yet.
    is_replaced: bool,
}

impl Switches {
    /// Continues where a predecessor stopped.
    pub fn resume(job: &JobDir) -> Switches {
        // A predecessor may have died before it was complete.
        let _ = fs::remove_file(job.next_streams());
        let mut switches = Switches {
            job: job.clone(),
            file: None,
            encoder: Encoder::default(),
            long: SMALL,
            // A predecessor may have replaced it.
            is_replaced: true,
        };
        // If this fails, it is tried again when a switch is to be written.
        let _ = switches.open();
        switches
    }

    fn open(&mut self) -> io::Result<&File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let file = layout::open_or_replace(&self.job.streams())?;
                self.encoder = Encoder::resume(&file)?;
                file
            }
        };
        Ok(self.file.insert(file))
    }

    /// The stream of the next byte. `None` if that must be written down first.
    pub fn stream(&self) -> Option<Stream> {
        self.encoder.stream()
    }

    /// Writes down that from this offset on, the bytes are of this stream.
    pub fn add(&mut self, offset: u64, stream: Stream) -> io::Result<()> {
        self.open()?;
        let entry = self.encoder.entry(Switch { offset, stream });
        if let (Some(entry), Some(file)) = (entry, &self.file) {
            file.write_all_at(entry.bytes(), entry.at)?;
            self.encoder.wrote(&entry);
        }
        Ok(())
    }

    /// Makes the file shorter if it is long and some of the output is not kept.
    pub fn give_back(&mut self, dropped: &Range<u64>, role: Role) {
        if self.encoder.length() < self.long || dropped.is_empty() {
            return;
        }
        // If it fails (a full disk), the old file stays. It is tried again when there is more to gain.
        let _ = self.rewrite(dropped, role);
        self.long = SMALL.max(2 * self.encoder.length());
    }

    fn rewrite(&mut self, dropped: &Range<u64>, role: Role) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let path = self.job.next_streams();
        let next = layout::open_or_make(&path)?;
        next.set_len(0)?;
        let keep = [0..dropped.start, dropped.end..u64::MAX];
        let to = BufWriter::with_capacity(SMALL as usize, &next);
        let encoder = Runs::of(file.try_clone()?)?.rewrite(keep, to)?;
        role.reach(Hook::SwitchesRewritten);
        fs::rename(&path, self.job.streams())?;
        role.reach(Hook::SwitchesReplaced);
        self.file = Some(next);
        self.encoder = encoder;
        self.is_replaced = true;
        Ok(())
    }

    pub fn sync(&self) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        layout::sync(file)?;
        match self.is_replaced {
            true => layout::sync_directory(self.job.path()),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
