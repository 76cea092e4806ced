//! The program that is sent to places: finding it here, its digest, making it small.
//!
//! There it is named by its digest, so both sides of a wire are always of one version, and two versions lie side by
//! side. The digest is SHA-256: whoever asks for a name must get that program and no other. `sha2` uses the
//! processor's instructions for it, so that a far end can check itself at each start (2 ms for a release program).
//! The packing is gzip, because every system has it; `flate2` with `zlib-rs` needs no C and takes 70 ms for a release
//! program, 250 ms for one of 60 MB.

use super::Form;
use crate::environment;
use crate::home::outlive::Outlive;
use crate::places::{Place, Unreached};
use flate2::Compression;
use flate2::write::GzEncoder;
use outlive_core::layout;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const NAME: &str = "outlive-far";

/// Its name at a place begins with this, and the digest follows.
const FAR: &str = "far-";

/// The file in `places` that remembers the digest, so that a program is read only once.
const CACHE: &str = ".program";

/// A program to send.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    /// SHA-256, in hexadecimal digits.
    pub digest: String,
    pub size: u64,
    /// The type of machine that it was built for.
    machine: &'static str,
}

/// The digest of a file that has not changed since.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    digest: String,
    /// Device, inode, size, and when it was changed.
    file: (u64, u64, u64, i64, i64),
}

impl Program {
    /// Finds the program beside this one or on the `PATH`.
    pub fn find(outlive: &Outlive) -> Result<Program, Unreached> {
        let path = match environment::non_empty(environment::FAR) {
            Some(path) => PathBuf::from(path),
            None => beside_or_on_path()?,
        };
        Program::at(&path, &outlive.home().root().join("places").join(CACHE))
    }

    /// This program. `cache` remembers its digest.
    pub fn at(path: &Path, cache: &Path) -> Result<Program, Unreached> {
        let cannot = |error| cannot_read(path, &error);
        let mut file = File::open(path).map_err(cannot)?;
        let found = file.metadata().map_err(cannot)?;
        let digest = match remembered(cache, &found) {
            Some(digest) => digest,
            None => {
                let digest = digest_of(&mut file).map_err(cannot)?;
                remember(cache, &found, &digest);
                digest
            }
        };
        Ok(Program {
            path: path.to_owned(),
            digest,
            size: found.len(),
            machine: machine_of(path).map_err(cannot)?,
        })
    }

    /// Its name at a place.
    pub(crate) fn name(&self) -> String {
        format!("{FAR}{}", self.digest)
    }

    /// Whether it can run on this system and machine.
    pub(crate) fn check_machine(&self, system: &str, machine: &str) -> Result<(), Unreached> {
        if system == "Linux" && architecture(machine) == self.machine {
            return Ok(());
        }
        let there = outlive_core::quote::line(&format!("{system} on {machine}"));
        Err(Unreached::NoProgram(format!(
            "no program for {there}: {} is for Linux on {}; build `outlive-far` for it, and name that file in {}",
            self.path.display(),
            self.machine,
            environment::FAR
        )))
    }

    /// Its name at a place.
    pub fn file_name(&self) -> String {
        format!("{FAR}{}", self.digest)
    }

    /// The command that starts it from this path, where there is no shell. It says that it has started, with this token.
    pub fn start_words(&self, path: &Path, place: &Place, token: &str) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![path.into()];
        words.extend(["--digest", &self.digest, "--mark", token].map(OsString::from));
        if let Some(home) = place.far_home() {
            words.extend(["--home".into(), home.into_os_string()]);
        }
        words
    }

    /// Its bytes.
    pub fn bytes(&self) -> Result<Vec<u8>, Unreached> {
        self.packed(Form::Plain)
    }

    /// Its bytes, as they are sent.
    pub(crate) fn packed(&self, form: Form) -> Result<Vec<u8>, Unreached> {
        let bytes = fs::read(&self.path).map_err(|error| cannot_read(&self.path, &error))?;
        if bytes.len() as u64 != self.size || hex(&Sha256::digest(&bytes)) != self.digest {
            let path = self.path.display();
            let why = format!("{path} was replaced while it was being sent; try again");
            return Err(Unreached::NoProgram(why));
        }
        match form {
            Form::Plain => Ok(bytes),
            Form::Gzip => gzip(&bytes).map_err(|error| cannot_read(&self.path, &error)),
        }
    }
}

