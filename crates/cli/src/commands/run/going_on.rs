//! Says that the job goes on when a person interrupts the command that follows it.

use crate::context::Context;
use outlive::Job;
use outlive::interrupts::{self, Announced, Interruption};
use std::io::{self, IsTerminal};

/// Until the result is dropped, Ctrl-C, Ctrl-Z and a request to end are answered with one line. Then they do what they
/// always do to a command: end it, or suspend it. No signal reaches the job.
pub fn announce(context: &Context, job: &Job) -> Option<Announced> {
    if job.has_ended() {
        return None;
    }
    let context = context.clone();
    let id = job.id.clone();
    interrupts::announce(move |what| {
        // Behind the `^C` of the terminal, or in the middle of a line of output.
        if io::stderr().is_terminal() {
            context.say("");
        }
        context.say(&match what {
            Interruption::Ends => format!(
                "outlive: {id} continues in the background; `outlive stop {id}` stops it, `outlive wait {id}` waits for it"
            ),
            Interruption::Suspends => format!(
                "outlive: {id} continues in the background, and `fg` follows it again; `outlive stop {id}` stops it"
            ),
        });
    })
}
