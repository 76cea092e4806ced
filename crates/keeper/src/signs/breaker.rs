//! This job's share in the breaker of its session: see [`outlive_core::breaker`].

use outlive_core::breaker::{self, Breaker, BreakerRules, Entry, Verdict, Wish};
use outlive_core::layout::PRIVATE;
use outlive_core::{BootId, JobDir, JobId, Spec};
use outlive_sys::procfs;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// A longer list is shortened: all of it is read for every match that is to be told.
const LARGE: usize = 64 * 1024;

/// One job's share.
#[derive(Debug)]
pub struct Share {
    /// The list all jobs of the session append to.
    list: PathBuf,
    rules: BreakerRules,
    boot: BootId,
    job: JobId,
    resume: Resume,
}

/// What a successor must know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resume {
    /// How often this job has asked.
    asked: u64,
    /// Something of this job was silenced, and that ends then.
    silent_until: Option<u64>,
}

/// What becomes of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Yes,
    No,
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
            boot: BootId(procfs::boot_id().ok()?),
            job: id,
            resume,
        })
    }

    pub fn resume(&self) -> Resume {
        self.resume
    }

    /// Whether so many matches are told of.
    pub fn ask(&mut self, now: u64, matches: u64) -> Told {
        match self.wish(Wish::Match, matches, now) {
            // A list that cannot be written is no reason to keep silent.
            Ok(Some(Verdict::Admitted)) | Ok(None) | Err(_) => Told::Yes,
            Ok(Some(Verdict::Resumes { silenced })) => {
                self.resume.silent_until = None;
                Told::Resumed { silenced }
            }
            Ok(Some(Verdict::Trips)) => Told::Overflow {
                silence_ms: self.rules.silence_ms,
            },
            Ok(Some(Verdict::Silenced | Verdict::Idle)) => Told::No,
        }
    }

    /// When this job may say that the silence is over.
    pub fn due_at(&self) -> Option<u64> {
        self.resume.silent_until
    }

    /// How many were silenced, where it is to be said and no other job was first.
    pub fn tick(&mut self, now: u64) -> Option<u64> {
        if self.resume.silent_until.is_none_or(|at| now < at) {
            return None;
        }
        self.resume.silent_until = None;
        match self.wish(Wish::Resumed, 0, now) {
            Ok(Some(Verdict::Resumes { silenced })) => Some(silenced),
            _ => None,
        }
    }

    fn wish(&mut self, wish: Wish, matches: u64, now: u64) -> io::Result<Option<Verdict>> {
        self.resume.asked += 1;
        let entry = Entry {
            boot: self.boot.clone(),
            at_ms: now,
            job: self.job.clone(),
            seq: self.resume.asked,
            wish,
            matches,
        };
        self.open()?.write_all(&entry.encode())?;
        let list = std::fs::read(&self.list)?;
        let verdict = breaker::verdict(&list, &self.boot, self.rules, &self.job, entry.seq);
        let silent_until = Breaker::fold(&list, &self.boot, self.rules).silent_until();
        if matches!(verdict, Some(Verdict::Trips | Verdict::Silenced)) {
            self.resume.silent_until = silent_until;
        }
        if list.len() > LARGE {
            let _ = self.shorten(&list, now);
        }
        Ok(verdict)
    }

    /// Lets go of what no longer matters. An entry that comes in between may be lost, and then one match
    /// too many is told.
    fn shorten(&self, list: &[u8], now: u64) -> io::Result<()> {
        let needless = breaker::trimmed(list, &self.boot, self.rules, now);
        if needless == 0 {
            return Ok(());
        }
        let new = self.list.with_extension(self.job.as_str());
        std::fs::write(&new, &list[needless..])?;
        std::fs::rename(new, &self.list)
    }

    fn open(&self) -> io::Result<std::fs::File> {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(PRIVATE)
            .open(&self.list)
    }
}
