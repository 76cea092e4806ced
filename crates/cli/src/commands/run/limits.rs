//! The options that limit what a job may use.

use crate::commands::size;
use outlive::api::limits::{Cpus, Limits, MIN_MEMORY};

/// Limits on what the job may use. `outlive doctor` says how they are enforced here.
#[derive(Debug, Default, clap::Args)]
pub struct LimitArgs {
    /// Kill the whole job when its processes together need more memory than this. Without control groups (see
    /// `outlive doctor`), limit the address space of each process instead
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<u64>,
    /// Give its processes together at most the time of N processors, such as 1.5
    #[arg(long, value_name = "N", value_parser = cpus)]
    cpus: Option<Cpus>,
    /// Let it have at most N processes and threads at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pids: Option<u32>,
    /// Run it at this nice value, from -20 (first) to 19 (last)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    nice: Option<i32>,
}

impl LimitArgs {
    /// The limits of the request.
    pub fn limits(&self) -> Limits {
        Limits {
            memory_bytes: self.memory,
            cpus: self.cpus,
            pids: self.pids,
            nice: self.nice,
        }
    }
}

fn memory(text: &str) -> Result<u64, String> {
    match size(text).map_err(|error| error.to_string())? {
        few @ 1..MIN_MEMORY => Err(format!(
            "{few} bytes is too small; give at least 1M, or 0 for no limit"
        )),
        size => Ok(size),
    }
}

fn cpus(text: &str) -> Result<Cpus, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "give a number of processors, such as 2 or 0.5".to_owned())?;
    Cpus::new(number).map_err(|error| error.to_string())
}
