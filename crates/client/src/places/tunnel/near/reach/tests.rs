#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::*;
use crate::places::{Address, Settings};
use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What `sh` prints that runs this command.
fn sh(command: &str, path: &Path, home: &Path) -> Text {
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", command]).env_clear();
    sh.env("PATH", path).env("HOME", home);
    let child = outlive_sys::spawn::start(sh.stdout(Stdio::piped()).stderr(Stdio::null()));
    Text {
        output: child.unwrap().wait_with_output().unwrap().stdout,
        remark: String::new(),
    }
}

#[test]
fn lines_of_the_script_are_found_whole_or_not_at_all() {
    let need = Said::Need {
        system: "Linux",
        machine: "x86_64",
        form: Form::Gzip,
        letters: Letters::Base64,
        pieces: 3,
        directory: "/a b",
    };
    let text = "noise\noutlive-far-7 need Linux x86_64 gzip base64 3 /a b ;\r\nnoise";
    assert_eq!(said(text.as_bytes(), "7"), Some(need));
    let have = b"\xff\noutlive-far-7 have /x ;\noutlive-far-7 have /y";
    assert_eq!(said(have, "7"), Some(Said::Have("/x")));
    for text in [
        "",
        "outlive-far-7 have /x",
        "outlive-far-8 have /x ;",
        "outlive-far-7 have ;",
    ] {
        assert_eq!(said(text.as_bytes(), "7"), None, "{text}");
    }
}

#[test]
fn pieces_arrive_as_they_are_in_both_ways() {
    let all: Vec<u8> = (0..=255).chain(b"100% '\\n'".iter().copied()).collect();
    for letters in [Letters::Base64, Letters::Octal] {
        let world = tempfile::tempdir().unwrap();
        let parts = world.path().join("it's a directory");
        let upload = Upload {
            token: "t",
            parts: parts.to_str().unwrap().to_owned(),
            letters,
        };
        let run = |command: &str| -> Result<Text, Trouble> {
            Ok(sh(command, Path::new("/usr/bin:/bin"), world.path()))
        };
        assert_eq!(upload.send(&all, 0, &run), Ok(1));
        assert_eq!(std::fs::read(parts.join("0")).unwrap(), all, "{letters:?}");
        assert_eq!(std::fs::read_dir(parts).unwrap().count(), 1);
    }
}

#[test]
fn no_command_is_longer_than_an_argument_can_be() {
    const MAX_ARGUMENT: usize = 128 * 1024;
    for letters in [Letters::Base64, Letters::Octal] {
        let upload = Upload {
            token: "0123456789abcdef",
            parts: "/x".repeat(1000),
            letters,
        };
        let command = upload.command(9999, &vec![0; upload.size()]);
        assert!(
            command.len() < MAX_ARGUMENT,
            "{letters:?}: {}",
            command.len()
        );
    }
}

/// What is sent in place of the program: it says what it is asked to carry.
const PROGRAM: &str = "#!/bin/sh\necho \"$1 $2\"\n";

/// A place with these programs, a home, and the commands that were run there.
struct There {
    directory: tempfile::TempDir,
    commands: RefCell<Vec<String>>,
}

impl There {
    fn with(programs: &[&str]) -> There {
        let directory = tempfile::tempdir().unwrap();
        let bin = directory.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for program in programs {
            let mut known = ["/usr/bin", "/bin"]
                .iter()
                .map(|it| Path::new(it).join(program));
            symlink(known.find(|path| path.exists()).unwrap(), bin.join(program)).unwrap();
        }
        There {
            directory,
            commands: RefCell::default(),
        }
    }

    /// Everything that is usual but `base64` and `gzip`.
    const FEW: [&str; 13] = [
        "sh", "id", "ls", "uname", "wc", "mkdir", "rm", "rmdir", "mv", "chmod", "cat", "head",
        "env",
    ];

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn program(&self, bytes: &str) -> Program {
        let path = self.path("program");
        fs::write(&path, bytes).unwrap();
        Program::at(&path, &self.path("cache")).unwrap()
    }

