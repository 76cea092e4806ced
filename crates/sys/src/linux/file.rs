//! What files can do beyond the standard library.

use crate::linux::own::naming;
use rustix::fs::{
    CWD, FallocateFlags, IFlags, MemfdFlags, RenameFlags, SeekFrom, fallocate, fstatfs, ftruncate,
    ioctl_getflags, ioctl_setflags, memfd_create, renameat_with, seek,
};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// A new, empty file in memory. It disappears when the last process that has it open closes it. A forked
/// process shares the file and its read position.
pub fn in_memory(name: &str) -> io::Result<File> {
    let created = memfd_create(name, MemfdFlags::CLOEXEC);
    naming("memfd_create", created).map(File::from)
}

/// Reserves space so that the file can grow to `len` even on a full disk. The size of the file does not change.
pub fn reserve(file: &File, len: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::KEEP_SIZE, 0, len)?)
}

/// Where a filesystem writes bytes that replace or follow the existing bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrites {
    /// In the file's own blocks, so reserved space can be relied on.
    InPlace,
    /// In new blocks (copy-on-write). A full disk has none, even if space was reserved.
    Elsewhere,
    /// Unknown, because an overlay does not say what is below it.
    Unknown,
}

// The numbers that `statfs` reports for filesystems.
const BTRFS: u32 = 0x9123_683e;
const OVERLAY: u32 = 0x794c_7630;
const ZFS: u32 = 0x2fc1_2fc1;
const BCACHEFS: u32 = 0xca45_1a4e;
const NILFS: u32 = 0x0000_3434;

/// Makes the filesystem write an empty file in place, if it can be told to (btrfs, also below an overlay). Returns how
/// the file is written. If that succeeds, `len` bytes are reserved at once: btrfs stores the first bytes of a file
/// among its own records if they are written before, and must move them when more follow.
pub fn begin_in_place(file: &File, len: u64) -> Rewrites {
    // On some platforms the field is signed. Only its 32 bits matter.
    let kind = fstatfs(file).map(|found| found.f_type as u32);
    match kind {
        Ok(BTRFS | OVERLAY) => {
            let set = ioctl_getflags(file)
                .and_then(|flags| ioctl_setflags(file, flags | IFlags::NOCOW))
                .and_then(|()| ioctl_getflags(file));
            match set {
                Ok(flags) if flags.contains(IFlags::NOCOW) => {
                    let _ = reserve(file, len);
                    Rewrites::InPlace
                }
                _ if kind == Ok(OVERLAY) => Rewrites::Unknown,
                _ => Rewrites::Elsewhere,
            }
        }
        Ok(ZFS | BCACHEFS | NILFS) => Rewrites::Elsewhere,
        Ok(_) => Rewrites::InPlace,
        Err(_) => Rewrites::Unknown,
    }
}

/// Makes the kernel write a file's bytes to the disk, and waits until it has. This is no sync: the records that are
/// needed to find the bytes may not be written. If this fails, a later sync does it.
pub fn write_out(file: &File) {
    let how = libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: a plain call on a descriptor that is open while it is borrowed.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, how) };
}

/// Makes the file `len` bytes long; new bytes are a hole, which takes no space.
pub fn extend_with_hole(file: &File, len: u64) -> io::Result<()> {
    Ok(ftruncate(file, len)?)
}

/// Frees the space of a range; the file's size and the bytes around it stay.
pub fn punch(file: &File, from: u64, len: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(file, flags, from, len)?)
}

/// The first hole at or after `from`, as `start..end`, if there is one before the end of the file.
pub fn next_hole(file: &File, from: u64) -> io::Result<Option<std::ops::Range<u64>>> {
    let size = file.metadata()?.len();
    if from >= size {
        return Ok(None);
    }
    let start = seek(file, SeekFrom::Hole(from))?;
    if start >= size {
        return Ok(None);
    }
    let end = match seek(file, SeekFrom::Data(start)) {
        Ok(end) => end,
        // No data after the hole: it reaches the end.
        Err(rustix::io::Errno::NXIO) => size,
        Err(error) => return Err(error.into()),
    };
    Ok(Some(start..end))
}

/// The position from which the file is read next.
pub fn position(file: &File) -> io::Result<u64> {
    Ok(seek(file, SeekFrom::Current(0))?)
}

/// Moves the position to the end of the file, and returns it.
pub fn seek_end(file: &File) -> io::Result<u64> {
    Ok(seek(file, SeekFrom::End(0))?)
}

/// Copies `len` bytes between fixed positions of two files. Returns how many were copied.
pub fn copy_range(
    from: &File,
    mut at: u64,
    to: &File,
    mut to_at: u64,
    len: usize,
) -> io::Result<usize> {
    match rustix::fs::copy_file_range(from, Some(&mut at), to, Some(&mut to_at), len) {
        Ok(copied) => Ok(copied),
        // Some pairs of filesystems, and special files, need a copy through memory.
        Err(
            rustix::io::Errno::XDEV
            | rustix::io::Errno::INVAL
            | rustix::io::Errno::OPNOTSUPP
            | rustix::io::Errno::NOSYS,
        ) => {
            use std::os::unix::fs::FileExt;
            let mut buffer = vec![0; len.min(64 * 1024)];
            let read = from.read_at(&mut buffer, at)?;
            to.write_all_at(&buffer[..read], to_at)?;
            Ok(read)
        }
        Err(error) => Err(error.into()),
    }
}

/// Renames a directory that is not empty. Fails with `AlreadyExists` if the new name is taken.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some filesystems (NFS) and older kernels do not know the flag. A plain rename of a directory replaces only
        // an empty directory, and a taken name never is one.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_beside(from, to),
        other => naming("renameat2", other),
    }
}

fn rename_beside(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Err(io::ErrorKind::AlreadyExists.into())
        }
        other => other,
    }
}

/// Whether the error means that there is no space (disk, quota or size limit).
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        rustix::io::Errno::from_io_error(error),
        Some(rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT | rustix::io::Errno::FBIG)
    )
}

/// Random bits.
pub fn random<const BYTES: usize>() -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    naming("getrandom", filled)?;
    Ok(bytes)
}
