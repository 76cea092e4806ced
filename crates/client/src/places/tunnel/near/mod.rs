//! The near end of a tunnel: turns the bytes of a wire into calls, and the answers into bytes.
//!
//! ```text
//!  courier ─frames─► what is to be sent ─► calls, a thread for each ─► the place
//!          ◄─frames─ what has come     ◄────────────┘
//! ```
//! A call is made when something must arrive, and while an answer is on its way or somebody listens. It waits at the place
//! for the answer or for news, so that as a rule a verb takes one call. What can wait goes with the next call.
//!
//! At most a few calls are on their way at once. A later one takes the place of an earlier one that only waits.

mod caller;
mod flow;
mod reach;
mod trouble;

use super::execute::{Execute, Nature};
use super::message::{Answer, Begin, Request, TunnelId};
use crate::clock;
use crate::home::outlive::Outlive;
use crate::places::bootstrap::Program;
use crate::places::{Place, Unreached};
use crate::random;
use caller::{Called, Caller, Order};
use flow::Flow;
use outlive_core::BootTime;
use outlive_core::os_text::OsText;
use outlive_core::wire::{Decoder, Kind};
use outlive_sys::capture;
use outlive_sys::poll::{self, Interest};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use trouble::{Trouble, Troubles};

/// So many calls at once: one that only waits, one that sends, and one that was called off and has not returned.
const MAX_CALLS: usize = 3;

/// A far end whose courier may make no calls for a minute stays longer than that.
const STAY: Duration = Duration::from_secs(90);
/// The same where calls are made only by verbs.
const LONG_STAY: Duration = Duration::from_secs(10 * 60);

/// Where one command keeps the place from others, none waits there longer.
const SERIAL_PATIENCE: Duration = Duration::from_secs(1);

/// After an answer without anything, the pause before the next question grows from the first to the second.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long a client that has its answer may take to leave.
const LEAVING: Duration = Duration::from_millis(50);

/// Answers get no shorter limit than that, and calls no less patience.
const MIN_LIMIT: usize = 1024;
const MIN_PATIENCE: Duration = Duration::from_millis(250);

/// The last call of a wire may take so long.
const LAST_CALL: Duration = Duration::from_secs(5);

/// Carries a wire between these two ends and the place, until it is over. Returns why.
pub fn run(
    outlive: &Outlive,
    place: &Place,
    execute: Arc<dyn Execute>,
    input: File,
    output: File,
) -> Unreached {
    let carried = Near::new(outlive, place, execute, output).and_then(|mut near| near.work(input));
    match carried {
        Ok(()) => Unreached::Refused("the connection was closed".to_owned()),
        Err(why) => why,
    }
}

struct Near {
    place: Place,
    nature: Nature,
    caller: Arc<Caller>,
    output: File,
    flow: Flow,
    tunnel: TunnelId,
    /// Calls that are on their way, by their numbers.
    calls: BTreeMap<u64, OnItsWay>,
    last_call: u64,
    digest: String,
    /// The home there. Once it is known, the far end runs.
    home: Option<OsText>,
    /// Somebody here waits for news.
    is_listened: bool,
    /// What was called has come back.
    returned: Arc<Returned>,
    troubles: Troubles,
    limit: usize,
    patience: Duration,
    /// After trouble, there is no call before this.
    not_before: BootTime,
    /// Who only waits asks again then.
    quiet_until: BootTime,
    pause: Duration,
}

/// A call that has not returned.
struct OnItsWay {
    /// It brings what is to be sent up to here.
    brings_to: u64,
    patience: Duration,
    since: BootTime,
}

struct Returned {
    calls: Mutex<Vec<Called>>,
    bell: (File, File),
}

fn broken(error: &io::Error) -> Unreached {
    Unreached::NoCourier(format!("its tunnel: {error}"))
}

