//! The command line of a transport, and of what is asked of the programs that keep containers.

use crate::environment;
use crate::places::Unreached;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

/// A program and its arguments. No shell reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub program: String,
    /// What helps if there is no such program.
    pub advice: &'static str,
    pub words: Vec<OsString>,
    pub inherits: Inherits,
    pub set: Vec<(&'static str, &'static str)>,
    pub directory: Option<PathBuf>,
}

/// What a program gets of the environment here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherits {
    /// Everything: it is our own program.
    All,
    /// Everything but our own variables.
    AllButOurs,
    /// What programs need to run, and what tools that enter other systems read: what runs there may inherit it.
    ForTools,
}

impl Line {
    pub fn new(program: &str, advice: &'static str, inherits: Inherits) -> Line {
        Line {
            program: program.to_owned(),
            advice,
            words: Vec::new(),
            inherits,
            set: Vec::new(),
            directory: None,
        }
    }

    /// Adds these words.
    pub fn with<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Line {
        let words = words.into_iter().map(|word| word.as_ref().to_owned());
        self.words.extend(words);
        self
    }

    /// The command on this machine.
    pub fn command(&self) -> Result<Command, Unreached> {
        let mut command = Command::new(self.path()?);
        command
            .args(&self.words)
            .envs(self.set.iter().map(|(name, value)| (name, value)));
        for (name, _) in env::vars_os().filter(|(name, _)| !self.inherits.takes(name)) {
            command.env_remove(name);
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        Ok(command)
    }

    fn path(&self) -> Result<PathBuf, Unreached> {
        if self.program.contains('/') {
            return Ok(PathBuf::from(&self.program));
        }
        let found = environment::on_path(&self.program);
        found.ok_or_else(|| {
            let (program, advice) = (&self.program, self.advice);
            Unreached::Refused(format!("there is no program {program:?} here; {advice}"))
        })
    }
}

impl Inherits {
    fn takes(self, name: &OsStr) -> bool {
        match self {
            Inherits::All => true,
            Inherits::AllButOurs => !name.as_bytes().starts_with(b"OUTLIVE_"),
            Inherits::ForTools => TOOL_VARIABLES.iter().any(|known| matches(known, name)),
        }
    }
}

/// What [`Inherits::ForTools`] takes. A name that ends with `*` is the beginning of several.
const TOOL_VARIABLES: [&str; 26] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "TMPDIR",
    "XDG_*",
    "DBUS_*",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DOCKER_*",
    "PODMAN_*",
    "CONTAINER_*",
    "CONTAINERS_*",
    "APPTAINER_*",
    "SINGULARITY_*",
    "KUBECONFIG",
    "KUBERNETES_*",
    "LXD_*",
    "INCUS_*",
    "LD_LIBRARY_PATH",
];

fn matches(known: &str, name: &OsStr) -> bool {
    match known.strip_suffix('*') {
        Some(start) => name.as_bytes().starts_with(start.as_bytes()),
        None => name == known,
    }
}
