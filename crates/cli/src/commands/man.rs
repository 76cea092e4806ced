//! `outlive man`

use crate::args::Cli;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use clap::CommandFactory;
use std::path::PathBuf;

/// Print the manual page, or write a page for every command into a directory
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write outlive.1, outlive-run.1, … into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let command = Cli::command();
    match args.dir {
        Some(dir) => {
            std::fs::create_dir_all(&dir)?;
            clap_mangen::generate_to(command, &dir)?;
            context.say(&format!(
                "outlive: wrote the manual pages to {}",
                dir.display()
            ));
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            context.print(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(Exit::Success)
}
