//! `outlive label`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use outlive::ChangeLabels;
use outlive::api::job::JobList;
use outlive::labels::LabelEdit;
use outlive::verbs::label;

/// Change the labels of a job, whether it runs or has ended
///
/// With nothing to change, the labels are printed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The job: its id, the beginning of its id, or its name
    id: String,
    /// A label to set (KEY=VALUE), or one to remove (KEY-)
    #[arg(value_name = "K=V|K-", value_parser = LabelEdit::parse)]
    edits: Vec<LabelEdit>,
}

const EXAMPLES: &str = "\
Examples:
  outlive label build suite=unit owner=ci
  outlive label build owner-                  remove the label
  outlive list --label suite=unit";

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let id = context.find(&args.id)?;
    let mut change = ChangeLabels::default();
    for edit in args.edits {
        match edit {
            LabelEdit::Set(key, value) => drop(change.set.insert(key, value)),
            LabelEdit::Remove(key) => change.remove.push(key),
        }
    }
    let job = label::label(&context.outlive, &id, &change)?;
    match context.json {
        true => context.print_json(&JobList { jobs: vec![job] })?,
        false => context.print(&render::labels(&job))?,
    }
    Ok(Exit::Success)
}
