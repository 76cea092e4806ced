//! Handling writes to the job: one after the other, each once, as fast as the job reads them.

use crate::clock;
use crate::hooks::Hook;
use crate::input::channel::Channel;
use crate::input::spool::{Last, Writes};
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

/// A writer is answered once no more than this waits for the job to read it.
const ROOM: u64 = 1024 * 1024;
/// While somebody waits for the job to wait for input, it is looked at after each sign of life, and
/// then less and less often: the kernel tells what a process is blocked in, but not when.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// How long the client of a dead keeper has to go on with its write before others may.
const RETURN: Duration = Duration::from_secs(5);

/// What the acting keeper knows of the job's input.
#[derive(Debug, Default)]
pub struct InputState {
    writes: Writes,
    line: Line,
    turn: Turn,
    /// Writes that wait for their turn.
    queue: VecDeque<(ClientId, Write)>,
    /// Accepted and not yet taken by the job.
    pending: u64,
    look_gap: Duration,
    pub look_at: Option<BootTime>,
}

/// Whose turn it is to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Anybody,
    /// Its write has more pieces to come.
    Client(ClientId),
    /// A write with this token has, whose client was another keeper's; until then it is waited for.
    Absent { token: String, until: BootTime },
}

impl InputState {
    /// Goes on where a predecessor was.
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

    /// When somebody who does not come back is no longer waited for.
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

    /// Whether there is something to deliver or to end.
    pub fn is_busy(&self) -> bool {
        self.pending > 0
    }
}

impl Keeper<'_> {
    /// Takes a write, or has it wait for its turn.
    pub fn take_write(&mut self, client: ClientId, write: Write) -> io::Result<()> {
        if !self.input.is_turn_of(client, &write) {
            self.input.queue.push_back((client, write));
            return Ok(());
        }
        // What was accepted before is so still, whatever has happened since.
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
                spool.accept(writes, &write.id, &typed, last(write, false))
            }
            Channel::None | Channel::Pipe(_) | Channel::Lost(_) => {
                spool.accept(writes, &write.id, data, last(write, write.eof))
            }
        }
    }

    /// Hands the job what it takes, and answers those who waited for that.
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

    /// The job reads no more: what waits for it never will be read.
    fn give_up_input(&mut self) -> io::Result<()> {
        self.job.shared.channel.close();
        self.input.pending = 0;
        self.clients
            .tell_no_room("it has closed its standard input".to_owned());
        self.serve_queue()
    }

    /// Lets the next in turn write, once nobody is in the middle of a write.
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

    /// The one who is waited for may have come back among those who wait.
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
        // What was written before was written for the old size.
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

    /// There was a sign of life: whoever waits for a prompt may soon have one.
    pub fn look_soon(&mut self) {
        if self.clients.is_input_awaited() {
            self.input.look_gap = FIRST_LOOK;
            self.input.look_at = Some(clock::now() + FIRST_LOOK);
        }
    }

    /// Looks on behalf of those who wait for it.
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
        // If one look fails, it is tried again.
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

fn last(write: &Write, eof: bool) -> Last {
    match (write.more, eof) {
        (true, _) => Last::No,
        (false, true) => Last::OfTheInput,
        (false, false) => Last::OfTheWrite,
    }
}
