//! Instances of Apptainer, which Singularity has become.
//!
//! An instance has no id: it is the process that began it. It shares the disk and the home directory of the user with
//! this machine, and has process IDs of its own.

use super::{Existence, Found, Tool};
use crate::environment;
use crate::places::Unreached;
use crate::places::transport::base::Base;
use crate::places::transport::line::{Inherits, Line};
use crate::places::transport::reason;
use outlive_core::BootTime;
use outlive_core::place::{ApptainerInstance, ContainerRef, INSTANCE, Runner};
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

/// An instance.
pub struct Instance {
    instance: ApptainerInstance,
    program: &'static str,
}

/// What `instance list --json` says.
#[derive(Debug, Deserialize)]
struct Listed {
    instances: Vec<One>,
}

#[derive(Debug, Deserialize)]
struct One {
    instance: String,
    pid: i32,
}

/// A machine in one boot, and the start of a process of it.
struct Process {
    host: String,
    boot: String,
    /// In clock ticks since the boot. `None` if there is no such process.
    started: Option<u64>,
}

/// The program of a runner, or the one that is installed in its place.
pub fn program(runner: Runner) -> &'static str {
    let other = match runner {
        Runner::Apptainer => Runner::Singularity,
        Runner::Singularity => Runner::Apptainer,
    };
    let is_here = |runner: Runner| environment::on_path(runner.as_str()).is_some();
    match !is_here(runner) && is_here(other) {
        true => other.as_str(),
        false => runner.as_str(),
    }
}

impl Instance {
    pub fn of(instance: ApptainerInstance) -> Instance {
        Instance {
            program: program(instance.runner),
            instance,
        }
    }

    fn line<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Line {
        // What runs there may inherit the environment.
        Line::new(self.program, "install Apptainer", Inherits::ForTools).with(words)
    }

    /// The process that began the instance; `None` if none of this name runs.
    fn first(&self, base: &Base, by: BootTime) -> Result<Option<i32>, Unreached> {
        let name = &self.instance.name;
        let line = self.line(["instance", "list", "--json", name]);
        let asked = base.ask(&line, None, by)?;
        if asked.ended.how.code() != Some(0) {
            return Err(reason::of_question(self.program, &asked.ended));
        }
        let listed: Listed = serde_json::from_str(&asked.output).map_err(|error| {
            let tool = self.program;
            Unreached::NotUnderstood(format!("what {tool} says of its instances: {error}"))
        })?;
        let mut named = listed.instances.into_iter();
        // The name is a pattern to it.
        Ok(named.find(|one| one.instance == *name).map(|one| one.pid))
    }

    /// Looks at a process of the machine that the instance is on.
    fn look(&self, base: &Base, pid: i32, by: BootTime) -> Result<Process, Unreached> {
        let stat = format!("/proc/{pid}/stat");
        let files = [
            "/proc/sys/kernel/hostname",
            "/proc/sys/kernel/random/boot_id",
            &stat,
        ];
        let line = Line::new(
            "cat",
            "install the usual small programs",
            Inherits::ForTools,
        );
        let asked = base.ask(&line.with(files), None, by)?;
        let mut lines = asked.output.lines();
        match (lines.next(), lines.next()) {
            (Some(host), Some(boot)) => Ok(Process {
                host: host.to_owned(),
                boot: boot.to_owned(),
                started: lines.next().and_then(start_in),
            }),
            _ => Err(reason::of_question("cat", &asked.ended)),
        }
    }
}

/// The start of a process, from `/proc/PID/stat`. What stands in parentheses is its name, which may contain anything.
fn start_in(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

impl Tool for Instance {
    fn name(&self) -> &'static str {
        self.program
    }

    fn find(&self, base: &Base, by: BootTime) -> Result<Found, Unreached> {
        let name = &self.instance.name;
        let none = || {
            let tool = self.program;
            Unreached::NoSuchInstance(format!(
                "no instance {name:?} runs; `{tool} instance list` shows those that do"
            ))
        };
        let pid = self.first(base, by)?.ok_or_else(none)?;
        let process = self.look(base, pid, by)?;
        let started = process.started.ok_or_else(none)?;
        Ok(Found {
            id: format!("{}/{pid}/{started}", process.boot),
            started: started.to_string(),
        })
    }

    fn identity(&self, base: &Base, by: BootTime) -> Result<String, Unreached> {
        self.look(base, 1, by).map(|process| process.host)
    }

    fn is_entered_by_name(&self) -> bool {
        true
    }

    fn enter(&self, _: &Found, program: &[&OsStr]) -> Line {
        let instance = format!("{INSTANCE}{}", self.instance.name);
        self.line(["exec", "--cleanenv", &instance]).with(program)
    }

    fn put(&self, _: &Base, _: &Found, _: &Path, _: File, _: BootTime) -> Result<(), Unreached> {
        let why = "Apptainer copies nothing into an instance";
        Err(Unreached::NoProgram(why.to_owned()))
    }

    fn look_for(
        &self,
        base: &Base,
        container: &ContainerRef,
        by: BootTime,
    ) -> Result<Existence, Unreached> {
        let words: Vec<&str> = container.id.split('/').collect();
        let [boot, pid, started] = words[..] else {
            return Ok(Existence::NotKnown);
        };
        let (Ok(pid), Ok(started)) = (pid.parse(), started.parse()) else {
            return Ok(Existence::NotKnown);
        };
        let process = self.look(base, pid, by)?;
        if process.host != container.engine {
            return Ok(Existence::NotKnown);
        }
        let name = &self.instance.name;
        Ok(
            match process.boot == boot && process.started == Some(started) {
                true => Existence::There,
                false if process.boot != boot => Existence::Gone(format!(
                    "the machine was restarted, and the instance {name} that it ran in ended with it"
                )),
                false => Existence::Gone(format!(
                    "the instance {name} that it ran in has ended (its first process was {pid})"
                )),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_process_is_read_whatever_its_name_is() {
        let rest = "S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1000 2000";
        for name in ["sh", "a) (b", ") S 1"] {
            assert_eq!(start_in(&format!("7 ({name}) {rest}")), Some(4711));
        }
        assert_eq!(start_in("7 (sh) S 1"), None);
    }
}
