//! Which directory there takes the program: one of this user that nobody else can change, and from which programs can
//! be executed.

use super::There;
use outlive::places::Unreached;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

/// Where the program was started from.
#[track_caller]
fn started_in(there: &There) -> PathBuf {
    let started = there.start();
    let path = started[0].strip_prefix("started ").unwrap();
    Path::new(path).parent().unwrap().to_owned()
}

/// A place with two directories that come first: this one, and the usual one in the home directory.
fn with_first() -> (There, PathBuf) {
    let mut there = There::new();
    let first = there.path("first");
    fs::create_dir(&first).unwrap();
    there.variables = format!("XDG_CACHE_HOME={}", first.display());
    (there, first.join("outlive"))
}

#[test]
fn the_cache_directory_comes_first() {
    let (there, first) = with_first();
    assert_eq!(started_in(&there), first);
}

#[test]
fn one_that_others_can_change_is_not_used() {
    let (there, first) = with_first();
    fs::create_dir(&first).unwrap();
    for mode in [0o770, 0o707, 0o777] {
        fs::set_permissions(&first, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(started_in(&there), there.cache(), "{mode:o}");
    }
    fs::set_permissions(&first, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(there.cache()).unwrap();
    assert_eq!(started_in(&there), first);
}

/// Even if it holds a program of the right name and size.
#[test]
fn one_of_another_user_is_not_used() {
    needs!(Root);
    let (there, first) = with_first();
    assert_eq!(started_in(&there), first);
    chown(&first, Some(65534), None).unwrap();
    assert_eq!(started_in(&there), there.cache());
    // A link of another user leads where they want.
    let mine = there.path("mine");
    fs::rename(&first, &mine).unwrap();
    chown(&mine, Some(0), None).unwrap();
    symlink(&mine, &first).unwrap();
    std::os::unix::fs::lchown(&first, Some(65534), None).unwrap();
    fs::remove_dir_all(there.cache()).unwrap();
    assert_eq!(started_in(&there), there.cache());
    std::os::unix::fs::lchown(&first, Some(0), None).unwrap();
    fs::remove_dir_all(there.cache()).unwrap();
    assert_eq!(started_in(&there), first, "a link of our own is used");
}

#[test]
fn one_with_a_full_disk_is_left_for_the_next() {
    needs!(Root);
    let (mut there, first) = with_first();
    fs::create_dir(&first).unwrap();
    let bytes: [u8; 4096] = outlive_sys::file::random().unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    there.program += &format!("# {}\n", hex.repeat(40));
    there.shell = format!(
        "unshare --mount sh -c 'mount -t tmpfs -o size=64k,mode=0700 none {}; exec sh'",
        first.display()
    );
    assert_eq!(started_in(&there), there.cache());
}

#[test]
fn one_that_allows_no_programs_is_left_for_the_next() {
    needs!(Root);
    let (mut there, first) = with_first();
    fs::create_dir(&first).unwrap();
    there.shell = format!(
        "unshare --mount sh -c 'mount -t tmpfs -o noexec,mode=0700 none {}; exec sh'",
        first.display()
    );
    assert_eq!(started_in(&there), there.cache());
    assert!(There::files(&first).is_empty());
}

#[test]
fn the_configured_one_comes_last() {
    let mut there = There::new();
    let configured = there.path("it's \"mine\" $HOME");
    fs::create_dir(&configured).unwrap();
    there.settings.far_dir = Some(configured.clone());
    assert_eq!(started_in(&there), there.cache());
    fs::remove_dir_all(there.path("home")).unwrap();
    // Of a user that is not there, nobody owns a directory but the configured one.
    there.add_program("id", "echo 4242");
    there.add_program(
        "ls",
        "case $2 in *mine*) echo drwx------ 2 4242 ;; *) exec /bin/ls \"$@\" ;; esac",
    );
    assert_eq!(started_in(&there), configured);
}

#[test]
fn where_there_is_none_each_is_named_with_the_reason() {
    let there = There::new();
    fs::create_dir_all(there.cache()).unwrap();
    there.add_program("id", "echo 4343");
    let why = there.refusal();
    assert!(matches!(why, Unreached::NoProgram(_)), "{why:?}");
    let text = why.to_string();
    for words in [
        &format!("{} belongs to another user", there.cache().display()),
        "/var/tmp/outlive-4343 belongs to another user",
        "/tmp/outlive-4343 belongs to another user",
        "far_dir",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    for path in ["/var/tmp/outlive-4343", "/tmp/outlive-4343"] {
        assert!(!Path::new(path).exists(), "what was made in vain is gone");
    }
}
