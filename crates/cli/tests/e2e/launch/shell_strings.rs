//! `run --shell`.

use super::text;
use outlive_testkit::checks::until_output;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::world::World;
use std::fs::{self, File};

/// The exit code and the output of `bash -c` for this string.
fn plain_bash(world: &World, args: &[&str]) -> (i32, String) {
    let path = world.path("plain-bash");
    let out = File::create(&path).unwrap();
    let ran = Ran::of(
        world
            .within("bash", args)
            .stdout(out.try_clone().unwrap())
            .stderr(out),
    );
    (ran.code, text(fs::read(path).unwrap()))
}

fn through_outlive(world: &World, script: &str) -> (i32, String, String) {
    let ran = world.outlive(&["run", &format!("--shell={script}")]);
    assert_eq!(ran.code, 0, "{script:?}: {ran:?}");
    let id = ran.stdout.trim_end();
    let job = world.wait(id);
    assert_eq!(job["command"], script);
    let code = job["exit_code"].as_i64().unwrap() as i32;
    (code, text(world.output(id)), ran.stderr)
}

fn assert_runs_as_given(world: &World, script: &str) {
    let (code, output, note) = through_outlive(world, script);
    let expected = plain_bash(world, &["-c", script]);
    assert_eq!((code, output), expected, "{script:?}");
    assert_eq!(note, "", "{script:?}");
}

#[test]
fn shell_strings_run_as_bash_runs_them() {
    let world = World::new();
    for script in [
        "exit 4",
        "echo a; exit 4; echo b",
        "trap 'echo bye; exit 9' EXIT; exit 4",
        "set -e; echo a; false; echo b",
        "(",
        ")",
        "echo a)",
        "(echo a; exit 3",
        "((1",
        "{ echo a",
        "}",
        "fi",
        "echo x\\",
        "\\",
        "echo 'open",
        "echo \"open",
        "'",
        "\"",
        "`echo",
        "echo $(",
        "echo ${",
        "echo \"it's\" 'say \"so\"'",
        "cat <<E\nbody without an end",
        "echo one\necho two\n",
        "# only a comment",
        "echo a # ) ' \"",
        "exec sh -c 'exit 12'",
        "kill -KILL $$",
        "kill -TERM $$",
        "echo \u{e9}\u{65e5} \u{1f980}",
        "echo \"$0\" \"$#\"",
        "no-such-program-anywhere",
        "echo to-stderr >&2; echo to-stdout; exit 255",
    ] {
        assert_runs_as_given(&world, script);
    }
}

#[test]
fn a_string_that_begins_with_a_dash_is_a_command_and_no_option() {
    let world = World::new();
    for script in ["-n; echo hi", "--version", "+x"] {
        let (code, output, _) = through_outlive(&world, script);
        let expected = plain_bash(&world, &["-c", "--", script]);
        assert_eq!((code, output), expected, "{script:?}");
    }
}

#[test]
fn a_string_runs_in_sh_where_there_is_no_bash() {
    let world = World::new();
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/sh", bin.join("sh")).unwrap();
    let mut command = world.command(["run", "--id", "sh", "--shell", "echo $0; exit 4"]);
    assert_eq!(Ran::of(command.env("PATH", &bin)).code, 0);
    assert_eq!(world.wait("sh")["exit_code"], 4);
    assert_eq!(text(world.output("sh")), "sh\n");
}

#[test]
fn a_trailing_ampersand_is_removed_with_a_note() {
    let world = World::new();
    for script in [
        "exit 6 &",
        "(exit 6)&",
        "true && (exit 6) &",
        "sleep 0.1; (exit 6) & # note",
        "(exit 6) 2>&1 &\n",
        "true & (exit 6) &",
        "(cat; exit 6) <<E &\nbody &\nE\n",
        "bash -c 'exit 6' \\\n  &",
    ] {
        let (code, _, note) = through_outlive(&world, script);
        assert_eq!(code, 6, "{script:?}");
        let notes: Vec<&str> = note.lines().collect();
        assert!(notes[0].contains("the trailing &"), "{note:?}");
        // The `&` in the middle has a note of its own.
        let middle = usize::from(script.starts_with("true & "));
        assert_eq!(notes.len(), 1 + middle, "{note:?}");
    }
}

#[test]
fn a_backgrounded_server_is_the_job_itself() {
    let world = World::new();
    let go = world.path("go");
    let id = world.shell(&format!(
        "echo starting; {{ {}; echo done; exit 6; }} &",
        loop_until(&go)
    ));
    until_output(&world, &id, "starting\n");
    let job = world.show(&id);
    assert_eq!(job["state"], "running");
    assert_eq!(job["lingering"], 0);
    File::create(go).unwrap();
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 6);
    assert_eq!(job["lingering"], 0);
    assert_eq!(text(world.output(&id)), "starting\ndone\n");
}

#[test]
fn other_ampersands_are_kept() {
    let world = World::new();
    for script in [
        "true &&\n(exit 5)",
        "echo 'server &'",
        "echo \"server &\"",
        "echo server # &",
        "cat <<E\nserver &\nE",
        "cat <<'E'\nserver &\nE\n",
        "echo server \\&",
        "echo out; exit 5 >&2",
        "echo a |& cat",
        "echo a &> /dev/null; exit 5",
        "sleep 0 & wait; exit 5",
        "echo $(( 7 & 5 ))",
        "[[ 'a&' == *'&' ]]",
        "case '&' in '&') exit 5;; esac",
    ] {
        assert_runs_as_given(&world, script);
    }
}
