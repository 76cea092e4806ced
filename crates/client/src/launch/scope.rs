//! Out of a unit's reach.
//!
//! When systemd stops a service or a scope, it kills everything in its control group, keepers and jobs included.
//! A harness may be in any of them: in its own service, in the scope of a login session, in one that a desktop or
//! `systemd-run --scope` made. So inside a unit a keeper is started through `systemd-run --scope`: a unit of its
//! own, that ends with the job. That goes for the scope of another job too, so that whoever stops that one stops
//! one job.
//!
//! Which systemd is asked, and when it is better to stay:
//!
//! | who | where | keepers live |
//! |---|---|---|
//! | root | any unit | in a scope of the system |
//! | a user who lingers | any unit | in a scope of the user's systemd |
//! | a user who does not | a unit of the user's systemd | in a scope of the user's systemd |
//! | a user who does not | a session, a service of the system | where they are started |
//!
//! The last row: without lingering the user's systemd ends ten seconds after the last logout and kills what is in
//! it. A session's scope outlasts the logout, unless logind is told to kill (`KillUserProcesses`), in which case
//! nothing that the user may start outlasts it.

mod logind;
mod trial;
mod unit;

pub use logind::kills_at_logout;
pub use trial::try_scope;
pub use unit::{Owner, Unit};

use crate::environment;
use crate::random;
use outlive_core::JobId;
use outlive_sys::offers;
use outlive_sys::process::own;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const RUN: &str = "systemd-run";

/// Where new keepers would live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// No unit owns this control group.
    Free,
    /// A unit does.
    Owned(Unit, Way),
}

/// What is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Keepers get a scope of their own.
    Leave(Manager),
    Stay(Why),
}

/// Which systemd to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    System,
    /// The user's own, which goes on after the last logout if the user lingers.
    User {
        lingers: bool,
    },
}

/// Why keepers stay in the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no systemd that could be asked.
    Unasked,
    /// systemd was asked, and did not give one.
    Refused,
    /// The user's own systemd would end sooner than this unit, or at a moment that has nothing to do with it.
    NotLingering,
}

/// What decides, besides the unit.
#[derive(Clone, Copy, Debug)]
struct Host {
    user: u32,
    /// Whether systemd manages this machine, and can be asked for a scope.
    has_systemd: bool,
    /// Whether the user's own systemd runs.
    has_user_manager: bool,
    lingers: bool,
}

impl Host {
    /// Looks at files only: every launch inside a unit comes through here.
    fn look() -> Host {
        let user = own::user_id();
        Host {
            user,
            has_systemd: offers::systemd() && environment::on_path(RUN).is_some(),
            has_user_manager: runtime_directory(user).join("systemd/private").exists(),
            lingers: logind::lingers(user),
        }
    }
}

/// Where logind puts what belongs to a user who is logged in, whatever `XDG_RUNTIME_DIR` says: after `su` or in a
/// service it is another user's, or not set.
fn runtime_directory(user: u32) -> PathBuf {
    PathBuf::from(format!("/run/user/{user}"))
}

pub fn surroundings() -> Surroundings {
    match offers::cgroup().and_then(|path| unit::innermost(&path)) {
        Some(unit) => {
            let way = way_out(&unit, Host::look());
            Surroundings::Owned(unit, way)
        }
        None => Surroundings::Free,
    }
}

fn way_out(unit: &Unit, host: Host) -> Way {
    let lingers = host.lingers;
    match (host.user, unit.owner) {
        _ if !host.has_systemd => Way::Stay(Why::Unasked),
        (0, _) => Way::Leave(Manager::System),
        (user, Owner::User(owner)) if user == owner && host.has_user_manager => {
            Way::Leave(Manager::User { lingers })
        }
        _ if !lingers => Way::Stay(Why::NotLingering),
        _ if !host.has_user_manager => Way::Stay(Why::Unasked),
        _ => Way::Leave(Manager::User { lingers }),
    }
}

/// The beginning of a command that starts a program, which is its next argument, with these variables as the keeper
/// of this job out of the reach of the unit that this process is in. `None` if it is in none, or is to stay there.
pub fn command(id: &JobId, variables: &[(OsString, OsString)]) -> Option<Command> {
    // Asked first, since it is quick to say no.
    if !offers::systemd() {
        return None;
    }
    let Surroundings::Owned(_, Way::Leave(manager)) = surroundings() else {
        return None;
    };
    let mut command = Command::new(environment::on_path(RUN)?);
    command
        .args(arguments(id, manager))
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stderr(Stdio::null());
    if matches!(manager, Manager::User { .. }) {
        let runtime = runtime_directory(own::user_id());
        let given = variables.iter().rev().find(|(name, _)| name == RUNTIME);
        let value = given.map(|(_, value)| value.clone());
        let value = value.or_else(|| std::env::var_os(RUNTIME));
        command
            .args(restoring(&runtime, value))
            .env(RUNTIME, runtime);
    }
    Some(command)
}

