//! `outlive show`

use super::Secrets;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use outlive::api::job::JobView;
use outlive::verbs::show;

/// One job now: state, outcome, the end of its output; changes nothing
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its id, the beginning of it, or its name
    id: String,
    #[command(flatten)]
    secrets: Secrets,
}

const PREVIEW_LINES: u64 = 10;

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let context = &context.with_secrets(&args.secrets);
    let id = context.find(&args.id)?;
    let job = show::show(&context.outlive, &id)?;
    let preview = show::preview(&context.outlive, &id, PREVIEW_LINES)?;
    let view = JobView { job, preview };
    match context.json {
        true => context.print_json(&view)?,
        false => context.print(&render::details(&view))?,
    }
    show::seen(&context.outlive, &view.job);
    Ok(Exit::Success)
}
