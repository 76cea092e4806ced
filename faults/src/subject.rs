//! What file or path a system call is about, and so which faults it can really meet.
//!
//! A full or broken disk affects only calls on the home. A signal interrupts only calls that can sleep, and
//! calls on regular files do not.

use crate::calls::{self, Argument, Fault};
use outlive_sys::trace::Call;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The longest path that the kernel accepts.
const MAX_PATH_BYTES: usize = 4096;

/// Whether this fault can happen to this call of this process.
pub fn can_meet(fault: Fault, pid: i32, call: Call, home: &Path) -> bool {
    if !fault.can_hit(call.number) {
        return false;
    }
    let subject = calls::subject(call.number);
    match (fault, subject) {
        (Fault::NoSpace | Fault::Broken, Some(Argument::File(at))) => {
            let file = descriptor(pid, call.arguments[at]);
            // A FIFO has a name in the home, but its content is not on the disk.
            let is_kept = fs::metadata(&file).is_ok_and(|file| file.is_file() || file.is_dir());
            is_kept && fs::read_link(file).is_ok_and(|path| path.starts_with(home))
        }
        (Fault::NoSpace | Fault::Broken, Some(Argument::Path(at))) => {
            let is_there = path(pid, call, at).is_some_and(|path| path.starts_with(home));
            is_there && (fault == Fault::Broken || may_make(call))
        }
        (Fault::Interrupted, Some(Argument::File(at))) => {
            let file = fs::metadata(descriptor(pid, call.arguments[at]));
            file.is_ok_and(|file| !file.is_file() && !file.is_dir())
        }
        _ => true,
    }
}

/// Whether the call may create a file. Opening an existing file needs no space.
fn may_make(call: Call) -> bool {
    let flags = match call.number as i64 {
        libc::SYS_openat => call.arguments[2],
        _ => return true,
    };
    flags & libc::O_CREAT as u64 != 0
}

fn descriptor(pid: i32, number: u64) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/fd/{number}"))
}

/// The path that an argument points at. A relative path starts at the directory of the argument before it.
fn path(pid: i32, call: Call, at: usize) -> Option<PathBuf> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut bytes = vec![0; MAX_PATH_BYTES];
    let count = memory.read_at(&mut bytes, call.arguments[at]).ok()?;
    let text = bytes[..count].split(|byte| *byte == 0).next()?;
    let path = Path::new(OsStr::from_bytes(text));
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    let directory = call.arguments[at.checked_sub(1)?];
    Some(fs::read_link(descriptor(pid, directory)).ok()?.join(path))
}
