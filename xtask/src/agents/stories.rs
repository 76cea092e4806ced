//! The stories that are played with real agents. `xtask/agents/stories.py` says what happens in each.

use super::Check;
use super::more::MORE;
use super::package::Package;
use super::sandbox::Sandbox;

/// How a person uses an agent.
#[derive(Clone, Copy, Debug)]
pub enum Use {
    /// The agent is started for each prompt and resumes the conversation.
    Headless,
    /// The person stays at a terminal.
    Interactive,
}

impl Use {
    pub fn name(self) -> &'static str {
        match self {
            Use::Headless => "headless",
            Use::Interactive => "interactive",
        }
    }
}

/// An agent, and the stories that it can play.
pub struct Agent {
    /// Its name in the scripts.
    pub name: &'static str,
    pub title: &'static str,
    pub package: Package,
    pub program: fn(&Sandbox) -> Vec<std::path::PathBuf>,
    pub headless: &'static [&'static str],
    pub interactive: &'static [&'static str],
}

pub const AGENTS: [Agent; 4] = [
    Agent {
        name: "claude",
        title: "Claude Code",
        package: Package::Claude,
        program: |sandbox| vec![sandbox.claude()],
        headless: &[
            "turn", "shell", "stop", "wait", "killed", "result", "helper",
        ],
        interactive: &[
            "turn", "shell", "stop", "wait", "killed", "result", "helper", "clear",
        ],
    },
    Agent {
        name: "codex",
        title: "Codex",
        package: Package::Codex,
        program: |sandbox| vec![sandbox.codex()],
        headless: &[
            "turn",
            "shell",
            "stop",
            "wait",
            "killed",
            "result",
            "helper",
            "environment",
            "approval",
        ],
        interactive: &[
            "turn", "shell", "stop", "wait", "killed", "result", "helper", "clear", "approval",
        ],
    },
    Agent {
        name: "gemini",
        title: "Gemini CLI",
        package: Package::Gemini,
        program: |sandbox| sandbox.gemini().to_vec(),
        headless: &["turn", "shell", "stop", "wait", "killed", "result"],
        interactive: &["turn", "shell", "stop", "wait", "result", "clear"],
    },
    Agent {
        name: "opencode",
        title: "opencode",
        package: Package::Opencode,
        program: |sandbox| vec![sandbox.opencode()],
        headless: &["turn", "shell", "wait", "killed", "result", "helper"],
        interactive: &[
            "turn", "shell", "wait", "killed", "result", "helper", "clear",
        ],
    },
];

/// What happens in a story, in the table of results.
fn title(story: &str) -> &str {
    match story {
        "turn" => "a job ends after the turn",
        "shell" => "a job ends during a command in its shell",
        "stop" => "a job ends during its last words",
        "wait" => "a job outlives the call that waited for it",
        "killed" => "it is killed while a call waits for a job",
        "result" => "a job ends during the call that waits for it",
        "helper" => "a job ends while a helper works",
        "clear" => "a job of the next conversation in the program",
        "environment" => "a job finds its user's environment",
        "approval" => "it is refused our tools until its user allows them",
        other => other,
    }
}

/// One check for each agent, use and story.
pub fn checks() -> impl Iterator<Item = Check> {
    AGENTS.iter().chain(&MORE).flat_map(|agent| {
        let headless = agent.headless.iter().map(|story| (Use::Headless, story));
        let interactive = agent
            .interactive
            .iter()
            .map(|story| (Use::Interactive, story));
        headless
            .chain(interactive)
            .map(|(how, story)| check(agent, how, story))
    })
}

fn check(agent: &'static Agent, how: Use, story: &'static str) -> Check {
    let name = format!("{}, {}: {}", agent.title, how.name(), title(story));
    Check::new(name, agent.package, move |sandbox| {
        let mut command = sandbox.script("python3".as_ref(), "stories.py");
        command
            .args([story, agent.name, how.name()])
            .arg(sandbox.program("outlive"))
            .arg(sandbox.work())
            .args((agent.program)(sandbox));
        command
    })
}
