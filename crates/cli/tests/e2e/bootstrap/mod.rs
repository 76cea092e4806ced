//! Getting our program to a place and starting it there, over one connection.
//!
//! Most tests send a script in place of the program, which says what it was started with.

mod directories;
mod naming;
mod sending;
mod shells;
mod starting;

use outlive::Outlive;
use outlive::places::bootstrap::Program;
use outlive::places::transport::{self, WireEnds};
use outlive::places::{Place, Settings, Unreached};
use outlive_core::BootTime;
use outlive_core::place::Address;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is sent in place of the program. As a far end, it waits for the first word; then it says how it was started, and
/// repeats what it gets.
const SCRIPT: &str = "#!/bin/sh\nread -r go\n\
    echo \"started $0\"; for word; do echo \"word $word\"; done; umask; pwd; echo end; exec cat\n";

/// A place of one test, and a home here.
struct There {
    directory: tempfile::TempDir,
    /// Words before `sh`, after those that set the environment.
    shell: String,
    /// More variables there, as `NAME=VALUE`.
    variables: String,
    settings: Settings,
    program: String,
    within: Duration,
}

impl There {
    fn new() -> There {
        let there = There {
            directory: tempfile::tempdir().unwrap(),
            shell: "sh".to_owned(),
            variables: String::new(),
            settings: Settings::default(),
            program: SCRIPT.to_owned(),
            within: Duration::from_secs(20),
        };
        for name in ["home", "bin"] {
            fs::create_dir(there.path(name)).unwrap();
        }
        there
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where the program is put if nothing speaks against it.
    fn cache(&self) -> PathBuf {
        self.path("home/.cache/outlive")
    }

    /// The files in a directory.
    fn files(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// A program there that comes before the usual ones.
    fn add_program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn address(&self) -> String {
        format!(
            "cmd:env -i PATH={}:/usr/local/bin:/usr/bin:/bin HOME={} {} {}",
            self.path("bin").display(),
            self.path("home").display(),
            self.variables,
            self.shell
        )
    }

    fn place(&self) -> Place {
        let address = self.address();
        Place {
            name: address.clone(),
            address: Address::parse(&address).unwrap(),
            settings: self.settings.clone(),
        }
    }

    fn outlive(&self) -> Outlive {
        Outlive::open_at(self.path("here")).unwrap()
    }

    fn sent(&self) -> Program {
        let path = self.path("program");
        if fs::read_to_string(&path).ok().as_ref() != Some(&self.program) {
            fs::write(&path, &self.program).unwrap();
        }
        Program::at(&path, &self.path("digest")).unwrap()
    }

    fn open(&self) -> Result<WireEnds, Unreached> {
        let by = BootTime::from_ms(outlive_sys::clock::boot_ms()) + self.within;
        transport::open_with(&self.outlive(), &self.place(), by, &self.sent())
    }

    /// Starts the script there, and returns what it says of its start.
    #[track_caller]
    fn start(&self) -> Vec<String> {
        said(self.open().unwrap_or_else(|why| panic!("{why:?}")))
    }

    #[track_caller]
    fn refusal(&self) -> Unreached {
        self.open()
            .map(drop)
            .expect_err("a place that is not reached")
    }
}

/// What the script says of its start. It must answer, and end with its input.
#[track_caller]
fn said(mut ends: WireEnds) -> Vec<String> {
    ends.input.write_all(b"go\n").unwrap();
    let mut lines = BufReader::new(ends.output.try_clone().unwrap()).lines();
    let start: Vec<String> = lines
        .by_ref()
        .map(|line| line.unwrap())
        .take_while(|line| line != "end")
        .collect();
    ends.input.write_all(b"a frame\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "a frame", "{start:?}");
    drop(ends.input);
    assert!(lines.next().is_none(), "it ends with its input");
    drop(ends.output);
    assert_eq!(ends.carrier.ended().how, transport::How::Code(0));
    start
}
