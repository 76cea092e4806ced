//! The files as they will be when what an earlier setup left unfinished is rolled back.

use crate::error::Error;
use crate::setup::file::{self, Contents};
use crate::setup::journal::Unfinished;
use std::path::Path;

impl Unfinished {
    /// Reads a file as it will be then.
    pub(super) fn read(&self, real: &Path) -> Result<Option<Contents>, Error> {
        let now = file::read(real)?;
        let text = now.as_ref().map(|now| now.text.as_str());
        let restored = self.files.iter().find(|file| file.real == real);
        let Some(file) = restored.filter(|file| file.is_restored(text)) else {
            return Ok(now);
        };
        Ok(file.before.clone().map(|text| Contents {
            text,
            mode: file.mode.unwrap_or_default(),
            protection: now.and_then(|now| now.protection),
        }))
    }
}
