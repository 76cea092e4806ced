//! The list of ended jobs in order, which finds the newest ones without reading all jobs.
//!
//! There is one file per day (days since 1970) with one line per end: `<unix ms> <id>`, with blank
//! lines between. Keepers append; nobody rewrites. The list is a cache: readers skip lines of removed
//! jobs. A job stays linked in `live/` until its line is here, so no end is missing from both. Neither
//! is synced. If a power loss takes both, the next boot makes the link again.

use crate::clocks::WallTime;
use crate::id::JobId;
use crate::layout::{self, Home};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// One job's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub ended: WallTime,
    pub id: JobId,
}

/// Records an end. The caller removes the job's live link afterwards.
pub fn append(home: &Home, entry: &Entry) -> io::Result<()> {
    let path = home.ended().join((entry.ended.ms() / DAY_MS).to_string());
    // The leading newline limits the damage of a line cut short by a full disk to that line.
    let line = format!("\n{} {}\n", entry.ended.ms(), entry.id);
    layout::open_to_append(&path)?.write_all(line.as_bytes())
}

/// The recorded ends, newest first. Reads one day's file at a time, when it is needed.
pub fn newest(home: &Home) -> io::Result<impl Iterator<Item = Entry> + use<>> {
    let days = days(home)?;
    Ok(days
        .into_iter()
        .rev()
        .filter_map(|(_, path)| layout::read(&path).ok())
        .flat_map(|text| {
            // A keeper that took over from a dead one may record an end late.
            let mut entries: Vec<Entry> = lines(&text).collect();
            entries.sort_by_key(|entry| std::cmp::Reverse(entry.ended));
            entries
        }))
}

/// Removes the files of days whose jobs are all gone.
pub fn forget_days(home: &Home, exists: impl Fn(&JobId) -> bool) -> io::Result<()> {
    let days = days(home)?;
    // Keepers still append to the newest day.
    for (_, path) in days.iter().rev().skip(1) {
        let used = |text: Vec<u8>| lines(&text).any(|entry| exists(&entry.id));
        match layout::read(path).and_then(|text| match used(text) {
            true => Ok(()),
            false => fs::remove_file(path),
        }) {
            // Another process removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

/// The entries in a file; lines that are not entries are skipped.
fn lines(text: &[u8]) -> impl Iterator<Item = Entry> + '_ {
    text.split(|byte| *byte == b'\n').filter_map(parse)
}

fn parse(line: &[u8]) -> Option<Entry> {
    let line = str::from_utf8(line).ok()?;
    let (ended, id) = line.split_once(' ')?;
    Some(Entry {
        ended: WallTime::from_ms(ended.parse().ok()?),
        id: JobId::parse(id).ok()?,
    })
}

/// The day files, oldest first.
fn days(home: &Home) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut days = Vec::new();
    let entries = match fs::read_dir(home.ended()) {
        // No job has ever run here.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(days),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        if let Some(day) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        {
            days.push((day, entry.path()));
        }
    }
    days.sort();
    Ok(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_ends_come_first_across_days_and_damaged_lines() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let home = Home::at(dir.path().to_owned());
        fs::create_dir(home.ended()).expect("made");
        let entry = |ended_ms: u64| Entry {
            ended: WallTime::from_ms(ended_ms),
            id: JobId::parse(&format!("j{ended_ms}")).expect("valid"),
        };
        for ms in [5, 6, DAY_MS + 1, 3 * DAY_MS, 3 * DAY_MS + 4] {
            append(&home, &entry(ms)).expect("appended");
        }
        fs::OpenOptions::new()
            .append(true)
            .open(home.ended().join("1"))
            .expect("opens")
            .write_all(b"half a li")
            .expect("written");
        let all: Vec<u64> = newest(&home)
            .expect("read")
            .map(|entry| entry.ended.ms())
            .collect();
        assert_eq!(all, [3 * DAY_MS + 4, 3 * DAY_MS, DAY_MS + 1, 6, 5]);

        forget_days(&home, |id| id.as_str() == "j6").expect("forgotten");
        let left: Vec<u64> = newest(&home)
            .expect("read")
            .map(|entry| entry.ended.ms())
            .collect();
        assert_eq!(left, [3 * DAY_MS + 4, 3 * DAY_MS, 6, 5]);
    }
}
