//! A process that cannot be mistaken for another.
//!
//! Pids are reused. A pid with the time its process started and the boot it started in names one
//! process for ever; that triple is what the journal keeps and what every decision compares.

use serde::{Deserialize, Serialize};

/// Which boot of the machine: the kernel makes a new random id each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootId(pub String);

/// One process, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcRef {
    pub pid: i32,
    /// When it started, in the kernel's clock ticks since boot.
    pub started: u64,
}
