//! Turns a request into a [`Spec`]: fills in the configuration and the defaults, and refuses what could
//! not be executed.

use super::placed::There;
use super::{Run, command_line, turns};
use crate::clock;
use crate::config::{self, Config};
use crate::doorbell;
use crate::environment;
use crate::environment::inherited::{self, Inherited, JobVariables};
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::random;
use crate::redact::redact;
use outlive_api::job::Job;
use outlive_api::limits::Limits;
use outlive_api::request::BadSetting;
use outlive_core::defaults::{self, milliseconds};
use outlive_core::os_text::OsText;
use outlive_core::outcome::{NotStarted, Outcome};
use outlive_core::place::LOCAL;
use outlive_core::ready::Ready;
use outlive_core::watch::{Pattern, Watch};
use outlive_core::{Input, JobId, Spec, spec};
use outlive_sys::offers;
use std::borrow::Cow;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A complete request.
pub struct Specified {
    pub spec: Spec,
    /// The environment; never written to disk.
    pub variables: JobVariables,
    /// Differences from what a reader of the command would expect.
    pub notes: Vec<String>,
}

/// Completes a request. No other function reads the configuration for a start.
pub fn specify(outlive: &Outlive, asked: Run, there: Option<&There>) -> Result<Specified, Error> {
    asked.check()?;
    let config = outlive.config()?;
    let mut notes = Vec::new();
    let variables = variables(&asked, &config, outlive, there, &mut notes)?;
    let shell = there.map(|there| &there.greeting.shell);
    let (argv, command) = command_line::of(&asked, &variables, shell, &mut notes)?;
    let command = asked.shown_as.clone().unwrap_or(command);
    let habits = command_line::habits(&asked.command);
    let doorbells = doorbell::resolve(outlive, &config, asked.on_end.as_deref())?;
    let keep_awake = match asked.keep_awake {
        true => awake(&mut notes),
        false => Vec::new(),
    };
    let spec = Spec {
        format: spec::FORMAT,
        id: asked.id.map_or_else(make_id, Ok)?,
        incarnation: Some(random::incarnation()?),
        name: asked.name,
        session: asked.session,
        task: asked.task,
        labels: asked.labels,
        place: there.map_or(LOCAL, |there| &there.place.name).to_owned(),
        redacted_command: match doorbells.is_empty() {
            true => None,
            false => redacted(&command),
        },
        command,
        argv,
        cwd: match there {
            None => directory(asked.cwd)?.into(),
            Some(there) => there.directory(asked.cwd.as_ref()).into(),
        },
        input: asked.input,
        streams: asked.streams,
        timeout_ms: Some(asked.timeout.unwrap_or(config.defaults.timeout))
            .filter(|timeout| !timeout.is_zero())
            .map(milliseconds),
        grace_ms: milliseconds(asked.grace.unwrap_or(defaults::GRACE)),
        max_output: match asked.max_output {
            None => Some(defaults::MAX_OUTPUT),
            Some(0) => None,
            Some(size) => Some(size),
        },
        notify: asked.notify.unwrap_or(config.defaults.notify),
        watch: watch(asked.watch, asked.watch_limit, &config.watch),
        breaker: config.breaker.rules(),
        still_ms: milliseconds(config.watch.still),
        ready: asked.ready,
        quiet_after_ms: asked.quiet_after.map(milliseconds),
        lock: asked.lock,
        queue: asked.queue,
        waiter: match asked.after.is_empty() || there.is_some() {
            // At a place, the far end knows its own program for that.
            true => Vec::new(),
            false => turns::waiter(outlive)?,
        },
        after: asked.after,
        doorbells,
        restart: asked.restart,
        leftovers: asked.leftovers,
        log: asked.log,
        keep_awake,
        adopted: None,
        limits: limits(asked.limits, &config)?,
    };
    refuse_nul(&spec)?;
    let habits = habits.into_iter();
    notes.extend(habits.map(|habit| habit.note(&spec.id, spec.input, outlive.reader())));
    Ok(Specified {
        spec,
        variables,
        notes,
    })
}

