//! `outlive signal`

use super::select::SelectOrAll;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::hints;
use outlive::api::reply::{SignalReply, SignalsReply, StopFailure};
use outlive::verbs::signal::{self, SendSignal, Signaled, Signals};
use outlive::{Error, JobId, Signal, agree, count};

/// Send a signal to every process of a job
///
/// With --session, --task, --label or --all, to every process of each selected job. If none is selected, the exit
/// code is 3.
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE)]
pub struct Args {
    /// The job to signal: its id, the beginning of its id, or its name. Not with --session, --task, --label or --all
    #[arg(value_name = "ID")]
    first: String,
    /// The signal: a name such as USR1 or SIGINT, or a number
    #[arg(value_name = "SIGNAL")]
    second: Option<String>,
    #[command(flatten)]
    select: SelectOrAll,
}

const USAGE: &str = "outlive signal <ID> <SIGNAL>
       outlive signal [--session <KEY>] [--task <KEY>] [--label <K[=V]>]... <SIGNAL>
       outlive signal --all <SIGNAL>";

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    const NO_SIGNAL: &str = "give the job and the signal: `outlive signal ID SIGNAL`";
    const BOTH: &str = "give one job, or select jobs with options, not both";
    let is_selected = args.select.is_given();
    let (id, word) = match (args.first, args.second, is_selected) {
        (id, Some(word), false) => (Some(id), word),
        (word, None, true) => (None, word),
        (_, None, false) => return Err(Failure::Usage(NO_SIGNAL)),
        (_, Some(_), true) => return Err(Failure::Usage(BOTH)),
    };
    let signal = Signal::parse(&word).map_err(|bad| Failure::BadValue(bad.to_string()))?;
    let asked = SendSignal { signal };
    if let Some(id) = id {
        let id = context.find(&id)?;
        let signaled = signal::signal(&context.outlive, &id, asked)?;
        say_denied(context, &id, signaled);
        match context.json {
            true => context.print_json(&reply(id, signal, signaled))?,
            false => context.print(&line(&id, signal, signaled))?,
        }
        return Ok(Exit::Success);
    }
    let ids = args.select.jobs(context, &[])?.into_ids();
    if ids.is_empty() {
        return Err(Error::NothingSelected.into());
    }
    let Signals { reached, failed } = signal::signal_all(&context.outlive, &ids, asked);
    print(context, signal, &reached, &failed)?;
    let worst = failed.into_iter().map(|(id, error)| {
        let why = hints::with_hint(&error);
        context.say_error(&format!("outlive: signalling {id} failed: {why}"));
        Failure::from(error).exit()
    });
    Ok(worst
        .max_by_key(|exit| exit.code())
        .unwrap_or(Exit::Success))
}

fn print(
    context: &Context,
    signal: Signal,
    reached: &[(JobId, Signaled)],
    failed: &[(JobId, Error)],
) -> Result<(), Failure> {
    for (id, signaled) in reached {
        say_denied(context, id, *signaled);
    }
    let each = reached.iter();
    if !context.json {
        let mut lines = each.map(|(id, signaled)| line(id, signal, *signaled));
        return lines.try_for_each(|line| context.print(&line));
    }
    let failed = failed.iter().map(|(id, error)| StopFailure {
        id: id.clone(),
        error: hints::failure(error),
    });
    context.print_json(&SignalsReply {
        signals: each
            .map(|(id, signaled)| reply(id.clone(), signal, *signaled))
            .collect(),
        failed: failed.collect(),
    })
}

fn reply(id: JobId, signal: Signal, Signaled { reached, denied }: Signaled) -> SignalReply {
    SignalReply {
        id,
        signal,
        reached,
        denied,
    }
}

fn line(id: &JobId, signal: Signal, signaled: Signaled) -> String {
    let reached = count(signaled.reached.into(), "process");
    format!("{id} {signal} sent to {reached}")
}

fn say_denied(context: &Context, id: &JobId, signaled: Signaled) {
    let denied = signaled.denied;
    if denied > 0 {
        context.say(&format!(
            "outlive: {denied} of the processes of {id} {} to another user and {} not reached",
            agree(denied.into(), "belongs", "belong"),
            agree(denied.into(), "was", "were")
        ));
    }
}
