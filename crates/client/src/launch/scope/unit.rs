//! Finds the systemd unit that a control group belongs to.

/// A unit that kills everything in its control group when it is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub name: String,
    pub owner: Owner,
}

/// Whose unit it is. This decides what else can end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    System,
    /// A login session of this user.
    Session(u32),
    /// The user's own systemd (`user@UID.service`), which ends with the user's last session.
    User(u32),
}

/// The innermost unit of this control group. systemd's own scope does not count, because nobody stops
/// it.
pub fn innermost(path: &str) -> Option<Unit> {
    let parts: Vec<&str> = path.split('/').collect();
    let at = parts
        .iter()
        .rposition(|part| part.ends_with(".service") || part.ends_with(".scope"))?;
    let name = parts[at];
    let number = |part: &&str, before: &str, after: &str| -> Option<u32> {
        part.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
    };
    let manager = parts[..=at]
        .iter()
        .find_map(|part| number(part, "user@", ".service"));
    let slice = parts[..at].last();
    let session = match name.starts_with("session-") && name.ends_with(".scope") {
        true => slice.and_then(|slice| number(slice, "user-", ".slice")),
        false => None,
    };
    let owner = match (manager, session) {
        (Some(user), _) => Owner::User(user),
        (None, Some(user)) => Owner::Session(user),
        (None, None) if name == "init.scope" => return None,
        (None, None) => Owner::System,
    };
    Some(Unit {
        name: name.to_owned(),
        owner,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_unit_decides() {
        const USER: &str = "/user.slice/user-1000.slice";
        let own = |rest: &str| format!("{USER}/user@1000.service/{rest}");
        let cases: [(&str, Option<(&str, Owner)>); 16] = [
            ("/", None),
            ("/user.slice", None),
            ("/docker/0123abcd", None),
            ("/init.scope", None),
            (
                "/system.slice/harness.service",
                Some(("harness.service", Owner::System)),
            ),
            (
                "/system.slice/harness.service/workers",
                Some(("harness.service", Owner::System)),
            ),
            (
                "/system.slice/run-7.scope",
                Some(("run-7.scope", Owner::System)),
            ),
            (
                "/system.slice/docker-0123.scope",
                Some(("docker-0123.scope", Owner::System)),
            ),
            (
                "/../session-like.slice/session-x.scope",
                Some(("session-x.scope", Owner::System)),
            ),
            (
                &format!("{USER}/session-3.scope"),
                Some(("session-3.scope", Owner::Session(1000))),
            ),
            (
                &format!("{USER}/session-c1.scope"),
                Some(("session-c1.scope", Owner::Session(1000))),
            ),
            (
                &own("app.slice/bot.service"),
                Some(("bot.service", Owner::User(1000))),
            ),
            (
                &own("app.slice/app-term-7.scope"),
                Some(("app-term-7.scope", Owner::User(1000))),
            ),
            (
                &own("app.slice"),
                Some(("user@1000.service", Owner::User(1000))),
            ),
            (&own("init.scope"), Some(("init.scope", Owner::User(1000)))),
            (
                &own("user.slice/libpod-ab.scope/container"),
                Some(("libpod-ab.scope", Owner::User(1000))),
            ),
        ];
        for (path, expected) in cases {
            let expected = expected.map(|(name, owner)| Unit {
                name: name.to_owned(),
                owner,
            });
            assert_eq!(innermost(path), expected, "{path}");
        }
    }
}
