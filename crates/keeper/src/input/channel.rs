//! The job's input, and its terminal if it has one. A successor could not create these again.
//!
//! ```text
//!  pipe:      write ─► spool ─splice─► pipe ─► job
//!  terminal:  write ─► spool ─splice─► inlet ─splice─► master ═ job ═ master ─splice─► feed
//! ```
//! Every arrow moves bytes in one step, and the pair shares both ends of each. So a keeper that is killed anywhere loses
//! none and delivers none twice.

use crate::input::spool::Spool;
use outlive_core::control::READS_NOTHING;
use outlive_core::{Input, JobDir, Spec, Streams};
use outlive_sys::capture::{self, Moved};
use outlive_sys::terminal::{self, Master};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// How the job gets its input.
#[derive(Debug)]
pub enum Channel {
    /// It gets none.
    None,
    Pipe(PipeInput),
    Terminal(Terminal),
    /// The channel was lost when the keepers that held it died. Holds the reason, for clients.
    Lost(&'static str),
}

/// Standard input as a pipe.
#[derive(Debug)]
pub struct PipeInput {
    /// `None` once the input is closed.
    writer: Option<File>,
    pub spool: Spool,
    /// Through this the keeper tells the standby to close its copy of the writer: while that is open, the job never
    /// reads an end of file. The standby's end, then the keeper's.
    leash: (File, File),
}

/// A terminal.
#[derive(Debug)]
pub struct Terminal {
    pub master: Master,
    pub spool: Spool,
    /// A pipe between spool and terminal: `splice` needs a pipe on one side.
    inlet: (File, File),
    /// The writing end of the feed. A job on a terminal does not have it.
    mouth: File,
}

/// What the leader gets as its standard input, output and error.
#[derive(Debug)]
pub struct LeaderEnds {
    pub input: File,
    pub output: File,
    /// The same as `output` if `None`.
    pub errors: Option<File>,
}

impl Channel {
    /// Opens what the spec asks for. `begun` says that the job had a channel before, which is lost.
    pub fn open(job: &JobDir, spec: &Spec, begun: bool) -> io::Result<Channel> {
        Ok(match spec.input {
            Input::Null => Channel::None,
            Input::Pipe if begun => {
                Channel::Lost("its input was lost when its keepers were killed")
            }
            Input::Pty(_) if begun => {
                Channel::Lost("its terminal was lost when its keepers were killed")
            }
            Input::Pipe => Channel::Pipe(PipeInput {
                writer: Some(capture::new_pipe()?.1),
                spool: Spool::new()?,
                leash: capture::new_pipe()?,
            }),
            Input::Pty(size) => Channel::Terminal(Terminal {
                master: Master::open(terminal::Size {
                    rows: size.rows,
                    cols: size.cols,
                })?,
                spool: Spool::new()?,
                inlet: capture::new_pipe()?,
                mouth: capture::open_both(&job.feed())?,
            }),
        })
    }

    /// What the leader gets as its standard input, output and error.
    pub fn leader_ends(&self, job: &JobDir, streams: Streams) -> io::Result<LeaderEnds> {
        let input = match self {
            Channel::None | Channel::Lost(_) => File::open("/dev/null")?,
            Channel::Pipe(PipeInput { writer, .. }) => {
                let writer = writer.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
                capture::reading_end(writer)?
            }
            Channel::Terminal(terminal) => {
                let end = terminal.master.open_program_end()?;
                return Ok(LeaderEnds {
                    input: end.try_clone()?,
                    output: end,
                    errors: None,
                });
            }
        };
        Ok(LeaderEnds {
            input,
            output: capture::open_both(&job.feed())?,
            errors: match streams {
                Streams::Merged => None,
                Streams::Split => Some(capture::open_both(&job.feed_of_stderr())?),
            },
        })
    }

    /// The pipe that is the job's standard input.
    pub fn pipe(&self) -> Option<&File> {
        match self {
            Channel::Pipe(input) => input.writer.as_ref(),
            Channel::None | Channel::Terminal(_) | Channel::Lost(_) => None,
        }
    }

