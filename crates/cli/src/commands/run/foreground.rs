//! `outlive run --foreground`

use super::options::LeftoversArg;
use super::{Args, place, request};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::verbs::run;

const FOREGROUND_JSON: &str = "--foreground and --json cannot be used together, because stdout is the job's output; \
     use `outlive show --json` from elsewhere";

/// Turns this process into the keeper of the job. Returns only if nothing was started.
pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    if context.json {
        return Err(Failure::Usage(FOREGROUND_JSON));
    }
    let mut options = args.options;
    // A process that stays behind would keep the batch script or the container from ending.
    options.leftovers.get_or_insert(LeftoversArg::Stop);
    let mut asked = request(context, options, args.shell, args.command)?;
    asked.place = place(args.place);
    let context = &context.speaking_for(asked.session.as_ref());
    let never = run::foreground(&context.outlive, asked, |id, notes| {
        for note in notes {
            context.say(&format!("outlive: note: {note}"));
        }
        context.say(&format!("outlive: {id} starts in the foreground"));
    })?;
    match never {}
}
