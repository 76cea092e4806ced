//! What a face needs to know of an output to serve its exact bytes.

use super::Log;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::output::{Following, Piece};
use crate::view::Live;
use outlive_api::job::JobState;
use std::io;
use std::ops::Range;

impl Log {
    /// The state of the job when this was opened.
    pub fn state(&self) -> JobState {
        self.job.state
    }

    /// How many bytes the whole output had when this was opened.
    pub fn size(&self) -> u64 {
        self.output.size
    }

    /// The ranges of the whole output that are missing, in order.
    pub fn dropped(&self) -> Vec<Range<u64>> {
        self.output.missing().to_vec()
    }

    /// Whether secrets are left out.
    pub fn hides_secrets(&self) -> bool {
        self.hides_secrets
    }

    /// What comes after the part, for a caller that only shows it through a [`Live`] unless secrets are shown. Nobody
    /// counts as told of the end.
    pub fn following(&self, outlive: &Outlive, view: Option<&Live>) -> Result<Following, Error> {
        if self.hides_secrets && view.is_none() {
            return Err(Error::SecretsHidden);
        }
        let following = Following::exactly(outlive, &self.id, self.range.end)?;
        Ok(following.holding(outlive).seeing(self.seen))
    }

    /// Like [`Log::pieces`], of this range of the whole output.
    pub fn pieces_of(
        &self,
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = io::Result<Piece>> + '_, Error> {
        match self.hides_secrets {
            true => Err(Error::SecretsHidden),
            false => Ok(self.output.pieces(range)),
        }
    }
}