/// Fails unless the program of this process is the one with this digest. A far end looks, because a machine that crashed
/// may have kept only a part of it, and whoever can change its directory may have put another one there. A wrong one is
/// removed, so that the next start sends it again.
pub fn check_own_program(digest: &str) -> io::Result<()> {
    let found = digest_of(&mut File::open("/proc/self/exe")?)?;
    if found == digest {
        return Ok(());
    }
    let name = format!("{FAR}{digest}");
    if let Ok(path) = fs::read_link("/proc/self/exe")
        && path.file_name().is_some_and(|own| own == name.as_str())
    {
        let _ = fs::remove_file(path);
    }
    Err(io::Error::other(format!(
        "this is not the program that was sent: its digest is {found}; try again"
    )))
}

fn beside_or_on_path() -> Result<PathBuf, Unreached> {
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.with_file_name(NAME);
    if beside.is_file() {
        return Ok(beside);
    }
    let found = environment::on_path(NAME);
    found.ok_or_else(|| {
        let own = own.display();
        Unreached::NoProgram(format!(
            "the program {NAME}, which is sent to places, is not beside {own}; install Outlive again"
        ))
    })
}

fn cannot_read(path: &Path, error: &io::Error) -> Unreached {
    Unreached::NoProgram(format!("cannot read {}: {error}", path.display()))
}

fn digest_of(file: &mut File) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&digest.finalize())),
            Ok(count) => digest.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Programs of tests are large and are sent over no network: there, time matters more than size.
const LARGE: usize = 16 * 1024 * 1024;

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let level = match bytes.len() > LARGE {
        true => Compression::fast(),
        false => Compression::default(),
    };
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 2), level);
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn identity(found: &Metadata) -> (u64, u64, u64, i64, i64) {
    (
        found.dev(),
        found.ino(),
        found.len(),
        found.ctime(),
        found.ctime_nsec(),
    )
}

fn remembered(cache: &Path, found: &Metadata) -> Option<String> {
    let text = fs::read(cache).ok()?;
    let known: Remembered = serde_json::from_slice(&text).ok()?;
    (known.file == identity(found)).then_some(known.digest)
}

/// Failing to remember costs time at the next use, and nothing else.
fn remember(cache: &Path, found: &Metadata, digest: &str) {
    const RECENT_SECONDS: u64 = 2;
    let now = outlive_sys::clock::wall_ms() / 1000;
    // A file that was just written may be written again within the same tick of its time.
    if (found.ctime().max(0) as u64) + RECENT_SECONDS > now {
        return;
    }
    let known = Remembered {
        digest: digest.to_owned(),
        file: identity(found),
    };
    let Ok(text) = serde_json::to_vec(&known) else {
        return;
    };
    let aside = cache.with_extension(outlive_sys::process::own::pid().to_string());
    if layout::make(&aside)
        .and_then(|mut file| file.write_all(&text))
        .and_then(|()| fs::rename(&aside, cache))
        .is_err()
    {
        let _ = fs::remove_file(&aside);
    }
}

/// The type of machine that a program is for, from its ELF header. One without a header, such as a script, runs here.
fn machine_of(path: &Path) -> io::Result<&'static str> {
    let mut header = [0; 20];
    let is_elf = match File::open(path)?.read_exact(&mut header) {
        Ok(()) => header.starts_with(b"\x7fELF"),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(error),
    };
    let (is_64_bit, is_big_endian) = (header[4] == 2, header[5] == 2);
    let number = [header[18], header[19]];
    let number = match is_big_endian {
        true => u16::from_be_bytes(number),
        false => u16::from_le_bytes(number),
    };
    Ok(match (number, is_64_bit) {
        _ if !is_elf => std::env::consts::ARCH,
        (62, _) => "x86_64",
        (183, _) => "aarch64",
        (3, _) => "x86",
        (40, _) => "arm",
        (243, true) => "riscv64",
        (21, _) => "powerpc64",
        (22, true) => "s390x",
        (258, true) => "loongarch64",
        _ => "another machine",
    })
}

