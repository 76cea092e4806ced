//! `outlive resize`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::Size;
use outlive::api::reply::ResizeReply;
use outlive::verbs::resize;

/// Change the size of a job's terminal
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job to resize: its id, the beginning of its id, or its name
    id: String,
    /// The new size, rows first, such as 40x120
    #[arg(value_name = "ROWSxCOLS", value_parser = Size::parse)]
    size: Size,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let id = context.find(&args.id)?;
    resize::resize(&context.outlive, &id, args.size)?;
    if context.json {
        let size = args.size;
        context.print_json(&ResizeReply { id, size })?;
    }
    Ok(Exit::Success)
}
