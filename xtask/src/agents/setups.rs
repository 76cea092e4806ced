//! What `outlive setup` leaves a user with, in each agent's default settings. `xtask/agents/setups.py` says what
//! happens.

use super::Check;
use super::package::Package;
use super::sandbox::Sandbox;
use std::path::PathBuf;

/// An agent's name in the script, its title, and its program.
type Agent = (
    &'static str,
    &'static str,
    Package,
    fn(&Sandbox) -> Vec<PathBuf>,
);

const AGENTS: [Agent; 5] = [
    ("codex", "Codex", Package::Codex, |sandbox| {
        vec![sandbox.codex()]
    }),
    ("claude", "Claude Code", Package::Claude, |sandbox| {
        vec![sandbox.claude()]
    }),
    ("gemini", "Gemini CLI", Package::Gemini, |sandbox| {
        sandbox.gemini().to_vec()
    }),
    ("opencode", "opencode", Package::Opencode, |sandbox| {
        vec![sandbox.opencode()]
    }),
    ("qwen", "Qwen Code", Package::Qwen, |sandbox| {
        sandbox.qwen().to_vec()
    }),
];

pub fn checks() -> impl Iterator<Item = Check> {
    AGENTS.iter().map(|(agent, title, package, program)| {
        let name =
            format!("{title}, default settings: our tools are refused until its user allows them");
        Check::new(name, *package, move |sandbox| {
            let mut command = sandbox.script("python3".as_ref(), "setups.py");
            command
                .arg(agent)
                .arg(sandbox.program("outlive"))
                .arg(sandbox.work())
                .args(program(sandbox));
            command
        })
    })
}
