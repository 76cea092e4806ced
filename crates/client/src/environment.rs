//! Every environment variable that Outlive reads or sets, in one place. The only exceptions are
//! variables that move an agent's own directory: each is in the agent's file in `outlive-kit`.

pub mod credentials;
pub(crate) mod inherited;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The directory that holds all jobs.
pub const HOME: &str = "OUTLIVE_HOME";
/// The session of the caller; `--session` overrides it.
pub const SESSION: &str = "OUTLIVE_SESSION";
/// Where `run` starts jobs, unless `--place` says it. Empty or `local` is here.
pub const PLACE: &str = "OUTLIVE_PLACE";
/// The keeper program, for embedders that install it elsewhere.
pub const KEEPER: &str = "OUTLIVE_KEEPER";
/// The program that is sent to places, if it is not installed beside this one.
pub const FAR: &str = "OUTLIVE_FAR";
/// One request to a far end, where the environment of a command is the only thing that others there cannot see.
pub const REQUEST: &str = "OUTLIVE_REQUEST";
/// The token for `swerex:` places without a configuration.
pub const SWEREX_TOKEN: &str = "OUTLIVE_SWEREX_TOKEN";
/// Set in a job: its id.
pub const JOB: &str = "OUTLIVE_JOB";
/// Set in a job and in its keepers: the job's directory. It tells which processes belong to which job,
/// so a nested job gets its own value.
pub const JOB_DIR: &str = "OUTLIVE_JOB_DIR";
/// Makes Python flush its output: it would buffer output to a pipe, but a job's output is wanted
/// immediately.
pub const UNBUFFERED: &str = "PYTHONUNBUFFERED";

/// The certificate authorities to trust for webhooks, instead of the built-in ones.
pub const CERTIFICATES: &str = "SSL_CERT_FILE";

/// The directory for a user's configuration, if not `~/.config`.
pub const CONFIG_HOME: &str = "XDG_CONFIG_HOME";

/// The `TERM` of a job's own terminal, unless the caller sets one.
pub const TERM: &str = "xterm-256color";
/// What `--plain` sets, unless the caller sets it: no colours, pagers, editors or questions, and no output that
/// waits in a buffer.
pub const PLAIN: [(&str, &str); 15] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("CI", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("EDITOR", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("PYTHON_COLORS", "0"),
    (UNBUFFERED, "1"),
];

/// Only Gemini CLI sets this variable.
pub const GEMINI_SESSION: &str = "GEMINI_SESSION_ID";

/// Qwen Code sets this variable in its shells, hooks and MCP servers.
pub const QWEN_SESSION: &str = "QWEN_CODE_SESSION_ID";

/// Where agents put the id of the conversation that runs a command, in the order to look.
const AGENT_SESSIONS: [&str; 7] = [
    SESSION,
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    GEMINI_SESSION,
    QWEN_SESSION,
    // Copilot CLI.
    "COPILOT_AGENT_SESSION_ID",
];

/// What agents set for the commands that they run in a sandbox: Codex, Claude Code, Gemini CLI.
const SANDBOXES: [&str; 4] = [
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "SANDBOX_RUNTIME",
    "SANDBOX",
];

/// The variable that shows that this process runs in the sandbox of an agent.
pub fn sandbox() -> Option<&'static str> {
    SANDBOXES.into_iter().find(|name| non_empty(name).is_some())
}

/// The session that this process runs in, if the environment tells.
pub fn session() -> Option<String> {
    AGENT_SESSIONS
        .iter()
        .filter_map(|name| env::var(name).ok())
        .find(|value| !value.is_empty())
}

/// The session from `OUTLIVE_SESSION`, whatever an agent's own variables say.
pub fn own_session() -> Option<String> {
    env::var(SESSION).ok().filter(|value| !value.is_empty())
}

/// The path of a program, as a shell would find it.
pub fn on_path(program: impl AsRef<Path>) -> Option<PathBuf> {
    find(&env::var_os("PATH")?, program.as_ref())
}

/// Like [`on_path`], with another `PATH`.
pub fn find(path: &OsStr, program: &Path) -> Option<PathBuf> {
    env::split_paths(path)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}

/// The value of a variable that is set and not empty.
pub fn non_empty(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
