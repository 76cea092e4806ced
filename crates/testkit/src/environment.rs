//! The environment variables of the programs under test.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Variables of the person who runs the tests. They would give the programs under test the wrong session, job or home.
const FOREIGN: [&str; 12] = [
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
    "QWEN_CODE_SESSION_ID",
    "COPILOT_AGENT_SESSION_ID",
];

/// Removes those variables from a command, and everything that a harness would withhold from a job and report.
pub fn remove_foreign(command: &mut Command) -> &mut Command {
    for name in FOREIGN {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["_API_KEY", "_TOKEN"].iter().any(|end| text.ends_with(end)) {
            command.env_remove(&name);
        }
    }
    command
}

/// Applies the environment changes of one command to another.
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