/// Where `systemd-run --user` looks for the user's systemd.
const RUNTIME: &str = "XDG_RUNTIME_DIR";

/// What gives the job its own value of that variable again, where it is another one.
fn restoring(runtime: &Path, own: Option<OsString>) -> Vec<OsString> {
    const ENV: &str = "/usr/bin/env";
    match own {
        Some(value) if value == runtime.as_os_str() => Vec::new(),
        Some(value) => {
            let mut set = OsString::from(format!("{RUNTIME}="));
            set.push(value);
            vec![ENV.into(), set]
        }
        None => vec![ENV.into(), "-u".into(), RUNTIME.into()],
    }
}

/// What systemd is told: to run what follows in a scope of its own, in its own place, so that it keeps
/// descriptors, environment and pid.
fn arguments(id: &JobId, manager: Manager) -> Vec<String> {
    let user = matches!(manager, Manager::User { .. }).then_some("--user");
    let rest = [
        "--scope",
        "--quiet",
        "--collect",
        "--no-ask-password",
        "--description=outlive keeper",
        // No controller is asked for. But systemd 253 and later stop a whole scope if the kernel kills one of its
        // processes for want of memory, keepers included, unless the scope is delegated.
        "--property=Delegate=",
    ];
    let words = user.into_iter().chain(rest);
    let mut arguments: Vec<String> = words.map(str::to_owned).collect();
    // Jobs of several homes may have one id, and an adopted job's first scope may still be there. Without a number
    // systemd finds a name itself.
    if let Ok(token) = random::token() {
        arguments.push(format!("--unit=outlive-{id}-{token}.scope"));
    }
    arguments.push("--".to_owned());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_which_unit() {
        use Owner::{Session, System, User};
        const LINGERING: Way = Way::Leave(Manager::User { lingers: true });
        const SHORT: Way = Way::Leave(Manager::User { lingers: false });
        const ROOT: Way = Way::Leave(Manager::System);
        const SHUT: Way = Way::Stay(Why::NotLingering);
        const DEAF: Way = Way::Stay(Why::Unasked);
        // The user, whose unit, whether the user lingers, whether the user's systemd runs.
        for (user, owner, lingers, has_user_manager, expected) in [
            (0, System, false, false, ROOT),
            (0, Session(0), false, true, ROOT),
            (0, Session(1000), false, true, ROOT),
            (0, User(0), false, true, ROOT),
            (1000, Session(1000), false, true, SHUT),
            (1000, Session(1000), true, true, LINGERING),
            (1000, Session(1000), true, false, DEAF),
            (1000, Session(1001), false, true, SHUT),
            (1000, User(1000), false, true, SHORT),
            (1000, User(1000), true, true, LINGERING),
            (1000, User(1000), false, false, SHUT),
            (1000, User(1001), false, true, SHUT),
            (1000, User(1001), true, true, LINGERING),
            (1000, System, false, false, SHUT),
            (1000, System, false, true, SHUT),
            (1000, System, true, true, LINGERING),
        ] {
            let unit = Unit {
                name: "some.scope".to_owned(),
                owner,
            };
            let host = Host {
                user,
                has_systemd: true,
                has_user_manager,
                lingers,
            };
            let way = way_out(&unit, host);
            assert_eq!(way, expected, "{host:?} in {unit:?}");
            let alone = Host {
                has_systemd: false,
                ..host
            };
            assert_eq!(way_out(&unit, alone), DEAF, "{alone:?} in {unit:?}");
        }
    }

    #[test]
    fn a_job_has_its_own_runtime_directory() {
        let runtime = Path::new("/run/user/7");
        let after = |caller: Option<&str>| restoring(runtime, caller.map(OsString::from));
        assert!(after(Some("/run/user/7")).is_empty());
        assert_eq!(after(None), ["/usr/bin/env", "-u", RUNTIME]);
        assert_eq!(
            after(Some("/run/user/8")),
            ["/usr/bin/env", "XDG_RUNTIME_DIR=/run/user/8"]
        );
    }
}
