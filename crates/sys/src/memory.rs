//! Files that are nowhere but in memory, and giving memory back.

use crate::heap::PAGE;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;

/// A new empty file, which goes with the last process that has it open. A forked process shares it, with
/// the place it is read from.
pub fn file(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

/// What a call of ours may have used of its stack, and more.
const STACK: usize = 128 * 1024;
/// Kept below the caller's frame: room for the frame of the call that gives back, which takes a tenth of it.
const MARGIN: usize = 1024;

/// Gives back what earlier, deeper calls left behind on the main thread's stack. For a process that has
/// just begun and will sleep long.
#[inline(never)]
pub fn release_stack() {
    let here = 0u8;
    let end = (&raw const here).addr().saturating_sub(MARGIN) & !(PAGE - 1);
    let start = end.saturating_sub(STACK);
    // SAFETY: everything from `start` to `end` is below the frame of this function, whose frame and
    // calls fit into the margin: no live object is there. No mapping but the stack's is that near below
    // it; where that is shorter the call fails after it has done the rest, which is as good.
    unsafe {
        libc::madvise(
            std::ptr::with_exposed_provenance_mut(start),
            end - start,
            libc::MADV_DONTNEED,
        )
    };
}
