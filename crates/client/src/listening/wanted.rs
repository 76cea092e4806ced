//! What somebody wants to be told of a job.

use outlive_core::control::Request;

/// The news of a job that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Events in its journal after this one.
    pub after: u64,
    /// Output beyond this offset.
    pub output: Option<u64>,
    /// That a process of it waits for input.
    pub input: bool,
}

/// What to do after asking for news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Sleep: the listener hears of it.
    Sleep,
    /// The job is over, so no news can come. Its record says everything.
    Over,
    /// Something may have come just before the listener listened. Read the job again, and ask again.
    ReadAgain,
    /// [Connect](super::connect_far) to the job's keeper at its place, which takes a while, and hand the connection
    /// over.
    Connect,
    /// Too few files may be open for one more connection.
    NoRoom,
}

impl Wanted {
    /// Events after this one.
    pub fn events_after(seq: u64) -> Wanted {
        Wanted {
            after: seq,
            output: None,
            input: false,
        }
    }

    /// What two of them want.
    #[must_use]
    pub fn and(self, other: Wanted) -> Wanted {
        Wanted {
            after: self.after.min(other.after),
            output: match (self.output, other.output) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            },
            input: self.input || other.input,
        }
    }

    pub(crate) fn news(&self) -> Request {
        Request::News {
            seq: self.after,
            output: self.output,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_for_one_is_news_for_both() {
        let want = |after, output, input| Wanted {
            after,
            output,
            input,
        };
        let both = want(3, Some(70), false).and(want(2, None, true));
        assert_eq!(both, want(2, Some(70), true));
        let both = want(1, Some(9), false).and(want(4, Some(5), false));
        assert_eq!(both, want(1, Some(5), false));
    }
}
