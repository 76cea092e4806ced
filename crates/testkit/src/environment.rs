//! Which environment variables the programs under test get.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Variables of whoever runs the tests that must not reach the programs under test: they would say which
/// session, job or home those belong to.
const FOREIGN: [&str; 10] = [
    "OUTLIVE_SESSION",
    "OUTLIVE_JOB",
    "OUTLIVE_JOB_DIR",
    "OUTLIVE_HOOKS",
    "OUTLIVE_KEEPER",
    "OUTLIVE_HOME",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "GEMINI_SESSION_ID",
];

/// Removes from a command the variables of whoever runs the tests.
pub fn remove_foreign(command: &mut Command) -> &mut Command {
    for name in FOREIGN {
        command.env_remove(name);
    }
    command
}

/// Gives one command the changes of environment that another one has.
pub fn give_environment(from: &Command, to: &mut Command) {
    for (key, value) in from.get_envs() {
        match value {
            Some(value) => to.env(key, value),
            None => to.env_remove(key),
        };
    }
}

/// A program (`unshare`, `strace`) that runs another command, with that command's environment.
pub fn behind<S: AsRef<OsStr>>(
    program: &str,
    words: impl IntoIterator<Item = S>,
    command: &Command,
) -> Command {
    let mut outer = Command::new(program);
    outer
        .args(words)
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    give_environment(command, &mut outer);
    outer
}
