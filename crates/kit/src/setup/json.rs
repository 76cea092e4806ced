//! A JSON parser that keeps the position of each value, so that one value can be changed and the rest
//! left alone.

mod edit;

pub use edit::{push, remove, remove_elements, restore, set};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ops::Range;

/// No real file is nested deeper, and a hostile file must not overflow the stack.
const MAX_DEPTH: usize = 128;

/// The syntax that a file may use in addition to JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    Strict,
    /// Comments, and a comma after the last element.
    Comments,
}

/// A syntax error: the line and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    pub line: usize,
    pub reason: String,
}

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub span: Range<usize>,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar(Value),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub key: String,
    pub start: usize,
    pub value: Node,
}

impl Node {
    /// The last member with this name. If there are several, the last one counts.
    pub fn member(&self, key: &str) -> Option<&Member> {
        match &self.kind {
            Kind::Object(members) => members.iter().rev().find(|member| member.key == key),
            Kind::Array(_) | Kind::Scalar(_) => None,
        }
    }

    /// The value at a path of keys; a number selects an element of an array.
    pub fn find(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| match &node.kind {
            Kind::Array(elements) => elements.get(key.parse::<usize>().ok()?),
            Kind::Object(_) | Kind::Scalar(_) => Some(&node.member(key)?.value),
        })
    }

    pub fn elements(&self) -> &[Node] {
        match &self.kind {
            Kind::Array(elements) => elements,
            Kind::Object(_) | Kind::Scalar(_) => &[],
        }
    }

    pub fn value(&self) -> Value {
        match &self.kind {
            Kind::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|member| (member.key.clone(), member.value.value()))
                    .collect::<Map<_, _>>(),
            ),
            Kind::Array(elements) => elements.iter().map(Node::value).collect(),
            Kind::Scalar(value) => value.clone(),
        }
    }
}

pub fn parse(text: &str, dialect: Dialect) -> Result<Node, Bad> {
    let mut parser = Parser {
        text,
        at: 0,
        dialect,
    };
    // Some editors write a byte order mark.
    if text.starts_with('\u{feff}') {
        parser.at = '\u{feff}'.len_utf8();
    }
    parser.skip()?;
    let node = parser.value(0)?;
    parser.skip()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.bad("there is more after its end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    dialect: Dialect,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn bad(&self, reason: impl Into<String>) -> Bad {
        let before = &self.text.as_bytes()[..self.at.min(self.text.len())];
        Bad {
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            reason: reason.into(),
        }
    }

    /// Skips whitespace, and comments if the dialect has them.
    fn skip(&mut self) -> Result<(), Bad> {
        loop {
            let rest = &self.text[self.at..];
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') if self.dialect == Dialect::Comments => {
                    let length = if rest.starts_with("//") {
                        rest.find('\n').or(Some(rest.len()))
                    } else if rest.starts_with("/*") {
                        rest.find("*/").map(|end| end + 2)
                    } else {
                        None
                    };
                    self.at += length.ok_or_else(|| self.bad("a comment without an end"))?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Bad> {
        if depth > MAX_DEPTH {
            return Err(self.bad("it is nested too deeply"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.list(b'}', |parser| parser.member(depth))?),
            Some(b'[') => Kind::Array(self.list(b']', |parser| parser.value(depth + 1))?),
            Some(b'"') => Kind::Scalar(Value::String(self.string()?)),
            Some(_) => self.word()?,
            None => return Err(self.bad("it ends too early")),
        };
        Ok(Node {
            span: start..self.at,
            kind,
        })
    }

    fn member(&mut self, depth: usize) -> Result<Member, Bad> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.bad("a key in double quotes is missing"));
        }
        let key = self.string()?;
        self.skip()?;
        if self.peek() != Some(b':') {
            return Err(self.bad("a colon is missing"));
        }
        self.at += 1;
        self.skip()?;
        let value = self.value(depth + 1)?;
        Ok(Member { key, start, value })
    }

    /// The items between two brackets. The parser is at the opening one.
    fn list<T>(
        &mut self,
        end: u8,
        mut item: impl FnMut(&mut Self) -> Result<T, Bad>,
    ) -> Result<Vec<T>, Bad> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip()?;
            let may_end = items.is_empty() || self.dialect == Dialect::Comments;
            if self.peek() == Some(end) && may_end {
                break;
            }
            items.push(item(self)?);
            self.skip()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == end => break,
                Some(_) => return Err(self.bad("a comma or a closing bracket is missing")),
                None => return Err(self.bad("it ends too early")),
            }
        }
        self.at += 1;
        Ok(items)
    }

    fn string(&mut self) -> Result<String, Bad> {
        let bytes = self.text.as_bytes();
        let mut end = self.at + 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
                None => return Err(self.bad("a string without an end")),
            }
        }
        let quoted = &self.text[self.at..=end];
        let text = serde_json::from_str(quoted).map_err(|_| self.bad("a string that is none"))?;
        self.at = end + 1;
        Ok(text)
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Kind, Bad> {
        let rest = &self.text[self.at..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        let value = serde_json::from_str(word).map_err(|_| self.bad("a value is missing"))?;
        self.at += word.len();
        Ok(Kind::Scalar(value))
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
mod tests;
