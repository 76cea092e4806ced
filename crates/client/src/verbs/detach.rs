//! Starts a job whose output is also appended to a file of the caller.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::verbs::run::{self, Run, Started};
use outlive_core::os_text::OsText;
use outlive_sys::lock;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Makes sure that the log can be written, then starts the job.
pub fn detach(outlive: &Outlive, log: &Path, mut asked: Run) -> Result<(Started, PathBuf), Error> {
    run::refuse_place(outlive, &asked, "a copy of the output in a file here")?;
    let log = std::path::absolute(log).map_err(Error::io("cannot make sense of", log))?;
    if let Some(directory) = log.parent() {
        fs::create_dir_all(directory).map_err(Error::io("cannot make the directory", directory))?;
    }
    let file = File::options()
        .append(true)
        .create(true)
        .open(&log)
        .map_err(Error::io("cannot write the log", &log))?;
    let kind = file
        .metadata()
        .map_err(Error::io("cannot look at", &log))?
        .file_type();
    if !kind.is_file() && log != Path::new("/dev/null") {
        return Err(Error::NotALog(log));
    }
    if kind.is_file() && lock::is_taken(&file).map_err(Error::io("cannot look at", &log))? {
        return Err(Error::LogTaken(log));
    }
    asked.log = Some(OsText::from(&log));
    Ok((run::run(outlive, asked)?, log))
}
