//! `run`: starts a job, and waits for it if asked.

mod adopt;

use super::{Hints, Verb, wait};
use crate::answer::Glance;
use crate::call::{Call, seconds};
use crate::identity;
use crate::reply::{Refused, Reply, ToolAnswer};
use crate::words;
use outlive::api::limits::{Cpus, Limits};
use outlive::api::os_text::OsText;
use outlive::api::request::{Environment, EnvironmentSource, VariablePattern};
use outlive::api::waiting::{After, Needs, Queue};
use outlive::inbox::Receipt;
use outlive::labels::{self, Labels};
use outlive::units::parse_size;
use outlive::verbs;
use outlive::verbs::run::{self, Started};
use outlive::verbs::wait::{Until, WaitFor};
use outlive::{
    Error, Input, Job, JobId, LOCAL, Label, Leftovers, Namesake, Notify, Pattern, Ready, Restart,
    Size, Streams,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub struct Run;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The command: a string for a shell (bash, or sh if there is no bash)
    #[schemars(with = "String")]
    command: CommandText,
    /// Wait this long for its end, or with `ready` until it is ready; then it continues (default: 0, return at once)
    wait_seconds: Option<f64>,
    /// A name to use instead of the id. Fails if a running job of this session has it
    name: Option<String>,
    /// Stop the running job of that name first
    #[serde(default)]
    replace: bool,
    /// Choose the id of the job. Fails if any job has it
    id: Option<String>,
    /// Run it on another machine: the name of a place that the user has configured (default: here)
    place: Option<String>,
    /// Directory to run it in (default: the directory of this server)
    cwd: Option<PathBuf>,
    /// Variables to add to the environment
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Variables to inherit although they are credentials of agents, or left out by `env_clean`; `*` is a wildcard
    #[serde(default)]
    env_pass: Vec<String>,
    /// Inherit only HOME, PATH, the locale and the like
    #[serde(default)]
    env_clean: bool,
    /// Read the user's shell profile first
    #[serde(default)]
    login: bool,
    /// Set variables that switch off colours, pagers and questions
    plain: Option<bool>,
    /// Give the job a terminal, for REPLs, prompts and full-screen programs
    #[serde(default)]
    pty: bool,
    /// Keep its standard input open for `send` (default: the job reads end of file at once)
    #[serde(default)]
    stdin: bool,
    /// `split`: tell stdout and stderr apart (default: merged)
    streams: Option<Streams>,
    /// Stop the job when it has run for this long; 0: never (default: usually never)
    timeout_seconds: Option<f64>,
    /// Seconds from TERM to KILL when it is stopped (default: usually 2)
    grace: Option<f64>,
    /// Keep at most this much of its output, such as 1G; 0 keeps all (default: 64M)
    max_output: Option<String>,
    /// What becomes of processes that still run when the command has ended (default: keep)
    leftovers: Option<Leftovers>,
    /// Report output lines that contain one of these texts, while the job runs
    #[serde(default)]
    watch: Vec<String>,
    /// Report output lines that match one of these regular expressions
    #[serde(default)]
    watch_regex: Vec<String>,
    /// Do not report lines that contain one of these texts. Alone: report every other line
    #[serde(default)]
    watch_not: Vec<String>,
    /// Stop reporting after this many lines
    watch_limit: Option<u64>,
    /// Report when it has written nothing for this many seconds
    quiet_after: Option<f64>,
    /// Report when the job prints a line (line:REGEX), listens on a port (port:NUMBER) or answers over HTTP (http:URL)
    ready: Option<String>,
    /// Which ends to report: all, failures, or none (default: usually end)
    notify: Option<Notify>,
    /// Start the command when no other job holds this lock, and hold it while the command runs
    lock: Option<String>,
    /// Pairs to find it by
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// Show this text in place of the command
    r#as: Option<String>,
    /// Start the command when its turn in this queue comes: NAME, or NAME:N for N jobs at once
    queue: Option<String>,
    /// Start it after these jobs have ended: ids; ID:success to start it only if that job succeeded
    #[serde(default)]
    after: Vec<String>,
    /// Run it again after it has ended: `on-failure`, `on-failure:N` (N times at most) or `always`
    restart: Option<String>,
    /// If this session already runs the same command in the same directory, return that job and start nothing
    #[serde(default)]
    unless_running: bool,
    /// The command was started with `&` and runs as this process: make that a job and start nothing
    adopt_pid: Option<i32>,
    /// Kill the job when it needs more memory than this, such as 2G
    memory: Option<String>,
    /// Most processors
    cpus: Option<f64>,
    /// Most processes
    pids: Option<u32>,
    /// From -20 (first) to 19 (last)
    nice: Option<i32>,
}

