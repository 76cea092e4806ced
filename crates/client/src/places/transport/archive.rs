//! An archive with our program in it, as `tar` makes it: for containers without a shell.

use outlive_sys::file;
use std::fs::File;
use std::io::{self, Seek, Write};

const BLOCK: usize = 512;

/// Archives end with two empty blocks.
const END: [u8; 2 * BLOCK] = [0; 2 * BLOCK];

/// What an entry is.
#[derive(Clone, Copy)]
enum Entry<'a> {
    Directory,
    Program(&'a [u8]),
}

/// An archive with a directory and a program in it, which everybody may run and nobody but root may change.
pub fn of(directory: &str, name: &str, program: &[u8]) -> io::Result<File> {
    let mut archive = file::in_memory("outlive-archive")?;
    if !directory.is_empty() {
        archive.write_all(&header(&format!("{directory}/"), Entry::Directory))?;
    }
    let path = match directory {
        "" => name.to_owned(),
        directory => format!("{directory}/{name}"),
    };
    archive.write_all(&header(&path, Entry::Program(program)))?;
    archive.write_all(program)?;
    let rest = program.len() % BLOCK;
    if rest > 0 {
        archive.write_all(&END[..BLOCK - rest])?;
    }
    archive.write_all(&END)?;
    archive.rewind()?;
    Ok(archive)
}

/// The header of an entry (ustar). Names are at most 100 bytes long.
fn header(name: &str, entry: Entry<'_>) -> [u8; BLOCK] {
    let (size, kind) = match entry {
        Entry::Directory => (0, b'5'),
        Entry::Program(program) => (program.len(), b'0'),
    };
    let mut header = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000755\0");
    // Root owns it.
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    // The sum is made with spaces in its own place.
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::process::{Command, Stdio};

    #[test]
    fn tar_unpacks_it() {
        let there = tempfile::tempdir().unwrap();
        for (directory, path) in [(".outlive", ".outlive/far-1"), ("", "far-1")] {
            let archive = of(directory, "far-1", &b"x".repeat(1000)).unwrap();
            let mut tar = Command::new("tar");
            tar.args(["-x", "-C"]).arg(there.path());
            let mut child = outlive_sys::spawn::start(tar.stdin(Stdio::from(archive))).unwrap();
            assert!(child.wait().unwrap().success());
            let found = there.path().join(path).metadata().unwrap();
            assert_eq!((found.len(), found.mode() & 0o7777), (1000, 0o755));
        }
    }
}
