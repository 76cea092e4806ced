//! What `setup` answers: which files of agents are changed.

use serde::{Deserialize, Serialize};

/// The changes of files that set up agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetupPlan {
    /// The files that are changed.
    pub changes: Vec<FileChange>,
    /// What to know about it.
    pub notes: Vec<String>,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// The file that is really changed, if `path` is a link.
    pub real_path: Option<String>,
    /// What is done to it.
    pub action: FileAction,
    /// Whether a person is asked first.
    pub asks: bool,
    /// What the change replaces although setup did not write it. A person is asked about that too.
    #[serde(default)]
    pub replaces: Vec<String>,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// It does not exist yet.
    Create,
    /// Parts of it are replaced.
    Change,
    /// It is removed.
    Remove,
}

impl FileAction {
    /// The word for it in JSON and in text.
    pub fn as_str(self) -> &'static str {
        match self {
            FileAction::Create => "create",
            FileAction::Change => "change",
            FileAction::Remove => "remove",
        }
    }
}

/// What `setup` without an agent answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetupList {
    /// Every agent that can be set up.
    pub agents: Vec<AgentStatus>,
}

/// An agent that can be set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentStatus {
    /// Its name.
    pub agent: String,
    /// Whether it was found on this machine.
    pub found: bool,
    /// What setup would change.
    pub plan: Option<SetupPlan>,
    /// Why setup would fail.
    pub error: Option<String>,
}
