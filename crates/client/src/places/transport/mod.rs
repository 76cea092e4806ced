//! Transports: the commands that reach a place, and the byte stream that they make.
//!
//! A transport is a program of the user's, run as a child: `ssh`, or the words of `cmd:`. It runs `sh` at the place.
//! Through that shell, [`bootstrap`](super::bootstrap) gets our program there and starts it. Then the child's input and
//! output are the wire.
//!
//! | module | owns |
//! |---|---|
//! | `command` | the command line for an address |
//! | `last_words` | what a transport writes on its standard error |
//! | `reason` | why it failed, from how it ended and from its last words |
//!
//! The child is ours alone: nobody is asked anything, and without us it ends, because its input ends.

mod command;
mod last_words;
mod reason;

pub use command::{MASTER, ssh_options, template_command};
pub use last_words::LastWords;

use super::bootstrap::{self, Program};
use super::{Place, Unreached};
use crate::doorbell::own_program;
use crate::home::outlive::Outlive;
use outlive_core::BootTime;
use outlive_core::place::Address;
use outlive_sys::process::{PidFd, signal_child};
use outlive_sys::spawn;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The two ends of a wire, and the transport that carries it.
///
/// Close both ends first to end it; then [`why_ended`](Carrier::why_ended) or [`end`] waits for the transport.
#[derive(Debug)]
pub struct WireEnds {
    /// Write to the far end.
    pub input: File,
    /// Read from it.
    pub output: File,
    pub carrier: Carrier,
}

/// A running transport.
#[derive(Debug)]
pub struct Carrier {
    pub child: Child,
    pub last_words: LastWords,
    /// How its end is to be read.
    address: Address,
}

/// Reaches a place. After that the far end runs there and waits for frames.
///
/// Nothing is left running if this fails.
pub fn open(outlive: &Outlive, place: &Place, by: BootTime) -> Result<WireEnds, Unreached> {
    let program = Program::find(outlive)?;
    open_with(outlive, place, by, &program)
}

/// Like [`open`], with this program as the far end.
pub fn open_with(
    outlive: &Outlive,
    place: &Place,
    by: BootTime,
    program: &Program,
) -> Result<WireEnds, Unreached> {
    let mut ends = start(outlive, place)?;
    // The near end of a tunnel does all that by itself.
    if ends.carrier.is_tunnel() {
        return Ok(ends);
    }
    match bootstrap::run(&mut ends.input, &mut ends.output, place, program, by) {
        Ok(()) => Ok(ends),
        Err(bootstrap::Failure::Unreached(why)) => {
            end(ends.carrier, (ends.input, ends.output));
            Err(why)
        }
        Err(bootstrap::Failure::Ended { noise }) => {
            drop((ends.input, ends.output));
            Err(ends.carrier.why_ended(&noise))
        }
    }
}

/// Starts the transport. It may not have reached anything yet.
fn start(outlive: &Outlive, place: &Place) -> Result<WireEnds, Unreached> {
    let directory = outlive.home().root().join("places").join(place.key());
    let mut command = match command::of(&place.address, &directory)? {
        Some(command) => command,
        None => tunnel(outlive, place)?,
    };
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let program = command.get_program().to_string_lossy().into_owned();
    let cannot = |error: io::Error| Unreached::Refused(format!("cannot start {program}: {error}"));
    let mut child = spawn::start(&mut command).map_err(cannot)?;
    let (Some(input), Some(output), Some(words)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        unreachable!("all three were asked for as pipes");
    };
    let carrier = Carrier {
        child,
        last_words: LastWords::of(words).map_err(cannot)?,
        address: place.address.clone(),
    };
    Ok(WireEnds {
        input: File::from(OwnedFd::from(input)),
        output: File::from(OwnedFd::from(output)),
        carrier,
    })
}

/// The near end of a tunnel: this program itself.
fn tunnel(outlive: &Outlive, place: &Place) -> Result<Command, Unreached> {
    let program = own_program(outlive);
    let program = program.map_err(|error| Unreached::NoCourier(error.to_string()))?;
    let mut command = Command::new(program);
    command.arg("--home").arg(outlive.home().root());
    command.args(["place-tunnel", "--", &place.name]);
    Ok(command)
}

/// How long a transport may take to end after its input and output were closed.
const LEAVING: Duration = Duration::from_secs(1);

/// SIGTERM: `ssh` then ends its proxy command too.
const TERM: i32 = 15;

/// Ends a transport. It is told to, because over a dead network it would notice only much later that nobody reads.
pub fn end(mut carrier: Carrier, ends: (File, File)) {
    drop(ends);
    carrier.leave(Duration::ZERO);
}

impl Carrier {
    /// Whether the wire is carried by single calls. Then nobody pings, because a sign of life would be a call.
    pub fn is_tunnel(&self) -> bool {
        self.address.is_one_shot()
    }

    /// Why a transport ended by itself, in words for people. `noise` is what it wrote last on its output, if nothing of
    /// it was ours. Both ends of the wire must be closed.
    pub fn why_ended(mut self, noise: &str) -> Unreached {
        self.leave(LEAVING);
        let status = self.child.try_wait().ok().flatten();
        reason::of(&self.address, status, &self.last_words.take(), noise)
    }

    /// Ends the child if it does not end by itself in this time, and reaps it.
    fn leave(&mut self, patience: Duration) {
        let pid = self.child.id().cast_signed();
        let ends_within = |limit| match PidFd::open(pid) {
            Ok(Some(process)) => process.wait_for_end(Some(limit)).unwrap_or(true),
            _ => true,
        };
        if matches!(self.child.try_wait(), Ok(None)) && !ends_within(patience) {
            let _ = signal_child(pid, TERM);
            if !ends_within(LEAVING) && self.child.kill().is_err() {
                // It is another user's, as with sudo. It ends because its input has.
                return;
            }
            ends_within(LEAVING);
        }
        let _ = self.child.try_wait();
    }
}
