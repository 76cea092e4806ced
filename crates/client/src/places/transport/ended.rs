//! How a program of a transport ended.

use outlive_core::far::FarEnded;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How it ended, and the end of what it wrote on its standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub how: How,
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Code(i32),
    Signal(i32),
    /// It has not ended, or nobody can tell.
    Unknown,
}

impl From<FarEnded> for Ended {
    fn from(ended: FarEnded) -> Ended {
        Ended {
            how: match (ended.code, ended.signal) {
                (Some(code), _) => How::Code(code),
                (None, Some(signal)) => How::Signal(signal),
                (None, None) => How::Unknown,
            },
            words: ended.words,
        }
    }
}

impl From<Ended> for FarEnded {
    fn from(ended: Ended) -> FarEnded {
        let signal = match ended.how {
            How::Signal(signal) => Some(signal),
            How::Code(_) | How::Unknown => None,
        };
        FarEnded {
            code: ended.how.code(),
            signal,
            words: ended.words,
        }
    }
}

impl How {
    pub fn code(self) -> Option<i32> {
        match self {
            How::Code(code) => Some(code),
            How::Signal(_) | How::Unknown => None,
        }
    }
}

impl From<Option<ExitStatus>> for How {
    fn from(status: Option<ExitStatus>) -> How {
        let Some(status) = status else {
            return How::Unknown;
        };
        match (status.code(), status.signal()) {
            (Some(code), _) => How::Code(code),
            (None, Some(signal)) => How::Signal(signal),
            (None, None) => How::Unknown,
        }
    }
}
