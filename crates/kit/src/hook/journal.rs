//! `hook.log`: one line for each hook that was not served, with the reason.

use outlive::Outlive;
use outlive_core::Timestamp;
use outlive_core::layout::make_directory;
use outlive_sys::clock;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The largest size of the file in bytes. When it is full, the older half is removed.
const MAX_BYTES: u64 = 64 * 1024;
/// The most characters in a line.
const MAX_LINE_CHARS: usize = 1000;

/// Records the reason. If that fails, there is nobody to tell.
pub fn note(outlive: &Outlive, what: &str, why: &str) {
    let why = outlive::redact::redact(why).replace(['\n', '\r'], " ");
    let line: String = format!(
        "{} {what}: {why}",
        Timestamp::from_unix_ms(clock::wall_ms())
    )
    .chars()
    .take(MAX_LINE_CHARS)
    .collect();
    let home = outlive.home().root();
    if make_directory(home).is_ok() {
        let _ = append(home, &line);
    }
}

fn append(home: &Path, line: &str) -> io::Result<()> {
    let path = home.join("hook.log");
    let size = fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
    if size + line.len() as u64 >= MAX_BYTES {
        let kept = newer_half(&path, size)?;
        let new = home.join(format!("hook.log.{}", std::process::id()));
        open(&new)?.write_all(&kept)?;
        fs::rename(&new, &path)?;
    }
    open(&path)?.write_all(format!("{line}\n").as_bytes())
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

/// The newest lines of the file.
fn newer_half(path: &Path, size: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(size.saturating_sub(MAX_BYTES / 2)))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES / 2).read_to_end(&mut bytes)?;
    let start = bytes.iter().position(|byte| *byte == b'\n');
    Ok(bytes.split_off(start.map_or(bytes.len(), |at| at + 1)))
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_log_is_private_and_bounded_and_keeps_the_newest_lines() {
        let home = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(home.path()).unwrap();
        for number in 0..3000 {
            note(
                &outlive,
                "stop",
                &format!("why\n{number} {}", "x".repeat(40)),
            );
        }
        let path = home.path().join("hook.log");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.len() as u64 <= MAX_BYTES && text.len() as u64 > MAX_BYTES / 2);
        assert!(
            text.lines().all(|line| line.contains(" stop: why ")),
            "{text}"
        );
        assert!(text.lines().last().unwrap().contains("why 2999 "));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
