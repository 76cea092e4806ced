//! `cargo xtask vm [--install] [--suite NAME] [--dir DIR] [--programs DIR] [WORD…]`: tests that need a
//! whole machine.
//!
//! It makes and boots a virtual Debian with a real systemd and logind (`xtask/vm/machine.sh`), and
//! copies the release programs to it. Then it runs each scenario over ssh, where a login and a logout
//! are real. This takes about twenty minutes, so CI does not run it.

mod limits;
mod logout;
mod machine;
mod memory;
mod nfs;
mod reboot;

use crate::{install, step};
use machine::Machine;
use std::path::{Path, PathBuf};

/// The programs that it needs, and the Debian packages that contain them.
const TOOLS: [(&str, &str); 5] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("debootstrap", "debootstrap"),
    ("mke2fs", "e2fsprogs"),
    ("ssh", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
];

const USAGE: &str =
    "cargo xtask vm [--install] [--suite bookworm|trixie] [--dir DIR] [--programs DIR] [WORD…]";

/// A test on the machine.
pub struct Scenario {
    pub name: String,
    pub show: Show,
}

/// Returns an error that says what differs from the expected result.
type Show = Box<dyn Fn(&Machine) -> Result<(), String>>;

struct Options {
    install: bool,
    suite: String,
    /// The directory that keeps the machine for later runs. Without one, the machine is removed at the
    /// end.
    dir: Option<PathBuf>,
    /// The directory of both programs, if they should not be built.
    programs: Option<PathBuf>,
    words: Vec<String>,
}

pub fn vm(args: &[String]) -> Result<(), String> {
    let options = Options::read(args)?;
    need_tools(&options)?;
    let programs = match &options.programs {
        Some(programs) => programs.clone(),
        None => install::build("outlive-cli")?,
    };
    let place = options.dir.clone().map_or_else(temporary, Ok)?;
    let done = Machine::boot(&place, &options.suite).and_then(|machine| {
        machine.prepare(&programs)?;
        println!("\n{}", machine.versions()?);
        show_all(&machine, &options.words)
    });
    if options.dir.is_none() {
        let _ = std::fs::remove_dir_all(&place);
    }
    done
}

fn show_all(machine: &Machine, words: &[String]) -> Result<(), String> {
    // The restart comes last, because it removes what the others have set up.
    let scenarios = [
        logout::scenarios(),
        memory::scenarios(),
        limits::scenarios(),
        nfs::scenarios(),
        reboot::scenarios(),
    ];
    let is_meant = |scenario: &Scenario| {
        words.is_empty()
            || words
                .iter()
                .any(|word| scenario.name.contains(word.as_str()))
    };
    let (mut passed, mut failed) = (0, 0);
    for scenario in scenarios.into_iter().flatten().filter(is_meant) {
        match (scenario.show)(machine) {
            Ok(()) => {
                passed += 1;
                println!("pass  {}", scenario.name);
            }
            Err(reason) => {
                failed += 1;
                println!("FAIL  {}: {reason}", scenario.name);
            }
        }
    }
    println!("\n{passed} passed, {failed} failed");
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} of {} failed", passed + failed)),
    }
}

impl Options {
    fn read(args: &[String]) -> Result<Options, String> {
        let mut options = Options {
            install: false,
            suite: "bookworm".to_owned(),
            dir: None,
            programs: None,
            words: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--install" => options.install = true,
                "--suite" => options.suite = args.next().ok_or(USAGE)?.clone(),
                "--dir" => options.dir = Some(args.next().ok_or(USAGE)?.into()),
                "--programs" => options.programs = Some(args.next().ok_or(USAGE)?.into()),
                word if word.starts_with('-') => return Err(USAGE.to_owned()),
                word => options.words.push(word.to_owned()),
            }
        }
        Ok(options)
    }
}

fn need_tools(options: &Options) -> Result<(), String> {
    if !step::answers("sh", &["-c", "[ $(id -u) = 0 ]"]) {
        return Err("NOT RUN: a machine is made by root only".to_owned());
    }
    let has = |program: &str| step::answers("sh", &["-c", &format!("command -v {program}")]);
    let missing = || {
        let tools = TOOLS.iter().filter(|(program, _)| !has(program));
        let mut packages: Vec<&str> = tools.map(|(_, package)| *package).collect();
        packages.dedup();
        packages
    };
    if options.install && !missing().is_empty() {
        let mut args = vec!["install", "--quiet", "--yes", "--no-install-recommends"];
        args.extend(missing());
        step::run("apt-get", &["update", "--quiet"])?;
        step::run("apt-get", &args)?;
    }
    match missing().as_slice() {
        [] => Ok(()),
        packages => Err(format!(
            "NOT RUN: needs the Debian packages {} (--install installs them)",
            packages.join(", ")
        )),
    }
}

/// A directory for this run. Not in `/tmp`, which may be in memory: the disk has two gigabytes.
fn temporary() -> Result<PathBuf, String> {
    let path = Path::new("/var/tmp").join(format!("outlive-vm-{}", std::process::id()));
    std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
