//! Tool calls that a helper (a subagent) of an agent makes.
//!
//! A helper calls the same MCP server as its agent, in the same conversation, and the request does not say
//! so. But the agent calls a hook before each tool call, and the hook is told who makes it.

use super::conversation::{directory, make_directory};
use crate::error::Error;
use crate::home::outlive::Outlive;
use outlive_core::told::AgentProcess;
use outlive_core::{Label, layout};
use std::fs;
use std::io;
use std::path::PathBuf;

/// The files in the directory of an agent's process, one for each call that a helper is about to make.
const HELPERS: &str = "helper-";

/// A tool call, by the id that the agent gave it. The hook and the request name the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall(Label);

impl ToolCall {
    /// `None` if an agent would never choose such an id.
    pub fn parse(id: &str) -> Option<ToolCall> {
        Label::parse(id).ok().map(ToolCall)
    }

    fn file_name(&self) -> String {
        format!("{HELPERS}{}", self.0.file_name())
    }

    /// Records that a helper of this agent makes the call.
    pub fn note_helper(&self, outlive: &Outlive, agent: &AgentProcess) -> Result<(), Error> {
        let path = make_directory(outlive, agent)?.join(self.file_name());
        match layout::make(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(Error::io("cannot write", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Whether a helper makes the call. Forgets it: a call is made once.
    pub fn take_helper(&self, outlive: &Outlive, agent: &AgentProcess) -> bool {
        let path: Result<PathBuf, Error> =
            directory(outlive, agent).map(|directory| directory.join(self.file_name()));
        path.is_ok_and(|path| fs::remove_file(path).is_ok())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use crate::agent;

    #[test]
    fn a_helpers_call_is_known_once() {
        let home = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(home.path().join("home")).unwrap();
        let agent = agent::of_caller().unwrap().unwrap();
        let call = ToolCall::parse("toolu_1").unwrap();
        assert!(!call.take_helper(&outlive, &agent));
        call.note_helper(&outlive, &agent).unwrap();
        call.note_helper(&outlive, &agent).unwrap();
        let other = ToolCall::parse("../toolu_1").unwrap();
        assert!(!other.take_helper(&outlive, &agent));
        assert!(call.take_helper(&outlive, &agent));
        assert!(!call.take_helper(&outlive, &agent));
    }
}
