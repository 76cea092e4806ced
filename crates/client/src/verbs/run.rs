//! Start a job.

mod foreground;
mod resolve;

pub use foreground::foreground;

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::answering::Answering;
use crate::inbox::told;
use crate::jobs::hold::Hold;
use crate::jobs::job::{Job, Seen, Sight};
use crate::jobs::naming::{self, Namesake};
use crate::jobs::presence;
use crate::jobs::twin::{self, Alone, Twin};
use crate::launch::keeper_process::Begun;
use crate::launch::{self, Named};
use crate::random;
use crate::verbs::show;
use outlive_core::bound;
use outlive_core::breaker::BreakerRules;
use outlive_core::doorbell::Doorbell;
use outlive_core::event::Event;
use outlive_core::journal;
use outlive_core::layout;
use outlive_core::notice::Kind;
use outlive_core::os_text::OsText;
use outlive_core::ready::Ready;
use outlive_core::told::How;
use outlive_core::watch::Watch;
use outlive_core::{Input, JobId, Label, Leftovers, Notify, Outcome, Phase, Spec, State, spec};
use outlive_sys::clock;
use outlive_sys::lock::Lock;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

/// From asking a job to end to killing it.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(2);

const KEEPERS_DIED: &str =
    "its keepers ended before they could start it: too few descriptors, processes or memory?";

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Argv(Vec<OsString>),
    /// A string for a shell (bash, else sh).
    Shell(String),
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Run {
    pub command: Command,
    /// Chosen by the caller, a second start is refused; else one is made.
    pub id: Option<JobId>,
    pub name: Option<Label>,
    /// What becomes of a running job of that name in this session.
    pub namesake: Namesake,
    pub session: Option<Label>,
    pub task: Option<Label>,
    /// Else where this process is.
    pub cwd: Option<PathBuf>,
    pub input: Input,
    /// Set the variables that make programs talk plainly, unless they are given.
    pub plain: bool,
    /// Added to the environment, which is inherited.
    pub variables: Vec<(OsString, OsString)>,
    pub timeout: Option<Duration>,
    pub grace: Duration,
    /// How much of the output is kept; everything if `None`.
    pub max_output: Option<u64>,
    pub notify: Notify,
    /// What of its output is told while it runs.
    pub watch: Option<Watch>,
    /// How much all watches of the session may tell.
    pub breaker: BreakerRules,
    /// How long an unfinished line must be still to be looked at.
    pub still: Duration,
    /// By what sign it is ready.
    pub ready: Option<Ready>,
    /// Silence of this length is told.
    pub quiet_after: Option<Duration>,
    /// Only one job at a time has this.
    pub lock: Option<Label>,
    /// A job of this session that runs this command in this directory already will do.
    pub unless_running: bool,
    /// What is run when it has ended.
    pub doorbells: Vec<Doorbell>,
    pub leftovers: Leftovers,
    /// A file that the output is appended to as well.
    pub log: Option<PathBuf>,
    pub keep_awake: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Started {
    /// As its start was decided: running, waiting for a lock, or ended because it could not be started.
    pub job: Job,
    /// Of its first process, which may have ended already.
    pub pid: Option<i32>,
    /// What was done otherwise than a reader of the command would expect.
    pub notes: Vec<String>,
    /// It was running already, and was not started now.
    pub already: bool,
    /// Until this is dropped it is not pruned, so that whoever started it can wait for its end.
    pub hold: Option<Hold>,
    /// Until this is dropped nobody else tells its session of its end, so that whoever started it can.
    pub answering: Option<Answering>,
}

impl Run {
    pub fn new(command: Command) -> Run {
        Run {
            command,
            id: None,
            name: None,
            namesake: Namesake::Refuse,
            session: None,
            task: None,
            cwd: None,
            input: Input::Null,
            plain: false,
            variables: Vec::new(),
            timeout: None,
            grace: DEFAULT_GRACE,
            max_output: Some(bound::DEFAULT),
            notify: Notify::End,
            watch: None,
            breaker: BreakerRules::default(),
            still: Duration::from_millis(spec::DEFAULT_STILL_MS),
            ready: None,
            quiet_after: None,
            lock: None,
            unless_running: false,
            doorbells: Vec::new(),
            leftovers: Leftovers::Keep,
            log: None,
            keep_awake: false,
        }
    }

    pub fn argv<S: Into<OsString>>(argv: impl IntoIterator<Item = S>) -> Run {
        Run::new(Command::Argv(argv.into_iter().map(Into::into).collect()))
    }

    pub fn shell(script: impl Into<String>) -> Run {
        Run::new(Command::Shell(script.into()))
    }
}

impl Started {
    /// Nothing was started: this one runs already.
    fn already(job: Job, notes: Vec<String>) -> Started {
        Started {
            pid: job.pid,
            job,
            notes,
            already: true,
            hold: None,
            answering: None,
        }
    }

    /// Notes, once the face has said so, that whoever asked knows that it could not be started.
    pub fn heard(&self, outlive: &Outlive) -> Result<(), Error> {
        if !matches!(self.job.outcome, Some(Outcome::NotStarted { .. })) {
            return Ok(());
        }
        told::heard(outlive, &self.job.id, How::Asked, |kind, _| {
            kind == Kind::Ended
        })
    }
}

/// Starts a job; returns once its command has been executed or could not be.
pub fn run(outlive: &Outlive, asked: Run) -> Result<Started, Error> {
    let New {
        spec,
        lock,
        variables,
        mut notes,
        _alone,
    } = match make(outlive, asked)? {
        Made::New(new) => *new,
        Made::Already(job, notes) => return Ok(Started::already(*job, notes)),
    };
    // Open from before the start: a job that ends at once may be pruned before it is looked at.
    let journal = outlive.job_dir(&spec.id).journal();
    let opened = layout::open(&journal).map_err(Error::io("cannot open", &journal))?;
    let hold = Hold::on(&outlive.job_dir(&spec.id));
    let answering = Answering::on(outlive, &spec, &[Kind::Ended, Kind::Ready]);
    let (job, state) = match launch::start(outlive, &spec, lock, &variables) {
        Ok(Begun::Ready) => read_begun(outlive, &spec, opened)?,
        Ok(Begun::Died) => abandon(outlive, &spec, KEEPERS_DIED, opened)?,
        Err(error) => abandon(outlive, &spec, &error.to_string(), opened)?,
    };
    let pid = state.phase.leader().map(|leader| leader.process.pid);
    notes.extend(resolve::shell_hint(&spec, &job));
    Ok(Started {
        job,
        pid,
        notes,
        already: false,
        hold,
        answering,
    })
}

/// A job that has its directory and no keeper yet.
struct New {
    spec: Spec,
    lock: Lock,
    variables: Vec<(OsString, OsString)>,
    notes: Vec<String>,
    /// Nobody else starts the same, or one of the same name, before this is dropped.
    _alone: [Option<Alone>; 2],
}

enum Made {
    New(Box<New>),
    /// Nothing was made: this one runs already.
    Already(Box<Job>, Vec<String>),
}

/// Makes the directory of a job that is asked for.
fn make(outlive: &Outlive, asked: Run) -> Result<Made, Error> {
    let mut notes = Vec::new();
    let (argv, command) = resolve::argv(&asked, &mut notes)?;
    let variables = resolve::variables(&asked)?;
    let mut spec = Spec {
        format: spec::FORMAT,
        id: asked.id.clone().map_or_else(make_id, Ok)?,
        incarnation: Some(random::incarnation()?),
        name: asked.name,
        session: asked.session,
        task: asked.task,
        place: "local".to_owned(),
        redacted_command: match asked.doorbells.is_empty() {
            true => None,
            false => resolve::redacted(&command),
        },
        command,
        argv,
        cwd: resolve::directory(asked.cwd)?.into(),
        input: asked.input,
        timeout_ms: asked.timeout.map(|timeout| timeout.as_millis() as u64),
        grace_ms: asked.grace.as_millis() as u64,
        max_output: asked.max_output,
        notify: asked.notify,
        watch: asked.watch,
        breaker: asked.breaker,
        still_ms: asked.still.as_millis() as u64,
        ready: asked.ready,
        quiet_after_ms: asked.quiet_after.map(|after| after.as_millis() as u64),
        lock: asked.lock,
        doorbells: asked.doorbells,
        leftovers: asked.leftovers,
        log: asked.log.map(OsText::from),
        keep_awake: if asked.keep_awake {
            resolve::awake(&mut notes)
        } else {
            Vec::new()
        },
    };
    resolve::refuse_nul(&spec)?;
    // Both are told through the same inbox, by their ids.
    if outlive.home().post(&spec.id).path().exists() {
        return Err(Error::IdOfPost(spec.id));
    }
    let alone = match asked.unless_running {
        true => match twin::look(outlive, &spec)? {
            Twin::Runs(job) => return Ok(Made::Already(job, notes)),
            Twin::None(alone) => Some(alone),
        },
        false => None,
    };
    resolve::refuse_patterns(&spec)?;
    // A start that is repeated under its own id is told that, whatever its name.
    let is_repeated = asked.id.is_some() && outlive.job_dir(&spec.id).path().is_dir();
    let named = match is_repeated {
        true => None,
        false => naming::take(outlive, &spec, asked.namesake)?,
    };
    let lock = loop {
        match launch::make(outlive, &spec)? {
            Named::Yes(lock) => break lock,
            Named::Taken if asked.id.is_none() => spec.id = make_id()?,
            Named::Taken => match show::show(outlive, &spec.id) {
                // It was pruned meanwhile: the id is free. What is no directory keeps it taken.
                Err(Error::NoSuchJob(_)) if is_free(outlive, &spec.id) => {}
                job => return Err(Error::IdTaken(Box::new(job?))),
            },
        }
    };
    Ok(Made::New(Box::new(New {
        spec,
        lock,
        variables,
        notes,
        _alone: [alone, named],
    })))
}

/// What is known of a job whose keepers died over its start, or never were.
fn abandon(
    outlive: &Outlive,
    spec: &Spec,
    reason: &str,
    journal: File,
) -> Result<(Job, State), Error> {
    presence::abandon(outlive, &spec.id, reason)?;
    match show::read(outlive, &spec.id) {
        Err(Error::NoSuchJob(_)) => read_begun(outlive, spec, journal),
        other => other.map(|(job, _, state)| (job, state)),
    }
}

/// The job as its journal tells it. Its keeper, which is about to look after it, is not asked.
fn read_begun(outlive: &Outlive, spec: &Spec, mut journal: File) -> Result<(Job, State), Error> {
    let dir = outlive.job_dir(&spec.id);
    let mut bytes = Vec::new();
    journal
        .read_to_end(&mut bytes)
        .map_err(Error::io("cannot read", dir.journal()))?;
    let state = begun(&bytes);
    Ok((
        Job::new(&dir, spec, &state, Sight::Clear(Seen::default())),
        state,
    ))
}

/// How far its start had come. What became of it since is not told here: that may not be on the disk yet,
/// and nobody is to wait for a disk who starts something.
fn begun(journal: &[u8]) -> State {
    let mut state = State::default();
    let mut is_later = false;
    journal::for_each(journal, |record| {
        let has_run = matches!(state.phase, Phase::Running(_) | Phase::Stopping(..));
        is_later |= has_run && matches!(record.event, Event::Ended(_));
        if !is_later {
            state.apply(record);
        }
    });
    state
}

fn is_free(outlive: &Outlive, id: &JobId) -> bool {
    let there = outlive.job_dir(id).path().symlink_metadata();
    there.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn make_id() -> Result<JobId, Error> {
    Ok(JobId::make(clock::wall_ms(), random::number()?))
}
