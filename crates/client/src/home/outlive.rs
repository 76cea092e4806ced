//! The entry point: a home, and the jobs in it.

use crate::config::Config;
use crate::environment;
use crate::error::Error;
use crate::home::private::{check_owner, hide_from_others, may_be_home};
use crate::home::relink;
use crate::jobs::naming;
use etcetera::BaseStrategy;
use outlive_core::next_step::Reader;
use outlive_core::told::{AgentProcess, HandedWith, Note, ToldBy};
use outlive_core::{Home, JobDir, JobId, Label, Spec, layout};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A home: everything that this user runs.
#[derive(Clone, Debug)]
pub struct Outlive {
    home: Home,
    /// Whether this program can be its own keeper.
    pub(crate) is_keeper: bool,
    caller: Caller,
    secrets: Secrets,
    only_looks: bool,
    /// The agent that gets what verbs report, if its hooks show what it has read.
    hands_to: Option<AgentProcess>,
    reader: Reader,
}

/// Whether answers contain credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrets {
    Hidden,
    Shown,
}

/// The caller of the verbs. If a session learns something from its own call, it is not told again. If
/// somebody else learns it, the session is still told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Caller {
    /// This session.
    Session(Label),
    /// A person at a terminal, who belongs to no session.
    Person,
    /// Unknown: perhaps a script of the job's session, perhaps somebody else. The session is told
    /// everything that this caller learns.
    #[default]
    Unknown,
}

impl Outlive {
    /// Opens the user's home: `$OUTLIVE_HOME`, else the state directory of the user. It need not exist yet.
    pub fn open() -> Result<Outlive, Error> {
        match environment::non_empty(environment::HOME) {
            Some(root) => Outlive::open_at(root),
            None => Outlive::open_at(default_home()?),
        }
    }

    /// Opens the home in this directory, which need not exist yet.
    pub fn open_at(root: impl Into<PathBuf>) -> Result<Outlive, Error> {
        let root = root.into();
        let root = std::path::absolute(&root).map_err(Error::io("cannot make sense of", &root))?;
        let home = Home::at(root);
        check_owner(home.root())?;
        if home.ended().is_dir() {
            hide_from_others(home.root())?;
        }
        Ok(Outlive {
            home,
            is_keeper: false,
            caller: Caller::Unknown,
            secrets: Secrets::Hidden,
            only_looks: false,
            hands_to: None,
            reader: Reader::Shell,
        })
    }

    /// Sets the caller of the verbs.
    pub fn called_by(mut self, caller: Caller) -> Outlive {
        self.caller = caller;
        self
    }

    /// Shows commands and output unredacted. Without this, every verb replaces credentials by markers.
    /// Use it only if the owner of the jobs reads the answers.
    #[must_use]
    pub fn showing_secrets(mut self) -> Outlive {
        self.secrets = Secrets::Shown;
        self
    }

    /// Redacts credentials in answers, which is the default.
    #[must_use]
    pub fn hiding_secrets(mut self) -> Outlive {
        self.secrets = Secrets::Hidden;
        self
    }

    pub(crate) fn shows_secrets(&self) -> bool {
        self.secrets == Secrets::Shown
    }

    /// Marks the caller as one that only looks: no verb records that it was told anything or claims
    /// events. So [`Inbox::next`](crate::inbox::Inbox::next) returns the same events again at once.
    #[must_use]
    pub fn only_looking(mut self) -> Outlive {
        self.only_looks = true;
        self
    }

    /// What verbs report goes to this agent, whose hooks show what its model has read. Until they do, the
    /// session does not count as told.
    #[doc(hidden)]
    #[must_use]
    pub fn handing_to(mut self, agent: AgentProcess) -> Outlive {
        self.hands_to = Some(agent);
        self
    }

    /// Makes texts name tools of the MCP server as the next step. Without this they name commands for a
    /// shell.
    #[must_use]
    pub fn naming_tools(mut self) -> Outlive {
        self.reader = Reader::Tools;
        self
    }

    pub(crate) fn reader(&self) -> Reader {
        self.reader
    }

