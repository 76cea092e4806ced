//! The mailbox of a tunnel: keeps the bytes of both directions of a wire until they are fetched.
//!
//! ```text
//!  calls ─► deliver ─► pipe ─► far end ─► pipe ─► collect ─► calls
//! ```
//! A call is answered when what it waits for is complete, when its patience is over, or when a later call has come. What
//! was answered is kept until a later call says that it arrived.

use super::super::marker;
use super::super::message::{self, Answer, Request, TunnelId};
use super::super::traffic::{Passing, Traffic};
use crate::clock;
use crate::hooks::{self, TunnelHook};
use crate::places::Unreached;
use outlive_core::BootTime;
use outlive_core::os_text::OsText;
use outlive_sys::control::{Listener, Read, Stream};
use outlive_sys::poll::{self, Interest};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, PipeReader, Read as _, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// So much of what the far end says is kept until it is fetched. Then the far end waits.
const MAX_KEPT: usize = 256 * 1024;

/// After the first words of the far end, a call waits so long for the rest of an answer. A machine may be busy, and another
/// call costs more than that.
const REST: Duration = Duration::from_millis(250);

/// After the first news, a call waits so long for what comes with it.
const MORE_NEWS: Duration = Duration::from_millis(10);

/// How long a call may take to send its request.
const SENDING: Duration = Duration::from_secs(10);

/// When the far end has ended, its last words are kept so long.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Until the first call has said how long.
const FIRST_STAY: Duration = Duration::from_secs(60);

pub struct Mailbox {
    tunnel: TunnelId,
    home: OsText,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// To the far end. `None` when the wire is over.
    input: Option<File>,
    /// Up to here the far end has what was sent.
    taken: u64,
    /// What the far end said from this position on.
    base: u64,
    said: VecDeque<u8>,
    traffic: Traffic,
    sent: Passing,
    received: Passing,
    /// What waits may be what somebody waits for.
    is_answer: bool,
    /// When the oldest of what waits was said.
    waits_since: Option<BootTime>,
    newest: u64,
    /// Calls that wait now.
    calls: usize,
    /// When the last call ended, and how long after that the next one may take.
    quiet_since: BootTime,
    stay: Duration,
    /// The far end has ended.
    over: Option<Unreached>,
    over_was_told: bool,
}

impl Mailbox {
    /// A mailbox, and the ends of the wire that the far end gets.
    pub fn new(tunnel: TunnelId, home: OsText) -> io::Result<(Arc<Mailbox>, File, File)> {
        let (far_input, input) = io::pipe()?;
        let (output, far_output) = io::pipe()?;
        let mailbox = Arc::new(Mailbox {
            tunnel,
            home,
            state: Mutex::new(State {
                input: Some(File::from(OwnedFd::from(input))),
                taken: 0,
                base: 0,
                said: VecDeque::new(),
                traffic: Traffic::default(),
                sent: Passing::default(),
                received: Passing::default(),
                is_answer: false,
                waits_since: None,
                newest: 0,
                calls: 0,
                quiet_since: clock::boot(),
                stay: FIRST_STAY,
                over: None,
                over_was_told: false,
            }),
            changed: Condvar::new(),
        });
        let mine = Arc::clone(&mailbox);
        spawn("collect", move || mine.collect(output))?;
        let mine = Arc::clone(&mailbox);
        spawn("silence", move || mine.end_when_silent())?;
        let file = |end: OwnedFd| File::from(end);
        Ok((mailbox, file(far_input.into()), file(far_output.into())))
    }

    /// Accepts calls from now on, until the process ends.
    pub fn accept(self: &Arc<Mailbox>, listener: Listener) -> io::Result<()> {
        let mine = Arc::clone(self);
        spawn("accept", move || {
            while poll::wait(&[(listener.as_fd(), Interest::Readable)], None).is_ok() {
                while let Ok(Some(call)) = listener.accept() {
                    let called = Arc::clone(&mine);
                    // It counts before anybody looks whether all are silent.
                    mine.lock().calls += 1;
                    if spawn("call", move || called.serve(&call)).is_err() {
                        mine.leave_call();
                    }
                }
            }
        })
    }

