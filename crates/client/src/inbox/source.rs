//! The sources of events: a job's journal, or a post.

use super::event::EventId;
use super::text;
use crate::agent;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::hooks::{self, ConsumerHook as Hook};
use crate::inbox::answering;
use crate::jobs::away;
use crate::jobs::presence;
use crate::moment;
use outlive_api::event::{Event, EventKind};
use outlive_api::labels::Labels;
use outlive_core::event::Moment;
use outlive_core::layout::{self, ReadError};
use outlive_core::links::{self, Owner};
use outlive_core::notice::{self, Notice};
use outlive_core::place::LOCAL;
use outlive_core::post::Post;
use outlive_core::told::{self, BootMoment, Durable, Line, Note, Told};
use outlive_core::{BootId, Incarnation, JobDir, JobId, Label, Spec, State};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A job or a post, with its events.
#[derive(Clone, Debug)]
pub struct Source {
    pub id: JobId,
    /// The path of the record of who was told.
    pub told: PathBuf,
    pub origin: Origin,
}

#[derive(Clone, Debug)]
pub enum Origin {
    Job {
        spec: Box<Spec>,
        state: Box<State>,
        notices: Vec<Notice>,
    },
    Post(Box<Post>),
}

/// One event of a source.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    pub seq: u64,
    pub at: Moment,
    pub kind: EventKind,
    pub what: ItemContent<'a>,
}

