//! The conversation that an agent's process has now, written down by its hooks.

use super::process::is_gone;
use crate::error::Error;
use crate::home::outlive::{Outlive, make_private};
use crate::inbox;
use crate::jobs::whereabouts;
use crate::random;
use outlive_core::layout::{self, NEW};
use outlive_core::told::AgentProcess;
use outlive_core::{BootId, Label, ProcRef};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file in the directory of an agent's process.
const CONVERSATION: &str = "conversation";
/// The files beside it, one for each session: the turn that began last.
const TURN: &str = "turn-";

/// What an agent's process does now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The session of the conversation.
    pub session: Label,
}

/// The record of one process.
#[derive(Debug, Serialize, Deserialize)]
struct Owner {
    boot: BootId,
    agent: AgentProcess,
}

/// A turn of a conversation. A hook that waits while the agent is idle compares it: after the next turn
/// has begun, another hook waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn(String);

impl Conversation {
    /// The conversation of this agent, if one of its hooks has written it down.
    pub fn of(outlive: &Outlive, agent: &AgentProcess) -> Option<Conversation> {
        let directory = directory(outlive, agent).ok()?;
        let text = layout::read(&directory.join(CONVERSATION)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Whether hooks have been called for a turn of this session. A process of an agent may have several
    /// conversations at a time (Codex has all of a user's in one).
    pub fn is_known(outlive: &Outlive, agent: &AgentProcess, session: &Label) -> bool {
        let directory = directory(outlive, agent);
        directory.is_ok_and(|directory| directory.join(file_name(session)).is_file())
    }

    /// Writes down that the agent has this conversation now. Wakes the hook that waits for the one that it
    /// had before.
    pub fn enter(&self, outlive: &Outlive, agent: &AgentProcess) -> Result<(), Error> {
        let before = Conversation::of(outlive, agent);
        if before.as_ref() == Some(self) {
            return Ok(());
        }
        let directory = make_directory(outlive, agent)?;
        let path = directory.join(CONVERSATION);
        let text = serde_json::to_vec(self).map_err(io::Error::from);
        text.and_then(|text| replace(&path, &text))
            .map_err(Error::io("cannot write", &path))?;
        if let Some(before) = before {
            inbox::wake(outlive, &before.session);
        }
        Ok(())
    }
}

impl Turn {
    /// Records that a turn of this conversation begins, or that it ends and the agent is idle from now on.
    /// Wakes the hook that waited until now.
    pub fn begin(outlive: &Outlive, agent: &AgentProcess, session: &Label) -> Result<Turn, Error> {
        let turn = Turn(random::token()?);
        let path = make_directory(outlive, agent)?.join(file_name(session));
        replace(&path, turn.0.as_bytes()).map_err(Error::io("cannot write", &path))?;
        inbox::wake(outlive, session);
        Ok(turn)
    }

    /// Whether no other turn has begun since.
    pub fn is_latest(&self, outlive: &Outlive, agent: &AgentProcess, session: &Label) -> bool {
        let path = directory(outlive, agent).map(|directory| directory.join(file_name(session)));
        let text = path.ok().and_then(|path| layout::read(&path).ok());
        text.is_some_and(|text| text == self.0.as_bytes())
    }
}

fn file_name(session: &Label) -> String {
    format!("{TURN}{}", session.file_name())
}

/// The directory of an agent's process. Its name contains the boot and the PID namespace: hosts that share
/// a home may have processes with the same number.
pub(super) fn directory(outlive: &Outlive, agent: &AgentProcess) -> Result<PathBuf, Error> {
    const ENOUGH_OF_A_BOOT_ID: usize = 8;
    let boot: String = whereabouts::here()?
        .boot
        .0
        .chars()
        .take(ENOUGH_OF_A_BOOT_ID)
        .collect();
    let ProcRef { pid, started } = agent.process;
    let name = format!("{boot}-{}-{pid}-{started}", agent.pid_namespace);
    Ok(outlive.home().agents().join(name))
}

/// Makes the directory of an agent, and removes those of agents that have ended.
pub(super) fn make_directory(outlive: &Outlive, agent: &AgentProcess) -> Result<PathBuf, Error> {
    let directory = directory(outlive, agent)?;
    if directory.is_dir() {
        return Ok(directory);
    }
    outlive.prepare()?;
    remove_ended(&outlive.home().agents());
    make_private(&directory)?;
    let owner = Owner {
        boot: whereabouts::here()?.boot.clone(),
        agent: *agent,
    };
    let path = directory.join("agent");
    let text = serde_json::to_vec(&owner).map_err(io::Error::from);
    text.and_then(|text| replace(&path, &text))
        .map_err(Error::io("cannot write", &path))?;
    Ok(directory)
}

/// Removes the directories of agents that ran on this host and have ended. Those of other hosts stay: this
/// host cannot tell whether their agents live. If one cannot be removed, the next agent tries again.
fn remove_ended(agents: &Path) {
    let Ok(here) = whereabouts::here() else {
        return;
    };
    for entry in fs::read_dir(agents).into_iter().flatten().flatten() {
        let owner = layout::read(&entry.path().join("agent")).ok();
        let owner = owner.and_then(|text| serde_json::from_slice::<Owner>(&text).ok());
        let has_ended = owner.is_some_and(|Owner { boot, agent }| {
            let is_here = boot == here.boot && agent.pid_namespace == here.host.pid_namespace;
            is_here && is_gone(&agent, &boot)
        });
        if has_ended {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Replaces a small file in one step. It is not synced: it means nothing after a restart.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let token = random::token().map_err(io::Error::other)?;
    let new = path.with_file_name(format!("{NEW}{token}"));
    let written = layout::make(&new).and_then(|mut file| file.write_all(text));
    let written = written.and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use outlive_sys::process::{self, own};
    use outlive_sys::spawn;
    use std::process::Command;

    fn agent(pid: i32) -> AgentProcess {
        AgentProcess {
            process: ProcRef {
                pid,
                started: process::stat(pid).unwrap().started,
            },
            pid_namespace: whereabouts::here().unwrap().host.pid_namespace,
        }
    }

    fn label(text: &str) -> Label {
        Label::parse(text).unwrap()
    }

    #[test]
    fn a_process_has_the_conversation_that_was_written_last() {
        let home = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(home.path().join("home")).unwrap();
        let this = agent(own::pid());
        assert_eq!(Conversation::of(&outlive, &this), None);
        for session in ["one", "two"] {
            let conversation = Conversation {
                session: label(session),
            };
            conversation.enter(&outlive, &this).unwrap();
            assert_eq!(Conversation::of(&outlive, &this), Some(conversation));
        }
        let turn = Turn::begin(&outlive, &this, &label("one")).unwrap();
        Turn::begin(&outlive, &this, &label("two")).unwrap();
        assert!(turn.is_latest(&outlive, &this, &label("one")));
        Turn::begin(&outlive, &this, &label("one")).unwrap();
        assert!(!turn.is_latest(&outlive, &this, &label("one")));
    }

    #[test]
    fn the_record_of_an_ended_agent_is_removed_by_the_next_one() {
        let home = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(home.path().join("home")).unwrap();
        let mut child = spawn::start(Command::new("sleep").arg("60")).unwrap();
        let ended = agent(child.id() as i32);
        let conversation = Conversation {
            session: label("one"),
        };
        conversation.enter(&outlive, &ended).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        conversation.enter(&outlive, &agent(own::pid())).unwrap();
        assert_eq!(Conversation::of(&outlive, &ended), None);
        assert_eq!(fs::read_dir(outlive.home().agents()).unwrap().count(), 1);
    }
}
