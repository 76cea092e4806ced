//! A known agent, as a small value.

use crate::agents::AGENTS;
use crate::profile::Profile;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A coding agent: its position in the list of `crate::agents`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub struct Agent(usize);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not an agent known here; there are {known}", known = known())]
pub struct BadAgent(String);

impl Agent {
    /// Every known agent, in the order of the list.
    pub fn all() -> Vec<Agent> {
        (0..AGENTS.len()).map(Agent).collect()
    }

    /// Its name in commands and in files.
    pub fn name(self) -> &'static str {
        self.profile().name()
    }

    /// Its position in the list.
    pub(crate) fn position(self) -> usize {
        self.0
    }

    /// The program that a person starts it with.
    pub fn program(self) -> &'static str {
        self.profile().program()
    }

    /// Finds an agent by its name or its program.
    pub fn parse(text: &str) -> Result<Agent, BadAgent> {
        Agent::find(|profile| text == profile.name() || text == profile.program())
            .ok_or_else(|| BadAgent(text.to_owned()))
    }

    /// The agent whose format a hook uses if nothing names the caller. All agents in the list that
    /// cannot be recognised read the same JSON.
    pub(crate) fn fallback() -> Agent {
        Agent(0)
    }

    /// The first agent of the list for which `is_it` is true.
    pub(crate) fn find(is_it: impl Fn(&dyn Profile) -> bool) -> Option<Agent> {
        AGENTS.iter().position(|profile| is_it(*profile)).map(Agent)
    }

    pub(crate) fn profile(self) -> &'static dyn Profile {
        AGENTS[self.0]
    }
}

impl From<Agent> for &'static str {
    fn from(agent: Agent) -> &'static str {
        agent.name()
    }
}

impl TryFrom<String> for Agent {
    type Error = BadAgent;

    fn try_from(name: String) -> Result<Agent, BadAgent> {
        Agent::parse(&name)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn known() -> String {
    let names: Vec<&str> = AGENTS.iter().map(|profile| profile.name()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_found_by_its_name_and_its_program() {
        for agent in Agent::all() {
            assert_eq!(Agent::parse(agent.name()), Ok(agent));
            assert_eq!(Agent::parse(agent.program()), Ok(agent));
        }
        let message = Agent::parse("clippy").map_err(|bad| bad.to_string());
        assert!(message.is_err_and(|message| message.contains("claude-code, codex")));
    }

    #[test]
    fn a_hook_of_an_unknown_caller_is_answered_like_claude_code() {
        assert_eq!(Agent::fallback().name(), "claude-code");
    }
}
