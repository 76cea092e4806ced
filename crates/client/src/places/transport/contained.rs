//! Reaching a container: its tool says what the name means now, and runs `sh` in it, or our program where there is no
//! `sh`.
//!
//! ```text
//!  find ─► the container's id ─► enter: sh ─► far.sh gets our program there (bootstrap)
//!                                   └─ no sh: enter: our program ─► it starts
//!                                                └─ not there: put it there, enter again
//! ```
//! Everything goes to the id, so a name that means another container meanwhile leads nobody astray. A tool that knows only
//! names is asked again after it.

use super::base::{Base, Begun};
use super::tools::{Found, Tool};
use super::{Carrier, WireEnds, archive, reason};
use crate::home::outlive::Outlive;
use crate::places::bootstrap::{self, Failure, Program};
use crate::places::{Place, Unreached, records};
use crate::random;
use outlive_core::BootTime;
use outlive_core::place::ContainerRef;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::thread;

/// Where the program is put if there is no shell that looks for a directory. Only root can write to the first one.
const DIRECTORIES: [&str; 3] = ["/", "/var/tmp", "/tmp"];

/// Of our own in those.
const OWN: &str = ".outlive";

/// A container that is to be entered.
struct Entering<'a> {
    place: &'a Place,
    base: &'a Base,
    tool: &'a dyn Tool,
    container: Found,
    program: &'a Program,
    by: BootTime,
}

/// Why a program did not start in a container.
enum NotBegun {
    /// There is none, or it cannot be executed there.
    NoProgram(Unreached),
    Other(Unreached),
}

/// Reaches the container of a place.
pub fn open(
    outlive: &Outlive,
    place: &Place,
    base: &Base,
    tool: &dyn Tool,
    program: &Program,
    by: BootTime,
) -> Result<WireEnds, Unreached> {
    let entering = Entering {
        place,
        base,
        tool,
        container: tool.find(base, by)?,
        program,
        by,
    };
    let known = records::read_known(outlive, place);
    let known = known.and_then(|known| known.instance.container);
    // An id is given once, so then it is the same engine.
    let known = known.filter(|known| known.id == entering.container.id);
    thread::scope(|scope| {
        let asked = known
            .is_none()
            .then(|| scope.spawn(|| tool.identity(base, by)));
        let ends = entering.enter_surely()?;
        let said = asked.and_then(|asked| asked.join().ok()?.ok());
        let engine = known.map(|known| known.engine).or(said);
        let Found { id, started } = entering.container.clone();
        Ok(WireEnds {
            container: Some(ContainerRef {
                // Without it, the engine is asked in vain later, and nothing is concluded.
                engine: engine.unwrap_or_default(),
                id,
                started,
            }),
            ..ends
        })
    })
}