impl Near {
    fn new(
        outlive: &Outlive,
        place: &Place,
        execute: Arc<dyn Execute>,
        output: File,
    ) -> Result<Near, Unreached> {
        let program = Program::find(outlive)?;
        let nature = execute.nature()?;
        let cannot = |error: String| Unreached::NoCourier(error);
        let token = random::token().map_err(|error| cannot(error.to_string()))?;
        let tunnel = TunnelId::parse(&token);
        let calls = &place.settings.calls;
        Ok(Near {
            tunnel: tunnel.ok_or_else(|| cannot("a token is no id".to_owned()))?,
            digest: program.digest.clone(),
            home: place.settings.home.clone().map(OsText::from),
            returned: Arc::new(Returned {
                calls: Mutex::default(),
                bell: capture::new_pipe().map_err(|error| broken(&error))?,
            }),
            limit: calls.answer,
            patience: calls.patience_of(nature.is_serial),
            caller: Arc::new(Caller::new(place.clone(), program, execute, nature.private)),
            place: place.clone(),
            nature,
            output,
            flow: Flow::default(),
            calls: BTreeMap::new(),
            last_call: 0,
            is_listened: false,
            troubles: Troubles::default(),
            not_before: clock::boot(),
            quiet_until: clock::boot(),
            pause: Duration::ZERO,
        })
    }

