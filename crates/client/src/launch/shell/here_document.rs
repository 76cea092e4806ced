//! Here-documents: their delimiters and where their bodies end.

/// A here-document whose body has not come yet.
#[derive(Debug, PartialEq, Eq)]
pub struct HereDocument {
    delimiter: Vec<u8>,
    /// In a quoted one a backslash at the end of a line means nothing.
    is_quoted: bool,
    /// `<<-`
    strips_tabs: bool,
    /// How many substitutions it is in: its body is in there too.
    pub level: usize,
}

impl HereDocument {
    /// Reads the delimiter that begins at `at`; returns where it ends too.
    ///
    /// `None` for one that shells disagree on: empty, with expansions, or over
    /// several lines.
    pub fn read(
        bytes: &[u8],
        mut at: usize,
        strips_tabs: bool,
        level: usize,
    ) -> Option<(Self, usize)> {
        while matches!(bytes.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        let mut delimiter = Vec::new();
        let mut is_quoted = false;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'&' | b'|' | b';' | b'<' | b'>' | b'(' | b')' => break,
                b'$' | b'`' => return None,
                b'\'' | b'"' => {
                    let rest = bytes.get(at + 1..)?;
                    let length = rest.iter().position(|&b| b == byte)?;
                    let text = rest.get(..length)?;
                    if text.iter().any(|b| b"$`\\\n".contains(b)) {
                        return None;
                    }
                    delimiter.extend_from_slice(text);
                    is_quoted = true;
                    at += length + 2;
                }
                b'\\' => {
                    let escaped = *bytes.get(at + 1)?;
                    if escaped == b'\n' {
                        return None;
                    }
                    delimiter.push(escaped);
                    is_quoted = true;
                    at += 2;
                }
                _ => {
                    delimiter.push(byte);
                    at += 1;
                }
            }
        }
        let document = Self {
            delimiter,
            is_quoted,
            strips_tabs,
            level,
        };
        (!document.delimiter.is_empty()).then_some((document, at))
    }

    /// Where the line after the body's delimiter begins, for a body that begins
    /// at `at`. `None` where no line is the delimiter.
    pub fn end(&self, bytes: &[u8], mut at: usize) -> Option<usize> {
        // Lines that a backslash at their end joins, and shells differ in when.
        let mut joined: Option<Vec<u8>> = None;
        while at < bytes.len() {
            let rest = bytes.get(at..)?;
            let length = rest.iter().position(|&b| b == b'\n');
            let line = rest.get(..length.unwrap_or(rest.len()))?;
            at += line.len() + 1;
            let continues = !self.is_quoted && ends_in_escape(line);
            let is_end = self.is_delimiter(line);
            match &mut joined {
                None if continues => joined = Some(unescaped(line)),
                None if is_end => return Some(at.min(bytes.len())),
                None => {}
                Some(_) if is_end => return None,
                Some(text) => {
                    text.extend(unescaped(line));
                    if !continues && self.is_delimiter(text) {
                        return None;
                    }
                    if !continues {
                        joined = None;
                    }
                }
            }
        }
        None
    }

    fn is_delimiter(&self, line: &[u8]) -> bool {
        let tabs = line.iter().take_while(|&&b| b == b'\t').count();
        let stripped = if self.strips_tabs { tabs } else { 0 };
        line.get(stripped..) == Some(self.delimiter.as_slice())
    }
}

fn unescaped(line: &[u8]) -> Vec<u8> {
    line.strip_suffix(b"\\").unwrap_or(line).to_vec()
}

pub fn ends_in_escape(line: &[u8]) -> bool {
    line.iter().rev().take_while(|&&b| b == b'\\').count() % 2 == 1
}