    /// Runs a command, unless this says that it is lost.
    fn reach(
        &self,
        program: &Program,
        is_lost: impl Fn(usize) -> bool,
    ) -> Result<Reached, Trouble> {
        let place = Place {
            name: "p".to_owned(),
            address: Address::parse("text:x").unwrap(),
            settings: Settings::default(),
        };
        reach(&place, program, "cmVxdWVzdA==", &|command| {
            let mut commands = self.commands.borrow_mut();
            commands.push(command.to_owned());
            match is_lost(commands.len()) {
                true => Err(Trouble::TimedOut),
                false => Ok(sh(command, &self.path("bin"), &self.path("home"))),
            }
        })
    }

    fn commands(&self) -> usize {
        self.commands.borrow().len()
    }
}

#[track_caller]
fn assert_carries(reached: Result<Reached, Trouble>) {
    let reached = reached.unwrap();
    let text = String::from_utf8(reached.text).unwrap();
    assert!(text.ends_with("carry cmVxdWVzdA==\n"), "{text:?}");
    let found = fs::metadata(reached.program).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_program_is_sent_with_and_without_base64_and_gzip() {
    for more in [&["base64", "gzip"][..], &["base64"], &["gzip"], &[]] {
        let there = There::with(&[&There::FEW[..], more].concat());
        let program = there.program(PROGRAM);
        assert_carries(there.reach(&program, |_| false));
        assert_eq!(there.commands(), 3, "{more:?}: look, one piece, begin");
        assert_carries(there.reach(&program, |_| false));
        assert_eq!(there.commands(), 4, "it is there");
        let left = fs::read_dir(there.path("home/.cache/outlive")).unwrap();
        assert_eq!(left.count(), 1, "{more:?}: the pieces are removed");
    }
}

#[test]
fn an_upload_that_was_broken_off_goes_on() {
    let there = There::with(&[&There::FEW[..], &["base64"]].concat());
    // Without gzip, some pieces.
    let program = there.program(&format!("{PROGRAM}# {}\n", "x".repeat(400_000)));
    let pieces = (program.size as usize).div_ceil(base64::fitting(MAX_TEXT));
    assert!(pieces > 4);
    let broken = there.reach(&program, |number| number > 4);
    assert_eq!(
        broken,
        Err(Trouble::Final(crate::places::Unreached::TimedOut))
    );
    let before = there.commands();
    assert_carries(there.reach(&program, |_| false));
    // Three pieces had arrived.
    assert_eq!(there.commands() - before, 1 + pieces - 3 + 1);
}

#[test]
fn each_command_may_be_lost_or_damaged_now_and_then() {
    let there = There::with(&[&There::FEW[..], &["base64", "gzip"]].concat());
    let program = there.program(PROGRAM);
    assert_carries(there.reach(&program, |number| number % 2 == 1));
}

#[test]
fn pieces_of_another_program_are_not_used() {
    let there = There::with(&[&There::FEW[..], &["base64"]].concat());
    let program = there.program(PROGRAM);
    let pile = there.path("home/.cache/outlive");
    let pile = pile.join(format!("{}.plain", program.name()));
    fs::create_dir_all(&pile).unwrap();
    fs::set_permissions(pile.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(pile.join("0"), "something else").unwrap();
    let reached = there.reach(&program, |_| false);
    let path = PathBuf::from(&reached.as_ref().unwrap().program);
    assert_eq!(fs::read_to_string(path).unwrap(), PROGRAM);
    assert_carries(reached);
    assert!(!pile.exists(), "the pieces are removed");
}

#[test]
fn a_directory_of_the_configuration_is_in_no_command() {
    let there = There::with(&There::FEW);
    let program = there.program(PROGRAM);
    let settings = Settings {
        far_dir: Some(PathBuf::from("/secret place/'it'")),
        ..Settings::default()
    };
    let place = Place {
        name: "p".to_owned(),
        address: Address::parse("text:x").unwrap(),
        settings,
    };
    let command = search(&place, &program, "t", "cmVx", 0);
    assert!(!command.contains("secret place"), "{command}");
    assert!(!command.contains("'it'"), "{command}");
}
