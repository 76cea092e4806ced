//! The conversation that an agent's process has now, written down by its hooks.

use super::process::is_gone;
use crate::error::Error;
use crate::home::outlive::{Outlive, make_private};
use crate::inbox;
use crate::jobs::whereabouts;
use crate::random;
use outlive_core::host::Here;
use outlive_core::layout::{self, NEW};
use outlive_core::told::AgentProcess;
use outlive_core::{BootId, Label, ProcRef};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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

/// After this long without a turn, the record of an agent that this host cannot see is removed.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The record of one process.
#[derive(Debug, Serialize, Deserialize)]
struct Owner {
    boot: BootId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    agent: AgentProcess,
}

impl Owner {
    fn has_ended(&self, here: &Here, last_turn: SystemTime) -> bool {
        let is_of_namespace = self.agent.pid_namespace == here.host.pid_namespace;
        if self.boot == here.boot && is_of_namespace {
            return is_gone(&self.agent, &self.boot);
        }
        let was_before_a_restart =
            self.boot != here.boot && self.machine.is_some() && self.machine == here.host.machine;
        let age = last_turn.elapsed().unwrap_or_default();
        was_before_a_restart || age > FORGOTTEN
    }
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
        machine: whereabouts::here()?.host.machine.clone(),
        agent: *agent,
    };
    let path = directory.join("agent");
    let text = serde_json::to_vec(&owner).map_err(io::Error::from);
    text.and_then(|text| replace(&path, &text))
        .map_err(Error::io("cannot write", &path))?;
    Ok(directory)
}

/// Removes the directories of agents that have ended. Whether an agent of another machine or of a container
/// lives, this host cannot tell: it goes by the age. If a directory is removed too early, the agent's next hook
/// makes it again. If one cannot be removed, the next agent tries again.
fn remove_ended(agents: &Path) {
    let Ok(here) = whereabouts::here() else {
        return;
    };
    for entry in fs::read_dir(agents).into_iter().flatten().flatten() {
        let owner = layout::read(&entry.path().join("agent")).ok();
        let owner = owner.and_then(|text| serde_json::from_slice::<Owner>(&text).ok());
        let last_turn = entry.metadata().and_then(|meta| meta.modified());
        let has_ended = |(owner, last): (Owner, SystemTime)| owner.has_ended(here, last);
        if owner.zip(last_turn.ok()).is_some_and(has_ended) {
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
    use outlive_core::host::Host;
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

    #[test]
    fn records_of_an_earlier_boot_go_and_those_that_nobody_can_judge_go_when_they_are_old() {
        let here = Here {
            boot: BootId("now".to_owned()),
            host: Host {
                name: "host".to_owned(),
                machine: Some("ours".to_owned()),
                pid_namespace: 1,
            },
        };
        let has_ended = |boot: &str, machine: Option<&str>, days: u64| {
            let mut agent = agent(own::pid());
            agent.pid_namespace = 2;
            let owner = Owner {
                boot: BootId(boot.to_owned()),
                machine: machine.map(str::to_owned),
                agent,
            };
            owner.has_ended(
                &here,
                SystemTime::now() - Duration::from_secs(days * 86_400),
            )
        };
        assert!(has_ended("before", Some("ours"), 0));
        for (boot, machine) in [
            ("now", Some("ours")),
            ("other", Some("theirs")),
            ("other", None),
        ] {
            assert!(!has_ended(boot, machine, 29), "{boot} {machine:?}");
            assert!(has_ended(boot, machine, 31), "{boot} {machine:?}");
        }
    }
}
