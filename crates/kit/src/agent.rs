//! The agents that Outlive can be plugged into.

use std::fmt;

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Agent {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
    Cursor,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not an agent known here; there are {known}", known = known())]
pub struct BadAgent(String);

impl Agent {
    pub const ALL: [Agent; 5] = [
        Agent::ClaudeCode,
        Agent::Codex,
        Agent::Gemini,
        Agent::Opencode,
        Agent::Cursor,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude-code",
            Agent::Codex => "codex",
            Agent::Gemini => "gemini",
            Agent::Opencode => "opencode",
            Agent::Cursor => "cursor",
        }
    }

    /// The program that a person starts it with.
    pub fn program(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude",
            Agent::Codex => "codex",
            Agent::Gemini => "gemini",
            Agent::Opencode => "opencode",
            Agent::Cursor => "cursor",
        }
    }

    pub fn parse(text: &str) -> Result<Agent, BadAgent> {
        Agent::ALL
            .into_iter()
            .find(|agent| text == agent.name() || text == agent.program())
            .ok_or_else(|| BadAgent(text.to_owned()))
    }

    /// Whether the commands it runs find its session's id in their environment.
    pub(crate) fn tells_its_shells(self) -> bool {
        matches!(self, Agent::ClaudeCode | Agent::Codex | Agent::Opencode)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn known() -> String {
    Agent::ALL.map(Agent::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_known_by_its_name_and_its_program() {
        for agent in Agent::ALL {
            assert_eq!(Agent::parse(agent.name()), Ok(agent));
            assert_eq!(Agent::parse(agent.program()), Ok(agent));
        }
        let said = Agent::parse("clippy").map_err(|bad| bad.to_string());
        assert!(said.is_err_and(|said| said.contains("claude-code, codex")));
    }
}
