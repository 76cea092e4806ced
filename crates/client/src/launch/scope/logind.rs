//! What logind does to a user's processes at logout.

use outlive_sys::{offers, spawn};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether this user's systemd keeps running without a session (`loginctl enable-linger`). Only reads
/// files, so that a launch may call it.
pub fn lingers(user: u32) -> bool {
    let there = |name: String| Path::new("/var/lib/systemd/linger").join(name).exists();
    name_of(user).is_some_and(there)
}

/// The user's name. logind knows everybody who is logged in or lingers, wherever the account is stored.
fn name_of(user: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/run/systemd/users/{user}")).ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("NAME="));
    name.map(str::to_owned)
}

/// Whether a logout of this user kills what the session started; `None` if logind does not tell. Runs a
/// program, so a launch must not call it.
pub fn kills_at_logout(user: u32) -> Option<bool> {
    if !offers::systemd() {
        return None;
    }
    let mut command = Command::new("busctl");
    command
        .args(["get-property", "org.freedesktop.login1"])
        .args(["/org/freedesktop/login1", "org.freedesktop.login1.Manager"])
        .args(["KillUserProcesses", "KillOnlyUsers", "KillExcludeUsers"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let asked = spawn::start(&mut command).ok()?.wait_with_output().ok()?;
    let name = name_of(user)?;
    kills(&String::from_utf8_lossy(&asked.stdout), &name)
}

/// Decides like logind: excluded users are never killed; then a list of users counts; then the setting.
fn kills(said: &str, user: &str) -> Option<bool> {
    let mut lines = said.lines();
    let all = match lines.next()? {
        "b true" => true,
        "b false" => false,
        _ => return None,
    };
    let users = |line: &str| -> Vec<String> {
        let names = line.split_whitespace().skip(2);
        names
            .map(|name| name.trim_matches('"').to_owned())
            .collect()
    };
    let (only, excluded) = (users(lines.next()?), users(lines.next()?));
    let is_in = |list: &[String]| list.iter().any(|name| name == user);
    Some(match () {
        () if is_in(&excluded) => false,
        () if !only.is_empty() => is_in(&only),
        () => all,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_users_lose_their_processes_at_logout() {
        for (said, expected) in [
            ("b false\nas 0\nas 0\n", Some(false)),
            ("b true\nas 0\nas 0\n", Some(true)),
            ("b true\nas 0\nas 2 \"root\" \"bot\"\n", Some(false)),
            ("b true\nas 0\nas 1 \"bots\"\n", Some(true)),
            ("b false\nas 1 \"bot\"\nas 0\n", Some(true)),
            ("b true\nas 1 \"guest\"\nas 0\n", Some(false)),
            ("b false\nas 1 \"bot\"\nas 1 \"bot\"\n", Some(false)),
            ("", None),
            ("b true\n", None),
            ("s \"yes\"\nas 0\nas 0\n", None),
        ] {
            assert_eq!(kills(said, "bot"), expected, "{said:?}");
        }
    }
}
