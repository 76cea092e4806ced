//! The command line of a transport, and of what is asked of the programs that keep containers.

use crate::environment;
use crate::places::Unreached;
use outlive_core::far::FarProgram;
use outlive_core::os_text::OsText;
use std::borrow::Cow;
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
    pub advice: Cow<'static, str>,
    pub words: Vec<OsString>,
    pub inherits: Inherits,
    pub set: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    pub directory: Option<PathBuf>,
}

/// What a program gets of the environment here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherits {
    /// Everything but our own variables.
    AllButOurs,
    /// What programs need to run, and what tools that enter other systems read: what runs there may inherit it.
    ForTools,
}

impl Line {
    pub fn new(program: &str, advice: &'static str, inherits: Inherits) -> Line {
        Line {
            program: program.to_owned(),
            advice: advice.into(),
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

    /// The same program at a place.
    pub fn to_far(&self) -> FarProgram {
        let set = self.set.iter();
        FarProgram {
            program: self.program.clone(),
            advice: self.advice.clone().into_owned(),
            words: self.words.iter().cloned().map(OsText::from).collect(),
            inherits_all: self.inherits == Inherits::AllButOurs,
            set: set
                .map(|(name, value)| (name.clone().into_owned(), value.clone().into_owned()))
                .collect(),
        }
    }

    /// A program that another machine has asked for.
    pub fn from_far(program: FarProgram) -> Line {
        let set = program.set.into_iter();
        Line {
            program: program.program,
            advice: program.advice.into(),
            words: program.words.into_iter().map(|word| word.0).collect(),
            inherits: match program.inherits_all {
                true => Inherits::AllButOurs,
                false => Inherits::ForTools,
            },
            set: set
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            directory: None,
        }
    }

    /// The command on this machine.
    pub fn command(&self) -> Result<Command, Unreached> {
        let mut command = Command::new(self.path()?);
        command
            .args(&self.words)
            .envs(self.set.iter().map(|(name, value)| (&**name, &**value)));
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
            let (program, advice) = (&self.program, &self.advice);
            Unreached::Refused(format!("there is no program {program:?} here; {advice}"))
        })
    }
}

impl Inherits {
    fn takes(self, name: &OsStr) -> bool {
        match self {
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
