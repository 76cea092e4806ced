//! The part of a terminal that scrolls, which the emulator keeps to itself.
//!
//! `ESC [ top ; bottom r` sets it, `ESC [ r` and a full reset (`ESC c`) lift it. A viewer who comes later
//! must have it too, or what scrolls would paint over the rest.

/// The scrolling region as last set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    rows: Option<(u16, u16)>,
    /// The beginning of a sequence that a chunk ended in.
    begun: Vec<u8>,
}

/// A longer sequence is none that sets a region.
const LONGEST: usize = 16;

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
                ([0x1b, b'[', ..], b'0'..=b'9' | b';') if self.begun.len() < LONGEST => {
                    self.begun.push(*byte)
                }
                _ => self.begun.clear(),
            }
        }
    }

    /// A terminal that has become too small for it has none.
    pub fn fit(&mut self, rows: u16) {
        self.rows = self.rows.filter(|(_, bottom)| *bottom <= rows);
    }

    /// What gives another terminal the same region, its cursor staying where it is.
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
    fn the_last_region_counts_however_it_is_cut() {
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