/// A command as models write it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum CommandText {
    Line(String),
    /// A program and its arguments, as some other tools take them.
    Words(Vec<String>),
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    job: Glance,
    /// Nothing was started: this job existed before
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    already: bool,
    /// Notes about the start
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Verb for Run {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "run";
    const TITLE: &'static str = "Run a command as a job";
    const DESCRIPTION: &'static str = "\
Start a command as a job that survives this turn, this server and a restart of the agent. Returns at once with \
its id.\n\
Use it for anything that may take longer than a minute, for servers, watchers and REPLs. Do not add `&`, \
`nohup`, `setsid` or redirections: every job runs in the background, and `log` has all its output.\n\
- You need the result now, and it is probably short: `wait_seconds: 30`. A job that takes longer continues.\n\
- It takes long: do something else. Do not poll and do not `sleep`; the answer says how you learn of its end.\n\
- A server: with `ready: \"port:8080\"` and `wait_seconds` this call returns when it can be used.\n\
- News before the end: `watch: [\"ERROR\"]`. Questions: `pty: true`, then `send`.\n\
- Only one at a time: `lock: \"name\"`. It may already run: `unless_running: true`.\n\
The exit code is never guessed: if nobody saw the end of a job, its outcome is `lost`.";
    const HINTS: Hints = Hints::Acts;
    const ALWAYS_LOADED: bool = true;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let limit = seconds("wait_seconds", args.wait_seconds)?;
        let what = match args.ready {
            Some(_) => WaitFor::Ready,
            None => WaitFor::End,
        };
        let started = start(call, args)?;
        let notify = started.notify;
        let limit = call.patience.within(limit.or(Some(Duration::ZERO)));
        if limit.is_zero() && !started.job.has_ended() {
            return reply(call, &started.job, &started, notify);
        }
        let ids = [started.job.id.clone()];
        let waited = wait::within(call, &ids, what, Until::All, limit)?;
        let job = waited.jobs.first().unwrap_or(&started.job).clone();
        let mut reply = reply(call, &job, &started, notify)?;
        if let (WaitFor::Ready, true) = (what, waited.out_of_time) {
            let note = "the job is not ready yet".to_owned();
            reply.text.push_str(&format!("\nNote: {note}."));
            reply.answer.notes.push(note);
        }
        Ok(wait::heard(reply, waited, what))
    }
}

/// What `run` would have answered if it had waited until the end.
pub fn ended(call: &Call, job: &Job) -> Result<ToolAnswer, Refused> {
    let glance = Glance::at(call, job)?;
    let id = job.id.clone();
    let receipt = Receipt::of_end(&call.outlive, &id);
    let reply = Reply::new(
        words::glance(&glance),
        Answer {
            job: glance,
            already: false,
            notes: Vec::new(),
        },
    );
    reply
        .tells_ends([id])
        .then(move || receipt.told())
        .said(Run::DETAIL)
}

/// Starts the job. A repeated call finds the job that the first call started.
fn start(call: &Call, args: Args) -> Result<Started, Refused> {
    // An id that the model chose may belong to any job.
    let is_known = call.id.is_some() && args.id.is_none();
    let started = match args.adopt_pid {
        Some(pid) => verbs::adopt::adopt(&call.outlive, adopt::request(call, pid, &args)?),
        None => run::run(&call.outlive, request(call, args)?),
    };
    match started {
        Err(Error::IdTaken(job)) if is_known => {
            let note = "this call was made before; nothing was started again".to_owned();
            Ok(Started::already(&call.outlive, *job, vec![note]))
        }
        other => Ok(other?),
    }
}

