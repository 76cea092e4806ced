//! Files that are nowhere but in memory.

use crate::linux::own::naming;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;

/// A new empty file, which goes with the last process that has it open. A forked process shares it, with
/// the place it is read from.
pub fn file(name: &str) -> io::Result<File> {
    let made = memfd_create(name, MemfdFlags::CLOEXEC);
    naming("memfd_create", made).map(File::from)
}
