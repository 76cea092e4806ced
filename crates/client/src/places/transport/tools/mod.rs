//! The tools that keep containers: asking them what a name means now, and running programs inside.
//!
//! What a tool is asked has an answer that programs can read. Its words for people decide nothing.
//!
//! | module | owns |
//! |---|---|
//! | `engine` | `docker` and `podman` |
//! | `apptainer` | `apptainer` and `singularity` |

pub mod apptainer;
mod engine;

use super::base::Base;
use super::line::Line;
use crate::places::Unreached;
use outlive_core::BootTime;
use outlive_core::place::{Address, ContainerRef};
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

/// A tool that keeps the container of an address.
pub trait Tool: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What the address names now, if programs can be started in it.
    fn find(&self, base: &Base, by: BootTime) -> Result<Found, Unreached>;

    /// Who says so: what tells this engine from others, whose containers are others.
    fn identity(&self, base: &Base, by: BootTime) -> Result<String, Unreached>;

    /// Whether [`enter`](Tool::enter) goes to the name. Then it must be looked again which container that was.
    fn is_entered_by_name(&self) -> bool {
        false
    }

    /// The command that runs this program in the container, with its input and output.
    fn enter(&self, container: &Found, program: &[&OsStr]) -> Line;

    /// Unpacks this archive in a directory of the container, without help from inside.
    fn put(
        &self,
        base: &Base,
        container: &Found,
        directory: &Path,
        archive: File,
        by: BootTime,
    ) -> Result<(), Unreached>;

    /// Whether a container that answered before exists.
    fn look_for(
        &self,
        base: &Base,
        container: &ContainerRef,
        by: BootTime,
    ) -> Result<Existence, Unreached>;
}

/// A container that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The engine never gives it to another container.
    pub id: String,
    pub started: String,
}

/// Whether a container exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existence {
    /// It does, whether it runs or not.
    There,
    /// It does not, and never will again. Who says so.
    Gone(String),
    /// Whoever answers has never known it.
    NotKnown,
}

/// The tool for an address, if it names a container.
pub fn of(address: &Address) -> Option<Box<dyn Tool>> {
    match address {
        Address::Container(container) => Some(Box::new(engine::Engine::of(container.clone()))),
        Address::Instance(instance) => Some(Box::new(apptainer::Instance::of(instance.clone()))),
        Address::Ssh(_)
        | Address::Image(_)
        | Address::Pod(_)
        | Address::Command(_)
        | Address::Text(_)
        | Address::Swerex(_)
        | Address::Caller(_) => None,
    }
}
