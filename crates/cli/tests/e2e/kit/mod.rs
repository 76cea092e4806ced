//! Plugging into agents: `hook` and `setup`.

mod agent;
mod approving;
mod errors;
mod foreign;
mod hooks;
mod keeping;
mod links;
mod more_agents;
mod older;
mod refusals;
mod setup;
mod setup_whole;
mod signs;
mod told;
mod undo;
mod users_own;
mod waking;

use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub const AGENTS: [&str; 13] = [
    "claude-code",
    "codex",
    "gemini",
    "opencode",
    "cursor",
    "qwen",
    "copilot",
    "droid",
    "kilo",
    "auggie",
    "amp",
    "crush",
    "cline",
];

/// The command of a hook, which is not started yet.
fn hook(world: &World, event: &str, agent: &str) -> Command {
    let mut command = world.command(["hook", event, "--agent", agent]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Starts the command with this on its standard input.
fn start(command: &mut Command, json: &str) -> Child {
    let mut child = command.spawn().unwrap();
    // A hook that fails early does not read its input.
    let _ = child.stdin.take().unwrap().write_all(json.as_bytes());
    child
}

pub fn call(world: &World, event: &str, agent: &str, json: &str) -> Ran {
    Ran::end_of(start(&mut hook(world, event, agent), json))
}

/// Runs a job of this session to its end, which the session is not told.
fn ended_job(world: &World, session: &str, script: &str) -> String {
    let id = world.ok(&["run", "--session", session, "--shell", script]);
    world.until_over(&id);
    id
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
}

/// Whether the hook exited with 0 and printed nothing, so that the agent notices nothing.
fn is_silent(ran: &Ran) -> bool {
    (ran.code, ran.stdout.as_str(), ran.stderr.as_str()) == (0, "", "")
}

fn log(world: &World) -> String {
    fs::read_to_string(world.home().join("hook.log")).unwrap_or_default()
}

/// The home directory of this world's user.
fn user(world: &World) -> PathBuf {
    let user = world.path("user");
    fs::create_dir_all(&user).unwrap();
    user
}

/// Runs `outlive setup` for that user, with `outlive` on the PATH.
fn setup(world: &World, args: &[&str]) -> Ran {
    Ran::of(&mut setup_command(world, args))
}

fn setup_command(world: &World, args: &[&str]) -> Command {
    let program = Path::new(outlive_testkit::programs::outlive())
        .parent()
        .unwrap();
    let mut command = world.command(["setup"].iter().chain(args));
    for_user(&mut command, world).env("PATH", program);
    command
}

/// Makes the command one of that user, with none of the variables that move the directories of agents.
fn for_user<'c>(command: &'c mut Command, world: &World) -> &'c mut Command {
    command
        .env("HOME", user(world))
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("CLAUDE_CONFIG_DIR")
        .env_remove("CODEX_HOME")
        .env_remove("QWEN_HOME")
        .env_remove("COPILOT_HOME")
        .env_remove("CRUSH_GLOBAL_CONFIG")
}

/// Every file and directory below `root`, with its content.
fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => {
                found.extend(tree(&path));
                found.insert(path, String::new());
            }
            false => {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path, text);
            }
        }
    }
    found
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
