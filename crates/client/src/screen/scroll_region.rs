//! Tracks the scrolling region of a terminal, which the emulator does not expose.
//!
//! `ESC [ top ; bottom r` sets it; `ESC [ r` and a full reset (`ESC c`) remove it. A viewer that
//! attaches later needs the same region, or scrolling text would overwrite the rest of the screen.

/// The scrolling region that was set last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    rows: Option<(u16, u16)>,
    /// The start of a sequence that continues in the next chunk.
    begun: Vec<u8>,
}

/// A longer sequence does not set a region.
const MAX_SEQUENCE_BYTES: usize = 16;

impl Region {
    pub fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match (self.begun.as_slice(), byte) {
                (_, 0x1b) => self.begun = vec![0x1b],
                ([], _) => {}
                ([0x1b], b'c') => *self = Region::default(),
                ([0x1b], b'[') => self.begun.push(b'['),
                ([0x1b, b'[', parameters @ ..], b'r') => {
                    self.rows = rows(parameters);
                    self.begun.clear();
                }
                ([0x1b, b'[', ..], b'0'..=b'9' | b';') if self.begun.len() < MAX_SEQUENCE_BYTES => {
                    self.begun.push(*byte)
                }
                _ => self.begun.clear(),
            }
        }
    }

    /// Removes the region if it does not fit into this many rows.
    pub fn fit(&mut self, rows: u16) {
        self.rows = self.rows.filter(|(_, bottom)| *bottom <= rows);
    }

    /// The bytes that give another terminal the same region and keep its cursor in place.
    pub fn restore(&self, (row, col): (u16, u16)) -> String {
        match self.rows {
            Some((top, bottom)) => format!("\x1b[{top};{bottom}r\x1b[{};{}H", row + 1, col + 1),
            None => String::new(),
        }
    }
}

fn rows(parameters: &[u8]) -> Option<(u16, u16)> {
    let (top, bottom) = str::from_utf8(parameters).ok()?.split_once(';')?;
    Some((top.parse().unwrap_or(1), bottom.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_region_counts_wherever_the_input_is_cut() {
        for (bytes, rows) in [
            ("plain", None),
            ("\x1b[3;9r", Some((3, 9))),
            ("\x1b[;9r", Some((1, 9))),
            ("\x1b[3;9r\x1b[r", None),
            ("\x1b[3;9r\x1bc", None),
            ("\x1b[3;9rtext\x1b[31mred\x1b[2;4r", Some((2, 4))),
            ("\x1b[?1;2r", None),
        ] {
            for cut in 0..bytes.len() {
                let mut region = Region::default();
                region.feed(&bytes.as_bytes()[..cut]);
                region.feed(&bytes.as_bytes()[cut..]);
                assert_eq!(region.rows, rows, "{bytes:?} cut at {cut}");
            }
        }
    }
}