    fn work(&mut self, mut input: File) -> Result<(), Unreached> {
        let mut decoder = Decoder::default();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let due = self.call_if_due();
            let mut on = vec![(self.returned.bell.0.as_fd(), Interest::Readable)];
            if self.flow.has_space() {
                on.push((input.as_fd(), Interest::Readable));
            }
            let left = due.map(|at| at.since(clock::boot()));
            let ready = poll::wait(&on, left).map_err(|error| broken(&error))?;
            if ready[0] {
                let _ = (&self.returned.bell.0).read(&mut [0; 64]);
                for called in self.returned.take() {
                    self.take(called)?;
                }
            }
            if ready.get(1) != Some(&true) {
                continue;
            }
            match input.read(&mut buffer) {
                Ok(0) => return self.end(),
                Ok(count) => decoder.push(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error)),
            }
            let wrong = |error| Unreached::NotUnderstood(format!("the courier sent {error}"));
            while let Some(frame) = decoder.next_frame().map_err(wrong)? {
                match (frame.stream, frame.kind) {
                    (0, Kind::Open) => self.is_listened = true,
                    (0, Kind::Shut) => self.is_listened = false,
                    // The calls themselves are signs of life.
                    (0, _) => {}
                    _ => {
                        self.flow.add(&frame);
                    }
                }
            }
        }
    }

    /// Makes a call if one is wanted. Returns when to look again although nothing happened.
    fn call_if_due(&mut self) -> Option<BootTime> {
        let most = match self.nature.is_serial || !self.caller.has_begun() {
            true => 1,
            false => MAX_CALLS,
        };
        let brought_to = self.calls.values().map(|call| call.brings_to).max();
        let must_send = self.flow.must_send(brought_to.unwrap_or_default());
        let waits = self.calls.is_empty() && (self.awaits() || self.listens());
        if self.calls.len() >= most || !(must_send || waits) {
            return None;
        }
        let at = match must_send {
            true => self.not_before,
            false => self.not_before.max(self.quiet_until),
        };
        if clock::boot() < at {
            return Some(at);
        }
        self.call(false);
        None
    }

    fn awaits(&self) -> bool {
        self.flow.more || self.flow.traffic.awaits()
    }

    fn listens(&self) -> bool {
        self.is_listened && self.place.settings.calls.listen
    }

    fn call(&mut self, ends: bool) {
        let (at, bytes) = self.flow.next_bytes();
        let brings_to = at + bytes.len() as u64;
        let patience = match () {
            // The rest is more urgent than an answer.
            () if ends || self.flow.is_urgent(brings_to) => Duration::ZERO,
            () if self.awaits() => self.patience,
            () if self.listens() && !self.nature.is_serial => self.patience,
            () => Duration::ZERO,
        };
        let patience = match self.nature.is_serial {
            true => patience.min(SERIAL_PATIENCE),
            false => patience,
        };
        self.last_call += 1;
        let begin = Begin {
            digest: self.digest.clone(),
            shown: self.nature.private.is_none(),
        };
        let request = Request {
            tunnel: self.tunnel.clone(),
            call: self.last_call,
            begin: (!self.caller.has_begun()).then_some(begin),
            home: self.home.clone(),
            at,
            had: self.flow.had,
            patience_ms: patience.as_millis() as u64,
            stay_ms: self.stay().as_millis() as u64,
            limit: self.limit,
            ends,
        };
        let (caller, returned) = (Arc::clone(&self.caller), Arc::clone(&self.returned));
        let order = Order { request, bytes };
        let thread = thread::Builder::new().name("call".to_owned());
        let number = self.last_call;
        let begun = thread.spawn(move || returned.add(caller.call(&order)));
        if let Err(error) = begun {
            let trouble = Err(Trouble::Silent(error.to_string()));
            self.returned.add(Called {
                number,
                answers: trouble,
            });
        }
        let call = OnItsWay {
            brings_to,
            patience,
            since: clock::boot(),
        };
        self.calls.insert(number, call);
    }

    fn stay(&self) -> Duration {
        match self.place.settings.calls.listen {
            true => STAY.max(2 * self.patience),
            false => LONG_STAY,
        }
    }

    /// Takes what a call has brought.
    fn take(&mut self, called: Called) -> Result<(), Unreached> {
        let Some(call) = self.calls.remove(&called.number) else {
            return Ok(());
        };
        match called.answers {
            Ok(answers) => {
                self.troubles.forget();
                let had = self.flow.had;
                for (answer, bytes) in answers {
                    self.take_answer(answer, &bytes)?;
                }
                if called.number == self.last_call {
                    self.rest_after(&call, self.flow.had > had);
                }
                Ok(())
            }
            Err(trouble) => {
                self.adapt(&trouble, &call);
                let pause = self.troubles.add(trouble)?;
                self.not_before = clock::boot() + pause;
                Ok(())
            }
        }
    }

    fn take_answer(&mut self, answer: Answer, bytes: &[u8]) -> Result<(), Unreached> {
        if answer.tunnel != self.tunnel {
            return Ok(());
        }
        if answer.over.is_none() {
            self.caller.begun();
            self.home = answer.home.or(self.home.take());
        }
        let new = self.flow.take(answer.taken, answer.at, bytes)?;
        if answer.call == self.last_call || !new.is_empty() {
            self.flow.more = answer.more;
        }
        let written = self.output.write_all(&new);
        // The courier has ended. So does its input.
        written
            .and_then(|()| self.output.flush())
            .map_err(|error| broken(&error))?;
        match answer.over {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Who asks and is told nothing asks less often.
    fn rest_after(&mut self, call: &OnItsWay, has_news: bool) {
        let waited = clock::boot().since(call.since);
        if has_news || waited >= call.patience && call.patience > SERIAL_PATIENCE {
            self.pause = Duration::ZERO;
            // A client that has its answer leaves, as a rule. Then nobody waits for more.
            let leaving = match self.flow.traffic.awaits() && !self.flow.traffic.awaits_answer() {
                true => LEAVING,
                false => Duration::ZERO,
            };
            self.quiet_until = clock::boot() + leaving;
            return;
        }
        let longest = match self.nature.is_serial {
            true => self.patience.max(FIRST_PAUSE),
            false => LONGEST_PAUSE,
        };
        self.pause = (2 * self.pause).clamp(FIRST_PAUSE, longest);
        self.quiet_until = clock::boot() + self.pause;
    }

    /// Asks for less if a place cuts answers or ends commands early.
    fn adapt(&mut self, trouble: &Trouble, call: &OnItsWay) {
        let lasted = clock::boot().since(call.since);
        match trouble {
            Trouble::Damaged => self.limit = (self.limit / 2).max(MIN_LIMIT),
            Trouble::TimedOut | Trouble::Silent(_) if lasted > MIN_PATIENCE => {
                let shorter = lasted.min(call.patience).mul_f32(0.7);
                self.patience = self.patience.min(shorter.max(MIN_PATIENCE));
            }
            Trouble::TimedOut | Trouble::Silent(_) | Trouble::Final(_) => {}
        }
    }

    /// The courier has closed the wire. The far end is told, so that it need not wait for a call that never comes.
    fn end(&mut self) -> Result<(), Unreached> {
        if !self.caller.has_begun() || !self.place.settings.calls.listen {
            return Ok(());
        }
        self.call(true);
        let number = self.last_call;
        let until = clock::boot() + LAST_CALL;
        while self.calls.contains_key(&number) && clock::boot() < until {
            let on = [(self.returned.bell.0.as_fd(), Interest::Readable)];
            let left = until.since(clock::boot());
            poll::wait(&on, Some(left)).map_err(|error| broken(&error))?;
            let _ = (&self.returned.bell.0).read(&mut [0; 64]);
            for called in self.returned.take() {
                self.calls.remove(&called.number);
            }
        }
        Ok(())
    }
}

impl Returned {
    fn add(&self, called: Called) {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(called);
        let _ = (&self.bell.1).write(b"!");
    }

    fn take(&self) -> Vec<Called> {
        std::mem::take(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
