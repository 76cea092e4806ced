//! Containers of `docker` and `podman`, which take the same words.

use super::{Existence, Found, Tool};
use crate::places::Unreached;
use crate::places::transport::base::{Asked, Base};
use crate::places::transport::line::{Inherits, Line};
use crate::places::transport::reason;
use outlive_core::BootTime;
use outlive_core::place::{Container, ContainerRef, Engine as Kind};
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

/// A container of an engine.
pub struct Engine {
    container: Container,
}

/// What `inspect` says of one container.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct About {
    id: String,
    state: State,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct State {
    status: String,
    started_at: String,
}

/// What is asked about the containers of an engine: each in a line.
const LISTED: &str = "{{.ID}} {{.Names}}";

impl Engine {
    pub fn of(container: Container) -> Engine {
        Engine { container }
    }

    fn line<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Line {
        let advice = match self.container.engine {
            Kind::Docker => "install Docker's client, or name the container with podman:NAME",
            Kind::Podman => "install Podman, or name the container with docker:NAME",
        };
        Line::new(self.name(), advice, Inherits::AllButOurs).with(words)
    }

    fn ask<S: AsRef<OsStr>>(
        &self,
        base: &Base,
        words: impl IntoIterator<Item = S>,
        by: BootTime,
    ) -> Result<Asked, Unreached> {
        base.ask(&self.line(words), None, by)
    }

    /// The same for a question that does not fail while the engine answers.
    fn ask_engine<S: AsRef<OsStr>>(
        &self,
        base: &Base,
        words: impl IntoIterator<Item = S>,
        by: BootTime,
    ) -> Result<String, Unreached> {
        let asked = self.ask(base, words, by)?;
        match asked.ended.how.code() {
            Some(0) => Ok(asked.output.trim().to_owned()),
            _ => Err(reason::of_question(self.name(), &asked.ended)),
        }
    }

    /// The ids of the containers that exist, with their names.
    fn list(&self, base: &Base, by: BootTime) -> Result<Vec<(String, String)>, Unreached> {
        let words = ["container", "ls", "--all", "--no-trunc", "--format", LISTED];
        let listed = self.ask_engine(base, words, by)?;
        let pair = |line: &str| {
            let (id, names) = line.split_once(' ').unwrap_or((line, ""));
            (id.to_owned(), names.to_owned())
        };
        Ok(listed.lines().map(pair).collect())
    }

    /// Why the engine does not tell about the container.
    fn why_untold(&self, base: &Base, asked: &Asked, by: BootTime) -> Unreached {
        let (tool, name) = (self.name(), &self.container.name);
        let is_it = |(id, names): &(String, String)| {
            id.starts_with(name.as_str()) || names.split(',').any(|one| one == name)
        };
        match self.list(base, by) {
            Err(why) => why,
            Ok(all) if all.iter().any(is_it) => reason::of_question(tool, &asked.ended),
            Ok(_) => Unreached::NoSuchInstance(format!(
                "{tool} has no container {name:?}; `{tool} ps --all` lists those that exist"
            )),
        }
    }

    fn check_runs(&self, state: &State) -> Result<(), Unreached> {
        let (tool, name) = (self.name(), &self.container.name);
        match state.status.as_str() {
            "running" => Ok(()),
            "paused" => Err(Unreached::Stopped(format!(
                "the container is paused; nothing in it goes on before `{tool} unpause {name}`"
            ))),
            "created" | "configured" | "initialized" | "exited" | "stopped" | "dead" => {
                Err(Unreached::Stopped(format!(
                    "the container is stopped; nothing in it can be running (`{tool} start {name}` starts it)"
                )))
            }
            other => Err(Unreached::Refused(format!(
                "the container is in the state {:?}",
                outlive_core::quote::line(other)
            ))),
        }
    }
}

impl Tool for Engine {
    fn name(&self) -> &'static str {
        self.container.engine.as_str()
    }

    fn find(&self, base: &Base, by: BootTime) -> Result<Found, Unreached> {
        let name = self.container.name.as_str();
        let asked = self.ask(base, ["container", "inspect", name], by)?;
        if asked.ended.how.code() != Some(0) {
            return Err(self.why_untold(base, &asked, by));
        }
        let about: [About; 1] = serde_json::from_str(&asked.output).map_err(|error| {
            let tool = self.name();
            Unreached::NotUnderstood(format!("what {tool} says of the container: {error}"))
        })?;
        let [about] = about;
        self.check_runs(&about.state)?;
        Ok(Found {
            id: about.id,
            started: about.state.started_at,
        })
    }

    fn identity(&self, base: &Base, by: BootTime) -> Result<String, Unreached> {
        let format = match self.container.engine {
            // Its id may be that of a cloned machine.
            Kind::Docker => "{{.ID}} {{.Name}} {{.DockerRootDir}}",
            // It has no id. The size tells whether a disk is mounted there.
            Kind::Podman => "{{.Host.Hostname}} {{.Store.GraphRoot}} {{.Store.GraphRootAllocated}}",
        };
        self.ask_engine(base, ["info", "--format", format], by)
    }

    fn enter(&self, container: &Found, program: &[&OsStr]) -> Line {
        let mut line = self.line(["exec", "-i"]);
        if let Some(user) = &self.container.user {
            line = line.with(["--user", user]);
        }
        // By its id: the name may mean another one by now.
        line.with([&container.id]).with(program)
    }

    fn put(
        &self,
        base: &Base,
        container: &Found,
        directory: &Path,
        archive: File,
        by: BootTime,
    ) -> Result<(), Unreached> {
        let to = format!("{}:{}", container.id, directory.display());
        let asked = base.ask(&self.line(["cp", "-", &to]), Some(archive), by)?;
        match asked.ended.how.code() {
            Some(0) => Ok(()),
            _ => Err(reason::of_question(self.name(), &asked.ended)),
        }
    }

    fn look_for(
        &self,
        base: &Base,
        container: &ContainerRef,
        by: BootTime,
    ) -> Result<Existence, Unreached> {
        let is_asked = |base: &Base| -> Result<bool, Unreached> {
            Ok(self.identity(base, by)? == container.engine)
        };
        // Before and after: somebody may switch to another engine meanwhile.
        if !is_asked(base)? {
            return Ok(Existence::NotKnown);
        }
        let exists = self
            .list(base, by)?
            .iter()
            .any(|(id, _)| *id == container.id);
        Ok(match exists {
            true => Existence::There,
            false if !is_asked(base)? => Existence::NotKnown,
            false => {
                let short: String = container.id.chars().take(12).collect();
                let tool = self.name();
                Existence::Gone(format!("{tool} says that container {short} exists no more"))
            }
        })
    }
}
