//! Out of a service's reach.
//!
//! A service manager that stops a service kills everything in its control group, keepers and jobs of
//! a harness that runs as a service included. So inside a systemd service a keeper is started
//! through `systemd-run --scope`: a control group of its own, that ends with the job.

use crate::environment;
use outlive_sys::{own, probe};
use std::path::{Path, PathBuf};

const RUN: &str = "systemd-run";

/// Where new keepers would live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// No service owns this control group.
    Free,
    /// A service does, and systemd can put keepers elsewhere.
    Escapable(Manager),
    /// A service does, and nothing can.
    Captive,
}

/// Which systemd to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    System,
    User,
}

/// The systemd that can put a new keeper out of a service's reach, where it is in one's, and the program
/// that asks it.
pub fn escape() -> Option<(Manager, PathBuf)> {
    // Asked first, since it is quick to say no.
    if !probe::systemd() {
        return None;
    }
    match surroundings() {
        Surroundings::Escapable(manager) => Some((manager, environment::on_path(RUN)?)),
        Surroundings::Free | Surroundings::Captive => None,
    }
}

pub fn surroundings() -> Surroundings {
    if !probe::cgroup().is_some_and(|path| is_service(&path)) {
        return Surroundings::Free;
    }
    match manager() {
        Some(manager) => Surroundings::Escapable(manager),
        None => Surroundings::Captive,
    }
}

/// Whether the innermost unit of this control group is a service.
fn is_service(path: &str) -> bool {
    let unit = path
        .split('/')
        .rev()
        .find(|part| part.ends_with(".service") || part.ends_with(".scope"));
    unit.is_some_and(|unit| unit.ends_with(".service"))
}

fn manager() -> Option<Manager> {
    if !probe::systemd() || environment::on_path(RUN).is_none() {
        return None;
    }
    if own::user_id() == 0 {
        return Some(Manager::System);
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")?;
    Path::new(&runtime)
        .join("systemd/private")
        .exists()
        .then_some(Manager::User)
}

/// What that program is told: to run what follows in a scope of its own, in its own place, so that it keeps
/// descriptors, environment and pid.
pub fn arguments(manager: Manager) -> impl Iterator<Item = &'static str> {
    let user = (manager == Manager::User).then_some("--user");
    let rest = [
        "--scope",
        "--quiet",
        "--collect",
        "--description=outlive keeper",
        "--",
    ];
    user.into_iter().chain(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_unit_decides() {
        for (path, service) in [
            ("/", false),
            ("/system.slice/harness.service", true),
            ("/system.slice/harness.service/workers", true),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/run-7.scope",
                false,
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/bot.service",
                true,
            ),
            ("/user.slice/user-1000.slice/session-3.scope", false),
            ("/docker/0123abcd", false),
        ] {
            assert_eq!(is_service(path), service, "{path}");
        }
    }
}
