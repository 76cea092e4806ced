//! What Outlive must know about an agent: where its files are, what goes into them, and how its hooks
//! communicate.
//! Each file in `agents/` implements [`Profile`] for one agent. The provided methods describe Claude Code's
//! form of hooks, which most agents have copied.

use crate::agent::Agent;
use crate::hook::{HookInput, Occasion};
use crate::setup::Scope;
use crate::setup::json::Dialect;
use crate::setup::piece::{Instructions, Part, Piece};
use crate::setup::switch::Switch;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The time limit of a hook, in seconds. A hook reads the inbox and answers in milliseconds; one that
/// takes longer is broken.
pub const HOOK_SECONDS: u64 = 10;

/// Claude Code's names for the occasions on which it calls a hook.
const CLAUDE_CODE_OCCASIONS: &[(&str, Occasion)] = &[
    ("SessionStart", Occasion::SessionStart),
    ("UserPromptSubmit", Occasion::UserPromptSubmit),
    ("PostToolUse", Occasion::PostToolUse),
    ("Stop", Occasion::Stop),
];

/// The same with the hook before a tool call, for agents where it shows something that the hook after it does not.
pub const OCCASIONS_WITH_PRE_TOOL_USE: &[(&str, Occasion)] = &[
    ("SessionStart", Occasion::SessionStart),
    ("UserPromptSubmit", Occasion::UserPromptSubmit),
    ("PreToolUse", Occasion::PreToolUse),
    ("PostToolUse", Occasion::PostToolUse),
    ("Stop", Occasion::Stop),
];

/// The description of one agent.
pub trait Profile: Sync {
    /// Its name in commands and in files.
    fn name(&self) -> &'static str;

    /// The program that a person starts it with.
    fn program(&self) -> &'static str;

    /// The directory where it keeps a user's configuration.
    fn user_directory(&self, user: &UserDirectories) -> PathBuf;

    /// The name of the directory where it keeps a project's configuration.
    fn project_directory(&self) -> &'static str;

    /// The files that setup changes, and what it puts into each.
    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)>;

    /// What a person must still do after setup.
    fn note(&self, _scope: &Scope) -> Option<&'static str> {
        None
    }

    /// What setup offers if this agent asks before it calls our tools, or refuses to. If the user accepts, then
    /// [`Site::may_call`] is true and [`Profile::files`] allows the calls.
    fn offer(&self) -> Option<Offer> {
        None
    }

    /// The settings that would keep the agent from doing what setup wrote.
    fn switches(&self, _site: &Site<'_>) -> Vec<Switch> {
        Vec::new()
    }

    /// Whether the commands it runs find its session's id in their environment.
    fn shells_know_session(&self) -> bool;

    /// The occasions on which it calls a hook, by its own names.
    fn occasions(&self) -> &'static [(&'static str, Occasion)] {
        CLAUDE_CODE_OCCASIONS
    }

    /// Whether this agent wrote the JSON, as far as the JSON shows.
    fn wrote(&self, _input: &HookInput) -> bool {
        false
    }

    /// An environment variable that only this agent sets for its hooks.
    fn own_variable(&self) -> Option<&'static str> {
        None
    }

    /// Whether a hook of the calling process can run in parallel to the agent and wake it. An agent that
    /// cannot be woken would itself wait for the hook, or would not read what it prints.
    fn can_be_woken(&self) -> bool {
        true
    }

    /// Whether the hook that waits is the only one that this agent calls at the end of a turn.
    fn only_waits(&self) -> bool {
        false
    }

    /// Whether it reads what a hook prints on this occasion.
    fn reads_answer(&self, _occasion: Occasion) -> bool {
        true
    }

    /// The answer that makes the agent continue instead of ending its turn.
    fn stop_answer(&self, text: &str) -> Value {
        json!({"decision": "block", "reason": text})
    }

    /// The answer that gives the agent text and changes nothing else.
    fn context_answer(&self, occasion: Occasion, text: &str) -> Value {
        json!({"hookSpecificOutput": {
            "hookEventName": self.occasion_name(occasion),
            "additionalContext": text,
        }})
    }

    /// The agent's own name for an occasion. A waiting hook was started at the end of a turn.
    fn occasion_name(&self, occasion: Occasion) -> &'static str {
        let occasion = match occasion {
            Occasion::Wait => Occasion::Stop,
            other => other,
        };
        let mut names = self.occasions().iter().chain(CLAUDE_CODE_OCCASIONS);
        names
            .find(|(_, own)| *own == occasion)
            .map_or("", |(name, _)| *name)
    }
}

/// The permission to call our tools without asking, which only the user can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What the agent does without the permission, as a sentence.
    pub without: &'static str,
    /// What the permission means, as a sentence.
    pub with: &'static str,
}

/// The directories of a user that contain the agents' own directories.
#[derive(Clone, Debug)]
pub struct UserDirectories {
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `.config` in the home.
    pub config: PathBuf,
}

/// Which agent is set up, and for whom.
#[derive(Debug)]
pub struct Site<'a> {
    pub agent: Agent,
    pub scope: &'a Scope,
    /// The `outlive` program, as the agent must call it.
    pub program: &'a str,
    /// The agent's own directory, of the user or of the project.
    pub own: PathBuf,
    pub user: &'a UserDirectories,
    /// The user lets the agent call our tools without asking. False if the agent has no [`Profile::offer`].
    pub may_call: bool,
}

impl Site<'_> {
    /// A file in the agent's own directory for a user, and at the root of a project.
    pub fn beside(&self, name: &str) -> PathBuf {
        match self.scope {
            Scope::Project(root) => root.join(name),
            Scope::User => self.own.join(name),
        }
    }

    /// The block of instructions for this agent.
    pub fn instructions(&self) -> Piece {
        Piece::Instructions(Instructions::of(self.agent))
    }

    /// The entry that starts `outlive mcp`, under the key `outer`.
    pub fn server(&self, dialect: Dialect, outer: &'static str, value: Value) -> Piece {
        Piece::Json {
            dialect,
            parts: vec![server_part(outer, value)],
        }
    }

    /// The command line that serves one hook.
    pub fn hook_command(&self, occasion: Occasion) -> String {
        let quoted = shlex::try_quote(self.program).map_or(self.program.into(), |quoted| quoted);
        format!("{quoted} hook {} --agent {}", occasion.name(), self.agent)
    }

    /// One hook for each occasion of the agent.
    pub fn hook_parts(&self, entry: impl Fn(Occasion) -> Value) -> Vec<Part> {
        let occasions = self.agent.profile().occasions().iter();
        occasions
            .map(|(name, occasion)| Part::hook(&["hooks", name], entry(*occasion)))
            .collect()
    }

    /// A hook in Claude Code's form.
    pub fn plain_hook(&self, occasion: Occasion) -> Value {
        json!({
            "type": "command",
            "command": self.hook_command(occasion),
            "timeout": HOOK_SECONDS,
        })
    }
}

/// The entry that starts `outlive mcp`, for a file that has other parts too.
pub fn server_part(outer: &'static str, value: Value) -> Part {
    Part::server(&[outer, "outlive"], value)
}
