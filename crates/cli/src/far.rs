//! `outlive-far`: the program at a place. It serves a courier on its standard input and output, and it is the keeper
//! of the jobs there, so that one file is all that a place needs.
//!
//! ```text
//!  outlive-far [--digest SHA256] [--home DIR] [--mark TOKEN]
//!                                  the far end; it refuses to run if it is not the program with this digest, and
//!                                  says that it runs if whoever started it wants to know
//!  outlive-far carry [REQUEST|-]   one call of a tunnel: carries out a request, and prints the answer as a line
//!  outlive-far keeper DIRECTORY    the keeper of the job in that directory; also if its name is outlive-keeper
//!  outlive-far --home DIR after JOB PID
//!                                  waits for the jobs that this one starts after; what keepers run
//! ```
#![forbid(unsafe_code)]

use outlive::places::{self, bootstrap, tunnel};
use outlive::verbs::after::{self, MUST_NOT_START, Verdict};
use outlive::{JobId, Outlive};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = env::args_os();
    let name = args.next().unwrap_or_default();
    if Path::new(&name).file_name() == Some(OsStr::new("outlive-keeper")) {
        std::process::exit(outlive_keeper::main(env::args_os()));
    }
    let args: Vec<OsString> = args.collect();
    if args.first().is_some_and(|first| first == "keeper") {
        std::process::exit(outlive_keeper::main(
            [name].into_iter().chain(args.into_iter().skip(1)),
        ));
    }
    let done = match &args[..] {
        [option, home, verb, job, keeper] if option == "--home" && verb == "after" => {
            wait_for_others(home, job, keeper)
        }
        [verb, request @ ..] if verb == "carry" && request.len() <= 1 => {
            let carried = tunnel::carry(request.first().map(OsString::as_os_str));
            carried.map(|()| ExitCode::SUCCESS).map_err(Into::into)
        }
        args => serve(args).map(|()| ExitCode::SUCCESS),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            // Whoever started this shows it as the reason.
            let _ = writeln!(io::stderr(), "outlive-far: {error}");
            ExitCode::from(125)
        }
    }
}

fn serve(args: &[OsString]) -> Result<(), Box<dyn std::error::Error>> {
    let asked = Asked::read(args)
        .ok_or(
            "usage: outlive-far [--digest SHA256] [--home DIR] [--mark TOKEN]; outlive-far carry REQUEST",
        )?;
    if let Some(digest) = &asked.digest {
        bootstrap::check_own_program(&digest.to_string_lossy())?;
    }
    let outlive = places::far::open_home(asked.home.map(PathBuf::from))?;
    if let Some(token) = &asked.mark {
        bootstrap::say_started(&token.to_string_lossy())?;
    }
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    Ok(places::far::serve(outlive.as_own_keeper(), input, output)?)
}

fn wait_for_others(
    home: &OsStr,
    job: &OsStr,
    keeper: &OsStr,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let outlive = Outlive::open_at(home)?.as_own_keeper();
    let job = JobId::parse(&job.to_string_lossy())?;
    let keeper = keeper.to_string_lossy().parse()?;
    Ok(match after::after(&outlive, &job, keeper)? {
        Verdict::Start => ExitCode::SUCCESS,
        Verdict::Never(reason) => {
            // The keeper records this as the reason.
            writeln!(io::stderr(), "{reason}")?;
            ExitCode::from(MUST_NOT_START)
        }
    })
}

#[derive(Debug, Default)]
struct Asked {
    digest: Option<OsString>,
    home: Option<OsString>,
    mark: Option<OsString>,
}

impl Asked {
    fn read(args: &[OsString]) -> Option<Asked> {
        let mut asked = Asked::default();
        for pair in args.chunks(2) {
            let [option, value] = pair else {
                return None;
            };
            match option.to_str()? {
                "--digest" => asked.digest = Some(value.clone()),
                "--home" => asked.home = Some(value.clone()),
                "--mark" => asked.mark = Some(value.clone()),
                _ => return None,
            }
        }
        Some(asked)
    }
}
