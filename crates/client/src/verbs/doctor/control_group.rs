//! Checks which systemd unit would kill jobs when it stops.

use super::{Check, Verdict, yes};
use crate::launch::scope::{self, Manager, Owner, ScopePlan, StayReason, Surroundings};
use outlive_sys::offers;
use outlive_sys::process::own;
use std::path::Path;

pub fn check(scratch: &Path) -> Check {
    let (surroundings, refusal) = tried(scope::surroundings(), scratch);
    let session = match &surroundings {
        Surroundings::Owned(unit, ScopePlan::Stay(_)) => match unit.owner {
            Owner::Session(user) => Some(user),
            Owner::System | Owner::User(_) => None,
        },
        _ => None,
    };
    let kills = session.and_then(scope::kills_at_logout);
    let (verdict, means) = meaning(&surroundings, own::user_id(), kills);
    let mut found = format!(
        "{}, systemd {}",
        offers::cgroup().as_deref().unwrap_or("none"),
        yes(offers::systemd())
    );
    if session.is_some() {
        let kills = kills.map_or("unknown", yes);
        found.push_str(&format!(", killed at logout {kills}"));
    }
    found.extend(refusal.map(|why| format!(", {why}")));
    Check {
        name: "control group".into(),
        verdict,
        found,
        means: means.into(),
    }
}

/// Reports a scope only if systemd has just created one. Otherwise returns the present unit and the
/// reason.
fn tried(around: Surroundings, scratch: &Path) -> (Surroundings, Option<String>) {
    match around {
        Surroundings::Owned(unit, ScopePlan::Leave(manager)) => match scope::try_scope(scratch) {
            Ok(()) => (Surroundings::Owned(unit, ScopePlan::Leave(manager)), None),
            Err(why) => {
                let refusal = format!("systemd refuses a scope: {why}; jobs stay in {}", unit.name);
                let stays = Surroundings::Owned(unit, ScopePlan::Stay(StayReason::Refused));
                (stays, Some(refusal))
            }
        },
        other => (other, None),
    }
}

/// `kills`: whether a logout kills the session's processes, if that is known.
fn meaning(around: &Surroundings, user: u32, kills: Option<bool>) -> (Verdict, &'static str) {
    let (unit, way) = match around {
        Surroundings::Free => {
            return (
                Verdict::Good,
                "no systemd unit owns this control group, so none takes jobs down with it",
            );
        }
        Surroundings::Owned(unit, way) => (unit, way),
    };
    match (way, unit.owner) {
        (ScopePlan::Leave(Manager::System), _) => (
            Verdict::Good,
            "jobs get a scope of the system's: neither a stop of this unit nor a logout takes them down",
        ),
        (ScopePlan::Leave(Manager::User { lingers: true }), _) => (
            Verdict::Good,
            "jobs get a scope of your own systemd, which lingers: neither a stop of this unit nor a logout takes them down",
        ),
        (ScopePlan::Leave(Manager::User { lingers: false }), _) => (
            Verdict::Less,
            "jobs get a scope of your own systemd: a stop of this unit does not take them down, but your last logout does (loginctl enable-linger)",
        ),
        (ScopePlan::Stay(StayReason::Unasked), Owner::Session(_)) if kills == Some(false) => (
            Verdict::Less,
            "a logout leaves jobs running, but ending the session (loginctl terminate-session) kills them, and no systemd can be asked for another place",
        ),
        (ScopePlan::Stay(StayReason::Unasked), Owner::Session(_)) => (
            Verdict::Less,
            "a logout may kill jobs, and no systemd can be asked for another place: is systemd-run installed?",
        ),
        (ScopePlan::Stay(StayReason::Unasked), _) => (
            Verdict::Less,
            "a stop of this unit kills its jobs, and no systemd can be asked for another place",
        ),
        (ScopePlan::Stay(StayReason::Refused), Owner::Session(_)) if kills == Some(false) => (
            Verdict::Less,
            "a logout leaves jobs running, but ending the session (loginctl terminate-session) kills them",
        ),
        (ScopePlan::Stay(StayReason::Refused), Owner::Session(_)) => {
            (Verdict::Less, "a logout may kill jobs")
        }
        (ScopePlan::Stay(StayReason::Refused), _) => {
            (Verdict::Less, "a stop of this unit kills its jobs")
        }
        (ScopePlan::Stay(StayReason::NotLingering), Owner::Session(owner)) if owner == user => {
            match kills {
                Some(false) => (
                    Verdict::Less,
                    "a logout leaves jobs running, but ending the session (loginctl terminate-session) kills them; after loginctl enable-linger it does not",
                ),
                Some(true) => (
                    Verdict::Less,
                    "a logout kills jobs: KillUserProcesses is on and you do not linger (loginctl enable-linger)",
                ),
                None => (
                    Verdict::Less,
                    "a logout may kill jobs: logind does not say, and you do not linger (loginctl enable-linger)",
                ),
            }
        }
        (ScopePlan::Stay(StayReason::NotLingering), _) => (
            Verdict::Less,
            "a stop of this unit kills its jobs; if this user lingers, they get a scope of their own (as root: loginctl enable-linger USER)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::scope::Unit;

    #[test]
    fn the_verdict_is_good_only_if_nothing_kills_jobs() {
        const LINGERING: ScopePlan = ScopePlan::Leave(Manager::User { lingers: true });
        const SHORT: ScopePlan = ScopePlan::Leave(Manager::User { lingers: false });
        let (stay, deaf) = (
            ScopePlan::Stay(StayReason::NotLingering),
            ScopePlan::Stay(StayReason::Unasked),
        );
        let refused = ScopePlan::Stay(StayReason::Refused);
        let session = Owner::Session(1000);
        for (owner, way, kills, verdict, words) in [
            (
                session,
                ScopePlan::Leave(Manager::System),
                None,
                Verdict::Good,
                "of the system's",
            ),
            (session, LINGERING, None, Verdict::Good, "which lingers"),
            (
                Owner::User(1000),
                SHORT,
                None,
                Verdict::Less,
                "your last logout does",
            ),
            (
                session,
                stay,
                Some(true),
                Verdict::Less,
                "a logout kills jobs",
            ),
            (
                session,
                stay,
                Some(false),
                Verdict::Less,
                "a logout leaves jobs running",
            ),
            (session, stay, None, Verdict::Less, "a logout may kill jobs"),
            (
                Owner::Session(7),
                stay,
                None,
                Verdict::Less,
                "a stop of this unit kills",
            ),
            (
                Owner::System,
                stay,
                None,
                Verdict::Less,
                "enable-linger USER",
            ),
            (
                Owner::System,
                deaf,
                None,
                Verdict::Less,
                "no systemd can be asked",
            ),
            (
                session,
                deaf,
                Some(false),
                Verdict::Less,
                "a logout leaves jobs running",
            ),
            (session, deaf, None, Verdict::Less, "a logout may kill jobs"),
            (
                session,
                refused,
                Some(false),
                Verdict::Less,
                "a logout leaves jobs running",
            ),
            (Owner::System, refused, None, Verdict::Less, "a stop of"),
        ] {
            let unit = Unit {
                name: "some.scope".to_owned(),
                owner,
            };
            let around = Surroundings::Owned(unit, way);
            let (said, means) = meaning(&around, 1000, kills);
            assert_eq!(said, verdict, "{around:?}");
            assert!(means.contains(words), "{around:?}: {means}");
        }
        assert_eq!(meaning(&Surroundings::Free, 0, None).0, Verdict::Good);
    }
}
