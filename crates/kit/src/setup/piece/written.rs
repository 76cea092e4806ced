//! Which parts of a piece setup writes itself. The others were there already, so they are the user's: they are not noted
//! in the journal, and undo leaves them alone.

use super::{EMPTY, Part, Piece, parts_of, put_part};
use crate::setup::json::Bad;
use crate::setup::{block, toml};

impl Piece {
    /// This piece without the parts that the text has already. A part that one of the `recorded` pieces has too was
    /// written by setup. `None` if nothing is left.
    pub fn written(&self, text: &str, recorded: &[&Piece]) -> Result<Option<Piece>, Bad> {
        let is_recorded = |is_such: fn(&Piece) -> bool| recorded.iter().any(|one| is_such(one));
        let is_written = match self {
            Piece::Json { dialect, parts } => {
                let start = if text.trim().is_empty() { EMPTY } else { text };
                let mut written = Vec::new();
                for part in parts {
                    let mut others = recorded.iter().flat_map(|one| parts_of(Some(*one)));
                    let is_ours = others.any(|other: &Part| other.has_place_of(part));
                    if is_ours || put_part(start, *dialect, part, None)? != start {
                        written.push(part.clone());
                    }
                }
                let dialect = *dialect;
                let piece = (!written.is_empty()).then_some(Piece::Json {
                    dialect,
                    parts: written,
                });
                return Ok(piece);
            }
            Piece::TomlServer(value) => {
                is_recorded(|one| matches!(one, Piece::TomlServer(_)))
                    || toml::put(text, value, None)? != text
            }
            Piece::Instructions(own) => {
                is_recorded(|one| matches!(one, Piece::Instructions(_)))
                    || block::put(text, own) != text
            }
            Piece::Own(own) => is_recorded(|one| matches!(one, Piece::Own(_))) || text != own,
        };
        Ok(is_written.then(|| self.clone()))
    }
}
