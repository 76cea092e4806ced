//! What this machine can do, and which machine it is. Callers choose a mechanism by asking here, never
//! by `cfg`.

pub use crate::kernel::host;
pub use crate::kernel::lock::has_open_file_locks;
pub use crate::kernel::pidfd::{Addressing, addressing};
pub use crate::kernel::probe::*;
pub use crate::kernel::procfs::{Boot, boot, boot_id};
