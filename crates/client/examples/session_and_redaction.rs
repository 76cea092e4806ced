//! Jobs of a session of one's own, and what is hidden in the answers.
//!
//! `cargo run -p outlive --example session_and_redaction`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use outlive::{Error, Outlive, Run};

const SESSION: &str = "conversation-2";
const COMMAND: &str =
    "curl --silent -u me:hunter22 http://127.0.0.1:1/ || echo 'API_TOKEN=s3cr3t-0123456789abcdef'";

fn main() -> Result<(), Error> {
    let outlive = Outlive::open()?;
    let job = outlive.run(Run::shell(COMMAND).name("fetch").session(SESSION))?;
    let ended = job.wait()?;
    // Answers contain no credentials, so they can be given to a model.
    println!("hidden: {}", ended.command);
    println!("hidden: {}", job.tail(1)?.trim_end());
    // The owner of the jobs may see everything.
    let owner = outlive.showing_secrets().job(job.id().as_str())?;
    println!("shown: {}", owner.show()?.command);
    println!("shown: {}", owner.tail(1)?.trim_end());
    Ok(())
}
