//! What to do about a failure, for a model: tools and arguments, never options of the command line.

use outlive::Error;
use outlive::verbs::wait::WaitFor;

/// An error and what to do about it, in one line.
pub fn with_hint(error: &Error) -> String {
    match hint(error) {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
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
        Error::NeverComes { what, .. } => return never_comes(*what),
        Error::NoAnswer(_) => "the tool `show` gives what is known of the job",
        Error::NoTerminal(_) | Error::NotResizable(_) => "a job started with `pty: true` has one",
        Error::ReadsNothing(_) => {
            "a job started with `stdin: true` or `pty: true` can be written to"
        }
        Error::NothingSelected => "the tool `jobs` lists the jobs that you can see",
        Error::NoKeys(_) => "send text, or start the job with `pty: true`",
        _ => return None,
    })
}

fn never_comes(what: WaitFor) -> Option<&'static str> {
    match what {
        WaitFor::Ready => Some("start it with `ready`"),
        WaitFor::Match => Some("start it with `watch`, or call `watch`"),
        WaitFor::Quiet | WaitFor::End | WaitFor::Input => None,
    }
}
