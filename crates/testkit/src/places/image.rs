//! Images for containers, made of this machine's busybox. A debug build of our program needs the C library, so its
//! libraries are in each image.

use super::shared;
use crate::programs;
use crate::ran::Ran;
use outlive_sys::lock;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Image {
    /// A shell and every small program.
    Usual,
    /// A shell without `gzip` and `head`.
    Bare,
    /// No shell. Its only program is `/sleep`.
    NoShell,
}

impl Image {
    pub const ALL: [Image; 3] = [Image::Usual, Image::Bare, Image::NoShell];

    /// Its name in an engine.
    pub fn name(self) -> &'static str {
        match self {
            Image::Usual => "localhost/outlive-usual:latest",
            Image::Bare => "localhost/outlive-bare:latest",
            Image::NoShell => "localhost/outlive-no-shell:latest",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Image::Usual => "usual.tar",
            Image::Bare => "bare.tar",
            Image::NoShell => "no-shell.tar",
        }
    }

    /// Its root filesystem as an archive.
    pub fn archive(self) -> PathBuf {
        directory().join(self.file())
    }

    /// Makes its root filesystem in this new directory.
    pub fn unpack(self, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        must(
            Command::new("tar")
                .arg("-C")
                .arg(to)
                .arg("-xf")
                .arg(self.archive()),
        )
    }

    fn make(self, root: &Path) -> io::Result<()> {
        for directory in [
            "bin", "dev", "etc", "proc", "root", "run", "sys", "tmp", "var/tmp",
        ] {
            fs::create_dir_all(root.join(directory))?;
        }
        for directory in ["tmp", "var/tmp"] {
            must(Command::new("chmod").arg("1777").arg(root.join(directory)))?;
        }
        fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")?;
        fs::write(root.join("etc/group"), "root:x:0:\n")?;
        for file in ["etc/resolv.conf", "etc/hosts", "etc/localtime"] {
            fs::write(root.join(file), "")?;
        }
        for library in libraries() {
            let to = root.join(library.strip_prefix("/").unwrap());
            fs::create_dir_all(to.parent().unwrap())?;
            fs::copy(&library, to)?;
        }
        let busybox = busybox().ok_or_else(|| io::Error::other("there is no busybox"))?;
        if self == Image::NoShell {
            return fs::copy(busybox, root.join("sleep")).map(drop);
        }
        let program = root.join("bin/busybox");
        fs::copy(&busybox, &program)?;
        let missing: &[&str] = match self {
            Image::Bare => &["gzip", "gunzip", "zcat", "head"],
            _ => &[],
        };
        let listed = Ran::of(Command::new(busybox).arg("--list")).stdout;
        for name in listed.lines().filter(|name| !missing.contains(name)) {
            if name != "busybox" {
                symlink("busybox", root.join("bin").join(name))?;
            }
        }
        Ok(())
    }
}

/// The static busybox of this machine.
pub fn busybox() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|it| it.join("busybox"));
    found.find(|it| it.is_file())
}

/// The libraries that our program needs.
fn libraries() -> Vec<PathBuf> {
    let ran = Ran::of(Command::new("ldd").arg(programs::far()));
    let words = ran.stdout.split_whitespace();
    words
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

/// The archives of all images, which are made once.
fn directory() -> &'static Path {
    static DIRECTORY: std::sync::LazyLock<PathBuf> = std::sync::LazyLock::new(|| {
        let directory = shared().join("images");
        fs::create_dir_all(&directory).unwrap();
        let file = File::create(directory.join("lock")).unwrap();
        lock::wait(&file).unwrap();
        for image in Image::ALL {
            let archive = directory.join(image.file());
            if !archive.exists() {
                make_archive(image, &archive).unwrap();
            }
        }
        directory
    });
    &DIRECTORY
}

fn make_archive(image: Image, archive: &Path) -> io::Result<()> {
    let root = tempfile::tempdir()?;
    image.make(root.path())?;
    let draft = archive.with_extension("draft");
    let mut tar = Command::new("tar");
    tar.arg("-C")
        .arg(root.path())
        .arg("-cf")
        .arg(&draft)
        .arg(".");
    must(&mut tar)?;
    fs::rename(draft, archive)
}

/// Runs a command, which must succeed.
pub fn must(command: &mut Command) -> io::Result<()> {
    let ran = Ran::of(command);
    match ran.code {
        0 => Ok(()),
        _ => Err(io::Error::other(format!("{command:?}: {ran:?}"))),
    }
}
