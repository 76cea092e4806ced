//! One line with its colours. The text is that of [`line()`](super::line()), whatever the colours are.
//!
//! A line begins with no colour: where a program sets one for several lines, only the first shows it. So a line can be
//! shown alone, from the middle of an output of any size.

use super::line;
use super::line::EDGE;
use std::ops::Range;

/// The longest line of which colours are kept.
const LONGEST: usize = 64 * 1024;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The colour of the text.
    pub foreground: Colour,
    /// The colour behind it.
    pub background: Colour,
    /// Bold, and so on: see [`Style::BOLD`] and the others.
    pub flags: u8,
}

/// A colour as a terminal knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// That of text without colour.
    #[default]
    Default,
    /// One of the 256 of the palette.
    Indexed(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

impl Style {
    /// Heavier letters.
    pub const BOLD: u8 = 1;
    /// Fainter letters.
    pub const DIM: u8 = 2;
    /// Slanted letters.
    pub const ITALIC: u8 = 4;
    /// A line below.
    pub const UNDERLINE: u8 = 8;
    /// The two colours are exchanged.
    pub const INVERSE: u8 = 16;

    fn set(&mut self, flag: u8, on: bool) {
        match on {
            true => self.flags |= flag,
            false => self.flags &= !flag,
        }
    }
}

/// A line with its colours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledLine {
    /// The text, as [`line()`](super::line()) shows it, without the newline.
    pub text: String,
    /// The styles of parts of it, in order, by their bytes. What is in none of them has no style.
    pub runs: Vec<(Range<usize>, Style)>,
}

/// Shows one line with its colours.
pub fn styled(bytes: &[u8]) -> StyledLine {
    let shown = line(bytes);
    let text = shown.strip_suffix('\n').unwrap_or(&shown);
    let plain = || StyledLine {
        text: text.to_owned(),
        runs: Vec::new(),
    };
    if bytes.len() > LONGEST || !bytes.contains(&0x1b) {
        return plain();
    }
    let mut row = Row::default();
    row.take(&String::from_utf8_lossy(bytes));
    let styled = row.finish();
    // The text decides. Where this simpler reading differs, the colours are left out.
    match styled.text == text {
        true => styled,
        false => plain(),
    }
}

/// The characters of a line, each with its style, and the cursor.
#[derive(Debug, Default)]
struct Row {
    cells: Vec<(char, Style)>,
    cursor: usize,
    style: Style,
    overwritten: bool,
}

impl Row {
    fn take(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let used = match first {
                '\n' => return,
                '\x1b' => self.sequence(rest),
                '\r' => self.go_to(0),
                '\x08' => self.go_to(self.cursor.saturating_sub(1)),
                '\t' => self.write('\t'),
                c if c.is_control() => c.len_utf8(),
                c => self.write(c),
            };
            rest = &rest[used..];
        }
    }

    fn write(&mut self, c: char) -> usize {
        while self.cells.len() < self.cursor {
            self.cells.push((' ', Style::default()));
        }
        match self.cells.get_mut(self.cursor) {
            Some(cell) => {
                *cell = (c, self.style);
                self.overwritten = true;
            }
            None => self.cells.push((c, self.style)),
        }
        self.cursor += 1;
        c.len_utf8()
    }

    fn go_to(&mut self, column: usize) -> usize {
        self.cursor = column.min(self.cells.len().max(EDGE));
        1
    }

    /// Reads an escape sequence. Returns its length.
    fn sequence(&mut self, text: &str) -> usize {
        let bytes = text.as_bytes();
        match bytes.get(1) {
            Some(b'[') => {
                let is_parameter = |byte: &u8| (0x20..=0x3f).contains(byte);
                let length = bytes[2..]
                    .iter()
                    .take_while(|byte| is_parameter(byte))
                    .count();
                let end = 2 + length;
                match bytes.get(end) {
                    Some(last @ 0x40..=0x7e) => {
                        self.control(&text[2..end], *last);
                        end + 1
                    }
                    _ => end,
                }
            }
            Some(b']' | b'P' | b'X' | b'^' | b'_' | b'k') => {
                let is_end = |byte: &u8| matches!(byte, b'\n' | 0x07 | 0x18 | 0x1a | 0x1b);
                let end = bytes[2..].iter().position(is_end);
                end.map_or(bytes.len(), |at| match bytes[2 + at..] {
                    [0x1b, b'\\', ..] => at + 4,
                    [0x07, ..] => at + 3,
                    _ => at + 2,
                })
            }
            Some(0x20..=0x2f) => 3.min(bytes.len()),
            Some(0x30..=0x7e) => 2,
            _ => 1,
        }
    }

    fn control(&mut self, parameters: &str, last: u8) {
        if last == b'm' && !parameters.starts_with(['<', '=', '>', '?']) {
            return self.colour(parameters);
        }
        let number = match parameters {
            "" => Some(None),
            text => text.parse::<usize>().ok().map(Some),
        };
        let Some(number) = number else {
            return;
        };
        let count = number.unwrap_or(1).max(1);
        match (last, number.unwrap_or(0)) {
            (b'C', _) => drop(self.go_to(self.cursor.saturating_add(count))),
            (b'D', _) => drop(self.go_to(self.cursor.saturating_sub(count))),
            (b'G', _) => drop(self.go_to(count - 1)),
            (b'K', 0) => self.cells.truncate(self.cursor),
            (b'K', 1) => {
                let to = (self.cursor + 1).min(self.cells.len());
                self.cells[..to].fill((' ', Style::default()));
            }
            (b'K', 2) => self.cells.clear(),
            _ => {}
        }
    }

    /// Select graphic rendition. Parts of one parameter are separated by colons, or, by older programs, as parameters.
    fn colour(&mut self, parameters: &str) {
        let mut numbers = parameters
            .split([';', ':'])
            .map(|text| text.parse::<u16>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => self.style = Style::default(),
                1 => self.style.set(Style::BOLD, true),
                2 => self.style.set(Style::DIM, true),
                3 => self.style.set(Style::ITALIC, true),
                4 => self.style.set(Style::UNDERLINE, true),
                7 => self.style.set(Style::INVERSE, true),
                22 => self.style.set(Style::BOLD | Style::DIM, false),
                23 => self.style.set(Style::ITALIC, false),
                24 => self.style.set(Style::UNDERLINE, false),
                27 => self.style.set(Style::INVERSE, false),
                30..=37 => self.style.foreground = indexed(number - 30),
                38 => self.style.foreground = extended(&mut numbers),
                39 => self.style.foreground = Colour::Default,
                40..=47 => self.style.background = indexed(number - 40),
                48 => self.style.background = extended(&mut numbers),
                49 => self.style.background = Colour::Default,
                90..=97 => self.style.foreground = indexed(number - 82),
                100..=107 => self.style.background = indexed(number - 92),
                _ => {}
            }
        }
    }

    fn finish(mut self) -> StyledLine {
        if self.overwritten {
            while self.cells.last().is_some_and(|(c, _)| *c == ' ') {
                self.cells.pop();
            }
        }
        let mut styled = StyledLine::default();
        for (c, style) in self.cells {
            let from = styled.text.len();
            styled.text.push(c);
            if style == Style::default() {
                continue;
            }
            match styled.runs.last_mut() {
                Some((run, same)) if run.end == from && *same == style => run.end += c.len_utf8(),
                _ => styled.runs.push((from..styled.text.len(), style)),
            }
        }
        styled
    }
}

