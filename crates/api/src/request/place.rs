//! `place add`

use crate::place::Fetch;
#[cfg(feature = "schema")]
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A name for a place, to write into the configuration.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AddPlace {
    /// The name.
    pub name: String,
    /// How it is reached, such as `ssh:HOST`.
    pub address: String,
    /// The configured place through which it is reached.
    #[serde(default)]
    pub via: Option<String>,
    /// The directory that jobs run in there; without one, the login directory.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The directory that holds the jobs there.
    #[serde(default)]
    pub home: Option<String>,
    /// Whether jobs get the environment of a login shell.
    #[serde(default)]
    pub login: bool,
    /// Environment variables of every job there.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// When the output of its jobs is copied here; without it, at their end for containers and pods, and never for others.
    #[serde(default)]
    pub fetch: Option<Fetch>,
    /// How long a verb tries to reach it.
    #[serde(default, rename = "reach_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub reach: Option<Duration>,
    /// Replace what the configuration says about this name.
    #[serde(default)]
    pub replace: bool,
}

/// Values of variables may be secrets, so they are not shown.
impl fmt::Debug for AddPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AddPlace { name, address, .. } = self;
        write!(out, "AddPlace {{ {name}: {address}, .. }}")
    }
}
