//! Start a job.

use crate::environment;
use crate::error::Error;
use crate::hold::Hold;
use crate::job::{Job, Seen};
use crate::keeper_process::Begun;
use crate::launch::{self, Named};
use crate::outlive::Outlive;
use crate::presence;
use crate::shell;
use crate::told;
use crate::twin::{self, Twin};
use crate::verbs::show;
use outlive_core::bound;
use outlive_core::breaker::BreakerRules;
use outlive_core::doorbell::Doorbell;
use outlive_core::layout;
use outlive_core::notice::Kind;
use outlive_core::os_text::OsText;
use outlive_core::ready::Ready;
use outlive_core::told::How;
use outlive_core::watch::{Pattern, Watch};
use outlive_core::{Input, JobId, Journal, Label, Leftovers, Notify, Outcome, Spec, State, spec};
use outlive_sys::clock;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
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
    /// Running, or ended already (`not_started` if it could not be).
    pub job: Job,
    /// Of its first process, which may have ended already.
    pub pid: Option<i32>,
    /// What was done otherwise than a reader of the command would expect.
    pub notes: Vec<String>,
    /// It was running already, and was not started now.
    pub already: bool,
    /// Until this is dropped it is not pruned, so that whoever started it can wait for its end.
    pub hold: Option<Hold>,
}

