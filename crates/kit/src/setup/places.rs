//! Where a user's agents keep their files, and what setup puts into each file.

use super::journal::Store;
use super::piece::Piece;
use super::switch::Switch;
use super::{Refused, Scope};
use crate::agent::Agent;
use crate::profile::{Site, UserDirectories};
use outlive::environment;
use std::path::PathBuf;

/// Where a user's agents keep their configuration, and which program they must start.
#[derive(Clone, Debug)]
pub struct Places {
    user: UserDirectories,
    /// Where the journal of setup is.
    pub(super) store: Store,
    /// `outlive` if `PATH` has it, else the path of this program.
    program: String,
}

/// A file that an agent reads, and what setup puts into it.
#[derive(Clone, Debug)]
pub struct Target {
    /// Setup follows links up to this directory: they are the user's own arrangement.
    pub base: PathBuf,
    pub path: PathBuf,
    pub piece: Piece,
}

impl Places {
    /// Takes the directories from the environment. `home` is the home of Outlive.
    pub fn of_user(home: PathBuf) -> Result<Places, Refused> {
        let user = etcetera::home_dir().map_err(|_| Refused::NoHome)?;
        let config = environment::non_empty(environment::CONFIG_HOME)
            .map_or_else(|| user.join(".config"), PathBuf::from);
        let found = environment::on_path("outlive").is_some();
        let own = std::env::current_exe().ok().filter(|_| !found);
        Ok(Places {
            user: UserDirectories { home: user, config },
            store: Store::new(home),
            program: own.map_or("outlive".to_owned(), |path| path.display().to_string()),
        })
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Whether this agent seems to be used here.
    pub fn has(&self, agent: Agent) -> bool {
        environment::on_path(agent.program()).is_some()
            || agent.profile().user_directory(&self.user).is_dir()
    }

    pub(super) fn targets(&self, agent: Agent, scope: &Scope, may_call: bool) -> Vec<Target> {
        let (base, own) = self.roots(agent, scope);
        let site = self.site(agent, scope, own, may_call);
        let target = |(path, piece)| Target {
            base: base.clone(),
            path,
            piece,
        };
        let files = agent.profile().files(&site);
        files.into_iter().map(target).collect()
    }

    fn site<'a>(
        &'a self,
        agent: Agent,
        scope: &'a Scope,
        own: PathBuf,
        may_call: bool,
    ) -> Site<'a> {
        Site {
            agent,
            scope,
            program: self.program(scope),
            own,
            user: &self.user,
            may_call,
        }
    }

    /// What switches off what setup writes.
    pub(super) fn obstacles(&self, agent: Agent, scope: &Scope) -> Vec<String> {
        let (_, own) = self.roots(agent, scope);
        let switches = agent
            .profile()
            .switches(&self.site(agent, scope, own, false));
        switches.iter().filter_map(Switch::warning).collect()
    }

    /// What a person must still do after setup.
    pub(super) fn notes(&self, agent: Agent, scope: &Scope) -> Vec<String> {
        let note = agent.profile().note(scope);
        let mut notes: Vec<String> = note.into_iter().map(str::to_owned).collect();
        if environment::on_path("outlive").is_none() {
            notes.push(
                "`outlive` is not on PATH: agents cannot run it by that name in their shells"
                    .to_owned(),
            );
        }
        notes
    }

    /// The program of this user, as an agent would start it.
    pub(super) fn own_program(&self) -> &str {
        &self.program
    }

    /// A project's files contain no path: other people's machines have the program elsewhere.
    fn program(&self, scope: &Scope) -> &str {
        match scope {
            Scope::User => &self.program,
            Scope::Project(_) => "outlive",
        }
    }

    /// The directory that setup works in, and the agent's own directory in it.
    fn roots(&self, agent: Agent, scope: &Scope) -> (PathBuf, PathBuf) {
        let profile = agent.profile();
        match scope {
            Scope::Project(root) => (root.clone(), root.join(profile.project_directory())),
            Scope::User => {
                let own = profile.user_directory(&self.user);
                match own.starts_with(&self.user.home) {
                    true => (self.user.home.clone(), own),
                    false => (own.clone(), own),
                }
            }
        }
    }
}
