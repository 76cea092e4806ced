//! Hints for the command line: what a person can do about a failure.

use crate::sandbox;
use outlive::api::failure::Failure;
use outlive::verbs::wait::WaitFor;
use outlive::{Error, NotAdoptable, PlaceError};

const OWN_HOME: &str = "set OUTLIVE_HOME to a directory of your own";

/// The next step after this failure, if there is a known one.
pub fn hint(error: &Error) -> Option<String> {
    let hint = match error {
        Error::NoSuchJob(_) => "`outlive list --limit all` shows every job",
        Error::NamedElsewhere { .. } => "use its id, or set OUTLIVE_SESSION",
        Error::NothingSelected => {
            "`outlive list --json` shows the session, the task and the labels of each job"
        }
        Error::OldKeeper(_) => "it can be changed when it is started again with this release",
        Error::NoSuchEvent(_) | Error::BadEventId(_) => "`outlive inbox --peek` shows what waits",
        Error::NoSuchSession(_) => {
            "`outlive list --limit all --json` shows the session of each job"
        }
        Error::NoSession => "pass --session KEY, or set OUTLIVE_SESSION",
        Error::Ambiguous { .. } => "type one of these ids, or enough of one to fit a single job",
        Error::IdTaken(_) => "choose another id, or use that job",
        Error::NameTaken(_) => "stop that job, start with --replace, or choose another name",
        Error::TooManyJobs { .. } => {
            "wait for one of them to end, or start it with --queue NAME:N, which lets it wait for its turn"
        }
        Error::IdOfPost(_) => "choose another id for the job",
        Error::PostIdTaken(_) => "choose another id for the post",
        Error::PostOfOther(_) => "choose another id",
        Error::NeverComes { what, .. } => return never_comes(*what),
        Error::NoCommand => "give a command, or --shell 'STRING'",
        Error::NoHome => "set OUTLIVE_HOME or HOME, or pass --home",
        Error::ForeignHome(_) | Error::PlantedHome(_) | Error::NotAHome(_) => OWN_HOME,
        Error::OpenHome(_) => return Some(format!("run `chmod go-w` on it, or {OWN_HOME}")),
        Error::KeeperFailed(_) => "`outlive doctor` may show why",
        Error::NoAnswer(id) => {
            return Some(format!(
                "`outlive show {id}` shows what is known of the job"
            ));
        }
        Error::Unreachable { .. } => "use `outlive` there to reach it",
        Error::TooFewFiles { most, .. } => {
            return Some(format!(
                "raise the hard limit (`ulimit -Hn`; LimitNOFILE= in a service), or wait for at most {most} at a time"
            ));
        }
        Error::NotAdoptable { why, .. } => return not_adoptable(why),
        Error::NoTerminal(_) | Error::NotResizable(_) => "start it with --pty to give it one",
        Error::NotSplit(_) => "start a job with --streams split to tell them apart",
        Error::StreamsUnknown(_) => "read the whole output, without --stdout and --stderr",
        Error::ReadsNothing(_) => "start it with --stdin pipe or --pty to write to it",
        Error::NoKeys(_) => "send text, or start it with --pty",
        Error::Place(PlaceError::NoSuch(_)) => {
            "`outlive place list` shows those that are; `outlive place add` adds one"
        }
        Error::Place(PlaceError::Configured(_)) => "pass --replace, or choose another name",
        Error::Place(PlaceError::HasJobs { .. }) => {
            "stop them and prune them with `outlive prune`, or pass --forget"
        }
        Error::NotALog(_) => "give a regular file",
        Error::LogTaken(_) => "choose another log",
        Error::Place(error) => return place(error),
        _ => return sandbox::hint(error),
    };
    Some(hint.to_owned())
}

fn place(error: &PlaceError) -> Option<String> {
    Some(match error {
        PlaceError::OnlyHere { .. } => "add --place local".to_owned(),
        PlaceError::Shown {
            place,
            can_pass_input,
            ..
        } => shown(place, *can_pass_input),
        PlaceError::NoSuch(name) => {
            format!(
                "`outlive place add {name} ADDRESS` makes it, and `outlive place list` shows all"
            )
        }
        PlaceError::PerhapsStarted { id, .. } => {
            format!("`outlive show {id}` will tell when the place is reached again")
        }
        PlaceError::Unreached { place, .. } => {
            format!("`outlive place check {place}` shows what is wrong")
        }
        _ => return None,
    })
}

/// What makes values of variables travel to a place that can only run one command.
fn shown(place: &str, can_pass_input: bool) -> String {
    let table = match place.contains(':') {
        true => format!("give {place} a name with `outlive place add`, and in its table set"),
        false => format!("in [place.{place}] set"),
    };
    let input = match can_pass_input {
        true => "secrets = \"stdin\" if its command passes on standard input (docker exec -i), or ",
        false => "",
    };
    format!("{table} {input}secrets = \"argv\" if nobody else is there")
}

fn not_adoptable(why: &NotAdoptable) -> Option<String> {
    Some(match why {
        NotAdoptable::Gone | NotAdoptable::Ended => {
            "`ps -e` shows those of this machine or container".to_owned()
        }
        NotAdoptable::Ancestor => {
            "adopt the process that it started instead, or pass --force".to_owned()
        }
        NotAdoptable::OtherUser => "run `outlive` as that user".to_owned(),
        NotAdoptable::Keeper(id) | NotAdoptable::OfJob(id) => {
            format!("`outlive show {id}` shows that job")
        }
        _ => return None,
    })
}

fn never_comes(what: WaitFor) -> Option<String> {
    let option = match what {
        WaitFor::Ready => "--ready",
        WaitFor::Match => {
            return Some(
                "start it with --watch, or give it a watch with `outlive watch`".to_owned(),
            );
        }
        WaitFor::Quiet => "--quiet-after",
        WaitFor::End | WaitFor::Input => return None,
    };
    Some(format!("start it with {option}"))
}

/// An error and its hint, in one line.
pub fn with_hint(error: &Error) -> String {
    match hint(error) {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

/// An error and its hint, as they are printed in JSON.
pub fn failure(error: &Error) -> Failure {
    Failure {
        hint: hint(error),
        ..error.failure()
    }
}