/// The limits with the configured one of memory, if the request does not say.
fn limits(asked: Limits, config: &Config) -> Result<Limits, Error> {
    let memory = asked.memory_bytes.unwrap_or(config.defaults.memory);
    let limits = Limits {
        memory_bytes: (memory > 0).then_some(memory),
        ..asked
    };
    limits.check().map_err(BadSetting::Limit)?;
    Ok(limits)
}

/// The watch, if the request contains one.
fn watch(patterns: Vec<Pattern>, limit: Option<u64>, config: &config::Watch) -> Option<Watch> {
    (!patterns.is_empty()).then(|| Watch {
        patterns,
        limit,
        spacing_ms: milliseconds(config.spacing),
        strikes: config.strikes,
    })
}

pub fn make_id() -> Result<JobId, Error> {
    Ok(JobId::make(clock::wall().ms(), random::number()?))
}

/// Suggests the right command to a caller who passed a whole command line as the name of a program.
pub fn shell_hint(outlive: &Outlive, spec: &Spec, job: &Job) -> Option<String> {
    let not_found = matches!(
        job.outcome,
        Some(Outcome::NotStarted {
            cause: NotStarted::NotFound,
            ..
        })
    );
    let [name] = spec.argv.as_slice() else {
        return None;
    };
    let name = name.lossy();
    (not_found && name.contains(char::is_whitespace)).then(|| {
        let line = command_line::quote(&name);
        let line = match outlive.shows_secrets() {
            true => line.into(),
            false => redact(&line),
        };
        let next = outlive.reader().shell(&line);
        format!("this is one word, the name of a program; for a command line: {next}")
    })
}

/// The environment of the job.
fn variables(
    asked: &Run,
    config: &Config,
    outlive: &Outlive,
    there: Option<&There>,
    notes: &mut Vec<String>,
) -> Result<JobVariables, Error> {
    let mut set: Vec<(OsString, OsString)> = Vec::new();
    for (OsText(key), OsText(value)) in &asked.variables {
        if key.is_empty() || key.as_bytes().contains(&b'=') {
            return Err(Error::BadVariable(key.to_string_lossy().into_owned()));
        }
        // The value may be a secret, so it is not shown.
        if has_nul(key) || has_nul(value) {
            return Err(Error::Nul(key.to_string_lossy().into_owned()));
        }
        set.push((key.clone(), value.clone()));
    }
    let Inherited {
        mut variables,
        withheld,
    } = match there {
        None => inherited::inherited(&asked.environment, config, set),
        Some(there) => Inherited {
            variables: there.variables(set)?,
            withheld: Vec::new(),
        },
    };
    if !withheld.is_empty() {
        notes.push(outlive.reader().withheld(&withheld));
    }
    let is_plain = asked.plain.unwrap_or(config.defaults.plain);
    if matches!(asked.input, Input::Pty(_)) && !is_plain && !variables.is_set("TERM") {
        // Whatever terminal this process has, the job has another one.
        variables.set("TERM", environment::TERM);
    }
    if is_plain {
        for (key, value) in environment::PLAIN {
            if !variables.is_set(key) {
                variables.set(key, value);
            }
        }
    }
    if variables.get(environment::UNBUFFERED).is_none() {
        variables.set(environment::UNBUFFERED, "1");
    }
    Ok(variables)
}

fn directory(asked: Option<OsText>) -> Result<PathBuf, Error> {
    let here = || env::current_dir().map_err(Error::io("cannot tell the current directory", "."));
    match asked {
        None => here(),
        // Not checked here: the job's own attempt to enter it counts, and is recorded.
        Some(path) if path.as_path().is_absolute() => Ok(path.0.into()),
        Some(path) => Ok(here()?.join(path.as_path())),
    }
}

/// Refuses what no program can be given.
pub fn refuse_nul(spec: &Spec) -> Result<(), Error> {
    let mut all = spec.argv.iter().chain([&spec.cwd]).chain(&spec.log);
    match all.find(|text| has_nul(text.as_os_str())) {
        Some(text) => Err(Error::Nul(text.lossy())),
        None => Ok(()),
    }
}

/// Refuses a pattern that a keeper could not use, while the caller can still correct it.
pub fn refuse_patterns(spec: &Spec) -> Result<(), Error> {
    let watched = spec.watch.iter().flat_map(|watch| watch.patterns.clone());
    refuse_regexes(&watched.collect::<Vec<_>>())?;
    match &spec.ready {
        Some(Ready::Line(source)) => refuse_regex(source),
        _ => Ok(()),
    }
}

