//! What a job inherits from its caller's environment, and what is left out.
//!
//! The rest of the program knows only the result: names to remove and values to set. They go to the keeper when it
//! is started, and the job inherits them from it. So what is left out is not in the keeper either, and nothing is
//! written to disk.
//!
//! | of the caller's variables | the job gets |
//! |---|---|
//! | usually | all |
//! | where credentials of agents are withheld | all but those, unless they are passed on |
//! | with `clean` | the [base](BASE), what its doorbells need, and what is passed on |

use super::credentials::is_credential;
use crate::config::{self, Config, Kind, Secret, Withhold};
use outlive_api::request::{Environment, EnvironmentSource};
use outlive_core::far::FarVariables;
use outlive_core::os_text::OsText;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

/// What a clean environment still has. A name that ends with `*` is the beginning of several.
///
/// These are what programs need to find their files, their user and their language, and our own, so that a job can
/// use the same home.
pub const BASE: [&str; 14] = [
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
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "OUTLIVE_*",
];

/// What the sender of a webhook reads.
const FOR_WEBHOOKS: [&str; 9] = [
    super::CERTIFICATES,
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "all_proxy",
    "no_proxy",
];

/// What a desktop notification needs to find the desktop.
const FOR_DESKTOPS: [&str; 3] = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"];

/// The changes that make a job's environment out of that of this process.
#[derive(Clone, Debug, Default)]
pub struct JobVariables {
    removed: Vec<OsString>,
    set: Vec<(OsString, OsString)>,
    base: Base,
}

/// What the variables change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Base {
    /// The environment of this process.
    #[default]
    Caller,
    /// That of the far end at a place, which is not known here.
    Place,
}

impl JobVariables {
    /// These are removed, and then these are set.
    pub fn changing(removed: Vec<OsString>, set: Vec<(OsString, OsString)>) -> JobVariables {
        JobVariables {
            removed,
            set,
            base: Base::Caller,
        }
    }

    /// Nothing is removed, and these are set.
    #[cfg(test)]
    pub fn setting(set: Vec<(OsString, OsString)>) -> JobVariables {
        JobVariables {
            set,
            ..JobVariables::default()
        }
    }

    /// For a job at a place: what is not set here is inherited from the far end, and is not known.
    pub fn at_place(set: Vec<(OsString, OsString)>) -> JobVariables {
        JobVariables {
            set,
            base: Base::Place,
            ..JobVariables::default()
        }
    }

    /// As they travel to a place.
    pub fn to_far(&self) -> FarVariables {
        let text = |text: &OsString| OsText::from(text.clone());
        let set = self.set.iter();
        FarVariables {
            removed: self.removed.iter().map(text).collect(),
            set: set.map(|(name, value)| (text(name), text(value))).collect(),
        }
    }

    /// Sets a variable, whatever was inherited.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.set.push((name.into(), value.into()));
    }

    /// Whether a value was set, beside what is inherited.
    pub fn is_set(&self, name: &str) -> bool {
        self.set.iter().any(|(set, _)| set == name)
    }

    /// The value that the job gets, as far as it is known here.
    pub fn get(&self, name: &str) -> Option<OsString> {
        let set = self.set.iter().rev().find(|(set, _)| set == name);
        match set {
            Some((_, value)) => Some(value.clone()),
            None if self.removed.iter().any(|removed| removed == name) => None,
            None if self.base == Base::Place => None,
            None => env::var_os(name),
        }
    }

    /// Gives them to a command.
    pub fn give(&self, command: &mut Command) {
        for name in &self.removed {
            command.env_remove(name);
        }
        let set = self.set.iter();
        command.envs(set.map(|(name, value)| (name, value)));
    }
}

/// What a request inherits.
#[derive(Debug)]
pub struct Inherited {
    pub variables: JobVariables,
    /// The variables that were withheld because they hold credentials of agents. What the request left out or set
    /// itself is not among them.
    pub withheld: Vec<String>,
}

/// Decides what a job inherits, and adds what the request sets.
pub fn inherited(
    asked: &Environment,
    config: &Config,
    set: Vec<(OsString, OsString)>,
) -> Inherited {
    let names = env::vars_os().map(|(name, _)| name);
    select(names, asked, config, set)
}

