//! Every environment variable Outlive reads or sets, in one place. Only the variables that move an agent's
//! own directory are elsewhere: in that agent's file in `outlive-kit`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where all jobs are.
pub const HOME: &str = "OUTLIVE_HOME";
/// Who asks, unless `--session` says otherwise.
pub const SESSION: &str = "OUTLIVE_SESSION";
/// The keeper program, for embedders that ship it elsewhere.
pub const KEEPER: &str = "OUTLIVE_KEEPER";
/// In a job: its id.
pub const JOB: &str = "OUTLIVE_JOB";
/// In a job and in its keepers: its directory. It tells the processes of one job from those of
/// another, so it is set anew for each.
pub const JOB_DIR: &str = "OUTLIVE_JOB_DIR";
/// Python holds its output back when it writes to a pipe; a job's output is wanted as it comes.
pub const UNBUFFERED: &str = "PYTHONUNBUFFERED";

/// The authorities to believe when a webhook is posted to, instead of those built in.
pub const CERTIFICATES: &str = "SSL_CERT_FILE";

/// Where programs keep a user's configuration, if not in `~/.config`.
pub const CONFIG_HOME: &str = "XDG_CONFIG_HOME";

/// What a job's own terminal is, unless it is told otherwise.
pub const TERM: &str = "xterm-256color";
/// What `--plain` sets, unless it is given: no colours, no pagers, no editors, no questions.
pub const PLAIN: [(&str, &str); 14] = [
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
];

/// What only Gemini CLI sets.
pub const GEMINI_SESSION: &str = "GEMINI_SESSION_ID";

/// Where agents put the id of the conversation they run a command for, in the order to look.
const AGENT_SESSIONS: [&str; 5] = [
    SESSION,
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    GEMINI_SESSION,
];

/// The session this process runs in, if its environment tells.
pub fn session() -> Option<String> {
    AGENT_SESSIONS
        .iter()
        .filter_map(|name| env::var(name).ok())
        .find(|value| !value.is_empty())
}

/// The session that was set for everything here, whatever an agent calls its own.
pub fn own_session() -> Option<String> {
    env::var(SESSION).ok().filter(|value| !value.is_empty())
}

/// Where the program of this name is, as a shell would find it.
pub fn on_path(program: impl AsRef<Path>) -> Option<PathBuf> {
    find(&env::var_os("PATH")?, program.as_ref())
}

/// The same along another `PATH`.
pub fn find(path: &OsStr, program: &Path) -> Option<PathBuf> {
    env::split_paths(path)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}

/// The value of a variable that is set and not empty.
pub fn non_empty(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
