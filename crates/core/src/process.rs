//! A reference to a process that stays correct when its process ID is reused.
//!
//! The kernel reuses process IDs. A process ID together with the start time and the boot names one
//! process for ever. The journal stores this triple, and every decision compares it.

use serde::{Deserialize, Serialize};

/// Names one boot of the machine. The kernel makes a new random id at each boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootId(pub String);

/// One process, identified for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcRef {
    pub pid: i32,
    /// The start time in the kernel's clock ticks since boot.
    pub started: u64,
}
