//! Checks what this machine offers, and what that means for jobs here.

mod control_group;
mod job_limits;
mod limits;
mod retention;

use crate::config::Config;
use crate::error::Error;
use crate::home::outlive::{Outlive, make_private};
use crate::launch::keeper_process;
use outlive_api::reply::{Check, DoctorReply, Verdict};
use outlive_core::layout::NEW;
use outlive_sys::file::Rewrites;
use outlive_sys::offers::host;
use outlive_sys::offers::{self, Addressing, Boot};
use outlive_sys::process::own;
use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::Path;

/// Runs all checks. They use the home itself, since filesystems differ.
pub fn doctor(outlive: &Outlive) -> Result<DoctorReply, Error> {
    outlive.prepare()?;
    let directory = outlive
        .home()
        .jobs()
        .join(format!("{NEW}doctor-{}", own::pid()));
    make_private(&directory)?;
    let checks = look(outlive, &directory);
    fs::remove_dir_all(&directory).map_err(Error::io("cannot remove", &directory))?;
    Ok(DoctorReply { checks })
}

fn look(outlive: &Outlive, scratch: &Path) -> Vec<Check> {
    vec![
        home(outlive),
        keeper(outlive),
        configuration(outlive),
        kernel(),
        subreaper(),
        required_calls(),
        disk(outlive),
        offers(
            "renaming",
            offers::rename_new(scratch),
            Verdict::Broken,
            "an id is given to one job only",
            "two jobs could be given one id: put the home on another filesystem",
        ),
        offers(
            "splice",
            offers::splice(scratch),
            Verdict::Broken,
            "output is captured exactly, even if a keeper is killed while it is",
            "output cannot be captured: this kernel or filesystem is not supported",
        ),
        locks(scratch),
        offers(
            "sockets",
            offers::sockets(scratch),
            Verdict::Broken,
            "keepers can be asked",
            "keepers cannot be asked: put the home on a filesystem with sockets",
        ),
        reserved(offers::reserve(scratch)),
        offers(
            "hole punching",
            offers::holes(scratch),
            Verdict::Less,
            "the middle of a large output can be given back to the disk",
            "a large output lies in several files, of which those in the middle are removed",
        ),
        boot(),
        limits::check(),
        retention::check(Config::load(outlive).ok().as_ref()),
        control_group::check(scratch),
        job_limits::check(),
    ]
}

fn home(outlive: &Outlive) -> Check {
    Check {
        name: "home".into(),
        verdict: Verdict::Good,
        found: outlive.home().root().display().to_string(),
        means: "everything about every job is here, readable by its owner only".into(),
    }
}

fn keeper(outlive: &Outlive) -> Check {
    let (verdict, found) = match keeper_process::describe(outlive) {
        Ok(path) => (Verdict::Good, path.display().to_string()),
        Err(error) => (Verdict::Broken, error.to_string()),
    };
    Check {
        name: "keeper".into(),
        verdict,
        found,
        means: "this program supervises each job".into(),
    }
}

fn configuration(outlive: &Outlive) -> Check {
    let (verdict, found, means) = match Config::load(outlive) {
        Ok(config) => (
            Verdict::Good,
            config
                .file
                .map_or_else(|| "none".to_owned(), |file| file.display().to_string()),
            "what it does not set has its default",
        ),
        Err(error) => (
            Verdict::Broken,
            error.to_string(),
            "no job is started until the file is right",
        ),
    };
    Check {
        name: "configuration".into(),
        verdict,
        found,
        means: means.into(),
    }
}

fn kernel() -> Check {
    let exact = offers::exit_records().unwrap_or(false);
    let (verdict, means) = match exact {
        true => (
            Verdict::Good,
            "an outcome is exact even after both keepers of a running job were killed (PIDFD_GET_INFO)",
        ),
        false => (
            Verdict::Less,
            "if both keepers of a running job are killed its outcome is lost (Linux 6.15 and later tell it to others)",
        ),
    };
    Check {
        name: "exit records".into(),
        verdict,
        found: format!("{} on Linux {}", yes(exact), offers::kernel()),
        means: means.into(),
    }
}

fn subreaper() -> Check {
    let (found, lists) = (offers::subreaper(), offers::child_lists());
    let verdict = match (found, lists) {
        (true, true) => Verdict::Good,
        (true, false) => Verdict::Less,
        (false, _) => Verdict::Broken,
    };
    Check {
        name: "subreaper".into(),
        verdict,
        found: format!("{}, child lists {}", yes(found), yes(lists)),
        means: Cow::Borrowed(match verdict {
            Verdict::Good => "no process of a job can escape a stop by detaching itself",
            Verdict::Less => {
                "no process can escape a stop, but finding them takes a look at every process"
            }
            Verdict::Broken => "processes that detach themselves would escape a stop",
        }),
    }
}

