//! Transports: the commands that reach a place, and the byte stream that they make.
//!
//! A stand-in: it executes `outlive-far` directly.

use super::{Place, Unreached};
use crate::environment;
use crate::home::outlive::Outlive;
use outlive_core::BootTime;
use outlive_sys::spawn;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

/// The two ends of a wire, and the transport that carries it.
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
}

/// Reaches a place. After that the far end runs there and waits for frames.
pub fn open(_: &Outlive, place: &Place, _: BootTime) -> Result<WireEnds, Unreached> {
    let cannot = |error: std::io::Error| Unreached::Refused(error.to_string());
    let beside = std::env::current_exe().map_err(cannot)?;
    let program = environment::non_empty("OUTLIVE_FAR")
        .map_or_else(|| beside.with_file_name("outlive-far"), Into::into);
    let mut command = Command::new(program);
    if let Some(home) = &place.settings.home {
        command.env(environment::HOME, home);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = spawn::start(&mut command).map_err(cannot)?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        unreachable!("both were asked for as pipes");
    };
    Ok(WireEnds {
        input: File::from(OwnedFd::from(input)),
        output: File::from(OwnedFd::from(output)),
        carrier: Carrier { child },
    })
}

/// Ends a transport.
pub fn end(mut carrier: Carrier, ends: (File, File)) {
    drop(ends);
    let _ = carrier.child.kill();
    let _ = carrier.child.wait();
}

impl Carrier {
    /// Why a transport ended by itself, in words for people.
    pub fn why_ended(mut self, _: &str) -> Unreached {
        let _ = self.child.kill();
        let _ = self.child.wait();
        Unreached::Refused("the connection was closed".to_owned())
    }
}
