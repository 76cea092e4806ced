//! Typing long lines into a terminal without losing anything.
//!
//! A terminal in line mode keeps at most 4,095 bytes of a line and silently drops the rest. Its end-of-file character
//! within a line hands over what was typed so far, and the program continues to read. So a long line is typed in
//! stretches with that character between them.

use outlive_sys::terminal::Mode;

/// Below the kernel's limit of 4,095, which counts the end of the line too.
pub const STRETCH: usize = 4000;

/// How many bytes of the present line were typed since the line began or was last handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line(usize);

impl Line {
    /// The state after these bytes, the last that were typed. A byte that may end a line or be a part of it counts as
    /// a part: handing over too early does no harm.
    pub fn after(typed: &[u8], mode: Mode) -> Line {
        let ends = |byte: &u8| matches!(byte, b'\n' | b'\r') || *byte == mode.end_of_file;
        Line(typed.iter().rev().take_while(|byte| !ends(byte)).count())
    }

    /// The bytes to type so that the program reads `data`, and with `eof` the end of its input.
    pub fn type_in(&mut self, data: &[u8], eof: bool, mode: Mode) -> Vec<u8> {
        let mut typed = Vec::with_capacity(data.len() + 2);
        for byte in data {
            if mode.lines && self.0 >= STRETCH {
                typed.push(mode.end_of_file);
                self.0 = 0;
            }
            typed.push(*byte);
            self.0 = if matches!(byte, b'\n' | b'\r') {
                0
            } else {
                self.0 + 1
            };
        }
        if eof {
            // Within a line the first one only hands the line over. The second one ends the input.
            typed.extend(std::iter::repeat_n(
                mode.end_of_file,
                if self.0 > 0 { 2 } else { 1 },
            ));
            self.0 = 0;
        }
        typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: Mode = Mode {
        lines: true,
        echo: true,
        end_of_file: 4,
    };
    const KEYS: Mode = Mode {
        lines: false,
        echo: false,
        end_of_file: 4,
    };

    #[test]
    fn no_stretch_exceeds_the_terminal_limit() {
        let mut line = Line::default();
        let data = [vec![b'x'; 10_000], b"\nshort\n".to_vec()].concat();
        let typed: Vec<u8> = data
            .chunks(777)
            .flat_map(|piece| line.type_in(piece, false, LINES))
            .collect();
        assert!(
            typed
                .split(|byte| *byte == b'\n' || *byte == 4)
                .all(|stretch| stretch.len() < 4095)
        );
        let read: Vec<u8> = typed.into_iter().filter(|byte| *byte != 4).collect();
        assert_eq!(read, data);
        assert_eq!(line.type_in(&[b'x'; 10_000], false, KEYS).len(), 10_000);
    }

    #[test]
    fn a_successor_continues_in_the_middle_of_a_line() {
        let typed = [b"old\n".as_slice(), &[b'x'; 3000]].concat();
        let mut line = Line::after(&typed, LINES);
        assert_eq!(line, Line(3000));
        assert_eq!(
            line.type_in(&[b'x'; 2000], false, LINES)
                .iter()
                .filter(|byte| **byte == 4)
                .count(),
            1
        );
        assert_eq!(Line::after(b"a\x04bc", LINES), Line(2));
    }

    #[test]
    fn end_of_file_is_typed_after_the_data() {
        assert_eq!(Line::default().type_in(b"", true, LINES), [4]);
        assert_eq!(Line::default().type_in(b"a\n", true, LINES), b"a\n\x04");
        assert_eq!(Line::default().type_in(b"a", true, LINES), b"a\x04\x04");
    }
}
