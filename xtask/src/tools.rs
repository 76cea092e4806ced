//! Programs that the tests use besides a shell, and the Debian packages they come from.
//!
//! They are installed where that is asked for, or where everything must run (`CI=true`). A person's machine is left
//! as it is: the tests that miss something say so and are not run.

use crate::step;

const TOOLS: [(&str, &[&str], &str); 7] = [
    ("strace", &["-V"], "strace"),
    ("mkfs.ext4", &["-V"], "e2fsprogs"),
    ("mkfs.xfs", &["-V"], "xfsprogs"),
    ("mkfs.btrfs", &["--version"], "btrfs-progs"),
    ("python3", &["-V"], "python3"),
    ("xz", &["--version"], "xz-utils"),
    ("/lib/systemd/systemd", &["--version"], "systemd"),
];

/// Whether packages may be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Install {
    Asked,
    /// Only with `CI=true`.
    OnCi,
}

/// Installs what is missing, or says what will not be run without it: a line each.
pub fn prepare(install: Install) -> Result<Vec<String>, String> {
    let missing: Vec<_> = TOOLS
        .iter()
        .filter(|(program, args, _)| !step::answers(program, args))
        .collect();
    let mut lines = Vec::new();
    if !step::is_root() {
        lines.push("NOT RUN: the tests that need root".to_owned());
    }
    if missing.is_empty() {
        return Ok(say(lines));
    }
    if install == Install::Asked || is_ci() {
        let packages: Vec<&str> = missing.iter().map(|(_, _, package)| *package).collect();
        apt_install(&packages)?;
        return Ok(say(lines));
    }
    for (program, _, package) in missing {
        lines.push(format!(
            "NOT RUN: the tests that need {program} (Debian package {package}); \
             `cargo xtask test --install` installs it"
        ));
    }
    Ok(say(lines))
}

/// Whether this is a machine of the CI, where everything must run.
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
