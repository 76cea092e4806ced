//! `outlive show`

use super::{Secrets, positive_duration};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use outlive::JobId;
use outlive::verbs::show::{self, Show};
use outlive::verbs::usage::Samples;
use std::time::Duration;

/// How often to show the usage, unless asked otherwise.
const EVERY: Duration = Duration::from_secs(1);

/// Show one job: its state, its outcome and the last lines of its output
///
/// Nothing is changed: an end that `show` prints still waits in the inbox of the session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job to show: its id, the beginning of its id, or its name
    id: String,
    /// Show only what the job uses
    #[arg(long)]
    usage: bool,
    /// Show that again and again until the job ends
    #[arg(long, requires = "usage")]
    follow: bool,
    /// How often [default: 1s]
    #[arg(long, value_name = "DUR", value_parser = positive_duration, requires = "follow")]
    every: Option<Duration>,
    #[command(flatten)]
    secrets: Secrets,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let context = &context.with_secrets(&args.secrets);
    let id = context.find(&args.id)?;
    if args.usage {
        return usage(context, &id, &args);
    }
    let view = show::view(&context.outlive, &id, Show::default())?;
    match context.json {
        true => context.print_json(&view)?,
        false => context.print(&render::details(&view))?,
    }
    show::seen(&context.outlive, &view.job);
    Ok(Exit::Success)
}

/// Prints what the job uses: one line for each time.
fn usage(context: &Context, id: &JobId, args: &Args) -> Result<Exit, Failure> {
    let mut samples = Samples::of(&context.outlive, id, args.every.unwrap_or(EVERY));
    while let Some(sample) = samples.next_sample()? {
        match context.json {
            true => context.print_json(&sample)?,
            false => context.print(&render::sample(&sample))?,
        }
        if !args.follow {
            break;
        }
    }
    Ok(Exit::Success)
}