#[derive(Clone, Copy, Debug)]
pub enum ItemContent<'a> {
    Event(&'a outlive_core::Event),
    Post(&'a Post),
}

impl Source {
    /// Reads a source. Returns `None` if no job or post has this id now.
    pub fn read(outlive: &Outlive, id: &JobId) -> Result<Option<Source>, Error> {
        match Source::read_job(outlive, id) {
            Err(Error::NoSuchJob(_)) => Source::read_post(outlive, id),
            other => other.map(Some),
        }
    }

    fn read_job(outlive: &Outlive, id: &JobId) -> Result<Source, Error> {
        loop {
            let source = Source::try_to_read_job(outlive, id)?;
            // It may have been pruned and its id used again while we read; then we have read parts of
            // two jobs.
            if source.is_there(outlive) {
                return Ok(source);
            }
            // It is gone or damaged; reading it again tells which.
            outlive.read_spec(id)?;
        }
    }

    fn try_to_read_job(outlive: &Outlive, id: &JobId) -> Result<Source, Error> {
        let dir = outlive.job_dir(id);
        if !dir.path().is_dir() {
            return Err(Error::NoSuchJob(id.to_string()));
        }
        let spec = outlive.read_spec(id)?;
        hooks::reach_consumer(Hook::SpecRead);
        // If both keepers of a job died, recover it first: its end must be told too.
        let (_, met) = presence::meet(outlive, id)?;
        let path = dir.journal();
        let journal = layout::read(&path).map_err(Error::io("cannot read", &path));
        let journal = journal.map_err(|error| outlive.unless_removed(id, error))?;
        let noticed = notice::read(&journal, &spec);
        if met.end().is_none() {
            let _ = presence::sync_end(outlive, id, &noticed.state);
        }
        Ok(Source {
            id: id.clone(),
            told: dir.told(),
            origin: Origin::Job {
                spec: Box::new(spec),
                state: Box::new(noticed.state),
                notices: noticed.notices,
            },
        })
    }

    /// The post with this id, whatever jobs exist.
    pub fn read_post(outlive: &Outlive, id: &JobId) -> Result<Option<Source>, Error> {
        let dir = outlive.home().post(id);
        match dir.read() {
            Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            read => Ok(Some(Source {
                id: id.clone(),
                told: dir.told(),
                origin: Origin::Post(Box::new(read?)),
            })),
        }
    }

    /// Reads who was told what.
    pub fn read_told(&self) -> Result<Told, Error> {
        self.read_or_replace_told().map(|(told, _)| told)
    }

    /// Reads who was told what. Returns a message if the record was unusable. A job owns its directory
    /// and may put anything there; that is moved aside, and telling starts again.
    pub fn read_or_replace_told(&self) -> Result<(Told, Option<String>), Error> {
        let error = match Told::read(&self.told, self.incarnation(), &agent::is_gone) {
            Ok(told) => return Ok((told, None)),
            Err(error) => error,
        };
        if !is_unusable(&error) {
            return Err(Error::io("cannot read", &self.told)(error));
        }
        let failed = || Error::io("cannot move aside", &self.told);
        let aside = layout::move_aside(&self.told).map_err(failed())?;
        // Another consumer may have moved the old file first, so that this was the new one.
        let is_file = fs::symlink_metadata(&aside).is_ok_and(|found| found.is_file());
        if is_file && let Ok(told) = Told::read(&aside, self.incarnation(), &agent::is_gone) {
            let back = fs::hard_link(&aside, &self.told);
            back.and_then(|()| fs::remove_file(&aside))
                .map_err(failed())?;
            return Ok((told, None));
        }
        let words = format!(
            "had a record of what was told that could not be used ({error}); it was moved aside, and events \
             of this job may be told again"
        );
        Ok((Told::default(), Some(words)))
    }

    /// Whether its id still means this job or post, and not a later one.
    pub fn is_there(&self, outlive: &Outlive) -> bool {
        let now = links::owner(outlive.home(), &self.id, self.link_kind());
        now.is_some_and(|now| now.incarnation.as_ref() == self.incarnation())
    }

    /// The id of its event with this number.
    pub fn event(&self, seq: u64) -> EventId {
        EventId {
            source: self.id.clone(),
            seq,
            incarnation: self.incarnation().cloned(),
        }
    }

    /// Tells it from other jobs or posts with the same id.
    pub fn incarnation(&self) -> Option<&Incarnation> {
        match &self.origin {
            Origin::Job { spec, .. } => spec.incarnation.as_ref(),
            Origin::Post(post) => post.incarnation.as_ref(),
        }
    }

    pub fn task(&self) -> Option<&Label> {
        match &self.origin {
            Origin::Job { spec, .. } => spec.task.as_ref(),
            Origin::Post(post) => post.task.as_ref(),
        }
    }

    pub fn labels(&self) -> Labels {
        match &self.origin {
            Origin::Job { spec, state, .. } => state.labels(spec).clone(),
            Origin::Post(_) => Labels::new(),
        }
    }

    pub fn session(&self) -> Option<&Label> {
        match &self.origin {
            Origin::Job { spec, .. } => spec.session.as_ref(),
            Origin::Post(post) => Some(&post.session),
        }
    }

    /// All its events, told or not.
    pub fn items(&self) -> Vec<Item<'_>> {
        match &self.origin {
            Origin::Job { notices, .. } => notices.iter().filter_map(item).collect(),
            Origin::Post(post) => vec![Item {
                seq: Post::SEQ,
                at: post.at,
                kind: post.kind,
                what: ItemContent::Post(post),
            }],
        }
    }

    /// Whether it can have no more events.
    pub fn is_final(&self) -> bool {
        match &self.origin {
            Origin::Job { state, .. } => state.is_final(),
            Origin::Post(_) => true,
        }
    }

    /// One of its events as the interface shows it.
    pub fn present(&self, outlive: &Outlive, told: &Told, item: &Item<'_>) -> Event {
        Event {
            event: self.event(item.seq),
            kind: item.kind,
            job: self.job(item),
            session: self.session().cloned(),
            task: self.task().cloned(),
            labels: self.labels(),
            at: item.at.timestamp(),
            attempt: told.of(item.seq).map_or(0, |delivery| delivery.attempts),
            last: None,
            data: text::data(self, item),
            text: text::text(outlive, self, item),
        }
    }

    /// The job that an event belongs to. One about a place belongs to the first job that ran there.
    fn job(&self, item: &Item<'_>) -> JobId {
        let first = match item.what {
            ItemContent::Post(post)
                if matches!(post.kind, EventKind::Unreachable | EventKind::Reached) =>
            {
                let first = post.data["jobs"][0].as_str();
                first.and_then(|id| JobId::parse(id).ok())
            }
            _ => None,
        };
        first.unwrap_or_else(|| self.id.clone())
    }

    /// Records the final state of these events, or that an agent has them. When that is so for all events, now and ever, its link
    /// in the session's inbox is removed.
    pub fn settle(&self, outlive: &Outlive, seqs: &[u64], note: Note) -> Result<(), Error> {
        let mut told = self.read_told()?;
        let open = seqs.iter().copied().filter(|seq| !told.is_settled(*seq));
        let line = self.line(open.collect(), note)?;
        if !line.seqs.is_empty() {
            let durable = match line.note {
                Note::Handed { .. } => Durable::No,
                _ => Durable::Yes,
            };
            self.append(&line, durable)?;
            told.apply(&line, &agent::is_gone);
        }
        hooks::reach_consumer(Hook::Settled);
        if self.is_over(&told) {
            self.let_go(outlive);
        }
        Ok(())
    }

    /// Whether all events that it will ever have were told or dropped.
    pub fn is_over(&self, told: &Told) -> bool {
        let mut items = self.items().into_iter();
        self.is_final() && items.all(|item| told.is_settled(item.seq))
    }

    /// Removes its link from the session's inbox. A link that stays is only read again.
    pub fn let_go(&self, outlive: &Outlive) {
        if let Some(session) = self.session() {
            let is_this = |owner: &Owner| owner.incarnation.as_ref() == self.incarnation();
            let kind = self.link_kind();
            let _ = links::unlink_inbox(outlive.home(), session, &self.id, kind, is_this);
        }
    }

    pub(super) fn link_kind(&self) -> links::Kind {
        match self.origin {
            Origin::Job { .. } => links::Kind::Job,
            Origin::Post(_) => links::Kind::Post,
        }
    }

    /// A line for its record.
    pub fn line(&self, seqs: Vec<u64>, note: Note) -> Result<Line, Error> {
        Ok(Line {
            when: moment::when()?,
            of: self.incarnation().cloned(),
            seqs,
            note,
        })
    }

    pub fn append(&self, line: &Line, durable: Durable) -> Result<(), Error> {
        let append = || told::append(&self.told, line, durable);
        append()
            .or_else(|error| {
                // Something else may have replaced the file.
                layout::set_aside(&self.told, fs::FileType::is_file).map_err(|_| error)?;
                append()
            })
            .map_err(Error::io("cannot write", &self.told))
    }

    /// Whether another process's answer is about to tell this event.
    pub fn is_answered(&self, outlive: &Outlive, kind: EventKind, age: Duration) -> bool {
        match self.origin {
            Origin::Job { .. } => answering::is_answered(&outlive.job_dir(&self.id), kind, age),
            Origin::Post(_) => false,
        }
    }

    /// When something happened.
    pub fn happened(&self, at: Moment) -> BootMoment {
        let boot = match &self.origin {
            // The clocks of a place are others.
            Origin::Job { spec, .. } if spec.place != LOCAL => {
                let dir = JobDir::at(self.told.parent().unwrap_or(&self.told).to_owned());
                if let Some(arrived) = away::arrived(&dir, spec) {
                    return arrived;
                }
                None
            }
            Origin::Job { state, .. } => state.boot.clone(),
            Origin::Post(post) => Some(post.boot.clone()),
        };
        BootMoment {
            boot: boot.unwrap_or(BootId(String::new())),
            at,
        }
    }
}

/// Whether a file will never be readable as it is; that no more files can be opened, say, passes.
fn is_unusable(error: &io::Error) -> bool {
    const TOO_MANY_LINKS: i32 = 40;
    let kinds = [
        io::ErrorKind::InvalidData,
        io::ErrorKind::IsADirectory,
        io::ErrorKind::PermissionDenied,
    ];
    kinds.contains(&error.kind()) || error.raw_os_error() == Some(TOO_MANY_LINKS)
}

fn item(notice: &Notice) -> Option<Item<'_>> {
    Some(Item {
        seq: notice.seq,
        at: notice.at,
        kind: notice::kind_of(&notice.event)?,
        what: ItemContent::Event(&notice.event),
    })
}