pub(crate) fn request(call: &Call, args: Args) -> Result<run::Run, Refused> {
    let call_id = call.id.as_deref();
    let id = match args.id {
        Some(id) => Some(JobId::parse(&id).map_err(Error::from)),
        None => call_id.map(|call_id| identity::job_id(&call.session, call_id)),
    };
    let ready = args.ready.as_deref().map(Ready::parse);
    let restart = args.restart.as_deref().map(Restart::parse);
    let size = args.max_output.as_deref().map(parse_size);
    let memory = args.memory.as_deref().map(parse_size);
    let cpus = args.cpus.map(Cpus::new);
    let mut run = match args.command {
        CommandText::Line(line) => run::Run::shell(line),
        CommandText::Words(words) => run::Run::argv(words),
    };
    run.id = id.transpose()?;
    run.session = Some(call.session.clone());
    run.name = label("the name", args.name.as_deref())?;
    run.namesake = match args.replace {
        true => Namesake::Replace,
        false => Namesake::Refuse,
    };
    run.lock = label("the lock", args.lock.as_deref())?;
    run.queue = queue(args.queue.as_deref())?;
    run.after = after(call, &args.after)?;
    run.place = place(call, args.place)?;
    run.cwd = args.cwd.map(OsText::from);
    run.input = match (args.pty, args.stdin) {
        (true, _) => Input::Pty(Size::DEFAULT),
        (false, true) => Input::Pipe,
        (false, false) => Input::Null,
    };
    run.streams = args.streams.unwrap_or_default();
    run.variables = args
        .env
        .into_iter()
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    run.environment = environment(args.env_pass, args.env_clean, args.login)?;
    run.timeout = seconds("timeout_seconds", args.timeout_seconds)?;
    run.plain = args.plain;
    run.grace = seconds("grace", args.grace)?;
    run.max_output = size.transpose().map_err(Refused::bad_input)?;
    run.leftovers = args.leftovers.unwrap_or_default();
    run.watch = watched(args.watch, args.watch_regex, args.watch_not);
    run.watch_limit = args.watch_limit;
    run.quiet_after = seconds("quiet_after", args.quiet_after)?;
    run.ready = ready.transpose().map_err(Refused::bad_input)?;
    run.restart = restart.transpose().map_err(Refused::bad_input)?;
    run.notify = args.notify;
    run.unless_running = args.unless_running;
    run.labels = labels(args.labels)?;
    run.shown_as = args.r#as;
    run.limits = Limits {
        memory_bytes: memory.transpose().map_err(Refused::bad_input)?,
        cpus: cpus.transpose().map_err(Refused::bad_input)?,
        pids: args.pids,
        nice: args.nice,
    };
    Ok(run)
}

/// The place, if an agent may use it.
fn place(call: &Call, asked: Option<String>) -> Result<Option<String>, Refused> {
    let Some(asked) = asked.filter(|place| !place.is_empty() && place != LOCAL) else {
        return Ok(None);
    };
    let config = call.outlive.config().map_err(Refused::from)?;
    if config.lets_agents_use(&asked) {
        return Ok(Some(asked));
    }
    let allowed = match config.places_of_agents().as_slice() {
        [] => "there is none that you may use".to_owned(),
        places => format!("those you may use: {}", places.join(", ")),
    };
    Err(Refused::bad_input(format!(
        "no place {asked:?} for agents; {allowed}"
    )))
}

fn environment(pass: Vec<String>, clean: bool, login: bool) -> Result<Environment, Refused> {
    let pass = pass.iter().map(|text| VariablePattern::parse(text));
    Ok(Environment {
        clean,
        pass: pass.collect::<Result<_, _>>().map_err(Refused::bad_input)?,
        // Even if this server was started by hand: who calls it is an agent.
        source: EnvironmentSource::Harness,
        login,
    })
}

pub(super) fn watched(
    texts: Vec<String>,
    regexes: Vec<String>,
    without: Vec<String>,
) -> Vec<Pattern> {
    let texts = texts.into_iter().map(Pattern::Text);
    let regexes = regexes.into_iter().map(Pattern::Regex);
    let without = without.into_iter().map(Pattern::NotText);
    texts.chain(regexes).chain(without).collect()
}

fn labels(given: BTreeMap<String, String>) -> Result<Labels, Refused> {
    let pairs = given
        .into_iter()
        .map(|(key, value)| Ok((key.try_into()?, value.try_into()?)));
    let labels: Result<Labels, labels::BadLabels> = pairs.collect();
    labels.map_err(Refused::bad_input)
}

fn queue(text: Option<&str>) -> Result<Option<Queue>, Refused> {
    text.map(Queue::parse)
        .transpose()
        .map_err(Refused::bad_input)
}

fn after(call: &Call, texts: &[String]) -> Result<Vec<After>, Refused> {
    let parse = |text: &String| {
        let (job, needs) = Needs::split(text).map_err(Refused::bad_input)?;
        let job = call.find(job)?;
        Ok(After { job, needs })
    };
    texts.iter().map(parse).collect()
}

fn label(what: &'static str, text: Option<&str>) -> Result<Option<Label>, Error> {
    text.map(|text| {
        Label::parse(text).map_err(|reason| Error::BadLabel {
            what,
            text: text.to_owned(),
            reason,
        })
    })
    .transpose()
}

fn reply(
    call: &Call,
    job: &Job,
    started: &Started,
    notify: Notify,
) -> Result<Reply<Answer>, Refused> {
    let glance = Glance::at(call, job)?;
    let mut notes = started.notes.clone();
    if started.already && notes.is_empty() {
        notes.push("this session already runs this command; nothing was started".to_owned());
    }
    if !job.has_ended() {
        let told = words::telling(call, notify);
        notes.push(format!("it continues in the background; {told}"));
    }
    let mut text = words::glance(&glance);
    for note in &notes {
        text.push_str(&format!("\nNote: {note}."));
    }
    Ok(Reply::new(
        text,
        Answer {
            job: glance,
            already: started.already,
            notes,
        },
    )
    .shows([job]))
}