fn indexed(number: u16) -> Colour {
    Colour::Indexed(u8::try_from(number).unwrap_or(0))
}

fn extended(numbers: &mut impl Iterator<Item = u16>) -> Colour {
    let mut next = || numbers.next().and_then(|number| u8::try_from(number).ok());
    match next() {
        Some(5) => next().map_or(Colour::Default, Colour::Indexed),
        Some(2) => match (next(), next(), next()) {
            (Some(red), Some(green), Some(blue)) => Colour::Rgb(red, green, blue),
            _ => Colour::Default,
        },
        _ => Colour::Default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(bytes: &str) -> Vec<(String, Style)> {
        let StyledLine { text, runs } = styled(bytes.as_bytes());
        let runs = runs.into_iter();
        runs.map(|(run, style)| (text[run].to_owned(), style))
            .collect()
    }

    fn red() -> Style {
        Style {
            foreground: Colour::Indexed(1),
            ..Style::default()
        }
    }

    #[test]
    fn colours_are_kept_and_cleared() {
        let red = red();
        let bold = Style {
            flags: Style::BOLD,
            ..red
        };
        for (bytes, expected) in [
            ("plain\n", vec![]),
            ("\x1b[31mred\x1b[0m not\r\n", vec![("red", red)]),
            (
                "\x1b[31;1mboth\x1b[22mred\x1b[39mnot",
                vec![("both", bold), ("red", red)],
            ),
            ("a\x1b[31m\x1b[Kb\x1b[m", vec![("b", red)]),
            ("\x1b[31mxx\ry", vec![("yx", red)]),
            (
                "\x1b]8;;http://a\x07link\x1b]8;;\x07 \x1b[31mé\x1b[m",
                vec![("é", red)],
            ),
        ] {
            let found = runs(bytes);
            let found: Vec<_> = found
                .iter()
                .map(|(text, style)| (&**text, *style))
                .collect();
            assert_eq!(found, expected, "{bytes:?}");
        }
        let of = |bytes: &str| runs(bytes)[0].1.foreground;
        assert_eq!(of("\x1b[38;5;208mx"), Colour::Indexed(208));
        assert_eq!(of("\x1b[38;2;1;2;3mx"), Colour::Rgb(1, 2, 3));
        assert_eq!(of("\x1b[97mx"), Colour::Indexed(15));
    }

    proptest! {
        #[test]
        fn the_text_is_that_of_the_view(bytes in "([ -~é日\t\r\x08]|\x1b\\[[0-9;]{0,4}[mKCDGHJ]|\x1b\\]0;t\x07){0,40}\n?") {
            let shown = line(bytes.as_bytes());
            let text = shown.strip_suffix('\n').unwrap_or(&shown);
            let styled = styled(bytes.as_bytes());
            prop_assert_eq!(&styled.text, text);
            for (run, _) in &styled.runs {
                prop_assert!(styled.text.get(run.clone()).is_some());
            }
        }

        /// For lines as programs write them, no colour is lost to the comparison.
        #[test]
        fn colours_of_usual_lines_survive(words in proptest::collection::vec("[a-z é]{1,8}", 1..8)) {
            let coloured = words.iter().map(|word| format!("\x1b[32m{word}\x1b[0m"));
            let bytes: String = coloured.collect();
            let styled = styled(bytes.as_bytes());
            prop_assert!(!styled.runs.is_empty());
        }
    }
}