    /// Whether the job's terminal is in line mode now.
    pub fn line_mode(&self) -> Option<bool> {
        match self {
            Channel::Terminal(terminal) => terminal.master.mode().ok().map(|mode| mode.lines),
            Channel::None | Channel::Pipe(_) | Channel::Lost(_) => None,
        }
    }

    pub fn spool(&self) -> Option<&Spool> {
        match self {
            Channel::Pipe(input) => Some(&input.spool),
            Channel::Terminal(terminal) => Some(&terminal.spool),
            Channel::None | Channel::Lost(_) => None,
        }
    }

    /// Moves bytes from the spool towards the job, up to `committed`, as far as there is room.
    pub fn deliver(&self, committed: u64) -> io::Result<()> {
        match self {
            Channel::None | Channel::Lost(_) => Ok(()),
            Channel::Pipe(input) => match &input.writer {
                Some(writer) => input.spool.deliver(writer, committed),
                None => Ok(()),
            },
            Channel::Terminal(terminal) => {
                let (outlet, inlet) = &terminal.inlet;
                loop {
                    terminal.spool.deliver(inlet, committed)?;
                    match capture::move_bytes(outlet, &terminal.master, CHUNK)? {
                        Moved::Bytes(_) => {}
                        Moved::Empty | Moved::End => return Ok(()),
                    }
                }
            }
        }
    }

    /// How many accepted bytes have not reached the job's pipe or terminal yet.
    pub fn pending(&self, committed: u64) -> io::Result<u64> {
        let spooled = match self.spool() {
            Some(spool) => committed - spool.delivered()?.min(committed),
            None => 0,
        };
        let between = match self {
            Channel::Terminal(terminal) => capture::queued(&terminal.inlet.0)?,
            Channel::None | Channel::Pipe(_) | Channel::Lost(_) => 0,
        };
        Ok(spooled + between)
    }

    /// The descriptor that becomes writable when there is room again.
    pub fn writable(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Channel::None | Channel::Lost(_) => None,
            Channel::Pipe(input) => input.writer.as_ref().map(AsFd::as_fd),
            Channel::Terminal(terminal) => Some(terminal.master.as_fd()),
        }
    }

    /// Closes a pipe's writing end, here and in the standby.
    pub fn close(&mut self) {
        if let Channel::Pipe(input) = self {
            // If the standby is gone, it holds no copy.
            let _ = input.leash.1.write_all(b"c");
            input.writer = None;
        }
    }

    /// For the standby: where it reads the keeper's request to close its copy of the writer.
    pub fn leash(&self) -> Option<&File> {
        match self {
            Channel::Pipe(input) => Some(&input.leash.0),
            Channel::None | Channel::Terminal(_) | Channel::Lost(_) => None,
        }
    }

    /// For the standby: closes its copy of the writer if its keeper asked for that.
    pub fn obey(&mut self) {
        if let Channel::Pipe(input) = self {
            let mut word = [0];
            if matches!(input.leash.0.read(&mut word), Ok(1)) {
                input.writer = None;
            }
        }
    }

    /// Why the job can get no input, if so.
    pub fn refusal(&self) -> Option<&'static str> {
        match self {
            Channel::None => Some(READS_NOTHING),
            Channel::Lost(reason) => Some(reason),
            Channel::Pipe(PipeInput { writer, .. }) => {
                // An end that was sent is said before this is asked. So without a writer, nobody read.
                let is_closed = writer
                    .as_ref()
                    .is_none_or(|writer| capture::has_no_reader(writer).unwrap_or(false));
                is_closed.then_some(HAS_CLOSED)
            }
            Channel::Terminal(_) => None,
        }
    }
}

/// Why a job that reads nothing more gets no input.
pub const HAS_CLOSED: &str = "it has closed its standard input";

/// At most this many bytes are moved at a time: more than a terminal takes at once.
const CHUNK: usize = 64 * 1024;

impl Terminal {
    /// Moves what the program wrote into the feed, as far as there is room.
    pub fn fill_feed(&self) -> io::Result<Moved> {
        capture::move_bytes(&self.master, &self.mouth, CHUNK)
    }
}
