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

/// A longer list is shortened: each keeper reads all of it once.
const LARGE: u64 = 64 * 1024;

/// One job's share.
#[derive(Debug)]
pub struct Share {
    /// The list all jobs of the session append to.
    list: PathBuf,
    rules: BreakerRules,
    boot: BootId,
    job: JobId,
    resume: Resume,
    read: Option<Read>,
}

/// What has been read of the list.
#[derive(Debug)]
struct Read {
    /// Whoever shortens the list makes another file of it.
    inode: u64,
    to: u64,
    breaker: Breaker,
    /// What became of wishes of this job that its predecessor wrote down, and may not have journaled.
    own: BTreeMap<u64, Verdict>,
    /// When it is as long as this, it is looked whether it can be shortened.
    large: u64,
}

/// What a successor must know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resume {
    /// How often this job has asked.
    asked: u64,
    /// Something of this job was silenced, and that ends then.
    silent_until: Option<BootTime>,
}

/// What becomes of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchVerdict {
    Report,
    Suppress,
    /// There is silence from now on, and that is told instead.
    Overflow {
        silence_ms: u64,
    },
    /// It is told, and before it that the silence is over.
    Resumed {
        silenced: u64,
    },
}

impl Share {
    /// Jobs of no session share nothing.
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

    /// Whether so many matches are told of.
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

    /// When this job may say that the silence is over.
    pub fn due_at(&self) -> Option<BootTime> {
        self.resume.silent_until
    }

    /// How many were silenced, where it is to be said and no other job was first.
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

    /// Reads what is new in the list; says what becomes of this job's wish with this number.
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
        // Ours is there, and whole; another one may just be being written.
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

    /// Lets go of what no longer matters. An entry that comes in between may be lost, and then one match
    /// too many is told.
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
