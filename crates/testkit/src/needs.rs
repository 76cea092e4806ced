//! What a test needs and a machine may lack.
//!
//! If it is missing, the test prints NOT RUN and the reason. If everything must run (`CI=true`), the test fails
//! instead.

use crate::places::engine::{Engine, Kind};
use crate::places::image::{self, Image};
use crate::places::{apptainer, shared, sshd, swe_rex};
use outlive_sys::process::own;
use std::process::{Command, Stdio};

/// Something that not every machine has.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// Root rights: to mount, to make namespaces, to become another user.
    Root,
    Strace,
    Python,
    /// `mkfs.ext4`.
    Ext4Tools,
    /// A client and a server of SSH.
    Ssh,
    /// A server of SWE-ReX.
    SweRex,
    /// Root rights, busybox, and a Podman that can start a container here.
    Podman,
    /// Root rights, busybox, and a Docker whose daemon can start a container here.
    Docker,
    /// Root rights, and Apptainer or what makes a tree with it.
    Apptainer,
    /// Root rights, `ip` and SSH: to make hosts with a network of their own.
    Hosts,
}

impl Need {
    fn is_met(self) -> bool {
        match self {
            Need::Podman => works(Kind::Podman),
            Need::Docker => works(Kind::Docker),
            Need::Apptainer => {
                Need::Root.is_met() && image::busybox().is_some() && apptainer::is_possible()
            }
            Need::Root => own::user_id() == 0,
            Need::Strace => answers("strace"),
            Need::Python => answers("python3"),
            Need::Ext4Tools => answers("mkfs.ext4"),
            Need::Ssh => answers("ssh") && sshd::program().is_some(),
            Need::SweRex => swe_rex::python().is_some(),
            Need::Hosts => Need::Root.is_met() && Need::Ssh.is_met() && answers("ip"),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Need::Podman => {
                "it needs root, busybox and a Podman that starts containers here (Debian packages podman, runc, \
                 netavark, catatonit, busybox-static)"
            }
            Need::Apptainer => {
                "it needs root, busybox, and Apptainer or what installs it in a tree (Debian packages debootstrap, \
                 bubblewrap, busybox-static)"
            }
            Need::Docker => {
                "it needs root, busybox and a dockerd that starts containers here (Debian packages docker.io, \
                 busybox-static)"
            }
            Need::Root => "it needs root",
            Need::Strace => "it needs strace (Debian package strace)",
            Need::Python => "it needs python3 (Debian package python3)",
            Need::Ext4Tools => "it needs mkfs.ext4 (Debian package e2fsprogs)",
            Need::SweRex => {
                "it needs a server of SWE-ReX (`cargo xtask test --install` installs it)"
            }
            Need::Hosts => "it needs root, ssh, sshd and ip (Debian package iproute2)",
            Need::Ssh => {
                "it needs ssh and sshd (Debian packages openssh-client and openssh-server)"
            }
        }
    }
}

/// Whether an engine starts a container here. Tried once a boot.
fn works(kind: Kind) -> bool {
    if !Need::Root.is_met() || image::busybox().is_none() {
        return false;
    }
    let boot = outlive_sys::offers::host::boot_id().unwrap_or_default();
    let known = shared().join(format!("{}-works-{boot}", kind.as_str()));
    known.exists() || (starts_a_container(kind) && std::fs::write(known, "").is_ok())
}

fn starts_a_container(kind: Kind) -> bool {
    if !has_version(kind.as_str()) {
        return false;
    }
    let directory = tempfile::tempdir();
    let tried = directory.and_then(|directory| {
        let engine = Engine::start(kind, directory.path())?;
        engine.run("probe", &[], Image::Usual, &["true"])
    });
    tried.is_ok()
}

fn has_version(program: &str) -> bool {
    let mut asked = Command::new(program);
    asked
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

fn answers(program: &str) -> bool {
    let asked = Command::new(program)
        .arg("-V")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// Whether everything is there. Prints what is missing.
pub fn are_met(needs: &[Need]) -> bool {
    let missing = needs.iter().find(|need| !need.is_met());
    missing.is_none_or(|need| not_run(need.words()))
}

/// Reports that the test is not run, and why. Fails instead if everything must run.
#[expect(
    clippy::print_stderr,
    reason = "who runs the tests should see what they did not try"
)]
pub fn not_run(why: &str) -> bool {
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci != "true"),
        "{why}, and with CI=true every test must run"
    );
    eprintln!("NOT RUN: {why}");
    false
}

/// Ends the test here, with the reason, if the machine lacks something that the test needs.
#[macro_export]
macro_rules! needs {
    ($($need:ident),+) => {
        if !$crate::needs::are_met(&[$($crate::needs::Need::$need),+]) {
            return;
        }
    };
}