/// The name that Rust has for what `uname -m` says.
fn architecture(machine: &str) -> Cow<'_, str> {
    match machine {
        "amd64" => "x86_64".into(),
        "arm64" => "aarch64".into(),
        "ppc64le" | "ppc64" => "powerpc64".into(),
        "i386" | "i486" | "i586" | "i686" => "x86".into(),
        arm if arm.starts_with("armv") => "arm".into(),
        other => other.into(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::io::Read;

    fn program(bytes: &[u8]) -> (tempfile::TempDir, Program) {
        let world = tempfile::tempdir().unwrap();
        let path = world.path().join("far");
        fs::write(&path, bytes).unwrap();
        let program = Program::at(&path, &world.path().join("cache")).unwrap();
        (world, program)
    }

    #[test]
    fn the_digest_is_sha_256() {
        let (_world, program) = program(b"abc");
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(program.digest, known);
        assert_eq!(program.size, 3);
    }

    #[test]
    fn what_is_packed_unpacks() {
        let (_world, program) = program(&b"0123456789".repeat(1000));
        let packed = program.packed(Form::Gzip).unwrap();
        assert!(packed.len() < 1000);
        let mut text = Vec::new();
        let mut decoder = flate2::read::GzDecoder::new(&packed[..]);
        decoder.read_to_end(&mut text).unwrap();
        assert_eq!(text, program.packed(Form::Plain).unwrap());
    }

    /// Otherwise the place would keep another program under its name.
    #[test]
    fn a_program_that_was_replaced_meanwhile_is_not_sent() {
        let (_world, program) = program(b"old");
        fs::write(&program.path, "new").unwrap();
        let why = program.packed(Form::Gzip).unwrap_err().to_string();
        assert!(why.contains("was replaced"), "{why}");
    }

    #[test]
    fn a_digest_is_remembered_until_the_file_changes() {
        let (world, program) = program(b"abc");
        let cache = world.path().join("cache");
        let found = fs::metadata(&program.path).unwrap();
        assert_eq!(remembered(&cache, &found), None, "it is too new");
        let known = Remembered {
            digest: "d".to_owned(),
            file: identity(&found),
        };
        fs::write(&cache, serde_json::to_vec(&known).unwrap()).unwrap();
        assert_eq!(remembered(&cache, &found).as_deref(), Some("d"));
        fs::write(&program.path, "other").unwrap();
        let found = fs::metadata(&program.path).unwrap();
        assert_eq!(remembered(&cache, &found), None);
    }

    #[test]
    fn another_machine_is_refused_with_its_name() {
        let (_world, program) = program(b"x");
        program
            .check_machine("Linux", std::env::consts::ARCH)
            .unwrap();
        for (system, machine) in [("Linux", "riscv64"), ("Darwin", std::env::consts::ARCH)] {
            let why = program.check_machine(system, machine).unwrap_err();
            assert!(
                why.to_string().contains(&format!("{system} on {machine}")),
                "{why}"
            );
        }
    }

    /// It may be one that was built for another machine.
    #[test]
    fn a_program_says_for_which_machine_it_is() {
        let mut header = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xb7\0";
        let (_world, arm) = program(&header);
        arm.check_machine("Linux", "aarch64").unwrap();
        arm.check_machine("Linux", "arm64").unwrap();
        let why = arm.check_machine("Linux", "x86_64").unwrap_err();
        assert!(why.to_string().contains("is for Linux on aarch64"), "{why}");
        header[18] = 62;
        program(&header).1.check_machine("Linux", "x86_64").unwrap();
        let own = Path::new("/proc/self/exe");
        assert_eq!(machine_of(own).unwrap(), std::env::consts::ARCH);
    }
}
