//! Agents that are SIGKILLed at random moments and then resumed. `xtask/agents/kills.py` says what must hold.

use super::Check;
use super::stories::{AGENTS, Agent, Use};

/// How many times each agent is killed.
const LIVES: &str = "50";

/// Agents whose whole story can be resumed without a person.
const KILLED: [(&str, Use); 5] = [
    ("claude", Use::Headless),
    ("claude", Use::Interactive),
    ("codex", Use::Headless),
    ("gemini", Use::Headless),
    ("opencode", Use::Headless),
];

pub fn checks() -> impl Iterator<Item = Check> {
    KILLED.into_iter().flat_map(|(name, how)| {
        let agent = AGENTS.iter().find(move |agent| agent.name == name);
        agent.map(|agent| check(agent, how))
    })
}

/// `OUTLIVE_SEED=N` chooses other moments.
fn check(agent: &'static Agent, how: Use) -> Check {
    let seed = std::env::var("OUTLIVE_SEED").unwrap_or_else(|_| "1".to_owned());
    let name = format!("{}, {}: killed {LIVES} times", agent.title, how.name());
    Check::new(name, agent.package, move |sandbox| {
        let mut command = sandbox.script("python3".as_ref(), "kills.py");
        command
            .args([agent.name, how.name(), LIVES, &seed])
            .arg(sandbox.program("outlive"))
            .arg(sandbox.work())
            .args((agent.program)(sandbox));
        command
    })
}
