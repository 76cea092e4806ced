//! The programs that the tests need in addition to a shell, and the Debian packages that contain them.
//!
//! They are installed only on request, or where everything must run (`CI=true`). Other machines are not
//! changed: tests that miss a program report it and are skipped.

use crate::step;

const TOOLS: [(&str, &[&str], &str); 12] = [
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
    if install == Install::OnRequest || is_ci() {
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
