//! The plan of a case: which fault, at which system call of which process. And running a launch under it.

use crate::calls::Fault;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::PATIENCE;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// The part of a process in a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Launcher,
    Standby,
    Keeper,
}

pub const ROLES: [Role; 3] = [Role::Launcher, Role::Standby, Role::Keeper];

/// A fault at one system call of one process. `at` counts, from 1, the calls that the fault can hit. Without a role
/// there is no fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub role: Option<Role>,
    pub at: usize,
    pub fault: Fault,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Role::Launcher => "launcher",
            Role::Standby => "standby",
            Role::Keeper => "keeper",
        }
    }
}

impl Plan {
    /// No fault; only counts the calls.
    pub const COUNT: Plan = Plan {
        role: None,
        at: 0,
        fault: Fault::Kill,
    };

    fn to_words(self) -> [String; 3] {
        let role = self.role.map_or("nobody", Role::word);
        let fault = self.fault.word();
        [role.to_owned(), self.at.to_string(), fault.to_owned()]
    }

    /// Parses a plan. Also returns the words after it.
    pub fn from_words(words: &[String]) -> Option<(Plan, &[String])> {
        let [role, at, fault, rest @ ..] = words else {
            return None;
        };
        let plan = Plan {
            role: ROLES.into_iter().find(|known| known.word() == role),
            at: at.parse().ok()?,
            fault: Fault::from_word(fault)?,
        };
        Some((plan, rest))
    }
}

/// A launch that runs under a plan.
pub struct Launch {
    tracer: Child,
    lines: Receiver<String>,
    /// The call that the fault hit, if the tracer has reported it.
    pub struck: String,
}

/// What the tracer reports after the last process of a launch has ended.
pub struct Traced {
    /// Whether a keeper was started.
    pub has_keeper: bool,
    counts: Value,
}

impl Launch {
    pub fn start(world: &World, command: &Command, plan: Plan) -> Result<Launch, String> {
        Launch::begin(world, command, plan, Path::new("-"))
    }

    /// Runs a launch without a fault and records its changes to files in this directory.
    pub fn record(world: &World, command: &Command, to: &Path) -> Result<Launch, String> {
        Launch::begin(world, command, Plan::COUNT, to)
    }

    fn begin(world: &World, command: &Command, plan: Plan, to: &Path) -> Result<Launch, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut tracer = Command::new(own);
        tracer
            .arg("--trace")
            .args(plan.to_words())
            .arg(world.path("launched.out"))
            .arg(to)
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => tracer.env(key, value),
                None => tracer.env_remove(key),
            };
        }
        let mut tracer = tracer.spawn().map_err(|error| error.to_string())?;
        let out = tracer.stdout.take().ok_or("the tracer says nothing")?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(out).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        Ok(Launch {
            tracer,
            lines,
            struck: "no call yet".to_owned(),
        })
    }

    fn line(&mut self, what: &str) -> Result<String, String> {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.map_err(|_| format!("{what} never ended"))?;
            match line.strip_prefix("struck ") {
                Some(call) => self.struck = call.to_owned(),
                None => return Ok(line),
            }
        }
    }

    /// Waits for the launcher and returns its result.
    pub fn launched(&mut self, world: &World) -> Result<Ran, String> {
        let line = self.line("the launcher")?;
        let code = line
            .strip_prefix("launched ")
            .and_then(|code| code.parse().ok());
        let out = world.path("launched.out");
        let code = code.ok_or_else(|| format!("the tracer failed: {line}"))?;
        let stdout = fs::read(&out).unwrap_or_default();
        let stderr = fs::read(out.with_extension("err")).unwrap_or_default();
        Ok(Ran::new(code, stdout, &stderr))
    }

    /// Waits until no process of the launch is left, and returns the report.
    pub fn end(&mut self) -> Result<Traced, String> {
        let line = self.line("a keeper")?;
        let report: Value = serde_json::from_str(&line).map_err(|_| line)?;
        let _ = self.tracer.wait();
        Ok(Traced {
            has_keeper: report["has_keeper"] == true,
            counts: report["counts"].clone(),
        })
    }
}

impl Drop for Launch {
    /// Ends the tracer, which ends the processes that it traces.
    fn drop(&mut self) {
        let _ = self.tracer.kill();
        let _ = self.tracer.wait();
    }
}

impl Traced {
    /// How many calls of that process this fault could have hit.
    pub fn count(&self, role: Role, fault: Fault) -> usize {
        let key = format!("{} {}", role.word(), fault.word());
        self.counts[key].as_u64().unwrap_or_default() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_being_words() {
        let plan = Plan {
            role: Some(Role::Standby),
            at: 12,
            fault: Fault::NoSpace,
        };
        let mut words = plan.to_words().to_vec();
        words.push("more".to_owned());
        let (read, rest) = Plan::from_words(&words).unwrap();
        assert_eq!((read, rest), (plan, &["more".to_owned()][..]));
        let nothing = Plan::COUNT.to_words();
        assert_eq!(Plan::from_words(&nothing).unwrap().0, Plan::COUNT);
        assert!(Plan::from_words(&words[..2]).is_none());
    }
}
