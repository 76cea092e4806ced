//! Remembers of which stream the text is that a live view shows: it shows a text later than the bytes came.

use outlive_api::streams::Stream;
use std::collections::VecDeque;

/// Where the streams begin that were read and are not shown yet, in order.
#[derive(Clone, Debug, Default)]
pub struct Origins(VecDeque<(u64, Option<Stream>)>);

impl Origins {
    /// Bytes of this stream came, from this offset on.
    pub fn add(&mut self, at: u64, stream: Option<Stream>) {
        if self.0.back().is_none_or(|(_, last)| *last != stream) {
            self.0.push_back((at, stream));
        }
    }

    /// The stream of this byte. Earlier ones are not asked for any more.
    pub fn of(&mut self, at: u64) -> Option<Stream> {
        while self.0.get(1).is_some_and(|(next, _)| *next <= at) {
            self.0.pop_front();
        }
        self.0.front().and_then(|(_, stream)| *stream)
    }
}
