//! The size of a terminal.

use serde::{Deserialize, Serialize};

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Columns.
    pub cols: u16,
}

/// A text that is no [`Size`].
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is not a terminal size; write ROWSxCOLS, such as 30x120 (each from 1 to {max})",
    max = Size::MAX_SIDE
)]
pub struct BadSize(String);

impl Size {
    /// The most rows or columns. Nobody has a larger screen, and emulating one costs memory.
    pub const MAX_SIDE: u16 = 1000;
    /// The size of a terminal for which none was asked.
    pub const DEFAULT: Size = Size {
        rows: 30,
        cols: 120,
    };

    /// Reads `ROWSxCOLS`, such as `30x120`.
    pub fn parse(text: &str) -> Result<Size, BadSize> {
        let sides = text.split_once('x').and_then(|(rows, cols)| {
            Some(Size {
                rows: rows.parse().ok()?,
                cols: cols.parse().ok()?,
            })
        });
        let size = sides.ok_or_else(|| BadSize(text.to_owned()))?;
        size.check().map(|()| size)
    }

    /// Checks that both sides are within the limits.
    pub fn check(self) -> Result<(), BadSize> {
        let Size { rows, cols } = self;
        let is_possible = |side: u16| (1..=Size::MAX_SIDE).contains(&side);
        match is_possible(rows) && is_possible(cols) {
            true => Ok(()),
            false => Err(BadSize(format!("{rows}x{cols}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_size_is_written_as_rows_by_columns() {
        assert_eq!(Size::parse("24x80"), Ok(Size { rows: 24, cols: 80 }));
        for bad in [
            "", "x", "24", "24x", "x80", "0x80", "24x1001", "-1x5", "24x80x2", "a x b",
        ] {
            assert!(Size::parse(bad).is_err(), "{bad:?} was accepted");
        }
    }
}
