//! The programs that the tests need in addition to a shell, and the Debian packages that contain them.
//!
//! They are installed only on request, or where everything must run (`CI=true`). Other machines are not
//! changed: tests that miss a program report it and are skipped.

use crate::step;

/// A program, arguments with which it succeeds and does nothing, and its package.
type Tool = (&'static str, &'static [&'static str], &'static str);

const TOOLS: [Tool; 17] = [
    ("strace", &["-V"], "strace"),
    ("mkfs.ext4", &["-V"], "e2fsprogs"),
    ("mkfs.xfs", &["-V"], "xfsprogs"),
    ("mkfs.btrfs", &["--version"], "btrfs-progs"),
    ("python3", &["-V"], "python3"),
    ("xz", &["--version"], "xz-utils"),
    ("/lib/systemd/systemd", &["--version"], "systemd"),
    ("ssh", &["-V"], "openssh-client"),
    // It has no option that does nothing and succeeds.
    ("test", &["-x", "/usr/sbin/sshd"], "openssh-server"),
    // Shells of logins.
    ("zsh", &["--version"], "zsh"),
    ("fish", &["--version"], "fish"),
    ("tcsh", &["--version"], "tcsh"),
    // Containers.
    ("podman", &["--version"], "podman"),
    ("runc", &["--version"], "runc"),
    ("test", &["-x", "/usr/lib/podman/netavark"], "netavark"),
    ("catatonit", &["--version"], "catatonit"),
    ("busybox", &["--help"], "busybox-static"),
];

/// What the long tests of places need in addition.
const TOOLS_FOR_PLACES: [Tool; 4] = [
    ("ip", &["-V"], "iproute2"),
    ("dockerd", &["--version"], "docker.io"),
    ("debootstrap", &["--version"], "debootstrap"),
    ("bwrap", &["--version"], "bubblewrap"),
];

/// Whether packages may be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Install {
    OnRequest,
    /// Only if `CI=true` is set.
    OnCi,
}

/// Installs the missing programs. Returns a line for each test that will be skipped.
pub fn prepare(install: Install) -> Result<Vec<String>, String> {
    prepare_all(&TOOLS, install)
}

/// The same for the long tests of places.
pub fn prepare_for_places(install: Install) -> Result<Vec<String>, String> {
    prepare_all(&[&TOOLS[..], &TOOLS_FOR_PLACES].concat(), install)
}

fn prepare_all(tools: &[Tool], install: Install) -> Result<Vec<String>, String> {
    let missing: Vec<_> = tools
        .iter()
        .filter(|(program, args, _)| !step::answers(program, args))
        .collect();
    let mut lines = Vec::new();
    if !step::is_root() {
        lines.push("NOT RUN: the tests that need root".to_owned());
    }
    let may_install = install == Install::OnRequest || is_ci();
    if missing.is_empty() {
        lines.extend(swe_rex(may_install)?);
        return Ok(say(lines));
    }
    if may_install {
        let packages: Vec<&str> = missing.iter().map(|(_, _, package)| *package).collect();
        apt_install(&packages)?;
        lines.extend(swe_rex(may_install)?);
        return Ok(say(lines));
    }
    lines.extend(swe_rex(may_install)?);
    for (program, _, package) in missing {
        lines.push(format!(
            "NOT RUN: the tests that need {program} (Debian package {package}); \
             `cargo xtask test --install` installs it"
        ));
    }
    Ok(say(lines))
}

/// Where the tests look for a Python that has a server of SWE-ReX.
const SWE_REX: &str = "target/tools/swe-rex";

/// The version that the tests were written with.
const SWE_REX_PACKAGE: &str = "swe-rex==1.4.0";

/// Installs the server of SWE-ReX below `target`, if it is missing. Returns a line for the tests that will be skipped.
fn swe_rex(may_install: bool) -> Result<Option<String>, String> {
    let python = format!("{SWE_REX}/bin/python");
    if step::answers(&python, &["-c", "import swerex.server"]) {
        return Ok(None);
    }
    if !may_install {
        return Ok(Some(
            "NOT RUN: the tests that need a server of SWE-ReX (PyPI package swe-rex); \
             `cargo xtask test --install` installs it"
                .to_owned(),
        ));
    }
    if !step::answers("python3", &["-c", "import ensurepip"]) {
        apt_install(&["python3-venv"])?;
    }
    step::run("python3", &["-m", "venv", SWE_REX])?;
    step::run(
        &python,
        &["-m", "pip", "install", "--quiet", SWE_REX_PACKAGE],
    )?;
    Ok(None)
}

/// Whether this is a CI machine, where everything must run.
pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|ci| ci == "true")
}

fn say(lines: Vec<String>) -> Vec<String> {
    for line in &lines {
        println!("{line}");
    }
    lines
}

pub fn apt_install(packages: &[&str]) -> Result<(), String> {
    step::run("apt-get", &["update", "--quiet"])?;
    let mut args = vec!["install", "--quiet", "--yes", "--no-install-recommends"];
    args.extend(packages);
    step::run("apt-get", &args)
}
