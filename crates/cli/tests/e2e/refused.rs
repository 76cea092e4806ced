//! System calls that an older kernel or a filter refuses: everything works without them, or the start is refused
//! with the name of the call and nothing runs. strace refuses them here.

use crate::checks::every;
use crate::world::{Ran, World, behind};
use std::path::Path;

fn refusing(world: &World, call: &str, error: &str, args: &[&str]) -> Ran {
    let inject = format!("inject={call}:error={error}");
    let words = ["-f", "-qq", "-o", "/dev/null", "-e", &inject];
    Ran::of(&mut behind("strace", words, &world.command(args)))
}

fn cells(calls: &'static [&'static str]) -> Vec<(&'static str, &'static str)> {
    let errors = |call| ["ENOSYS", "EPERM"].map(|error| (call, error));
    calls.iter().copied().flat_map(errors).collect()
}

fn name((call, error): &(&str, &str)) -> String {
    format!("{call} {error}")
}

#[test]
fn a_job_that_could_not_be_supervised_is_not_started() {
    needs!(Strace);
    let cells = cells(&[
        "pidfd_open",
        "pidfd_send_signal",
        "splice",
        "waitid",
        "ppoll",
    ]);
    every(&cells, name, |(call, error)| {
        let world = World::new();
        let marker = world.path("ran");
        let marker = marker.to_str().unwrap();
        let ran = refusing(
            &world,
            call,
            error,
            &["run", "--id", "x", "--", "touch", marker],
        );
        assert_eq!(ran.code, 125, "{ran:?}");
        let words = format!("refuses the call {call}: ");
        assert!(ran.stderr.contains(&words), "{ran:?}");
        assert!(!Path::new(marker).exists(), "it ran unkept");
        let shown = world.show("x");
        assert_eq!(shown["outcome"]["kind"], "not_started", "{shown}");
        let doctor = refusing(&world, call, error, &["doctor"]);
        assert_eq!(doctor.code, 125, "{doctor:?}");
        assert!(doctor.stdout.contains(call), "{doctor:?}");
    });
}

#[test]
fn what_there_is_another_way_for_is_not_missed() {
    needs!(Strace);
    let cells = cells(&[
        "close_range",
        "renameat2",
        "fallocate",
        "sync_file_range",
        "copy_file_range",
        "fdatasync",
    ]);
    every(&cells, name, |(call, error)| {
        let world = World::new();
        let script = "echo out; echo err >&2; exit 3";
        let args = ["run", "--id", "x", "--wait", "--shell", script];
        let ran = refusing(&world, call, error, &args);
        // Another error than "not supported" is believed where it could be the disk's.
        if (*call, *error) == ("renameat2", "EPERM") {
            assert_eq!(ran.code, 125, "{ran:?}");
            return;
        }
        assert_eq!(ran.code, 3, "{ran:?}");
        assert_eq!(ran.stdout, "out\nerr\n");
        assert_eq!(world.show("x")["exit_code"], 3);
    });
}
