//! Transports: the commands that reach a place, and the byte stream that they make.
//!
//! A transport is a program of the user's, run as a child: `ssh`, the tool of a container, or the words of `cmd:`. It runs
//! `sh` at the place. Through that shell, [`bootstrap`](super::bootstrap) gets our program there and starts it. Then the
//! child's input and output are the wire.
//!
//! | module | owns |
//! |---|---|
//! | `command` | the command line for a host and for a template |
//! | `tools` | the tools that keep containers, and what they are asked |
//! | `contained` | reaching a container, also one without a shell |
//! | `archive` | our program as an archive |
//! | `line` | a program, its words and its environment |
//! | `base`, `via` | where programs are started, here or at another place, and how they end |
//! | `last_words` | what a transport writes on its standard error |
//! | `ended`, `reason` | how it ended; why it failed, from that and from its last words |
//!
//! The child is ours alone: nobody is asked anything, and without us it ends, because its input ends.

mod archive;
mod base;
mod command;
mod contained;
mod ended;
mod last_words;
pub(crate) mod line;
mod reason;
mod tools;
mod via;

pub use command::{MASTER, ssh_options};
pub use tools::Existence;
pub use tools::apptainer::program as runner_program;

use super::bootstrap::{self, Program};
use super::{Place, Unreached};
use crate::home::outlive::Outlive;
use base::Running;
pub(crate) use base::{Base, Begun};
pub use ended::{Ended, How};
use outlive_core::BootTime;
use outlive_core::place::{Address, ContainerRef};
use std::fs::File;

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
    /// Where it leads to, if that is a container.
    pub container: Option<ContainerRef>,
}

/// A running transport.
#[derive(Debug)]
pub struct Carrier {
    running: Running,
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
    let base = Base::of(outlive, place)?;
    if let Some(tool) = tools::of(&place.address) {
        return contained::open(outlive, place, &base, &*tool, program, by);
    }
    let directory = outlive.home().root().join("places").join(place.key());
    let line = match &place.address {
        Address::Ssh(host) => command::ssh(host, &directory),
        Address::Command(template) => command::template(template)?,
        Address::Image(_) => {
            let why =
                "each job of an image has a container of its own, so there is nothing to reach";
            return Err(Unreached::NoSuchInstance(why.to_owned()));
        }
        Address::Container(_) | Address::Instance(_) | Address::Pod(_) => {
            unreachable!("its tool was asked")
        }
    };
    let Begun {
        mut input,
        mut output,
        running,
    } = base.start(&line, by)?;
    let carrier = Carrier {
        running,
        address: place.address.clone(),
    };
    match bootstrap::run(&mut input, &mut output, place, program, by) {
        Ok(()) => Ok(WireEnds {
            input,
            output,
            carrier,
            container: None,
        }),
        Err(bootstrap::Failure::Unreached(why)) => {
            end(carrier, (input, output));
            Err(why)
        }
        Err(bootstrap::Failure::Ended { noise }) => {
            drop((input, output));
            Err(carrier.why_ended(&noise))
        }
    }
}

/// Asks the tool of a place whether a container that answered before exists.
pub fn look_for(
    outlive: &Outlive,
    place: &Place,
    container: &ContainerRef,
    by: BootTime,
) -> Result<Existence, Unreached> {
    match tools::of(&place.address) {
        Some(tool) => tool.look_for(&Base::of(outlive, place)?, container, by),
        None => Ok(Existence::NotKnown),
    }
}

/// Ends a transport. It is told to, because over a dead network it would notice only much later that nobody reads.
pub fn end(carrier: Carrier, ends: (File, File)) {
    drop(ends);
    carrier.running.end();
}

impl Carrier {
    /// Why a transport ended by itself, in words for people. `noise` is what it wrote last on its output, if nothing of
    /// it was ours. Both ends of the wire must be closed.
    pub fn why_ended(self, noise: &str) -> Unreached {
        let address = self.address.clone();
        reason::of(&address, &self.ended(), noise)
    }

    /// How a transport ended by itself. Both ends of the wire must be closed.
    pub fn ended(self) -> Ended {
        self.running.ended()
    }
}
