//! `cargo xtask bench`: compares Outlive with its peers and with no supervisor at all.
//!
//! Builds the release programs, installs the peers that are available, and leaves the rest to `bench/`.

use crate::{install, step};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Programs of the peers, and the Debian packages that contain them.
const PEERS: [(&str, &str); 12] = [
    ("daemonize", "daemonize"),
    ("nq", "nq"),
    ("dtach", "dtach"),
    ("tsp", "task-spooler"),
    ("tmux", "tmux"),
    ("screen", "screen"),
    ("conmon", "conmon"),
    ("s6-svscan", "s6"),
    ("runsv", "runit"),
    ("supervisord", "supervisor"),
    ("strace", "strace"),
    ("musl-gcc", "musl-tools"),
];

/// Passes all arguments on, except `--real-time`, which gives the measured programs a higher priority
/// than everything else. Use it on a busy machine.
pub fn bench(args: &[String]) -> Result<(), String> {
    let (ahead, args): (Vec<_>, Vec<_>) = args.iter().partition(|arg| *arg == "--real-time");
    let harness = text(&install::build("outlive-bench")?.join("outlive-bench"))?;
    if args.iter().any(|arg| *arg == "--help") {
        return step::run(&harness, &["--help"]);
    }
    install_peers();
    let programs = install::build("outlive-cli")?;
    let mut words = vec!["--programs".to_owned(), text(&installed(&programs)?)?];
    if let Some(pueue) = pueue() {
        words.extend(["--pueue".to_owned(), text(&pueue)?]);
    }
    if !args.iter().any(|arg| *arg == "--out") {
        words.extend([
            "--out".to_owned(),
            text(&install::target_dir().join("bench"))?,
        ]);
    }
    words.extend(args.into_iter().cloned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match ahead.is_empty() {
        true => step::run(&harness, &words),
        false => step::run("chrt", &[&["--rr", "1", &harness], &words[..]].concat()),
    }
}

/// Copies the programs, as an installation does. A file that was read or written in one go is cached in
/// large pages. A file that the linker has just written is cached in single pages, which makes a launch
/// a tenth slower.
fn installed(programs: &Path) -> Result<PathBuf, String> {
    let place = install::target_dir().join("bench/programs");
    let copy = |name: &str| {
        let (from, to) = (programs.join(name), place.join(name));
        fs::write(&to, fs::read(&from)?)?;
        fs::set_permissions(to, fs::metadata(from)?.permissions())
    };
    fs::remove_dir_all(&place)
        .or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })
        .and_then(|()| fs::create_dir_all(&place))
        .and_then(|()| {
            ["outlive", "outlive-keeper", "outlive-far"]
                .into_iter()
                .try_for_each(copy)
        })
        .map_err(|error| format!("{}: {error}", place.display()))?;
    Ok(place)
}

fn text(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| format!("{}: a path that is no text", path.display()))
}

/// If a peer is not available, its row says so.
fn install_peers() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).exists());
    let missing: Vec<&str> = PEERS
        .iter()
        .filter(|(program, _)| !there(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return;
    }
    let install = ["install", "--quiet", "--yes", "--no-install-recommends"];
    let tried = step::run("apt-get", &["update", "--quiet"]).and_then(|()| {
        // One by one: a package that is not available must not prevent the others.
        missing.iter().try_for_each(|package| {
            let tried = step::run("apt-get", &[&install[..], &[package]].concat());
            tried.or_else(|why| {
                println!("{why}");
                Ok(())
            })
        })
    });
    if let Err(why) = tried {
        println!("{why}; measuring against what is there");
    }
}

/// The path of pueue, which has no package. It is built once and kept outside the workspace.
fn pueue() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
    let root = cache.join("outlive-bench");
    let programs = root.join("bin");
    if programs.join("pueued").exists() {
        return Some(programs);
    }
    let args = ["install", "--locked", "pueue", "--root", root.to_str()?];
    match step::run("cargo", &args) {
        Ok(()) => Some(programs),
        Err(why) => {
            println!("{why}");
            None
        }
    }
}
