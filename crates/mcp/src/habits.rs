//! What models call things after other tools that they know.

/// How a tool takes a word that a model uses for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// It is the name of an argument.
    Own,
    /// It means this argument.
    Means(&'static str),
    /// It means nothing here, for this reason.
    Ignored(&'static str),
    Unknown,
}

/// Ignored by every tool.
const IGNORED: [(&str, &str); 6] = [
    ("description", "nothing here shows it; `name` names a job"),
    ("background", "every job runs in the background"),
    ("run_in_background", "every job runs in the background"),
    ("is_background", "every job runs in the background"),
    ("shell", "bash runs the command, or sh if there is no bash"),
    (
        "max_output_tokens",
        "a reply is short, and `log` has the rest",
    ),
];

/// Ignored by `run`.
const IGNORED_BY_RUN: [(&str, &str); 2] = [
    (
        "session_id",
        "each `run` starts a job of its own; `send` writes to one",
    ),
    (
        "timeout",
        "elsewhere it kills the command, and counts milliseconds. Here a job runs until it ends: `wait_seconds` is \
how long this call waits for that, and `timeout_seconds` stops the job",
    ),
];

/// Words, and the argument that each means where a tool has such an argument.
const MEANT: [(&str, &[&str]); 22] = [
    ("cmd", &["command"]),
    ("script", &["command"]),
    ("workdir", &["cwd"]),
    ("directory", &["cwd"]),
    ("dir_path", &["cwd"]),
    ("tty", &["pty"]),
    ("tail", &["lines"]),
    ("limit", &["lines"]),
    ("pattern", &["grep"]),
    ("filter", &["grep"]),
    ("input", &["text"]),
    ("chars", &["text"]),
    ("status", &["state"]),
    ("grace", &["grace_seconds"]),
    ("grace_seconds", &["grace"]),
    ("quiet_after_seconds", &["quiet_after"]),
    ("id", &["ids"]),
    ("ids", &["id"]),
    ("job_id", JOB),
    ("bash_id", JOB),
    ("session_id", JOB),
    ("name", JOB),
];
/// The job, or the jobs.
const JOB: &[&str] = &["id", "ids"];

/// How `tool` takes this word; `has` says which arguments it has.
pub fn of(tool: &str, word: &str, has: impl Fn(&str) -> bool) -> Habit {
    if has(word) {
        return Habit::Own;
    }
    let runs = tool == "run";
    let by_run = IGNORED_BY_RUN.iter().filter(|_| runs);
    let mut ignored = IGNORED.iter().chain(by_run);
    if let Some((_, why)) = ignored.find(|(ignored, _)| *ignored == word) {
        return Habit::Ignored(why);
    }
    let meant = MEANT.iter().find(|(known, _)| *known == word);
    let meant = meant.map_or(&[][..], |(_, meant)| meant);
    // `run` starts a job: its `id` is for a new one.
    let is_meant = |name: &&&str| has(name) && !(runs && JOB.contains(name));
    match meant.iter().find(is_meant) {
        Some(name) => Habit::Means(name),
        None => Habit::Unknown,
    }
}
