//! Handling writes to the job: one after the other, each exactly once, as fast as the job reads them.

use crate::clock;
use crate::hooks::Hook;
use crate::input::channel::{Channel, HAS_CLOSED};
use crate::input::spool::{Piece, Writes};
use crate::input::typing::{Line, STRETCH};
use crate::signs::awaiting;
use crate::supervise::clients::{ClientId, Written};
use crate::supervise::keeper::Keeper;
use outlive_core::BootTime;
use outlive_core::control::{InputKind, NO_TERMINAL, Reply, Write};
use outlive_core::event::Event;
use outlive_core::spec::Size;
use outlive_sys::terminal;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// A client is answered once at most this many bytes wait for the job to read them.
const ROOM: u64 = 1024 * 1024;
/// While a client waits for the job to wait for input, the job is checked after each sign of life, and then at growing
/// intervals. The kernel says what a process is blocked in, but does not report when that begins.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// How long a client of a dead keeper may take to continue its write before other clients may write.
const RETURN: Duration = Duration::from_secs(5);

/// What the acting keeper knows of the job's input.
#[derive(Debug, Default)]
pub struct InputState {
    writes: Writes,
    line: Line,
    turn: Turn,
    /// Writes that wait for their turn.
    queue: VecDeque<(ClientId, Write)>,
    /// Bytes that are accepted and not yet taken by the job.
    pending: u64,
    look_gap: Duration,
    pub look_at: Option<BootTime>,
}

/// Whose turn it is to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Anybody,
    /// This client, whose write has more pieces to come.
    Client(ClientId),
    /// The client of a dead keeper, in the middle of the write with this token. It is waited for until this time.
    Absent { token: String, until: BootTime },
}

impl InputState {
    /// Continues where the predecessor stopped.
    pub fn resume(channel: &Channel) -> io::Result<InputState> {
        let writes = channel
            .spool()
            .map(|spool| spool.resume())
            .transpose()?
            .unwrap_or_default();
        let line = match channel {
            Channel::Terminal(terminal) => {
                let typed = terminal.spool.last(&writes, STRETCH)?;
                Line::after(&typed, terminal.master.mode()?)
            }
            Channel::None | Channel::Pipe(_) | Channel::Lost(_) => Line::default(),
        };
        let turn = match &writes.unfinished {
            Some(token) => Turn::Absent {
                token: token.clone(),
                until: clock::now() + RETURN,
            },
            None => Turn::Anybody,
        };
        Ok(InputState {
            pending: channel.pending(writes.committed)?,
            writes,
            line,
            turn,
            ..InputState::default()
        })
    }

    /// When the keeper stops waiting for a client that has not come back.
    pub fn turn_ends_at(&self) -> Option<BootTime> {
        match self.turn {
            Turn::Absent { until, .. } => Some(until),
            Turn::Anybody | Turn::Client(_) => None,
        }
    }

    /// Whether this client may write this now.
    fn is_turn_of(&self, client: ClientId, write: &Write) -> bool {
        match &self.turn {
            Turn::Anybody => true,
            Turn::Client(holder) => *holder == client,
            Turn::Absent { token, .. } => write.id.as_str().split('#').next() == Some(token),
        }
    }

    /// How much input has been accepted.
    pub fn accepted(&self) -> u64 {
        self.writes.committed
    }

    /// Whether accepted bytes wait to be delivered.
    pub fn is_busy(&self) -> bool {
        self.pending > 0
    }
}

