//! Any shell that calls itself `sh` will do, and whatever it says before.

use super::There;
use outlive::places::Unreached;
use std::time::{Duration, Instant};

#[test]
fn every_shell_that_reads_sh_can_run_it() {
    for shell in [
        "sh",
        "dash",
        "bash",
        "bash --posix",
        "busybox sh",
        "zsh --emulate sh",
        "ksh",
        "mksh",
        "yash",
    ] {
        let program = shell.split(' ').next().unwrap();
        if !std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .any(|it| it.join(program).is_file())
        {
            continue;
        }
        let mut there = There::new();
        there.shell = shell.to_owned();
        let sent = there.start();
        assert_eq!(there.start(), sent, "{shell}");
    }
}

#[test]
fn the_shell_of_a_login_only_has_to_execute_sh() {
    for shell in ["sh", "bash", "dash", "zsh", "fish", "tcsh"] {
        if !std::path::Path::new("/bin").join(shell).exists() {
            continue;
        }
        let mut there = There::new();
        there.shell = format!("{shell} -c 'exec sh'");
        there.start();
    }
}

#[test]
fn what_is_said_before_is_skipped() {
    let mut there = There::new();
    let noise = "echo hello; echo outlive-far-0 have /x; yes | head -c 200000; printf no-end";
    there.shell = format!("sh -c '{noise}; echo oops >&2; exec sh'");
    there.start();
}

/// A terminal repeats what it gets, and a mark within it is not one of the script's.
#[test]
fn an_echo_is_no_answer() {
    let mut there = There::new();
    there.within = Duration::from_millis(300);
    there.shell = "cat".to_owned();
    assert!(matches!(there.refusal(), Unreached::TimedOut));
}

#[test]
fn what_goes_on_talking_is_no_place() {
    let mut there = There::new();
    there.shell = "yes we can".to_owned();
    let why = there.refusal();
    assert!(matches!(why, Unreached::NotUnderstood(_)), "{why:?}");
    assert!(why.to_string().contains("we can"), "{why}");
}

#[test]
fn what_says_nothing_is_given_up_and_ended() {
    let mut there = There::new();
    there.within = Duration::from_millis(300);
    let pid = there.path("pid");
    there.shell = format!("sh -c 'echo $$ >{}; exec sleep 600'", pid.display());
    let begun = Instant::now();
    assert!(matches!(there.refusal(), Unreached::TimedOut));
    assert!(begun.elapsed() < Duration::from_secs(10));
    let pid = std::fs::read_to_string(pid).unwrap();
    let process = std::path::Path::new("/proc").join(pid.trim());
    assert!(!process.exists(), "it is ended and reaped");
}

#[test]
fn what_ends_says_why() {
    let mut there = There::new();
    for (shell, words) in [
        (
            "sh -c 'echo no way in >&2; exit 3'",
            "no way in (the command ended with exit code 3)",
        ),
        ("sh -c 'echo closed for today; exit 1'", "closed for today"),
        ("true", "the command ended with exit code 0"),
        ("sh -c 'kill -9 $$'", "the command was killed by signal 9"),
    ] {
        there.shell = shell.to_owned();
        let why = there.refusal();
        assert!(matches!(why, Unreached::Refused(_)), "{why:?}");
        assert!(why.to_string().contains(words), "{words:?} is not in {why}");
    }
}