/// Refuses patterns that are no regular expressions, and should be.
pub fn refuse_regexes(patterns: &[Pattern]) -> Result<(), Error> {
    let regexes = patterns.iter().filter_map(|pattern| match pattern {
        Pattern::Regex(source) | Pattern::NotRegex(source) => Some(source),
        Pattern::Text(_) | Pattern::NotText(_) => None,
    });
    regexes.map(String::as_str).try_for_each(refuse_regex)
}

fn refuse_regex(source: &str) -> Result<(), Error> {
    let regex = regex::bytes::Regex::new(source);
    regex.map(drop).map_err(|error| Error::BadPattern {
        pattern: source.to_owned(),
        reason: error.to_string(),
    })
}

fn has_nul(text: &OsStr) -> bool {
    text.as_bytes().contains(&0)
}

/// The command without credentials, if it contains any.
fn redacted(command: &str) -> Option<String> {
    match redact(command) {
        Cow::Borrowed(_) => None,
        Cow::Owned(redacted) => Some(redacted).filter(|redacted| redacted != command),
    }
}

/// The command that prevents sleep until its input ends.
fn awake(notes: &mut Vec<String>) -> Vec<OsText> {
    const INHIBIT: &str = "systemd-inhibit";
    if environment::on_path(INHIBIT).is_none() {
        notes.push("there is no systemd-inhibit here, so the machine is not kept awake".to_owned());
        return Vec::new();
    }
    // logind creates this directory first, so that others can see that it runs.
    if !offers::systemd() || !Path::new("/run/systemd/seats").exists() {
        let note = "systemd-logind does not run here, so the machine may not be kept awake";
        notes.push(note.to_owned());
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Duration;

    #[test]
    fn the_configuration_applies_to_every_caller() {
        let world = tempfile::tempdir().unwrap();
        let text = "[watch]\nspacing = \"1s\"\nstrikes = 7\nstill = \"2s\"\n[breaker]\nmost = 4\n\
                    [[doorbell]]\nname = \"mine\"\nkind = \"desktop\"\n";
        fs::write(world.path().join("config.toml"), text).unwrap();
        let outlive = Outlive::open_at(world.path()).unwrap();
        let pattern = Pattern::Text("x".to_owned());
        let asked = Run::shell("make").watch(pattern).on_end("date");
        let spec = specify(&outlive, asked, None).unwrap().spec;
        let watch = spec.watch.unwrap();
        assert_eq!((watch.spacing_ms, watch.strikes), (1000, 7));
        assert_eq!((spec.still_ms, spec.breaker.most), (2000, 4));
        let names: Vec<_> = spec.doorbells.into_iter().map(|bell| bell.name).collect();
        assert_eq!(names, ["on-end", "mine"]);
    }

    #[test]
    fn what_is_not_requested_has_the_default() {
        let world = tempfile::tempdir().unwrap();
        fs::write(world.path().join("config.toml"), "").unwrap();
        let outlive = Outlive::open_at(world.path()).unwrap();
        let spec = |asked| specify(&outlive, asked, None).unwrap().spec;
        let plain = spec(Run::shell("make"));
        assert_eq!((plain.watch, plain.timeout_ms), (None, None));
        assert_eq!(plain.grace_ms, milliseconds(defaults::GRACE));
        assert_eq!(plain.max_output, Some(defaults::MAX_OUTPUT));
        let asked = Run::shell("make").timeout(Duration::ZERO).max_output(0);
        let asked = spec(asked);
        assert_eq!((asked.timeout_ms, asked.max_output), (None, None));
    }

    #[test]
    fn a_wrong_configuration_starts_nothing() {
        let world = tempfile::tempdir().unwrap();
        fs::write(world.path().join("config.toml"), "colour = 1\n").unwrap();
        let outlive = Outlive::open_at(world.path()).unwrap();
        let error = specify(&outlive, Run::shell("make"), None).err().unwrap();
        assert!(matches!(error, Error::Config(_)), "{error}");
    }
}