impl Keeper<'_> {
    /// Handles a write, or queues it if another client is in the middle of one.
    pub fn take_write(&mut self, client: ClientId, write: Write) -> io::Result<()> {
        if !self.input.is_turn_of(client, &write) {
            self.input.queue.push_back((client, write));
            return Ok(());
        }
        // A write that was accepted before stays accepted, whatever has happened since.
        let known = self.input.writes.knows(&write.id);
        if let (false, Some(reason)) = (known, self.refusal()) {
            let reason = reason.to_owned();
            self.clients.reply(client, &Reply::Refused { reason });
            return Ok(());
        }
        self.accept(&write)?;
        self.job.reach(Hook::InputAccepted);
        self.signs.input_came();
        self.input.turn = match write.more {
            true => Turn::Client(client),
            false => Turn::Anybody,
        };
        let written = match (write.tells_repeated, known) {
            (false, _) => Written::Plain,
            (true, false) => Written::New,
            (true, true) => Written::Repeated,
        };
        if known && self.job.shared.channel.refusal().is_some() {
            self.clients.reply(client, &written.reply());
            return self.serve_queue();
        }
        self.clients.await_room(client, written);
        self.deliver()
    }

    /// Why nothing can be written now, if nothing can.
    fn refusal(&self) -> Option<&'static str> {
        match self.job.ledger.state().end() {
            Some(_) => Some("it has ended"),
            None if self.input.writes.eof => Some("its input was closed"),
            // The job has not started, so there is no reader yet. There will be one.
            None if self.is_waiting() && self.job.shared.channel.pipe().is_some() => None,
            None => self.job.shared.channel.refusal(),
        }
    }

    fn accept(&mut self, write: &Write) -> io::Result<()> {
        let InputState { writes, line, .. } = &mut self.input;
        let Some(spool) = self.job.shared.channel.spool() else {
            return Ok(());
        };
        if writes.knows(&write.id) {
            return Ok(());
        }
        let data = std::os::unix::ffi::OsStrExt::as_bytes(write.data.as_os_str());
        match &self.job.shared.channel {
            Channel::Terminal(terminal) => {
                let typed = line.type_in(data, write.eof, terminal.master.mode()?);
                spool.accept(writes, &write.id, &typed, piece(write, false))
            }
            Channel::None | Channel::Pipe(_) | Channel::Lost(_) => {
                spool.accept(writes, &write.id, data, piece(write, write.eof))
            }
        }
    }

    /// Delivers as many bytes as the job takes, and answers clients that waited for room.
    pub fn deliver(&mut self) -> io::Result<()> {
        let committed = self.input.writes.committed;
        let waits = self.is_waiting();
        if !waits && self.job.shared.channel.deliver(committed).is_err() {
            return self.give_up_input();
        }
        self.input.pending = self.job.shared.channel.pending(committed)?;
        if !waits && self.input.pending == 0 && self.input.writes.eof {
            self.job.shared.channel.close();
            self.job.reach(Hook::InputEnded);
        }
        self.look_soon();
        if self.input.pending <= ROOM {
            self.clients.tell_room();
        }
        self.serve_queue()
    }

    /// The job has closed its input: the bytes that wait will never be read.
    fn give_up_input(&mut self) -> io::Result<()> {
        self.job.shared.channel.close();
        self.input.pending = 0;
        self.clients.tell_no_room(HAS_CLOSED.to_owned());
        self.serve_queue()
    }

    /// Handles the next queued write, unless a client is in the middle of one.
    pub fn serve_queue(&mut self) -> io::Result<()> {
        match &self.input.turn {
            Turn::Client(holder) if self.clients.is_there(*holder) => return Ok(()),
            Turn::Absent { until, .. } if clock::now() < *until => {
                return self.serve_returned();
            }
            Turn::Client(_) | Turn::Absent { .. } | Turn::Anybody => {
                self.input.turn = Turn::Anybody
            }
        }
        match self.input.queue.pop_front() {
            Some((client, write)) if self.clients.is_there(client) => {
                let taken = self.take_write(client, write);
                self.unless_failed(client, taken)
            }
            Some(_) => self.serve_queue(),
            None => Ok(()),
        }
    }

    /// Handles the queued write of the client that the keeper waits for, if it has come back.
    fn serve_returned(&mut self) -> io::Result<()> {
        let place = self
            .input
            .queue
            .iter()
            .position(|(client, write)| self.input.is_turn_of(*client, write));
        match place.and_then(|place| self.input.queue.remove(place)) {
            Some((client, write)) => {
                let taken = self.take_write(client, write);
                self.unless_failed(client, taken)
            }
            None => Ok(()),
        }
    }

    pub fn resize(&mut self, client: ClientId, size: Size) -> io::Result<()> {
        // Output so far was written for the old size, so it is taken first.
        self.take_output()?;
        let Channel::Terminal(terminal) = &self.job.shared.channel else {
            let reason = match self.job.shared.channel {
                Channel::Lost(reason) => reason,
                _ => NO_TERMINAL,
            };
            let reason = reason.to_owned();
            self.clients.reply(client, &Reply::Refused { reason });
            return Ok(());
        };
        terminal.master.resize(terminal::Size {
            rows: size.rows,
            cols: size.cols,
        })?;
        self.job.ledger.write(&[Event::Resized {
            size,
            output: self.output.capture.size(),
        }])?;
        self.clients.reply(client, &Reply::Resized);
        Ok(())
    }

    /// Whether a process of the job waits for input now.
    pub fn awaiting(&self) -> io::Result<Option<InputKind>> {
        if self.job.has_ended() {
            return Ok(None);
        }
        awaiting::look(
            &self.job.shared.channel,
            &self.processes.tree,
            self.input.pending,
        )
    }

    /// There was a sign of life. If a client waits for the job to wait for input, the job is checked soon.
    pub fn look_soon(&mut self) {
        if self.clients.is_input_awaited() {
            self.input.look_gap = FIRST_LOOK;
            self.input.look_at = Some(clock::now() + FIRST_LOOK);
        }
    }

    /// Checks whether the job waits for input, for the clients that wait for that.
    pub fn look_for_input(&mut self) -> io::Result<()> {
        self.input.look_at = None;
        if !self.clients.is_input_awaited() {
            return Ok(());
        }
        if self.job.has_ended() {
            let reason = "it has ended".to_owned();
            self.clients.tell_input(&Reply::Refused { reason });
            return Ok(());
        }
        // If the check fails, it is tried again later.
        let awaiting = self.awaiting();
        match awaiting {
            Ok(Some(awaiting)) => self.clients.tell_input(&Reply::InputAwaited { awaiting }),
            Ok(None) | Err(_) => {
                self.input.look_gap = (self.input.look_gap * 2).clamp(FIRST_LOOK, LONGEST_LOOK);
                self.input.look_at = Some(clock::now() + self.input.look_gap);
            }
        }
        Ok(())
    }
}

fn piece(write: &Write, eof: bool) -> Piece {
    match (write.more, eof) {
        (true, _) => Piece::MoreFollows,
        (false, true) => Piece::EndsInput,
        (false, false) => Piece::EndsWrite,
    }
}
