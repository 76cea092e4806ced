//! `outlive doctor`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::api::reply::Verdict;
use outlive::verbs::doctor;

/// Check what this machine supports, and say what that means for jobs
///
/// Exits with 125 if jobs cannot run here.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _args: Args) -> Result<Exit, Failure> {
    let report = doctor::doctor(&context.outlive)?;
    match context.json {
        true => context.print_json(&report)?,
        false => {
            for check in &report.checks {
                let mark = match check.verdict {
                    Verdict::Good => "good",
                    Verdict::Less => "LESS",
                    Verdict::Broken => "BROKEN",
                };
                let text = format!(
                    "{mark:6} {:15} {}\n{:22} {}",
                    check.name, check.found, "", check.means
                );
                context.print(&outlive::visible(&text))?;
            }
        }
    }
    Ok(if report.is_broken() {
        Exit::Unknown
    } else {
        Exit::Success
    })
}