    /// What to record of events that the caller has been told.
    pub(crate) fn note_of(&self, how: ToldBy) -> Note {
        match self.hands_to {
            Some(to) => Note::Handed {
                to,
                with: HandedWith::ToolResult,
            },
            None => Note::Told { how },
        }
    }

    pub(crate) fn only_looks(&self) -> bool {
        self.only_looks
    }

    /// For a caller that names the session it acts for: it speaks for that session, unless it is known
    /// to be another one.
    pub fn speaking_for(self, session: Option<&Label>) -> Outlive {
        match (&self.caller, session) {
            (Caller::Unknown, Some(session)) => self.called_by(Caller::Session(session.clone())),
            _ => self,
        }
    }

    /// The calling session, if the caller named it. It is never guessed.
    pub(crate) fn calling_session(&self) -> Option<&Label> {
        match &self.caller {
            Caller::Session(session) => Some(session),
            Caller::Unknown | Caller::Person => None,
        }
    }

    /// For a program whose `main` runs the keeper when it is called `outlive-keeper`: if no keeper is
    /// installed beside it, the program serves as its own keeper.
    pub fn as_own_keeper(mut self) -> Outlive {
        self.is_keeper = true;
        self
    }

    /// The configuration of this home, read from disk at each call.
    pub fn config(&self) -> Result<Config, Error> {
        Ok(Config::load(self)?)
    }

    /// The home, for its paths.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The directory of a job, for its paths.
    pub fn job_dir(&self, id: &JobId) -> JobDir {
        self.home.job(id)
    }

    /// Creates the home's directories, if needed.
    pub(crate) fn prepare(&self) -> Result<(), Error> {
        if self.home.ended().is_dir() {
            return Ok(());
        }
        make_private(self.home.root())?;
        // In a directory that everybody may write to, another user may have created the home first.
        check_owner(self.home.root())?;
        if !may_be_home(self.home.root()) {
            return Err(Error::NotAHome(self.home.root().to_owned()));
        }
        hide_from_others(self.home.root())?;
        // The directory that is created last is the one checked above, so that a half-created home is
        // completed.
        for path in [
            self.home.jobs(),
            self.home.live(),
            self.home.sessions(),
            self.home.names(),
            self.home.inboxes(),
            self.home.ended(),
        ] {
            make_private(&path)?;
        }
        relink::once_a_boot(self).map(drop)
    }

    /// Finds a job by its id, its name, or a unique prefix of its id.
    pub fn find(&self, text: &str) -> Result<JobId, Error> {
        let exact = JobId::parse(text).ok();
        if let Some(id) = &exact
            && self.has(id)
        {
            return Ok(id.clone());
        }
        let name = Label::parse(text).ok();
        if let Some(name) = &name
            && let Some(id) = naming::find(self, name, self.calling_session())?
        {
            return Ok(id);
        }
        if exact.is_none() {
            return Err(self.no_such_job(text));
        }
        let mut candidates = self.all_ids()?;
        candidates.retain(|id| id.as_str().starts_with(text));
        candidates.sort();
        match candidates.len() {
            0 => Err(self.no_such_job(text)),
            1 => Ok(candidates.remove(0)),
            _ => Err(Error::Ambiguous {
                text: text.to_owned(),
                candidates,
            }),
        }
    }

    /// Like [`find`](Outlive::find), for a caller that may see the jobs of every session. If the
    /// caller's own session has no job with this name, the name means the only running job with it, of
    /// any session.
    pub fn find_of_any_session(&self, text: &str) -> Result<JobId, Error> {
        let found = self.find(text);
        let (Err(error), Ok(name)) = (&found, Label::parse(text)) else {
            return found;
        };
        if !error.is_no_such_job() {
            return found;
        }
        let mut candidates = naming::of_others(self, &name)?;
        match candidates.len() {
            0 => found,
            1 => Ok(candidates.remove(0)),
            _ => Err(Error::Ambiguous {
                text: text.to_owned(),
                candidates,
            }),
        }
    }

