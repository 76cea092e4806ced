//! The file in which an agent keeps a conversation, and from which it resumes it.
//!
//! Its format is the agent's own. Two things hold for all of them: the file is written after something was
//! said, and the id of an event that was said stands in it as it is.

use memchr::memmem;
use outlive_core::WallTime;
use outlive_core::event_id::EventId;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// What came with the last prompt is near the end. A whole transcript may have hundreds of megabytes.
const END: u64 = 4 << 20;

/// The transcript of a conversation, where its agent says that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript(PathBuf);

impl Transcript {
    /// `None` if there is no such file: some agents name one that they make later or never.
    pub fn at(path: PathBuf) -> Option<Transcript> {
        path.is_file().then_some(Transcript(path))
    }

    /// When the agent last wrote to it.
    pub fn written(&self) -> Option<WallTime> {
        let modified = fs::metadata(&self.0).and_then(|meta| meta.modified());
        let since = modified.ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(WallTime::from_ms(0) + since)
    }

    /// Whether its end contains the id of this event.
    pub fn mentions(&self, event: &EventId) -> io::Result<bool> {
        let mut file = File::open(&self.0)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(END)))?;
        let mut text = Vec::new();
        file.take(END).read_to_end(&mut text)?;
        Ok(memmem::find(&text, event.to_string().as_bytes()).is_some())
    }
}
