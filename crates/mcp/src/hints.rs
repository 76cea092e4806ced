//! What to do about a failure, for a model: tools and arguments, never options of the command line.

use outlive::verbs::wait::WaitFor;
use outlive::{Error, NotAdoptable, quote};

/// An error and what to do about it.
pub fn with_hint(error: &Error) -> String {
    let said = said(error);
    match hint(error) {
        Some(hint) => format!("{said}; {hint}"),
        None => said,
    }
}

/// An error as text for a model. Most have one line. Lines after the first, such as those of a bad regular expression,
/// are quoted: an error may contain text of a job, and no line of that can be taken for a line of ours.
pub fn said(error: &Error) -> String {
    let text = error.to_string();
    match text.split_once('\n') {
        Some((first, rest)) => format!("{}\n{}", quote::line(first), quote::block(rest)),
        None => quote::line(&text),
    }
}

/// The next step, if one is known.
fn hint(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::NoSuchJob(_) => "the tool `jobs` lists the jobs that you can see",
        Error::NamedElsewhere { .. } => "use its id",
        Error::NoSuchEvent(_) | Error::BadEventId(_) => {
            "the tool `inbox` delivers the events that wait"
        }
        Error::Ambiguous { .. } => "pass one of these ids, or enough of one to fit a single job",
        Error::NameTaken(_) => "stop that job, pass `replace: true`, or choose another name",
        Error::TooManyJobs { .. } => {
            "wait for one of them to end, or pass `queue`, so that it waits for its turn"
        }
        Error::NeverComes { what, .. } => return never_comes(*what),
        Error::NoAnswer(_) => "the tool `show` gives what is known of the job",
        Error::TooFewFiles { .. } => "wait for fewer jobs at a time",
        Error::NotAdoptable { why, .. } => return not_adoptable(why),
        Error::NoTerminal(_) | Error::NotResizable(_) => "a job started with `pty: true` has one",
        Error::NotSplit(_) => "a job started with `streams: \"split\"` tells them apart",
        Error::StreamsUnknown(_) => "read the whole output, without `stream`",
        Error::ReadsNothing(_) => {
            "a job started with `stdin: true` or `pty: true` can be written to"
        }
        Error::NothingSelected => "the tool `jobs` lists the jobs that you can see",
        Error::NoKeys(_) => "send text, or start the job with `pty: true`",
        _ => return None,
    })
}

fn not_adoptable(why: &NotAdoptable) -> Option<&'static str> {
    match why {
        NotAdoptable::Ancestor => Some("pass the process that it started instead"),
        NotAdoptable::OfJob(_) => Some("use that job"),
        _ => None,
    }
}

fn never_comes(what: WaitFor) -> Option<&'static str> {
    match what {
        WaitFor::Ready => Some("start it with `ready`"),
        WaitFor::Match => Some("start it with `watch`, or call `watch`"),
        WaitFor::Quiet | WaitFor::End | WaitFor::Input => None,
    }
}
