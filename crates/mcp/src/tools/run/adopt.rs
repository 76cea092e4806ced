//! `run` with `adopt_pid`: the command runs already, and becomes a job.

use super::{Args, label};
use crate::call::{Call, seconds};
use crate::identity;
use crate::reply::Refused;
use outlive::{Adopt, Error, JobId};

/// The request. The process's own command is shown, and the model's is not used.
pub fn request(call: &Call, pid: i32, args: &Args) -> Result<Adopt, Refused> {
    if let Some(option) = unsuitable(args) {
        return Err(Refused::bad_input(format!(
            "{option} cannot be given together with adopt_pid: the process runs already"
        )));
    }
    let mut adopt = Adopt::pid(pid);
    let call_id = call.id.as_deref();
    let id = match &args.id {
        Some(id) => Some(JobId::parse(id).map_err(Error::from)),
        None => call_id.map(|call_id| identity::job_id(&call.session, call_id)),
    };
    adopt.id = id.transpose()?;
    adopt.session = Some(call.session.clone());
    adopt.name = label("the name", args.name.as_deref())?;
    adopt.timeout = seconds("timeout_seconds", args.timeout_seconds)?;
    adopt.grace = seconds("grace", args.grace)?;
    adopt.notify = args.notify.unwrap_or_default();
    adopt.leftovers = args.leftovers.unwrap_or_default();
    Ok(adopt)
}

/// The first argument that only a command which is started can have.
fn unsuitable(args: &Args) -> Option<&'static str> {
    let given = [
        ("replace", args.replace),
        ("place", args.place.is_some()),
        ("cwd", args.cwd.is_some()),
        ("env", !args.env.is_empty()),
        ("env_pass", !args.env_pass.is_empty()),
        ("env_clean", args.env_clean),
        ("login", args.login),
        ("plain", args.plain.is_some()),
        ("pty", args.pty),
        ("stdin", args.stdin),
        ("max_output", args.max_output.is_some()),
        ("watch", !args.watch.is_empty()),
        ("watch_regex", !args.watch_regex.is_empty()),
        ("watch_not", !args.watch_not.is_empty()),
        ("watch_limit", args.watch_limit.is_some()),
        ("quiet_after", args.quiet_after.is_some()),
        ("ready", args.ready.is_some()),
        ("lock", args.lock.is_some()),
        ("unless_running", args.unless_running),
        ("queue", args.queue.is_some()),
        ("after", !args.after.is_empty()),
        ("restart", args.restart.is_some()),
        ("streams", args.streams.is_some()),
        ("labels", !args.labels.is_empty()),
        ("as", args.r#as.is_some()),
    ];
    let found = given.into_iter().find(|(_, is_given)| *is_given);
    found.map(|(option, _)| option)
}