fn required_calls() -> Check {
    let (verdict, found, means) = match (offers::required_calls(), offers::addressing()) {
        (Err((call, error)), _) => (
            Verdict::Broken,
            format!("{call} is refused: {error}"),
            "no job can be started: this takes Linux 4.18, and no filter that refuses the call",
        ),
        (Ok(()), Ok(Addressing::Numbers(call))) => (
            Verdict::Less,
            format!("{call} is refused"),
            "processes are addressed by number and start time: after both keepers were killed, a process could be missed or its end be seen late (docs/limits.md)",
        ),
        (Ok(()), _) => (
            Verdict::Good,
            "yes".to_owned(),
            "processes are addressed by pidfd, and output is moved by splice",
        ),
    };
    Check {
        name: "calls".into(),
        verdict,
        found,
        means: means.into(),
    }
}

fn locks(scratch: &Path) -> Check {
    let without = "two keepers could keep one job: put the home on a local filesystem";
    let good = "a job is kept by one pair of keepers at a time";
    let check = offers(
        "locks",
        offers::locks(scratch),
        Verdict::Broken,
        good,
        without,
    );
    match offers::byte_locks(scratch) {
        Ok(false) if check.verdict == Verdict::Good => Check {
            verdict: Verdict::Less,
            found: "of whole files (flock)".to_owned(),
            means: "a job is kept by one pair of keepers at a time; but an end that a verb tells may be told by a hook besides".into(),
            ..check
        },
        _ => check,
    }
}

fn disk(outlive: &Outlive) -> Check {
    let shared = host::is_shared(outlive.home().root());
    Check {
        name: "disk".into(),
        verdict: match shared {
            Ok(false) => Verdict::Good,
            Ok(true) | Err(_) => Verdict::Less,
        },
        found: match &shared {
            Ok(false) => "of this machine".to_owned(),
            Ok(true) => "other machines may use it too".to_owned(),
            Err(error) => error.to_string(),
        },
        means: Cow::Borrowed(match shared {
            Ok(false) => "jobs of before a restart are known to be gone",
            _ => "each machine keeps its own jobs; those of others are unreachable from here",
        }),
    }
}

fn reserved(found: io::Result<Option<Rewrites>>) -> Check {
    let (verdict, found) = match found {
        Ok(Some(Rewrites::InPlace)) => (Verdict::Good, "yes".to_owned()),
        Ok(Some(Rewrites::Elsewhere)) => (
            Verdict::Less,
            "yes, but this filesystem writes every change to a new place".to_owned(),
        ),
        Ok(Some(Rewrites::Unknown)) => (
            Verdict::Less,
            "yes, but the disk below this overlay is not known".to_owned(),
        ),
        Ok(None) => (Verdict::Less, "no".to_owned()),
        Err(error) => (Verdict::Less, error.to_string()),
    };
    Check {
        name: "reserved space".into(),
        verdict,
        found,
        means: Cow::Borrowed(match verdict {
            Verdict::Good => "a full disk cannot swallow an outcome",
            _ => "on a full disk an outcome may be recorded only once there is room again",
        }),
    }
}

fn boot() -> Check {
    let (verdict, found, means) = match offers::boot() {
        Ok(Boot::Id(id)) if !id.is_empty() => (
            Verdict::Good,
            "yes".to_owned(),
            "a job of before a restart is never taken for a process of after it",
        ),
        Ok(Boot::Since(_)) => (
            Verdict::Less,
            "no; when the machine was started is known".to_owned(),
            "after the clock was set, a job whose keepers were both killed is said to be lost though it may run",
        ),
        Ok(Boot::Id(_)) | Err(_) => (
            Verdict::Broken,
            "no: is /proc mounted?".to_owned(),
            "a job of before a restart could be taken for a process of after it",
        ),
    };
    Check {
        name: "boot id".into(),
        verdict,
        found,
        means: means.into(),
    }
}

fn offers(
    name: &'static str,
    found: io::Result<bool>,
    without: Verdict,
    good: &'static str,
    bad: &'static str,
) -> Check {
    let works = matches!(found, Ok(true));
    Check {
        name: name.into(),
        verdict: if works { Verdict::Good } else { without },
        found: found.map_or_else(|error| error.to_string(), |found| yes(found).to_owned()),
        means: if works { good } else { bad }.into(),
    }
}

fn yes(found: bool) -> &'static str {
    if found { "yes" } else { "no" }
}