impl Run {
    pub fn new(command: Command) -> Run {
        Run {
            command,
            id: None,
            name: None,
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
    let mut notes = Vec::new();
    let (argv, command) = resolve(&asked, &mut notes)?;
    let variables = variables(&asked)?;
    let mut spec = Spec {
        format: spec::FORMAT,
        id: asked.id.clone().map_or_else(make_id, Ok)?,
        name: asked.name,
        session: asked.session,
        task: asked.task,
        place: "local".to_owned(),
        command,
        argv,
        cwd: directory(asked.cwd)?.into(),
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
            awake(&mut notes)
        } else {
            Vec::new()
        },
    };
    refuse_nul(&spec)?;
    // Both are told through the same inbox, by their ids.
    if outlive.home().post(&spec.id).path().exists() {
        return Err(Error::IdOfPost(spec.id));
    }
    let _alone = match asked.unless_running {
        true => match twin::look(outlive, &spec)? {
            Twin::Runs(job) => return Ok(Started::already(*job, notes)),
            Twin::None(alone) => Some(alone),
        },
        false => None,
    };
    refuse_patterns(&spec)?;
    let lock = loop {
        match launch::make(outlive, &spec)? {
            Named::Yes(lock) => break lock,
            Named::Taken if asked.id.is_none() => spec.id = make_id()?,
            Named::Taken => return Err(Error::IdTaken(Box::new(show::show(outlive, &spec.id)?))),
        }
    };
    // Open from before the start: a job that ends at once may be pruned before it is looked at.
    let journal = outlive.job_dir(&spec.id).journal();
    let opened = layout::open(&journal).map_err(Error::io("cannot open", &journal))?;
    let hold = Hold::on(&outlive.job_dir(&spec.id));
    match launch::start(outlive, &spec, lock, &variables) {
        Ok(Begun::Ready) => {}
        Ok(Begun::Died) => presence::abandon(outlive, &spec.id, KEEPERS_DIED)?,
        Err(error) => presence::abandon(outlive, &spec.id, &error.to_string())?,
    }
    let (job, state) = match show::read(outlive, &spec.id) {
        Err(Error::NoSuchJob(_)) => read_removed(outlive, &spec, opened)?,
        other => other.map(|(job, _, state)| (job, state))?,
    };
    let pid = state.phase.leader().map(|leader| leader.process.pid);
    Ok(Started {
        job,
        pid,
        notes,
        already: false,
        hold,
    })
}

/// The job as its journal told it last.
fn read_removed(outlive: &Outlive, spec: &Spec, mut journal: File) -> Result<(Job, State), Error> {
    let dir = outlive.job_dir(&spec.id);
    let mut bytes = Vec::new();
    journal
        .read_to_end(&mut bytes)
        .map_err(Error::io("cannot read", dir.journal()))?;
    let state = Journal::parse(&bytes).state;
    Ok((Job::new(&dir, spec, &state, Seen::default()), state))
}

/// The arguments to execute, and the command as a person would write it.
fn resolve(asked: &Run, notes: &mut Vec<String>) -> Result<(Vec<OsText>, String), Error> {
    match &asked.command {
        Command::Argv(argv) if argv.first().is_none_or(|name| name.is_empty()) => {
            Err(Error::NoCommand)
        }
        Command::Argv(argv) => {
            let words: Vec<String> = argv
                .iter()
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect();
            let command = words
                .iter()
                .map(|word| quote(word))
                .collect::<Vec<_>>()
                .join(" ");
            Ok((argv.iter().cloned().map(OsText).collect(), command))
        }
        Command::Shell(script) if script.trim().is_empty() => Err(Error::NoCommand),
        Command::Shell(script) => {
            let run = shell::foreground(script).unwrap_or_else(|| script.clone());
            if run != *script {
                notes.push("the trailing & was left out: the command itself is the job, and runs in the background as every job does".to_owned());
            }
            let shell = if on_path("bash", asked) { "bash" } else { "sh" };
            let mut argv = vec![shell, "-c"];
            // It would be taken for options.
            if run.starts_with(['-', '+']) {
                argv.push("--");
            }
            argv.push(&run);
            Ok((argv.into_iter().map(OsText::from).collect(), script.clone()))
        }
    }
}

fn quote(word: &str) -> String {
    // Only a NUL cannot be quoted, and that is refused elsewhere.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |quoted| quoted.into_owned())
}

fn on_path(program: &str, asked: &Run) -> bool {
    let given = asked
        .variables
        .iter()
        .rev()
        .find(|(key, _)| key == "PATH")
        .map(|(_, value)| value.clone());
    let path = given
        .or_else(|| env::var_os("PATH"))
        .unwrap_or_else(|| "/usr/local/bin:/bin:/usr/bin".into());
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn variables(asked: &Run) -> Result<Vec<(OsString, OsString)>, Error> {
    for (key, value) in &asked.variables {
        if key.is_empty() || key.as_bytes().contains(&b'=') {
            return Err(Error::BadVariable(key.to_string_lossy().into_owned()));
        }
        // The value may be a secret: it is not shown.
        if has_nul(key) || has_nul(value) {
            return Err(Error::Nul(key.to_string_lossy().into_owned()));
        }
    }
    let mut variables = asked.variables.clone();
    let is_given = |variables: &[(OsString, OsString)], key: &str| {
        variables.iter().any(|(given, _)| given == key)
    };
    if matches!(asked.input, Input::Pty(_)) && !asked.plain && !is_given(&variables, "TERM") {
        // Whatever terminal this process has, the job's is another.
        variables.push(("TERM".into(), environment::TERM.into()));
    }
    if asked.plain {
        for (key, value) in environment::PLAIN {
            if !is_given(&variables, key) {
                variables.push((key.into(), value.into()));
            }
        }
    }
    if !is_given(&variables, environment::UNBUFFERED)
        && env::var_os(environment::UNBUFFERED).is_none()
    {
        variables.push((environment::UNBUFFERED.into(), "1".into()));
    }
    Ok(variables)
}

fn directory(asked: Option<PathBuf>) -> Result<PathBuf, Error> {
    let here = || env::current_dir().map_err(Error::io("cannot tell the current directory", "."));
    match asked {
        None => here(),
        // Not looked at here: the job's own attempt to go there is what counts, and is recorded.
        Some(path) if path.is_absolute() => Ok(path),
        Some(path) => Ok(here()?.join(path)),
    }
}

fn refuse_nul(spec: &Spec) -> Result<(), Error> {
    let mut all = spec.argv.iter().chain([&spec.cwd]).chain(&spec.log);
    match all.find(|text| has_nul(text.as_os_str())) {
        Some(text) => Err(Error::Nul(text.lossy())),
        None => Ok(()),
    }
}

/// What a keeper could not look for is refused here, where somebody can mend it.
fn refuse_patterns(spec: &Spec) -> Result<(), Error> {
    let watched = spec.watch.iter().flat_map(|watch| &watch.patterns);
    let regexes = watched.filter_map(|pattern| match pattern {
        Pattern::Regex(source) | Pattern::NotRegex(source) => Some(source),
        Pattern::Text(_) | Pattern::NotText(_) => None,
    });
    let ready = match &spec.ready {
        Some(Ready::Line(source)) => Some(source),
        _ => None,
    };
    for source in regexes.chain(ready) {
        regex::bytes::Regex::new(source).map_err(|error| Error::BadPattern {
            pattern: source.clone(),
            reason: error.to_string(),
        })?;
    }
    Ok(())
}

fn has_nul(text: &OsStr) -> bool {
    text.as_bytes().contains(&0)
}

fn make_id() -> Result<JobId, Error> {
    let random = crate::random::number()?;
    Ok(JobId::make(clock::wall_ms(), random))
}

/// The command that holds off sleep until its input ends.
fn awake(notes: &mut Vec<String>) -> Vec<OsText> {
    const INHIBIT: &str = "systemd-inhibit";
    if !on_path(INHIBIT, &Run::shell("")) {
        notes.push("there is no systemd-inhibit here, so the machine is not kept awake".to_owned());
        return Vec::new();
    }
    let what = "--what=idle:sleep";
    [
        INHIBIT,
        what,
        "--who=outlive",
        "--why=a job is running",
        "--mode=block",
        "cat",
    ]
    .map(OsText::from)
    .to_vec()
}
