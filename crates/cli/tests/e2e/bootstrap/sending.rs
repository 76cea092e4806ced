//! The program is sent whole or not at all, and once.

use super::{SCRIPT, There};
use outlive::places::Unreached;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::thread;

#[test]
fn it_is_sent_once_and_started_under_its_digest() {
    let there = There::new();
    let program = there.sent();
    let path = there.cache().join(format!("far-{}", program.digest));
    let started = there.start();
    assert_eq!(started[0], format!("started {}", path.display()));
    let sent = fs::metadata(&path).unwrap();
    assert_eq!(sent.permissions().mode() & 0o777, 0o700);
    let directory = fs::metadata(there.cache()).unwrap();
    assert_eq!(directory.permissions().mode() & 0o777, 0o700);
    assert_eq!(there.start(), started);
    let found = fs::metadata(&path).unwrap();
    assert_eq!(
        (found.ino(), found.ctime_nsec()),
        (sent.ino(), sent.ctime_nsec())
    );
    assert_eq!(There::files(&there.cache()), [path]);
}

#[test]
fn it_arrives_byte_for_byte_with_and_without_gzip() {
    let noise: String = (0..400_000_u64)
        .map(|n| char::from(b'!' + (n * n % 89) as u8))
        .collect();
    for has_gzip in [true, false] {
        let mut there = There::new();
        there.program = format!("{SCRIPT}# {noise}\n");
        if !has_gzip {
            // A system with just these programs.
            for name in [
                "cat", "chmod", "head", "id", "ls", "mkdir", "mv", "rm", "rmdir", "uname", "wc",
            ] {
                let real = fs::canonicalize(format!("/bin/{name}")).unwrap();
                std::os::unix::fs::symlink(real, there.path("bin").join(name)).unwrap();
            }
            there.shell = format!("env PATH={} /bin/sh", there.path("bin").display());
        }
        there.start();
        let files = There::files(&there.cache());
        assert_eq!(
            fs::read(&files[0]).unwrap(),
            there.program.as_bytes(),
            "{has_gzip}"
        );
    }
}

#[test]
fn a_cut_upload_leaves_nothing() {
    let mut there = There::new();
    // What remains of the input once the script has been read is random, so it cannot be packed.
    let bytes: [u8; 4096] = outlive_sys::file::random().unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    there.program = format!("{SCRIPT}# {}\n", hex.repeat(20));
    for length in [4000, 8000] {
        there.shell = format!("sh -c 'dd bs=1 count={length} 2>/dev/null | sh'");
        let why = there.refusal();
        assert!(!matches!(why, Unreached::TimedOut), "{why:?}");
        assert!(There::files(&there.cache()).is_empty(), "{length}");
    }
    there.shell = "sh".to_owned();
    there.start();
}

#[test]
fn a_program_of_another_size_is_sent_again() {
    let there = There::new();
    there.start();
    let path = There::files(&there.cache()).remove(0);
    fs::write(&path, "#!/bin/sh\n").unwrap();
    there.start();
    assert_eq!(fs::read_to_string(path).unwrap(), SCRIPT);
}

#[test]
fn many_may_send_it_at_once() {
    let there = There::new();
    there.sent();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| there.start());
        }
    });
    assert_eq!(There::files(&there.cache()).len(), 1);
}

#[test]
fn another_machine_is_refused_before_anything_is_sent() {
    let there = There::new();
    there.add_program(
        "uname",
        "case $1 in -m) echo riscv64 ;; *) echo Linux ;; esac",
    );
    let why = there.refusal();
    assert!(matches!(why, Unreached::NoProgram(_)), "{why:?}");
    assert!(
        why.to_string()
            .starts_with("no program for Linux on riscv64"),
        "{why}"
    );
    assert!(There::files(&there.cache()).is_empty());
}

/// The real program, because it looks at itself.
#[test]
fn a_program_with_another_digest_does_not_run_and_is_sent_again() {
    let there = There::new();
    let far = outlive_testkit::programs::directory().join("outlive-far");
    let program = outlive::places::bootstrap::Program::at(&far, &there.path("digest")).unwrap();
    let open = || {
        let by = outlive_core::BootTime::from_ms(outlive_sys::clock::boot_ms()) + there.within;
        outlive::places::transport::open_with(&there.outlive(), &there.place(), by, &program)
    };
    let whole = open().unwrap();
    outlive::places::transport::end(whole.carrier, (whole.input, whole.output));
    let path = There::files(&there.cache()).remove(0);
    // Something that is not executed, of the same size.
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let damaged = path.with_extension("damaged");
    fs::write(&damaged, &bytes).unwrap();
    fs::set_permissions(&damaged, fs::Permissions::from_mode(0o700)).unwrap();
    fs::rename(damaged, &path).unwrap();
    let ends = open().unwrap();
    let mut output = Vec::new();
    std::io::Read::read_to_end(&mut &ends.output, &mut output).unwrap();
    assert!(output.is_empty(), "it says nothing as a far end");
    drop((ends.input, ends.output));
    let why = ends.carrier.why_ended("").to_string();
    assert!(why.contains("not the program that was sent"), "{why}");
    assert!(!path.exists());
    let whole = open().unwrap();
    outlive::places::transport::end(whole.carrier, (whole.input, whole.output));
    assert_eq!(fs::read(&path).unwrap(), fs::read(&far).unwrap());
}
