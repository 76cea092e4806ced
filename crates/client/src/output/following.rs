//! Follows an output without waiting: whoever owns this reads when there is news.

use super::{Output, Piece, Seen};
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::hold::Hold;
use crate::listening::Wanted;
use outlive_core::{JobId, Spec, State, Stream};
use std::collections::VecDeque;
use std::ops::Range;

/// How far somebody has read an output that grows.
#[derive(Debug)]
pub struct Following {
    spec: Spec,
    position: u64,
    /// The size of the output, as a keeper told it last. It saves a place a question.
    size: Option<u64>,
    seen: Seen,
    /// What was read and not returned yet.
    ready: VecDeque<Chunk>,
    /// Prevents pruning of the output that is still to be read.
    hold: Option<Hold>,
}

/// One result of following.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunk {
    /// New output.
    Bytes {
        /// The offset of its first byte.
        at: u64,
        /// The bytes.
        bytes: Vec<u8>,
        /// Their stream, if the streams are told apart.
        stream: Option<Stream>,
    },
    /// This range was dropped before it was read, or could not be stored.
    Missing(Range<u64>),
    /// The job has ended, and this was all its output.
    Ended,
    /// The time is up, and the job goes on.
    OutOfTime,
}

/// About so many bytes are read at once.
const AT_ONCE: u64 = 64 * 1024;

impl Following {
    /// The exact bytes from this offset on. They may contain secrets, so this is refused unless
    /// [`Outlive::showing_secrets`] was called.
    pub fn new(outlive: &Outlive, id: &JobId, from: u64) -> Result<Following, Error> {
        match outlive.shows_secrets() {
            true => Following::exactly(outlive, id, from),
            false => Err(Error::SecretsHidden),
        }
    }

    pub(crate) fn exactly(outlive: &Outlive, id: &JobId, from: u64) -> Result<Following, Error> {
        Ok(Following {
            spec: outlive.read_spec(id)?,
            position: from,
            size: None,
            seen: Seen::Whole,
            ready: VecDeque::new(),
            hold: None,
        })
    }

    /// Protects the job from pruning meanwhile, which takes a descriptor.
    #[must_use]
    pub fn holding(mut self, outlive: &Outlive) -> Following {
        self.hold = Hold::on(&outlive.job_dir(&self.spec.id));
        self
    }

    /// Says the stream of each chunk, if the job tells its streams apart.
    #[must_use]
    pub fn telling_streams(self) -> Following {
        self.seeing(Seen::Apart)
    }

    /// Only this stream, of a job that tells its streams apart.
    #[must_use]
    pub fn of_stream(self, stream: Stream) -> Following {
        self.seeing(Seen::Only(stream))
    }

    #[must_use]
    pub(crate) fn seeing(mut self, seen: Seen) -> Following {
        self.seen = seen;
        self
    }

    /// Whether only one of two streams is read.
    pub(crate) fn sees_one(&self) -> bool {
        matches!(self.seen, Seen::Only(_))
    }

    /// The job.
    pub fn id(&self) -> &JobId {
        &self.spec.id
    }

    /// Where the job runs.
    pub fn place(&self) -> &str {
        &self.spec.place
    }

    /// The offset up to which everything was read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The news to wait for when everything was read, in this state of the job.
    pub fn wanted(&self, state: &State) -> Wanted {
        Wanted {
            output: Some(self.position),
            ..Wanted::events_after(state.seq)
        }
    }

    /// What a keeper told of the size.
    pub(crate) fn grown_to(&mut self, size: Option<u64>) {
        self.size = size;
    }

    /// The next chunk that there is. The state is that of before this call: once it shows the end, all output is in
    /// the file. `None` if more may come.
    pub fn read(&mut self, outlive: &Outlive, state: &State) -> Result<Option<Chunk>, Error> {
        if self.ready.is_empty() {
            self.fill(outlive, state)?;
        }
        let chunk = self.ready.pop_front();
        Ok(chunk.or(state.end().is_some().then_some(Chunk::Ended)))
    }

    fn fill(&mut self, outlive: &Outlive, state: &State) -> Result<(), Error> {
        // The size that was told counts once, and says nothing if all of that was read: there may be more since.
        let size = self.size.take().filter(|size| *size > self.position);
        let output = Output::open_sized(outlive, &self.spec, state, size)?;
        let output = output.seen(&self.spec, self.seen)?;
        let path = outlive.job_dir(&self.spec.id).output();
        // Where streams change often, pieces are short: then many are read at once.
        let most = match self.seen {
            Seen::Whole => 1,
            Seen::Apart | Seen::Only(_) => AT_ONCE,
        };
        let from = self.position;
        for piece in output.pieces(from..output.size) {
            match piece.map_err(Error::io("cannot read", &path))? {
                Piece::Bytes { at, bytes, stream } => {
                    self.position = at + bytes.len() as u64;
                    self.ready.push_back(Chunk::Bytes { at, bytes, stream });
                }
                Piece::Missing(range) => {
                    self.position = range.end;
                    self.ready.push_back(Chunk::Missing(range));
                }
            }
            if self.position - from >= most {
                break;
            }
        }
        if self.ready.is_empty() {
            // What there is is of the other stream.
            self.position = from.max(output.size);
        }
        Ok(())
    }
}
