//! `outlive show`

use super::Secrets;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use outlive::verbs::show::{self, Show};

/// Show one job: its state, its outcome and the last lines of its output
///
/// Nothing is changed: an end that `show` prints still waits in the inbox of the session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job to show: its id, the beginning of its id, or its name
    id: String,
    #[command(flatten)]
    secrets: Secrets,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let context = &context.with_secrets(&args.secrets);
    let id = context.find(&args.id)?;
    let view = show::view(&context.outlive, &id, Show::default())?;
    match context.json {
        true => context.print_json(&view)?,
        false => context.print(&render::details(&view))?,
    }
    show::seen(&context.outlive, &view.job);
    Ok(Exit::Success)
}