impl Entering<'_> {
    /// Enters the container that was found, and no other one that has its name by now.
    fn enter_surely(&self) -> Result<WireEnds, Unreached> {
        let ends = self.enter_somehow()?;
        if !self.tool.is_entered_by_name() {
            return Ok(ends);
        }
        match self.tool.find(self.base, self.by) {
            Ok(found) if found == self.container => Ok(ends),
            other => {
                super::end(ends.carrier, (ends.input, ends.output));
                other.and_then(|_| {
                    let why = "another one has its name since it was found";
                    Err(Unreached::Refused(why.to_owned()))
                })
            }
        }
    }

    fn enter_somehow(&self) -> Result<WireEnds, Unreached> {
        match self.with_shell() {
            Ok(ends) => Ok(ends),
            Err(NotBegun::NoProgram(_)) => self.without_shell(),
            Err(NotBegun::Other(why)) => Err(why),
        }
    }

    fn with_shell(&self) -> Result<WireEnds, NotBegun> {
        self.enter(&["sh".as_ref()], |begun| {
            let Begun { input, output, .. } = begun;
            bootstrap::run(input, output, self.place, self.program, self.by)
        })
    }

    fn without_shell(&self) -> Result<WireEnds, Unreached> {
        let mut tried = String::new();
        for (parent, own) in self.directories() {
            let path = parent.join(&own).join(self.program.file_name());
            // What only root can have put there is ours.
            if parent == Path::new("/") {
                match self.enter_program(&path) {
                    Err(NotBegun::NoProgram(_)) => {}
                    other => return other.map_err(NotBegun::into_reason),
                }
            }
            let put = self.put(&parent, &own);
            match put.map(|()| self.enter_program(&path)) {
                Ok(Ok(ends)) => return Ok(ends),
                Ok(Err(NotBegun::Other(why))) => return Err(why),
                Ok(Err(NotBegun::NoProgram(why))) | Err(why) => {
                    tried.push_str(&format!("{}: {why}; ", path.display()));
                }
            }
        }
        Err(Unreached::NoProgram(format!(
            "there is no shell in it, and no directory takes our program: {tried}name one with `far_dir`"
        )))
    }

    fn directories(&self) -> Vec<(PathBuf, String)> {
        let configured = self.place.settings.far_dir.iter();
        let configured = configured.map(|path| (path.clone(), String::new()));
        let usual = DIRECTORIES.map(|path| (PathBuf::from(path), OWN.to_owned()));
        configured.chain(usual).collect()
    }

    fn put(&self, parent: &Path, own: &str) -> Result<(), Unreached> {
        let cannot =
            |error: std::io::Error| Unreached::NoProgram(format!("cannot send it: {error}"));
        let bytes = self.program.bytes()?;
        let archive = archive::of(own, &self.program.file_name(), &bytes).map_err(cannot)?;
        self.tool
            .put(self.base, &self.container, parent, archive, self.by)
    }

    fn enter_program(&self, path: &Path) -> Result<WireEnds, NotBegun> {
        let no_token = |error: crate::error::Error| Unreached::NoCourier(error.to_string());
        let token = random::token().map_err(no_token).map_err(NotBegun::Other)?;
        let words = self.program.start_words(path, self.place, &token);
        let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
        self.enter(&words, |begun| {
            bootstrap::wait_for_start(&mut begun.input, &mut begun.output, &token, self.by)
        })
    }

    /// Runs a program in the container, and makes a far end of it.
    fn enter(
        &self,
        program: &[&OsStr],
        act: impl FnOnce(&mut Begun) -> Result<(), Failure>,
    ) -> Result<WireEnds, NotBegun> {
        let line = self.tool.enter(&self.container, program);
        let mut begun = self.base.start(&line, self.by).map_err(NotBegun::Other)?;
        let acted = act(&mut begun);
        let Begun {
            input,
            output,
            running,
        } = begun;
        match acted {
            Ok(()) => Ok(WireEnds {
                input,
                output,
                carrier: Carrier {
                    running,
                    address: self.place.address.clone(),
                },
                container: None,
            }),
            Err(Failure::Unreached(why)) => {
                drop((input, output));
                running.end();
                Err(NotBegun::Other(why))
            }
            Err(Failure::Ended { noise }) => {
                drop((input, output));
                let ended = running.ended();
                let why = reason::of(&self.place.address, &ended, &noise);
                // Of whoever executes it for the tool. A shell that was there says so in the same way, and then the tool's
                // own way to get the program there helps, too.
                match ended.how.code() {
                    Some(126 | 127) => Err(NotBegun::NoProgram(why)),
                    // It may have been stopped since it was found.
                    _ => Err(NotBegun::Other(self.why_now().unwrap_or(why))),
                }
            }
        }
    }

    fn why_now(&self) -> Option<Unreached> {
        let found = self.tool.find(self.base, self.by);
        found
            .err()
            .filter(|why| !matches!(why, Unreached::TimedOut))
    }
}

impl NotBegun {
    fn into_reason(self) -> Unreached {
        match self {
            NotBegun::NoProgram(why) | NotBegun::Other(why) => why,
        }
    }
}
