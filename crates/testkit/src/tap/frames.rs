//! The bytes of a wire as the parts that can be struck: the beginning as it comes, and then frame after frame.

use outlive_core::wire::{Decoder, Frame};
use std::sync::atomic::{AtomicBool, Ordering};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the courier to the far end.
    There,
    /// From the far end to the courier.
    Here,
}

impl Direction {
    pub const BOTH: [Direction; 2] = [Direction::There, Direction::Here];
}

/// What can be struck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Bytes before the first frame.
    Beginning(Vec<u8>),
    Frame(Frame),
    /// Bytes that are no frame, after the first frame.
    Noise(Vec<u8>),
}

impl Part {
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Part::Beginning(bytes) | Part::Noise(bytes) => bytes.clone(),
            Part::Frame(frame) => frame.encode(),
        }
    }

    /// In a line, for a person who looks for what went wrong.
    pub fn shown(&self, direction: Direction) -> String {
        let arrow = match direction {
            Direction::There => ">",
            Direction::Here => "<",
        };
        match self {
            Part::Beginning(bytes) => format!("{arrow} beginning, {} bytes", bytes.len()),
            Part::Noise(bytes) => format!("{arrow} noise, {} bytes", bytes.len()),
            Part::Frame(frame) => {
                let text = String::from_utf8_lossy(&frame.payload);
                let text: String = text.chars().take(200).collect();
                format!("{arrow} {frame:?} {text}")
            }
        }
    }
}

/// How the first frame of each direction begins. The courier opens stream 1, and the far end answers on it.
const FIRST: [&[u8]; 3] = [b"1 open ", b"1 data ", b"1 end "];

/// Takes the bytes of one direction and returns its parts.
#[derive(Debug)]
pub struct Parts<'a> {
    direction: Direction,
    /// Set once the courier has sent a frame. Only then, the far end sends one.
    has_begun: &'a AtomicBool,
    /// Bytes before the first frame that may be its beginning.
    kept: Vec<u8>,
    decoder: Option<Decoder>,
}

impl Parts<'_> {
    pub fn new(direction: Direction, has_begun: &AtomicBool) -> Parts<'_> {
        Parts {
            direction,
            has_begun,
            kept: Vec::new(),
            decoder: None,
        }
    }

    /// Adds bytes; returns the parts that are complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Part> {
        let mut parts = Vec::new();
        if self.decoder.is_none() {
            self.kept.extend_from_slice(bytes);
            let first = self.first_frame();
            // The last bytes may be the beginning of the first frame, but nobody must wait for more to be sure.
            let beginning = self.kept.drain(..first.unwrap_or(self.kept.len()));
            let beginning: Vec<u8> = beginning.collect();
            if !beginning.is_empty() {
                parts.push(Part::Beginning(beginning));
            }
            if first.is_none() {
                return parts;
            }
            self.has_begun.store(true, Ordering::SeqCst);
            let mut decoder = Decoder::default();
            decoder.push(&std::mem::take(&mut self.kept));
            self.decoder = Some(decoder);
        } else if let Some(decoder) = &mut self.decoder {
            decoder.push(bytes);
        }
        parts.extend(self.frames(bytes));
        parts
    }

    fn frames(&mut self, bytes: &[u8]) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some(decoder) = &mut self.decoder {
            match decoder.next_frame() {
                Ok(Some(frame)) => parts.push(Part::Frame(frame)),
                Ok(None) => break,
                Err(_) => {
                    parts.push(Part::Noise(bytes.to_vec()));
                    self.decoder = Some(Decoder::default());
                    break;
                }
            }
        }
        parts
    }

    /// Where the first frame begins.
    fn first_frame(&self) -> Option<usize> {
        if self.direction == Direction::Here && !self.has_begun.load(Ordering::SeqCst) {
            return None;
        }
        let starts_line = |at: usize| at == 0 || self.kept[at - 1] == b'\n';
        let is_first = |at: usize| FIRST.iter().any(|first| self.kept[at..].starts_with(first));
        (0..self.kept.len()).find(|at| starts_line(*at) && is_first(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_core::wire::Kind;

    #[test]
    fn the_beginning_and_the_frames_are_told_apart() {
        let has_begun = AtomicBool::new(false);
        let frame = Frame::new(1, Kind::Open, b"{}".as_slice());
        let mut there = Parts::new(Direction::There, &has_begun);
        let bytes = [b"eval 'x'\n".as_slice(), &frame.encode()].concat();
        let expected = [Part::Beginning(b"eval 'x'\n".to_vec()), Part::Frame(frame)];
        assert_eq!(there.push(&bytes), expected);
        let mut here = Parts::new(Direction::Here, &has_begun);
        assert_eq!(here.push(b"have\n"), [Part::Beginning(b"have\n".to_vec())]);
        let answer = Frame::new(1, Kind::Data, b"1 data 1\n".as_slice());
        let bytes = answer.encode();
        assert_eq!(here.push(&bytes[..10]), []);
        assert_eq!(here.push(&bytes[10..]), [Part::Frame(answer)]);
    }
}