    /// The error for a name that no job of the caller has.
    fn no_such_job(&self, text: &str) -> Error {
        let name = Label::parse(text).ok();
        // A session learns nothing about other sessions.
        let is_person = self.calling_session().is_none();
        let candidates = name
            .filter(|_| is_person)
            .and_then(|name| self.named_elsewhere(&name).ok())
            .unwrap_or_default();
        match candidates.is_empty() {
            false => Error::NamedElsewhere {
                name: text.to_owned(),
                candidates,
            },
            true => Error::NoSuchJob(text.to_owned()),
        }
    }

    /// The jobs of other sessions with this name: the running ones, or else the one that ended last.
    fn named_elsewhere(&self, name: &Label) -> Result<Vec<JobId>, Error> {
        let running = naming::of_others(self, name)?;
        match running.is_empty() {
            false => Ok(running),
            true => Ok(naming::newest_of_others(self, name)?.into_iter().collect()),
        }
    }

    /// A job that is removed while it is being read is reported as missing, not as damaged.
    pub(crate) fn unless_removed(&self, id: &JobId, error: Error) -> Error {
        match self.has(id) {
            true => error,
            false => Error::NoSuchJob(id.to_string()),
        }
    }

    /// Whether a job with this id exists. If the disk has failed, that is unknown; then it may exist,
    /// and its keeper may answer.
    pub(crate) fn has(&self, id: &JobId) -> bool {
        const EIO: i32 = 5;
        match self.job_dir(id).path().metadata() {
            Ok(found) => found.is_dir(),
            Err(error) => error.raw_os_error() == Some(EIO),
        }
    }

    /// The spec of a job.
    pub(crate) fn read_spec(&self, id: &JobId) -> Result<Spec, Error> {
        self.read_spec_in(&self.job_dir(id), id, &mut Vec::new())
    }

    /// The spec of the job in this directory, read through a buffer that many jobs share.
    pub(crate) fn read_spec_in(
        &self,
        dir: &JobDir,
        id: &JobId,
        buffer: &mut Vec<u8>,
    ) -> Result<Spec, Error> {
        let spec = dir.read_spec_with(buffer);
        let mut spec = spec.map_err(|error| self.unless_removed(id, error.into()))?;
        // A directory is named after the id of its job.
        if spec.id != *id {
            spec.id = id.clone();
        }
        Ok(spec)
    }

    pub(crate) fn all_ids(&self) -> Result<Vec<JobId>, Error> {
        ids_in(&self.home.jobs())
    }

    pub(crate) fn live_ids(&self) -> Result<Vec<JobId>, Error> {
        let mut ids = relink::once_a_boot(self)?;
        ids.extend(ids_in(&self.home.live())?);
        Ok(ids)
    }

    pub(crate) fn session_ids(&self, session: &Label) -> Result<Vec<JobId>, Error> {
        ids_in(&self.home.session(session))
    }
}

/// The job ids among a directory's entries; empty if the directory does not exist.
pub(crate) fn ids_in(path: &Path) -> Result<Vec<JobId>, Error> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(Error::io("cannot read", path))?,
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry.map_err(Error::io("cannot read", path))?.file_name();
        ids.extend(name.to_str().and_then(|name| JobId::parse(name).ok()));
    }
    Ok(ids)
}

fn default_home() -> Result<PathBuf, Error> {
    let strategy = etcetera::choose_base_strategy().map_err(|_| Error::NoHome)?;
    let state = strategy.state_dir().ok_or(Error::NoHome)?;
    Ok(state.join("outlive"))
}

/// Creates a private directory, if needed.
pub(crate) fn make_private(path: &Path) -> Result<(), Error> {
    layout::make_directory(path).map_err(Error::io("cannot make the directory", path))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn a_directory_is_made_while_another_removes_it() {
        let world = tempfile::tempdir().unwrap();
        let path = world.path().join("a/b");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _ = fs::remove_dir(&path);
                }
            });
            let made = (0..20_000).try_for_each(|_| make_private(&path));
            done.store(true, Ordering::Relaxed);
            made.unwrap();
        });
    }

    #[test]
    fn the_error_names_what_is_in_the_way() {
        let world = tempfile::tempdir().unwrap();
        let path = world.path().join("file");
        fs::write(&path, "").unwrap();
        assert!(make_private(&path).is_err());
    }
}
