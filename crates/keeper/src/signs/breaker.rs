//! This job's part in the breaker that all jobs of a session share: see [`outlive_core::breaker`].

use outlive_core::breaker::{self, Breaker, BreakerRules, Entry, Verdict, Wish};
use outlive_core::{BootId, JobDir, JobId, Spec};
use outlive_core::{BootTime, layout};
use outlive_sys::offers;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

/// A list longer than this is shortened, because each keeper reads all of it once.
const LARGE: u64 = 64 * 1024;

/// One job's part in the breaker.
#[derive(Debug)]
pub struct Share {
    /// The list to which all jobs of the session append.
    list: PathBuf,
    rules: BreakerRules,
    boot: BootId,
    job: JobId,
    resume: Resume,
    read: Option<Read>,
}

/// What this keeper has read of the list.
#[derive(Debug)]
struct Read {
    /// The list's inode. It changes when a keeper shortens the list, because that replaces the file.
    inode: u64,
    to: u64,
    breaker: Breaker,
    /// The verdicts on entries of this job that its predecessor wrote to the list and perhaps did not journal.
    own: BTreeMap<u64, Verdict>,
    /// When the list is longer than this, it is checked whether it can be shortened.
    large: u64,
}

/// What a successor must know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resume {
    /// How often this job has asked.
    asked: u64,
    /// When the silence ends, if matches of this job were silenced.
    silent_until: Option<BootTime>,
}

/// What to do with a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchVerdict {
    Report,
    Suppress,
    /// The silence begins. This is reported instead of the match.
    Overflow {
        silence_ms: u64,
    },
    /// The match is reported. Before it, the end of the silence is reported.
    Resumed {
        silenced: u64,
    },
}

impl Share {
    /// `None` for a job without a session: it shares the breaker with nobody.
    pub fn of(job: &JobDir, spec: &Spec, resume: Resume) -> Option<Share> {
        let (home, id) = job.place().ok()?;
        let list = home.inbox(spec.session.as_ref()?).join(breaker::LIST);
        Some(Share {
            list,
            rules: spec.breaker,
            boot: BootId(offers::boot_id().ok()?),
            job: id,
            resume,
            read: None,
        })
    }

    pub fn resume(&self) -> Resume {
        self.resume
    }

    /// Asks whether this many matches may be reported.
    pub fn ask(&mut self, now: BootTime, matches: u64) -> MatchVerdict {
        match self.wish(Wish::Match, matches, now) {
            // If the list cannot be written, the match is reported.
            Ok(Some(Verdict::Admitted)) | Ok(None) | Err(_) => MatchVerdict::Report,
            Ok(Some(Verdict::Resumes { silenced })) => {
                self.resume.silent_until = None;
                MatchVerdict::Resumed { silenced }
            }
            Ok(Some(Verdict::Trips)) => MatchVerdict::Overflow {
                silence_ms: self.rules.silence_ms,
            },
            Ok(Some(Verdict::Silenced | Verdict::Idle)) => MatchVerdict::Suppress,
        }
    }

    /// When this job may report that the silence is over.
    pub fn due_at(&self) -> Option<BootTime> {
        self.resume.silent_until
    }

    /// The number of silenced matches, if the end of the silence is due now and no other job has reported it.
    pub fn tick(&mut self, now: BootTime) -> Option<u64> {
        if self.resume.silent_until.is_none_or(|at| now < at) {
            return None;
        }
        self.resume.silent_until = None;
        match self.wish(Wish::Resumed, 0, now) {
            Ok(Some(Verdict::Resumes { silenced })) => Some(silenced),
            _ => None,
        }
    }

    fn wish(&mut self, wish: Wish, matches: u64, now: BootTime) -> io::Result<Option<Verdict>> {
        self.resume.asked += 1;
        let entry = Entry {
            boot: self.boot.clone(),
            at: now,
            job: self.job.clone(),
            seq: self.resume.asked,
            wish,
            matches,
        };
        let list = self.open()?;
        (&list).write_all(&entry.encode())?;
        let verdict = self.catch_up(&list, entry.seq)?;
        if let Some(read) = &self.read
            && matches!(verdict, Some(Verdict::Trips | Verdict::Silenced))
        {
            self.resume.silent_until = read.breaker.silent_until();
        }
        let _ = self.shorten(&list, now);
        Ok(verdict)
    }

    /// Reads the new entries of the list. Returns the verdict on this job's entry with this number.
    fn catch_up(&mut self, list: &File, seq: u64) -> io::Result<Option<Verdict>> {
        let metadata = list.metadata()?;
        let inode = metadata.ino();
        let mut read = match self.read.take() {
            Some(read) if read.inode == inode && read.to <= metadata.len() => read,
            _ => Read {
                inode,
                to: 0,
                breaker: Breaker::new(self.rules),
                own: BTreeMap::new(),
                large: LARGE,
            },
        };
        let mut new = vec![0; (metadata.len() - read.to) as usize];
        list.read_exact_at(&mut new, read.to)?;
        // This job's entry is in the list completely. A line behind it may still be incomplete.
        let whole = new.iter().rposition(|byte| *byte == b'\n');
        let whole = &new[..whole.map_or(0, |last| last + 1)];
        read.to += whole.len() as u64;
        let Read { breaker, own, .. } = &mut read;
        breaker.take(whole, &self.boot, |entry, verdict| {
            if entry.job == self.job && entry.seq >= seq {
                own.insert(entry.seq, verdict);
            }
        });
        let verdict = own.remove(&seq);
        self.read = Some(read);
        Ok(verdict)
    }

    /// Removes entries that no longer matter. An entry that another job appends meanwhile may be lost. Then one match
    /// too many is reported.
    fn shorten(&mut self, list: &File, now: BootTime) -> io::Result<()> {
        let Some(read) = self.read.as_mut().filter(|read| read.to > read.large) else {
            return Ok(());
        };
        read.large = read.to * 2;
        let mut bytes = vec![0; read.to as usize];
        list.read_exact_at(&mut bytes, 0)?;
        let needless = breaker::trimmed(&bytes, &self.boot, self.rules, now);
        if needless == 0 {
            return Ok(());
        }
        let new = self.list.with_extension(self.job.as_str());
        std::fs::write(&new, &bytes[needless..])?;
        std::fs::rename(new, &self.list)
    }

    fn open(&self) -> io::Result<File> {
        layout::open_to_append(&self.list)
    }
}
