//! Moves keepers out of the systemd unit that they are started in.
//!
//! When systemd stops a service or a scope, it kills everything in its control group, including keepers
//! and jobs. A harness may run in any unit: its own service, the scope of a login session, or a scope
//! made by a desktop or `systemd-run --scope`. So inside a unit, a keeper is started through
//! `systemd-run --scope` and gets a unit of its own, which ends with the job. This also applies inside
//! the scope of another job, so that stopping that job's unit stops only one job.
//!
//! Which systemd is asked, and when the keeper stays in its unit:
//!
//! | user | started in | keepers run |
//! |---|---|---|
//! | root | any unit | in a scope of the system |
//! | a user who lingers | any unit | in a scope of the user's systemd |
//! | a user who does not linger | a unit of the user's systemd | in a scope of the user's systemd |
//! | a user who does not linger | a session or a service of the system | where they are started |
//!
//! The reason for the last row: without lingering, the user's systemd stops ten seconds after the last
//! logout and kills everything in it. The scope of a session outlasts the logout, unless logind is told
//! to kill (`KillUserProcesses`), and then nothing that the user may start outlasts it.

mod logind;
mod trial;
mod unit;

pub use logind::kills_at_logout;
pub use trial::try_scope;
pub use unit::{Owner, Unit};

use crate::environment;
use crate::environment::inherited::JobVariables;
use crate::random;
use outlive_core::{JobDir, JobId};
use outlive_sys::offers;
use outlive_sys::process::own;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const RUN: &str = "systemd-run";

/// Where new keepers would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// The control group belongs to no unit.
    Free,
    /// The control group belongs to this unit.
    Owned(Unit, ScopePlan),
}

/// Whether keepers leave the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopePlan {
    /// Keepers get a scope of their own.
    Leave(Manager),
    Stay(StayReason),
}

/// Which systemd to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    System,
    /// The user's own systemd. It keeps running after the last logout if the user lingers.
    User {
        lingers: bool,
    },
}

/// Why keepers stay in the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StayReason {
    /// No systemd can be asked.
    Unasked,
    /// systemd was asked and did not create a scope.
    Refused,
    /// The user's own systemd could stop earlier than this unit, or at an unrelated moment.
    NotLingering,
}

/// What the decision depends on, besides the unit.
#[derive(Clone, Copy, Debug)]
struct Host {
    user: u32,
    /// Whether systemd manages this machine and can be asked for a scope.
    has_systemd: bool,
    /// Whether the user's own systemd runs.
    has_user_manager: bool,
    lingers: bool,
}

impl Host {
    /// Only reads files, because every launch inside a unit calls this.
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

/// The runtime directory that logind makes for a logged-in user. `XDG_RUNTIME_DIR` may be missing or
/// belong to another user, for example after `su` or in a service.
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

fn way_out(unit: &Unit, host: Host) -> ScopePlan {
    let lingers = host.lingers;
    match (host.user, unit.owner) {
        _ if !host.has_systemd => ScopePlan::Stay(StayReason::Unasked),
        (0, _) => ScopePlan::Leave(Manager::System),
        (user, Owner::User(owner)) if user == owner && host.has_user_manager => {
            ScopePlan::Leave(Manager::User { lingers })
        }
        _ if !lingers => ScopePlan::Stay(StayReason::NotLingering),
        _ if !host.has_user_manager => ScopePlan::Stay(StayReason::Unasked),
        _ => ScopePlan::Leave(Manager::User { lingers }),
    }
}

/// The start of a command that runs a program as this job's keeper, outside the current unit. The
/// caller appends the program. Returns `None` if this process is in no unit or should stay in it.
pub fn command(
    id: &JobId,
    variables: &JobVariables,
    delegated: impl FnOnce() -> Delegated,
) -> Option<Command> {
    // Ask this first, because it quickly says no.
    if !offers::systemd() {
        return None;
    }
    let Surroundings::Owned(_, ScopePlan::Leave(manager)) = surroundings() else {
        return None;
    };
    let mut command = Command::new(environment::on_path(RUN)?);
    command
        .args(arguments(id, manager, delegated()))
        .stderr(Stdio::null());
    variables.give(&mut command);
    if matches!(manager, Manager::User { .. }) {
        let runtime = runtime_directory(own::user_id());
        command
            .args(restoring(&runtime, variables.get(RUNTIME)))
            .env(RUNTIME, runtime);
    }
    Some(command)
}

/// The variable that tells `systemd-run --user` where to find the user's systemd.
const RUNTIME: &str = "XDG_RUNTIME_DIR";

/// The arguments that give the job its own value of that variable again, if it differs.
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

/// What a scope may limit for the groups below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delegated {
    Nothing,
    /// What the limits of a job need.
    Limits,
}

impl Delegated {
    pub fn to(job: &JobDir) -> Delegated {
        match job.read_spec().is_ok_and(|spec| spec.limits.want_group()) {
            true => Delegated::Limits,
            false => Delegated::Nothing,
        }
    }

    fn property(self) -> &'static str {
        match self {
            // Since version 253, systemd stops a whole scope, keepers included, if the kernel kills one of its
            // processes because memory is short, unless the scope is delegated.
            Delegated::Nothing => "--property=Delegate=",
            // The keeper makes a group for the job below the scope, so that keepers are not limited.
            Delegated::Limits => "--property=Delegate=cpu memory pids io",
        }
    }
}

/// The arguments for systemd: run the program that follows in a scope of its own, inside the same
/// process, so that it keeps its file descriptors, environment and process ID.
fn arguments(id: &JobId, manager: Manager, delegated: Delegated) -> Vec<String> {
    let user = matches!(manager, Manager::User { .. }).then_some("--user");
    let rest = [
        "--scope",
        "--quiet",
        "--collect",
        "--no-ask-password",
        "--description=outlive keeper",
        delegated.property(),
    ];
    let words = user.into_iter().chain(rest);
    let mut arguments: Vec<String> = words.map(str::to_owned).collect();
    // Jobs of several homes may have the same id, and an adopted job's first scope may still exist.
    // Without a random number, systemd chooses the name.
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
    fn which_user_leaves_which_unit() {
        use Owner::{Session, System, User};
        const LINGERING: ScopePlan = ScopePlan::Leave(Manager::User { lingers: true });
        const SHORT: ScopePlan = ScopePlan::Leave(Manager::User { lingers: false });
        const ROOT: ScopePlan = ScopePlan::Leave(Manager::System);
        const SHUT: ScopePlan = ScopePlan::Stay(StayReason::NotLingering);
        const DEAF: ScopePlan = ScopePlan::Stay(StayReason::Unasked);
        // The user, whose unit it is, whether the user lingers, whether the user's systemd runs.
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
