//! The first call of a wire: who we are, and what the courier needs to know of this machine.

use super::{Manner, epoch, failure};
use crate::clock;
use crate::environment;
use crate::error::{Error, PlaceError};
use crate::home::identity;
use crate::home::outlive::Outlive;
use crate::hooks::{self, FarHook};
use crate::jobs::whereabouts;
use outlive_core::far::{FarClock, FarFailure, Greeting, Hello, HomeId, Instance, WIRE};
use outlive_core::os_text::OsText;
use outlive_core::{Label, event, spec};
use outlive_sys::offers::host;
use outlive_sys::process::own;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// What is known after the hello.
#[derive(Clone, Debug)]
pub struct Greeted {
    /// The home here.
    pub home: HomeId,
    /// The session of all jobs of the courier's home.
    pub session: Label,
    /// The file with the epoch of its place.
    pub near: PathBuf,
    pub login_directory: PathBuf,
}

/// Checks a hello, and raises the epoch.
pub fn greet(
    outlive: &Outlive,
    hello: &Hello,
    manner: Manner,
) -> Result<(Greeted, Greeting), FarFailure> {
    refuse_strangers(hello)?;
    let greeted = Greeted {
        home: identity::home_id(outlive).map_err(|error| failure(&error))?,
        session: session_of(&hello.home)?,
        near: outlive.home().near(&hello.home, &hello.place),
        login_directory: login_directory(),
    };
    let greeting = answer(outlive, hello, &greeted).map_err(|error| failure(&error))?;
    let shown = manner == Manner::Tunnel { shown: true };
    Ok((greeted, Greeting { shown, ..greeting }))
}

fn refuse_strangers(hello: &Hello) -> Result<(), FarFailure> {
    let refused = |message: String| FarFailure {
        code: "refused".to_owned(),
        message,
    };
    if hello.wire != WIRE {
        let (theirs, ours) = (hello.wire, WIRE);
        let message = format!("it speaks version {theirs} and this program version {ours}");
        return Err(refused(message));
    }
    if hello.journal_format < event::FORMAT || hello.spec_format < spec::FORMAT {
        let message = "it cannot read the records that this program writes";
        return Err(refused(message.to_owned()));
    }
    match epoch::is_place_key(&hello.place) {
        true => Ok(()),
        false => Err(super::bad_input(
            "the key of the place cannot be the name of a file",
        )),
    }
}

/// The session of the jobs of a home.
fn session_of(home: &HomeId) -> Result<Label, FarFailure> {
    Label::parse(&format!("near-{home}")).map_err(|error| super::bad_input(&error.to_string()))
}

fn answer(outlive: &Outlive, hello: &Hello, greeted: &Greeted) -> Result<Greeting, Error> {
    if greeted.home == hello.home {
        return Err(Error::Place(PlaceError::OwnHome(
            outlive.home().root().to_owned(),
        )));
    }
    // A home can have its id and be incomplete: whoever made it was killed.
    outlive.prepare()?;
    let here = whereabouts::here()?;
    let epoch = epoch::raise(outlive, hello)?;
    hooks::reach_far(FarHook::Raised);
    Ok(Greeting {
        wire: WIRE,
        instance: Instance {
            home: greeted.home.clone(),
            root: OsText::from(outlive.home().root().as_os_str().to_owned()),
            host: here.host.name.clone(),
            machine: here.host.machine.clone(),
            boot: here.boot.0.clone(),
            container: None,
        },
        epoch,
        login_directory: OsText::from(greeted.login_directory.clone().into_os_string()),
        shell: shell().into(),
        user: user(),
        system: host::system(),
        clock: FarClock {
            wall_ms: clock::wall(),
            boot_ms: clock::boot(),
        },
        notes: notes(),
        shown: false,
    })
}

/// The home directory of the user, as the login has set it.
fn login_directory() -> PathBuf {
    let home = environment::non_empty("HOME").map(PathBuf::from);
    home.filter(|home| home.is_absolute() && home.is_dir())
        .unwrap_or_else(|| PathBuf::from("/"))
}

fn shell() -> &'static str {
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/bin:/usr/bin".into());
    match environment::find(&path, Path::new("bash")) {
        Some(_) => "bash",
        None => "sh",
    }
}

fn user() -> String {
    let named = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| env::var(name).ok());
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| own::user_id().to_string())
}

fn notes() -> Vec<String> {
    let status = fs::read_to_string("/proc/1/status").unwrap_or_default();
    let name = fs::read_to_string("/proc/1/comm").unwrap_or_default();
    let unreaped = !reaps(&status) && !is_init(&name);
    let note = "process 1 there does not wait for its children, so each job leaves a zombie; start the \
                container with an init (docker run --init)";
    unreaped.then(|| note.to_owned()).into_iter().collect()
}

/// Small programs that wait for signals with `sigwait`. The kernel shows no signal as blocked then, so their masks look
/// like those of a process that never hears of its children.
fn is_init(name: &str) -> bool {
    const KNOWN: [&str; 4] = ["tini", "tini-static", "docker-init", "dumb-init"];
    KNOWN.contains(&name.trim())
}

/// Whether a process with this `/proc/PID/status` may wait for children: it handles SIGCHLD, waits for it, or lets
/// the kernel reap them. If that cannot be read, it may.
fn reaps(status: &str) -> bool {
    const SIGCHLD: u64 = 1 << 16;
    let masks = ["SigCgt:", "SigBlk:", "SigIgn:"].map(|name| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
    });
    masks
        .iter()
        .any(|mask| mask.is_none_or(|mask| mask & SIGCHLD != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_never_hears_of_its_children_does_not_reap() {
        let status = |blocked, ignored, caught| {
            format!(
                "Name:\tx\nSigBlk:\t{blocked:016x}\nSigIgn:\t{ignored:016x}\nSigCgt:\t{caught:016x}\n"
            )
        };
        assert!(!reaps(&status(0u64, 1u64, 2u64)));
        for masks in [(1 << 16, 0, 0), (0, 1 << 16, 0), (0, 0, 1 << 16)] {
            assert!(reaps(&status(masks.0, masks.1, masks.2)), "{masks:?}");
        }
        assert!(reaps(""), "not known");
        assert!(is_init("docker-init\n") && !is_init("sleep\n"));
    }
}
