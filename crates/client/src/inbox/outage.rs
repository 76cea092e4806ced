//! Tells a session that a place where its jobs run is not reached, and that it is reached again.
//!
//! ```text
//!  known: unreached for 2 min, a job of the session runs there
//!       └─► mark (since, id) ─► post `unreachable` ─► … known: reached ─► told? ─► post `reached` ─► mark removed
//!                                                                          └─ not told: post dropped ─► mark removed
//! ```
//! Both are posts, whose ids are made of the session, the place and the beginning of the silence. So each is told once,
//! whoever finds it out, and whoever is killed meanwhile: a repeated post is recognised. The mark is
//! `places/<key>/silent/<session>`. It is written first, so that no silence is told whose end would not be.
//!
//! Nobody waits for the two minutes: whoever looks at the inbox finds it out, and who waits is woken then.

use super::Source;
use crate::clock;
use crate::error::{Error, PlaceError};
use crate::home::outlive::{Outlive, make_private};
use crate::places::records::{self, Silence};
use crate::places::settings::fnv;
use crate::places::{Place, dial};
use crate::random;
use crate::verbs::post::{self, NewPost};
use outlive_api::event::{DropReason, EventKind};
use outlive_api::event_data;
use outlive_core::layout::{self, NEW};
use outlive_core::told::{Note, Settled};
use outlive_core::{BootTime, JobId, Label, WallTime, links};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a place is silent before a session is told.
const TOLD_AFTER: Duration = Duration::from_secs(120);

/// A silence that a session is told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// As the jobs name it.
    place: String,
    since: WallTime,
    /// The post about it.
    post: JobId,
    jobs: Vec<JobId>,
}

/// The places where jobs of a session run, with these jobs.
pub(super) type Running = BTreeMap<String, Vec<JobId>>;

/// What came of looking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// There is something new to tell.
    pub posted: bool,
    /// When there may be more.
    pub look_at: Option<BootTime>,
}

/// Posts what the session is to be told about places.
pub(super) fn note(outlive: &Outlive, session: &Label, running: &Running) -> Result<Noted, Error> {
    let mut noted = Noted::default();
    for (mark, path) in marks(outlive, session) {
        noted.posted |= end(outlive, session, &mark, &path)?;
    }
    for (name, jobs) in running {
        let Ok(Some(place)) = Place::resolve(outlive, name) else {
            continue;
        };
        let known = dial::known(outlive, &place);
        let Some(silence) = known.and_then(|known| known.unreached) else {
            continue;
        };
        let silent = clock::wall().since(silence.since);
        if silent < TOLD_AFTER {
            let at = clock::boot() + (TOLD_AFTER - silent);
            noted.look_at = Some(noted.look_at.map_or(at, |other| other.min(at)));
            continue;
        }
        noted.posted |= begin(outlive, session, &place, &silence, jobs)?;
    }
    Ok(noted)
}

/// Posts that a place is silent, unless that was done.
fn begin(
    outlive: &Outlive,
    session: &Label,
    place: &Place,
    silence: &Silence,
    jobs: &[JobId],
) -> Result<bool, Error> {
    let path = directory(outlive, place).join(session.file_name());
    let before = read(&path);
    let mark = match before {
        // Whoever wrote it may have been killed before it posted.
        Some(mark) if mark.since == silence.since => mark,
        _ => {
            let mark = Mark {
                place: place.name.clone(),
                since: silence.since,
                post: id(session, &place.name, silence.since, EventKind::Unreachable)?,
                jobs: jobs.to_vec(),
            };
            write(outlive, place, &path, &mark)?;
            mark
        }
    };
    let data = event_data::Unreachable {
        place: mark.place.clone(),
        since: mark.since.into(),
        reason: silence.why.clone(),
        jobs: mark.jobs.clone(),
    };
    let asked = NewPost {
        session: session.clone(),
        task: None,
        kind: EventKind::Unreachable,
        data: json!(data),
        id: Some(mark.post),
    };
    Ok(post::post(outlive, asked)?.1 == post::Posted::Now)
}