    /// The far end has ended. Waits until that is known on the other side, or for a while.
    pub fn finish(&self, failure: Option<String>) {
        let mut state = self.lock();
        let why = failure.unwrap_or_else(|| "the far end has ended".to_owned());
        state.input = None;
        state.over.get_or_insert(Unreached::Refused(why));
        self.changed.notify_all();
        let until = clock::boot() + LAST_WORDS;
        while (!state.over_was_told || state.calls > 0) && clock::boot() < until {
            state = self.wait(state, until);
        }
    }

    /// Ends the wire when no call has come for too long: the far end reads the end of its input. Nobody comes for its last
    /// words.
    fn end_when_silent(&self) {
        let mut state = self.lock();
        loop {
            let until = state.quiet_since + state.stay;
            if state.calls > 0 {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            } else if clock::boot() < until {
                state = self.wait(state, until);
            } else {
                state.input = None;
                state.over_was_told = true;
                return;
            }
        }
    }

    fn leave_call(&self) {
        let mut state = self.lock();
        state.calls -= 1;
        state.quiet_since = clock::boot();
        self.changed.notify_all();
    }

    /// Keeps what the far end says.
    fn collect(&self, mut output: PipeReader) {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let mut state = self.lock();
            while state.said.len() >= MAX_KEPT {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
            drop(state);
            match output.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => self.lock().keep(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
            hooks::reach_tunnel(TunnelHook::Collected);
            self.changed.notify_all();
        }
    }

    /// One call, in a thread of its own.
    fn serve(&self, call: &Stream) {
        if let Some(asked) = read_all(call)
            && let Some((request, bytes)) = message::decode::<Request>(&asked)
            && request.tunnel == self.tunnel
        {
            hooks::reach_tunnel(TunnelHook::Asked);
            let answer = self.answer(&request, bytes);
            write_all(call, &answer);
            hooks::reach_tunnel(TunnelHook::Answered);
        }
        call.shut();
        self.leave_call();
    }

    fn answer(&self, request: &Request, bytes: &[u8]) -> Vec<u8> {
        let mut state = self.lock();
        state.take(request, bytes);
        self.changed.notify_all();
        let came = clock::boot();
        let until = came + Duration::from_millis(request.patience_ms);
        loop {
            let now = clock::boot();
            // A later call gets what is there.
            if state.newest > request.call {
                break;
            }
            match state.ready_at(now, came, room(request)) {
                Some(at) if at <= now => break,
                _ if now >= until || request.ends => break,
                Some(at) => state = self.wait(state, until.min(at)),
                None => state = self.wait(state, until),
            }
        }
        state.hand_out(self, request)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, until: BootTime) -> MutexGuard<'a, State> {
        let left = until.since(clock::boot());
        let waited = self.changed.wait_timeout(state, left);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// How many bytes of the wire fit into the answer.
fn room(request: &Request) -> usize {
    /// More than the head of an answer has.
    const HEAD: usize = 256;
    marker::room(request.limit).saturating_sub(HEAD).max(1)
}

impl State {
    /// Takes what a call brings.
    fn take(&mut self, request: &Request, bytes: &[u8]) {
        self.newest = self.newest.max(request.call);
        self.stay = Duration::from_millis(request.stay_ms);
        // What arrived there is kept no longer.
        let arrived = request.had.saturating_sub(self.base);
        let arrived = usize::try_from(arrived)
            .unwrap_or(usize::MAX)
            .min(self.said.len());
        self.said.drain(..arrived);
        self.base += arrived as u64;
        if self.said.is_empty() {
            self.waits_since = None;
        }
        // An earlier call brought the first of these, if it was executed.
        let known = self.taken.checked_sub(request.at);
        let known = known.and_then(|known| usize::try_from(known).ok());
        let new = known
            .and_then(|known| bytes.get(known..))
            .unwrap_or_default();
        self.deliver(new);
        if request.ends && known.is_some() {
            self.input = None;
            self.over_was_told = true;
        }
    }

    fn deliver(&mut self, bytes: &[u8]) {
        let Some(input) = &mut self.input else {
            return;
        };
        if bytes.is_empty() {
            return;
        }
        // Its reader waits for nothing else.
        if input.write_all(bytes).is_err() {
            self.input = None;
            return;
        }
        self.taken += bytes.len() as u64;
        let traffic = &mut self.traffic;
        // The far end ends a wire that is broken.
        let _ = self.sent.look(bytes, |frame| {
            traffic.note_sent(frame);
        });
    }

    /// Keeps what the far end has said.
    fn keep(&mut self, bytes: &[u8]) {
        self.said.extend(bytes);
        self.waits_since.get_or_insert_with(clock::boot);
        let (traffic, is_answer) = (&mut self.traffic, &mut self.is_answer);
        let _ = self.received.look(bytes, |frame| {
            *is_answer |= traffic.note_received(frame);
        });
    }

    /// When what waits is complete for a call that came then, as far as is known now. `None` if nothing waits.
    fn ready_at(&self, now: BootTime, came: BootTime, room: usize) -> Option<BootTime> {
        if self.over.is_some() || self.said.len() >= room {
            return Some(now);
        }
        // What was said before has waited long enough, but the answer has just been asked for.
        let since = self.waits_since?.max(came);
        let is_whole = self.is_answer && !self.traffic.awaits_answer();
        Some(match (is_whole, self.traffic.awaits()) {
            (true, _) => now,
            (false, true) => since + REST,
            (false, false) => since + MORE_NEWS,
        })
    }

    /// The answer of a call, as a message.
    fn hand_out(&mut self, mailbox: &Mailbox, request: &Request) -> Vec<u8> {
        let is_newest = self.newest == request.call;
        let count = match is_newest {
            true => room(request).min(self.said.len()),
            false => 0,
        };
        let bytes: Vec<u8> = self.said.iter().take(count).copied().collect();
        let more = count < self.said.len();
        if is_newest && !more {
            self.is_answer = false;
        }
        let over = self.over.clone().filter(|_| is_newest && !more);
        self.over_was_told |= over.is_some();
        let answer = Answer {
            tunnel: mailbox.tunnel.clone(),
            call: request.call,
            taken: self.taken,
            at: self.base,
            home: request.begin.as_ref().map(|_| mailbox.home.clone()),
            more,
            over,
        };
        message::encode(&answer, &bytes)
    }
}

fn spawn(name: &str, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(act).map(drop)
}

/// What a call sends, to its end.
fn read_all(call: &Stream) -> Option<Vec<u8>> {
    let until = clock::boot() + SENDING;
    let mut asked = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let left = until.since(clock::boot());
        if left.is_zero() || asked.len() as u64 > super::MAX_REQUEST {
            return None;
        }
        poll::wait(&[(call.as_fd(), Interest::Readable)], Some(left)).ok()?;
        match call.read(&mut buffer).ok()? {
            Read::Bytes(count) => asked.extend_from_slice(&buffer[..count]),
            Read::Empty => {}
            Read::End => return Some(asked),
        }
    }
}

fn write_all(call: &Stream, mut bytes: &[u8]) {
    let until = clock::boot() + SENDING;
    while !bytes.is_empty() && clock::boot() < until {
        match call.write(bytes) {
            Ok(0) => {
                let left = until.since(clock::boot());
                let _ = poll::wait(&[(call.as_fd(), Interest::Writable)], Some(left));
            }
            Ok(count) => bytes = &bytes[count..],
            Err(_) => return,
        }
    }
}
