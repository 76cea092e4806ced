//! The releases that are kept in `compat/`, unpacked.

use outlive_testkit::needs;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A stored release.
pub struct Release {
    pub name: String,
    /// The path of its `outlive`. Its `outlive-keeper` lies in the same directory.
    pub outlive: PathBuf,
    /// The directory in `compat/` that has its files.
    pub folder: PathBuf,
}

/// The only architecture for which programs are stored.
const MACHINE: &str = "x86_64";

impl Release {
    /// Every stored release, or none if they cannot run on this machine.
    pub fn all() -> Vec<Release> {
        if let Some(why) = cannot_run() {
            needs::not_run(&why);
            return Vec::new();
        }
        let folder = root().join("compat");
        let entries = fs::read_dir(folder).unwrap();
        let releases: Vec<Release> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.join(MACHINE).is_dir())
            .map(Release::unpack)
            .collect();
        assert!(!releases.is_empty(), "no release is kept");
        releases
    }

    /// Unpacks the programs under the build directory, once for all test processes. Stored releases never change.
    fn unpack(folder: PathBuf) -> Release {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let unpacked = cache.join(format!("compat-{name}"));
        if !unpacked.exists() {
            let part = tempfile::Builder::new()
                .prefix("compat-part-")
                .tempdir_in(cache)
                .unwrap();
            for program in ["outlive", "outlive-keeper"] {
                let packed = folder.join(MACHINE).join(format!("{program}.xz"));
                unpack_program(&packed, &part.path().join(program));
            }
            // If another process was faster, its copy has the same content.
            if fs::rename(part.path(), &unpacked).is_ok() {
                let _ = part.keep();
            }
        }
        Release {
            name,
            outlive: unpacked.join("outlive"),
            folder,
        }
    }

    /// Unpacks the home of this release into the subdirectory `home`.
    pub fn unpack_home(&self, directory: &Path) {
        let archive = self.folder.join("home.tar.xz");
        let mut tar = Command::new("tar");
        tar.arg("--extract").arg("--xz").arg("--file").arg(archive);
        assert!(
            tar.arg("--directory")
                .arg(directory)
                .status()
                .unwrap()
                .success()
        );
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cannot_run() -> Option<String> {
    if std::env::consts::ARCH != MACHINE {
        return Some(format!(
            "the programs of earlier releases are kept for {MACHINE} only"
        ));
    }
    let answers = Command::new("xz").arg("--version").output();
    answers
        .is_err()
        .then(|| "xz is missing (Debian package xz-utils)".to_owned())
}

/// Unpacks a program with a shell. If this process had the file open for writing, a child that another test forks at
/// that moment would have it open too, and nobody could execute it.
fn unpack_program(packed: &Path, to: &Path) {
    let script = "xz --decompress --stdout \"$1\" >\"$2\" && chmod 755 \"$2\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(packed).arg(to);
    assert!(shell.status().unwrap().success());
}
