//! A place: its address, and what the configuration says about it.

use crate::config::Secret;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use outlive_core::place::{Address, PlaceName};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A place that is not this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// As the user named it, and as `place` in a spec has it.
    pub name: String,
    pub address: Address,
    pub settings: Settings,
}

/// The table `[place.NAME]`, or the defaults for a place that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where jobs run; else the login directory.
    pub cwd: Option<PathBuf>,
    /// Where its jobs are kept there; else the far end looks for a directory.
    pub home: Option<PathBuf>,
    /// A directory for our program there, which is tried after the usual ones.
    pub far_dir: Option<PathBuf>,
    /// Jobs get the environment of a login shell.
    pub login: bool,
    /// Variables of every job there.
    pub env: Vec<(String, String)>,
    /// How long a verb tries to reach it.
    pub reach: Duration,
    /// Of a place that can only run one command.
    pub calls: Calls,
}

/// How calls are made at a place that can only run one command and return its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// The longest text of an answer. The place may cut a longer one.
    pub answer: usize,
    /// How long a call waits there for news, at most. If one command keeps the place from others, this is how often it is
    /// asked.
    pub patience: Option<Duration>,
    /// News is waited for while somebody listens. If not, it comes with the next verb.
    pub listen: bool,
    /// How values of variables may travel. Without it they do not, if others there could see them.
    pub secrets: Option<Secrets>,
    /// What the service wants to know before it does anything.
    pub token: Option<Secret>,
}

/// How values of variables travel to a place that can only run one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// In arguments, which other processes there can see.
    Argv,
    /// On the standard input of the command, which `text:` passes on.
    Stdin,
}

/// How long a verb tries to reach a place, if nothing else is configured.
pub const REACH: Duration = Duration::from_secs(30);

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            cwd: None,
            home: None,
            far_dir: None,
            login: false,
            env: Vec::new(),
            reach: REACH,
            calls: Calls::default(),
        }
    }
}

impl Default for Calls {
    fn default() -> Calls {
        Calls {
            answer: ANSWER,
            patience: None,
            listen: true,
            secrets: None,
            token: None,
        }
    }
}

impl Calls {
    /// How long a call waits at the place, or how often a place is asked that does one thing at a time.
    pub fn patience_of(&self, is_serial: bool) -> Duration {
        let usual = match is_serial {
            true => SERIAL_PATIENCE,
            false => PATIENCE,
        };
        self.patience.unwrap_or(usual)
    }
}

/// The longest answer, if nothing else is configured. Harnesses cut what a model is shown at 16 KiB or 30,000 letters.
pub const ANSWER: usize = 16 * 1024;

/// The patience of a call, if nothing else is configured. Services end commands after 30 s or more.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The same where one command keeps the place from all others.
pub const SERIAL_PATIENCE: Duration = Duration::from_secs(1);

impl Place {
    /// The place that a text names; `None` for this machine.
    pub fn resolve(outlive: &Outlive, text: &str) -> Result<Option<Place>, Error> {
        let place = match PlaceName::parse(text).map_err(PlaceError::Bad)? {
            PlaceName::Local => return Ok(None),
            PlaceName::At(address) => Place {
                name: text.to_owned(),
                address,
                settings: Settings::default(),
            },
            PlaceName::Named(name) => {
                let configured = outlive.config()?.places.remove(name.as_str());
                configured.ok_or(PlaceError::NoSuch(text.to_owned()))?
            }
        };
        Ok(Some(place))
    }

    /// Where its jobs are kept there, if that is known here. Else the far end looks for a directory.
    pub fn far_home(&self) -> Option<PathBuf> {
        let configured = self.settings.home.clone();
        configured.or_else(|| match &self.address {
            // It shares the home directory of the user with this machine, and its processes have other numbers.
            Address::Instance(instance) => {
                let directory = "~/.local/state/outlive-at";
                Some(Path::new(directory).join(&instance.name))
            }
            _ => None,
        })
    }

    /// The name of its directory in `places/`.
    pub fn key(&self) -> String {
        let mut key = String::new();
        for byte in self.name.bytes() {
            match byte.is_ascii_alphanumeric() || b"_-@".contains(&byte) {
                true => key.push(byte as char),
                false => key.push_str(&format!("%{byte:02x}")),
            }
        }
        if key.len() <= MAX_KEY {
            return key;
        }
        // A percent sign is otherwise followed by two digits, so this is no other place's key.
        format!("%long-{:016x}", fnv(self.name.as_bytes()))
    }
}

/// Also fits a socket's path beside the usual home.
const MAX_KEY: usize = 200;

/// FNV-1a: names a directory, and protects nothing.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
