//! Start a command, wait for its end, and show how it ended.
//!
//! `cargo run -p outlive --example run_and_wait`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use outlive::{Error, Outlive, Run};

fn main() -> Result<(), Error> {
    let outlive = Outlive::open()?;
    let job = outlive.run(Run::shell("echo compiling; echo done; exit 3").name("build"))?;
    // This program may be killed here. Another one finds the job with `outlive.job("build")`.
    let ended = job.wait()?;
    println!("{}: {:?}", ended.command, ended.outcome);
    println!("exit code {:?}", ended.exit_code);
    print!("{}", job.tail(10)?);
    Ok(())
}
