//! A place: its address, and what the configuration says about it.

use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use outlive_api::place::Fetch;
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
    /// When the output of jobs is copied here; else as fits the address.
    pub fetch: Option<Fetch>,
    /// The place through which it is reached: what reaches it is started there.
    pub via: Option<String>,
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
            fetch: None,
            via: None,
        }
    }
}

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

    /// When the output of its jobs is copied here. The disk of a container vanishes with it.
    pub fn fetch(&self) -> Fetch {
        let usual = match self.address {
            Address::Container(_) | Address::Instance(_) | Address::Pod(_) => Fetch::End,
            Address::Ssh(_) | Address::Image(_) | Address::Command(_) => Fetch::Never,
        };
        self.settings.fetch.unwrap_or(usual)
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