/// If that silence is over: posts that, if the session knows of the silence.
fn end(outlive: &Outlive, session: &Label, mark: &Mark, path: &Path) -> Result<bool, Error> {
    let place = match Place::resolve(outlive, &mark.place) {
        // It was removed from the configuration, so nobody will find out when it is reached.
        Err(Error::Place(PlaceError::NoSuch(_))) => {
            let _ = links::remove(path);
            return Ok(false);
        }
        place => place?,
    };
    if let Some(place) = place
        && let Some(known) = dial::known(outlive, &place)
        && known.unreached.is_some_and(|now| now.since == mark.since)
    {
        return Ok(false);
    }
    let mut posted = false;
    if is_told(outlive, &mark.post)? {
        let data = event_data::Reached {
            place: mark.place.clone(),
            since: mark.since.into(),
            jobs: mark.jobs.clone(),
        };
        let id = id(session, &mark.place, mark.since, EventKind::Reached)?;
        let asked = NewPost {
            session: session.clone(),
            task: None,
            kind: EventKind::Reached,
            data: json!(data),
            id: Some(id),
        };
        posted = post::post(outlive, asked)?.1 == post::Posted::Now;
    }
    let _ = links::remove(path);
    Ok(posted)
}

/// Whether anybody may have been told of this post. If not, it is dropped: it says what is no longer so.
fn is_told(outlive: &Outlive, post: &JobId) -> Result<bool, Error> {
    let Some(source) = Source::read_post(outlive, post)? else {
        // Only a post that was told is removed.
        return Ok(true);
    };
    let told = source.read_told()?;
    let seqs: Vec<u64> = source.items().iter().map(|item| item.seq).collect();
    let is_known = seqs.iter().any(|seq| {
        told.of(*seq).is_some_and(|delivery| {
            let settled = matches!(delivery.settled, Some(Settled::Told(_)));
            settled || delivery.deliveries > 0 || delivery.handed.is_some()
        })
    });
    if !is_known {
        let why = DropReason::Age;
        source.settle(outlive, &seqs, Note::Dropped { why })?;
    }
    Ok(is_known)
}

/// The id of a post: the same for whoever makes it.
fn id(session: &Label, place: &str, since: WallTime, kind: EventKind) -> Result<JobId, Error> {
    let who = fnv(format!("{session}\0{place}").as_bytes());
    let word = match kind {
        EventKind::Reached => "reached",
        _ => "unreachable",
    };
    Ok(JobId::parse(&format!("{word}-{:x}-{who:x}", since.ms()))?)
}

fn directory(outlive: &Outlive, place: &Place) -> PathBuf {
    records::directory(outlive, place).join("silent")
}

/// The marks of a session.
fn marks(outlive: &Outlive, session: &Label) -> Vec<(Mark, PathBuf)> {
    // Most homes know no place.
    let Ok(places) = fs::read_dir(outlive.home().places()) else {
        return Vec::new();
    };
    let path = |place: fs::DirEntry| place.path().join("silent").join(session.file_name());
    let paths = places.flatten().map(path);
    paths
        .filter_map(|path| Some((read(&path)?, path)))
        .collect()
}

fn read(path: &Path) -> Option<Mark> {
    serde_json::from_slice(&layout::read(path).ok()?).ok()
}

fn write(outlive: &Outlive, place: &Place, path: &Path, mark: &Mark) -> Result<(), Error> {
    make_private(&directory(outlive, place))?;
    let new = path.with_file_name(format!("{NEW}{}", random::token()?));
    let written = || -> io::Result<()> {
        let mut file = layout::make(&new)?;
        file.write_all(&serde_json::to_vec(mark)?)?;
        layout::sync(&file)?;
        fs::rename(&new, path)
    };
    written().map_err(Error::io("cannot write", path))
}