fn select(
    names: impl Iterator<Item = OsString>,
    asked: &Environment,
    config: &Config,
    set: Vec<(OsString, OsString)>,
) -> Inherited {
    let withholds = match (config.environment.withhold, asked.source) {
        (Withhold::Always, _) | (Withhold::FromHarness, EnvironmentSource::Harness) => true,
        (Withhold::Never, _) | (Withhold::FromHarness, EnvironmentSource::Caller) => false,
    };
    let mut variables = JobVariables {
        set,
        ..JobVariables::default()
    };
    let mut withheld = Vec::new();
    for name in names {
        let bytes = name.as_bytes();
        let passed = asked.pass.iter().chain(&config.environment.pass);
        if passed.into_iter().any(|pattern| pattern.matches(bytes)) {
            continue;
        }
        if asked.clean {
            if !is_base(bytes) && !is_for_doorbells(&name, config) {
                variables.removed.push(name);
            }
        } else if withholds && is_credential(bytes) {
            if !variables.set.iter().any(|(set, _)| *set == name) {
                withheld.push(name.to_string_lossy().into_owned());
            }
            variables.removed.push(name);
        }
    }
    withheld.sort();
    Inherited {
        variables,
        withheld,
    }
}

fn is_base(name: &[u8]) -> bool {
    BASE.iter().any(|base| match base.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning.as_bytes()),
        None => base.as_bytes() == name,
    })
}

/// Whether a doorbell of this configuration reads the variable. The keeper rings in the environment of the job.
fn is_for_doorbells(name: &OsStr, config: &Config) -> bool {
    config.doorbells.iter().any(|bell| match &bell.kind {
        Kind::Webhook(config::Webhook { secret, .. }) => {
            let own = matches!(secret, Some(Secret::Variable(secret)) if name == secret.as_str());
            own || FOR_WEBHOOKS.iter().any(|known| name == *known)
        }
        Kind::Desktop => FOR_DESKTOPS.iter().any(|known| name == *known),
        Kind::Command(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_api::request::VariablePattern;
    use std::path::Path;

    const ALL: [&str; 8] = [
        "HOME",
        "LC_ALL",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "OPS_SECRET",
        "no_proxy",
        "OUTLIVE_HOME",
    ];

    /// The variables that are removed, and those of them that count as withheld.
    fn after(asked: &Environment, text: &str) -> (Vec<String>, Vec<String>) {
        let config = Config::parse(Path::new("c.toml"), text).expect("is right");
        let names = ALL.iter().map(OsString::from);
        let set = vec![("OPENAI_API_KEY".into(), "given".into())];
        let got = select(names, asked, &config, set);
        let removed = got.variables.removed.iter();
        let removed = removed.map(|name| name.to_string_lossy().into_owned());
        (removed.collect(), got.withheld)
    }

    fn passing(pattern: &str) -> Environment {
        Environment {
            pass: vec![VariablePattern::parse(pattern).expect("valid")],
            ..Environment::default()
        }
    }

    const HARNESS: Environment = Environment {
        clean: false,
        pass: Vec::new(),
        source: EnvironmentSource::Harness,
        login: false,
    };

    #[test]
    fn credentials_of_agents_are_withheld_where_the_configuration_says() {
        let own = Environment::default;
        let both = (
            vec!["OPENAI_API_KEY".to_owned(), "ANTHROPIC_API_KEY".to_owned()],
            vec!["ANTHROPIC_API_KEY".to_owned()],
        );
        let nothing = (Vec::new(), Vec::new());
        for (asked, text, expected) in [
            (own(), "", &nothing),
            (HARNESS, "", &both),
            (own(), "environment.withhold = \"always\"", &both),
            (HARNESS, "environment.withhold = \"never\"", &nothing),
            (
                HARNESS,
                "environment.pass = [\"ANTHROPIC_*\", \"OPENAI_API_KEY\"]",
                &nothing,
            ),
        ] {
            assert_eq!(&after(&asked, text), expected, "{asked:?} {text}");
        }
        let asked = Environment {
            source: EnvironmentSource::Harness,
            ..passing("*_API_KEY")
        };
        assert_eq!(after(&asked, ""), nothing);
    }

    #[test]
    fn a_clean_environment_has_the_base_and_what_is_passed_on() {
        let bell = "[[doorbell]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"https://h\"\nsecret_env = \"OPS_SECRET\"";
        let asked = Environment {
            clean: true,
            ..passing("GITHUB_*")
        };
        let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"];
        let (removed, withheld) = after(&asked, "");
        assert_eq!(removed, [&keys[..], &["OPS_SECRET", "no_proxy"]].concat());
        assert!(withheld.is_empty(), "nobody is surprised");
        assert_eq!(after(&asked, bell).0, keys);
    }
}
