//! Launching: what returns when, and what the job is born into.

use crate::world::{Ran, World, is_alive, kill, until};
use outlive_sys::procfs;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

const TTY: usize = 7;
const GROUP: usize = 5;
const SESSION: usize = 6;

/// A field of `/proc/<pid>/stat`, counted as proc(5) does.
fn stat_field(pid: i32, place: usize) -> i32 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = &text[text.rfind(')').unwrap() + 2..];
    rest.split(' ')
        .nth(place - 3)
        .and_then(|field| field.parse().ok())
        .unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Writes a file of this mode for the test.
fn file(world: &World, name: &str, content: &str, mode: u32) -> PathBuf {
    let path = world.path(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// A shell loop that goes on until the test lets it.
fn loop_until(path: &Path) -> String {
    format!("while [ ! -e {} ]; do sleep 0.01; done", path.display())
}

fn pid_of(world: &World, id: &str) -> i32 {
    world.show(id)["pid"].as_i64().unwrap() as i32
}

/// A job that could not start: recorded, said, and nothing left.
fn assert_not_started(world: &World, ran: &Ran, id: &str, code: i32, reason: &str) {
    assert_eq!(ran.code, code, "{ran:?}");
    assert!(ran.stderr.contains(reason), "{ran:?}");
    assert_eq!(ran.stdout, "");
    let job = world.show(id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    let recorded = job["outcome"]["reason"].as_str().unwrap();
    assert!(recorded.contains(reason), "{job}");
    assert_eq!(job["exit_code"], code);
    assert_eq!(job["pid"], Value::Null);
    assert_eq!(world.events(id, "started").len(), 0);
    assert_eq!(world.events(id, "ended").len(), 1);
    assert_eq!(world.outlive(&["wait", id]).code, code);
    until("nothing is left running", || world.processes().is_empty());
    assert!(!world.home().join("live").join(id).exists());
    assert_eq!(world.output(id), b"");
}

// What cannot be started.

#[test]
fn a_missing_program_is_127_and_recorded() {
    let world = World::new();
    let ran = world.outlive(&[
        "run",
        "--id",
        "named",
        "--",
        "no-such-program-anywhere",
        "x",
    ]);
    assert_not_started(&world, &ran, "named", 127, "no-such-program-anywhere");
    let ran = world.outlive(&["run", "--id", "path", "--", "/no/such/program"]);
    assert_not_started(&world, &ran, "path", 127, "/no/such/program");
}

#[test]
fn a_missing_program_is_127_for_whoever_stays_and_in_json() {
    let world = World::new();
    let ran = world.outlive(&["run", "--wait", "--id", "w", "--", "/no/such/program"]);
    assert_not_started(&world, &ran, "w", 127, "/no/such/program");
    let ran = world.outlive(&["run", "--json", "--id", "j", "--", "/no/such/program"]);
    assert_eq!(ran.code, 127);
    let job: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(job["outcome"]["kind"], "not_started");
    assert_eq!(job["exit_code"], 127);
}

#[test]
fn a_program_that_is_not_executable_is_126() {
    let world = World::new();
    let plain = file(&world, "plain", "#!/bin/sh\necho no\n", 0o644);
    let plain = plain.to_str().unwrap();
    let ran = world.outlive(&["run", "--id", "plain", "--", plain]);
    assert_not_started(&world, &ran, "plain", 126, plain);
    let ran = world.outlive(&["run", "--id", "dir", "--", "/tmp"]);
    assert_not_started(&world, &ran, "dir", 126, "/tmp");
}

#[test]
fn one_found_on_the_path_that_is_not_executable_is_126() {
    let world = World::new();
    fs::create_dir(world.path("bin")).unwrap();
    file(&world, "bin/odd-name", "#!/bin/sh\necho no\n", 0o644);
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    let ran = Ran::of(
        world
            .command(["run", "--id", "odd", "--", "odd-name"])
            .env("PATH", path),
    );
    assert_not_started(&world, &ran, "odd", 126, "odd-name");
}

#[test]
fn a_script_whose_interpreter_is_missing_is_126() {
    let world = World::new();
    let script = file(&world, "script", "#!/no/such/interpreter\n", 0o755);
    let ran = world.outlive(&["run", "--id", "s", "--", script.to_str().unwrap()]);
    assert_not_started(&world, &ran, "s", 126, "interpreter");
}

#[test]
fn a_script_without_an_interpreter_line_is_the_shells() {
    let world = World::new();
    let script = file(
        &world,
        "script",
        "printf '%s|' \"$#\" \"$@\"\nexit 5\n",
        0o755,
    );
    let script = script.to_str().unwrap();
    let id = world.ok(&["run", "--", script, "a b", "", "-c", "$x"]);
    assert_eq!(world.wait(&id)["exit_code"], 5);
    assert_eq!(text(world.output(&id)), "4|a b||-c|$x|");

    let path = format!("{}:/usr/bin:/bin", world.path(".").display());
    let mut command = world.command(["run", "--id", "found", "--", "script", "one"]);
    assert_eq!(Ran::of(command.env("PATH", path)).code, 0);
    assert_eq!(world.wait("found")["exit_code"], 5);
    assert_eq!(text(world.output("found")), "1|one|");
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let world = World::new();
    let missing = world.path("not-there");
    let missing = missing.to_str().unwrap();
    let ran = world.outlive(&["run", "--id", "gone", "--cwd", missing, "--", "true"]);
    assert_not_started(&world, &ran, "gone", 126, missing);
    let plain = file(&world, "plain", "", 0o644);
    let plain = plain.to_str().unwrap();
    let ran = world.outlive(&["run", "--id", "plain", "--cwd", plain, "--", "true"]);
    assert_not_started(&world, &ran, "plain", 126, plain);
}

#[test]
fn a_job_runs_where_it_was_asked_to() {
    let world = World::new();
    fs::create_dir_all(world.path("a/b")).unwrap();
    let here = fs::canonicalize(world.path("a")).unwrap();
    let run = |args: &[&str]| {
        let ran = Ran::of(world.command(args).current_dir(&here));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout.trim_end().to_owned()
    };
    let same = run(&["run", "--wait", "--", "pwd", "-P"]);
    assert_eq!(same, here.to_str().unwrap());
    let below = run(&["run", "--wait", "--cwd", "b", "--", "pwd", "-P"]);
    assert_eq!(below, here.join("b").to_str().unwrap());
}

#[test]
fn no_command_at_all_is_wrong_usage_and_makes_nothing() {
    let world = World::new();
    for args in [
        &["run"][..],
        &["run", "--"],
        &["run", "--", ""],
        &["run", "--shell", "  "],
        &["run", "--env", "no-equals", "--", "true"],
        &["run", "--env", "=value", "--", "true"],
    ] {
        let ran = world.outlive(args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert_ne!(ran.stderr, "");
    }
    assert!(!world.home().join("jobs").exists());
}

// What a job is born into.

#[test]
fn the_job_has_a_session_and_a_group_of_its_own_and_no_terminal() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let pid = pid_of(&world, &id);
    assert_eq!(stat_field(pid, GROUP), pid);
    assert_eq!(stat_field(pid, SESSION), pid);
    assert_eq!(stat_field(pid, TTY), 0);
    let pair = world.pair(&id);
    let own = stat_field(std::process::id() as i32, SESSION);
    for keeper in [pair.keeper, pair.standby.unwrap()] {
        assert_eq!(stat_field(keeper, SESSION), keeper);
        assert_eq!(stat_field(keeper, GROUP), keeper);
        assert_ne!(stat_field(keeper, SESSION), own);
        assert_eq!(stat_field(keeper, TTY), 0);
    }
}

#[test]
fn standard_input_is_at_its_end_whatever_the_launcher_has() {
    let world = World::new();
    let mut launcher = world
        .command([
            "run",
            "--id",
            "in",
            "--shell",
            "cat; readlink /proc/self/fd/0",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = launcher.stdin.take().unwrap();
    input.write_all(b"not for the job\n").unwrap();
    assert!(launcher.wait().unwrap().success());
    assert_eq!(world.wait("in")["exit_code"], 0);
    assert_eq!(text(world.output("in")), "/dev/null\n");
}

#[test]
fn no_descriptor_of_the_launcher_reaches_the_job_or_its_keepers() {
    let world = World::new();
    let secret = file(&world, "opened-by-the-launcher", "x", 0o600);
    let script = format!(
        "exec 3<{0} 7<{0} 9>>{0} 200<{0}; \"$OUTLIVE\" run --id ls -- ls /proc/self/fd \
         && \"$OUTLIVE\" run --id sleep -- sleep 60",
        secret.display()
    );
    assert_eq!(Ran::of(&mut from_bash(&world, &script)).code, 0);
    world.wait("ls");
    // The last one is the directory that `ls` reads.
    assert_eq!(text(world.output("ls")), "0\n1\n2\n3\n");
    let pair = world.pair("sleep");
    for pid in [pid_of(&world, "sleep"), pair.keeper, pair.standby.unwrap()] {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
            let target = fs::read_link(entry.unwrap().path()).unwrap();
            assert_ne!(target, secret, "in {pid}");
        }
    }
}

/// A shell in which `$OUTLIVE` is the program.
fn from_bash(world: &World, script: &str) -> Command {
    let mut command = within(world, "bash", ["-c", script]);
    command.env("OUTLIVE", env!("CARGO_BIN_EXE_outlive"));
    command
}

/// A program with this world's environment.
fn within<S: AsRef<OsStr>>(
    world: &World,
    program: &str,
    args: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    for (key, value) in world.command::<&str>([]).get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    command
}

#[test]
fn signals_are_default_and_unblocked_whatever_the_launcher_does() {
    let world = World::new();
    let ran = Ran::of(&mut within(
        &world,
        "env",
        [
            "--ignore-signal=HUP,INT,QUIT,PIPE,TERM,CHLD,USR1,RTMIN",
            "--block-signal=HUP,INT,TERM,CHLD,USR2,RTMAX",
            env!("CARGO_BIN_EXE_outlive"),
            "run",
            "--id",
            "signals",
            "--",
            "cat",
            "/proc/self/status",
        ],
    ));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.wait("signals")["exit_code"], 0);
    let status = text(world.output("signals"));
    for field in ["SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"] {
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        assert_eq!(line, format!("{field}:\t0000000000000000"));
    }
}

#[test]
fn a_job_of_a_launcher_that_ignores_children_still_ends_exactly() {
    let world = World::new();
    let ran = Ran::of(&mut within(
        &world,
        "env",
        [
            "--ignore-signal=CHLD",
            "--block-signal=CHLD",
            env!("CARGO_BIN_EXE_outlive"),
            "run",
            "--wait",
            "--shell",
            "(exit 3); exit 6",
        ],
    ));
    assert_eq!(ran.code, 6, "{ran:?}");
}

// Signals to whoever launched it.

/// A launcher in a session of its own that stays after launching a job.
struct Launcher {
    process: Child,
    go: PathBuf,
}

impl Launcher {
    fn start(world: &World, id: &str) -> Launcher {
        let go = world.path(&format!("{id}-go"));
        let script = format!("{}; echo ended; exit 7", loop_until(&go));
        let launch = format!("\"$OUTLIVE\" run --id {id} --shell '{script}'; sleep 60; sleep 60");
        let process = within(world, "setsid", ["sh", "-c", &launch])
            .env("OUTLIVE", env!("CARGO_BIN_EXE_outlive"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        until("the job runs", || {
            let shown = world.outlive(&["show", id, "--json"]);
            shown.code == 0 && shown.stdout.contains("\"state\":\"running\"")
        });
        Launcher { process, go }
    }

    fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// The job and its keepers live on, and the end is exact.
    fn assert_outlived(mut self, world: &World, id: &str, before: (i32, i32, i32)) {
        self.process.wait().unwrap();
        assert_eq!(everyone(world, id), before);
        for pid in [before.0, before.1, before.2] {
            assert!(is_alive(pid));
        }
        File::create(&self.go).unwrap();
        let job = world.wait(id);
        assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 7 }));
        assert_eq!(job["ended_by"], "itself");
        assert_eq!(text(world.output(id)), "ended\n");
        assert_eq!(world.events(id, "kept").len(), 1);
        assert_eq!(world.events(id, "ended").len(), 1);
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        for pid in in_session(self.pid()) {
            kill(pid, 9);
        }
        let _ = self.process.wait();
    }
}

fn in_session(session: i32) -> Vec<i32> {
    let inside = |pid: &i32| procfs::stat(*pid).is_some_and(|stat| stat.session == session);
    procfs::all().unwrap().into_iter().filter(inside).collect()
}

/// Leader, keeper, standby.
fn everyone(world: &World, id: &str) -> (i32, i32, i32) {
    let pair = world.pair(id);
    (pid_of(world, id), pair.keeper, pair.standby.unwrap())
}

#[test]
fn a_signal_to_the_launchers_group_reaches_neither_job_nor_keepers() {
    let world = World::new();
    for signal in ["TERM", "HUP", "INT", "QUIT", "KILL"] {
        let launcher = Launcher::start(&world, signal);
        let before = everyone(&world, signal);
        assert_eq!(stat_field(launcher.pid(), GROUP), launcher.pid());
        let kill = format!("kill -{signal} -- -{}", launcher.pid());
        assert_eq!(Ran::of(Command::new("bash").args(["-c", &kill])).code, 0);
        launcher.assert_outlived(&world, signal, before);
    }
}

#[test]
fn a_signal_to_everyone_in_the_launchers_session_reaches_neither() {
    let world = World::new();
    for signal in [1, 2, 9, 15] {
        let id = signal.to_string();
        let launcher = Launcher::start(&world, &id);
        let before = everyone(&world, &id);
        let session = in_session(launcher.pid());
        assert!(session.contains(&launcher.pid()));
        for pid in session {
            kill(pid, signal);
        }
        launcher.assert_outlived(&world, &id, before);
    }
}

/// Starts a launcher on a terminal of its own, held by `script`, and runs `end` on it.
fn on_a_terminal(world: &World, id: &str, end: impl FnOnce(&mut Child)) {
    let go = world.path(&format!("{id}-go"));
    let script = format!("{}; echo ended; exit 7", loop_until(&go));
    let launch = format!(
        "[ -t 0 ] && touch {} && \"$OUTLIVE\" run --id {id} --shell '{script}'; sleep 60",
        world.path("had-a-terminal").display()
    );
    let mut terminal = within(world, "script", ["-qec", &launch, "/dev/null"])
        .env("OUTLIVE", env!("CARGO_BIN_EXE_outlive"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the job runs", || {
        let shown = world.outlive(&["show", id, "--json"]);
        shown.code == 0 && shown.stdout.contains("\"state\":\"running\"")
    });
    let before = everyone(world, id);
    end(&mut terminal);
    terminal.wait().unwrap();
    assert!(world.path("had-a-terminal").exists());
    assert_eq!(stat_field(before.0, TTY), 0);
    assert_eq!(everyone(world, id), before);
    File::create(go).unwrap();
    assert_eq!(world.wait(id)["exit_code"], 7);
    assert_eq!(text(world.output(id)), "ended\n");
    assert_eq!(world.events(id, "kept").len(), 1);
}

#[test]
fn a_terminal_that_hangs_up_takes_nothing_with_it() {
    let world = World::new();
    on_a_terminal(&world, "hangup", |terminal| {
        terminal.kill().unwrap();
    });
}

#[test]
fn ctrl_c_on_the_launchers_terminal_does_not_reach_the_job() {
    let world = World::new();
    on_a_terminal(&world, "interrupt", |terminal| {
        let mut keyboard = terminal.stdin.take().unwrap();
        keyboard.write_all(b"\x03").unwrap();
        keyboard.flush().unwrap();
        until("the interrupt has ended the launcher", || {
            terminal.try_wait().unwrap().is_some()
        });
    });
}

// Strings for a shell.

/// What `bash -c` itself makes of a string: its code, and what it wrote.
fn plain_bash(world: &World, args: &[&str]) -> (i32, String) {
    let path = world.path("plain-bash");
    let out = File::create(&path).unwrap();
    let ran = Ran::of(
        within(world, "bash", args)
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
fn shell_strings_break_nothing_but_themselves() {
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
fn a_trailing_ampersand_is_left_out_and_said_to_be() {
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
        assert!(note.contains("note") && note.contains('&'), "{note:?}");
        assert_eq!(note.lines().count(), 1);
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
    until("it has begun", || world.output(&id) == b"starting\n");
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
fn ampersands_that_background_nothing_stay() {
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

// The environment.

/// Every file below a directory that can be read without waiting.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files.extend(files_below(&entry.path())),
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}

fn contains(bytes: &[u8], secret: &str) -> bool {
    bytes
        .windows(secret.len())
        .any(|at| at == secret.as_bytes())
}

fn assert_nowhere(world: &World, secret: &str) {
    let files = files_below(&world.home());
    assert!(files.len() >= 3);
    for path in files {
        assert!(!contains(&fs::read(&path).unwrap(), secret), "{path:?}");
    }
    for pid in world.processes() {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!contains(&line, secret), "argv of {pid}");
    }
}

#[test]
fn secrets_in_the_environment_are_in_no_file_and_no_argv() {
    let world = World::new();
    let go = world.path("go");
    let script = format!("echo ${{#GIVEN}} ${{#INHERITED}}; {}", loop_until(&go));
    let given = "--env=GIVEN=s3cr3t-given-0xdeadbeef";
    let ran = Ran::of(
        world
            .command(["run", "--id", "s", given, "--shell", &script])
            .env("INHERITED", "s3cr3t-inherited-0xcafe"),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    until("the job has them", || world.output("s") == b"23 23\n");
    assert!(world.processes().len() >= 3);
    assert_nowhere(&world, "s3cr3t");
    let pair = world.pair("s");
    for keeper in [pair.keeper, pair.standby.unwrap()] {
        let line = fs::read(format!("/proc/{keeper}/cmdline")).unwrap();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        // Its own name, the directory, and what follows the last NUL.
        assert_eq!(words.len(), 3);
        let directory = world.job_dir("s");
        assert_eq!(words[1], directory.to_str().unwrap().as_bytes());
    }
    assert!(!world.ok(&["show", "s"]).contains("s3cr3t"));
    File::create(go).unwrap();
    world.wait("s");
    assert_nowhere(&world, "s3cr3t");
}

#[test]
fn secrets_of_a_job_that_could_not_start_are_nowhere_either() {
    let world = World::new();
    let given = "--env=GIVEN=s3cr3t-given";
    let ran = world.outlive(&["run", "--id", "s", given, "--", "/no/such/program"]);
    assert_not_started(&world, &ran, "s", 127, "/no/such/program");
    assert_nowhere(&world, "s3cr3t");
    assert!(!ran.stderr.contains("s3cr3t"));
}

#[test]
fn the_environment_is_inherited_with_what_was_given_on_top() {
    let world = World::new();
    let script = "printf '%s|' \"$A\" \"$B\" \"$C\" \"${D-unset}\"";
    let ran = Ran::of(
        world
            .command(["run", "--wait", "--env", "B=given=b\nb", "--env", "C="])
            .args(["--shell", script])
            .envs([("A", "inherited"), ("B", "inherited"), ("C", "inherited")]),
    );
    assert_eq!(ran.stdout, "inherited|given=b\nb||unset|");
}

#[test]
fn python_is_told_not_to_hold_its_output_back_unless_it_was_told_otherwise() {
    let world = World::new();
    let value = |inherited: Option<&str>, given: &[&str]| {
        let mut command = world.command(["run", "--wait"]);
        command.args(given);
        command.args(["--", "printenv", "PYTHONUNBUFFERED"]);
        match inherited {
            Some(value) => command.env("PYTHONUNBUFFERED", value),
            None => command.env_remove("PYTHONUNBUFFERED"),
        };
        Ran::of(&mut command).stdout
    };
    assert_eq!(value(None, &[]), "1\n");
    assert_eq!(value(Some("0"), &[]), "0\n");
    assert_eq!(value(Some(""), &[]), "\n");
    assert_eq!(value(None, &["--env", "PYTHONUNBUFFERED="]), "\n");
    assert_eq!(value(Some("2"), &["--env", "PYTHONUNBUFFERED=3"]), "3\n");
}

#[test]
fn a_job_knows_its_own_id() {
    let world = World::new();
    let ran = world.outlive(&[
        "run",
        "--wait",
        "--id",
        "me",
        "--",
        "printenv",
        "OUTLIVE_JOB",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "me\n"));
}

#[test]
fn everything_below_the_home_is_its_owners_alone() {
    let world = World::new();
    let id = world.ok(&["run", "--name", "n", "--session", "s", "--", "true"]);
    world.wait(&id);
    world.ok(&["run", "--name", "n", "--session", "s", "--", "sleep", "60"]);
    let mut directories = vec![world.home()];
    while let Some(directory) = directories.pop() {
        let mode = fs::metadata(&directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{directory:?}");
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                directories.push(entry.path());
            } else if metadata.is_file() {
                let mode = metadata.permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
            }
        }
    }
}

// Ids.

#[test]
fn a_taken_id_is_refused_with_the_state_of_its_job() {
    let world = World::new();
    let go = world.path("go");
    let script = format!("echo first; {}; exit 3", loop_until(&go));
    world.ok(&["run", "--id", "x", "--shell", &script]);
    let (pid, journal) = (pid_of(&world, "x"), world.journal("x"));

    let ran = world.outlive(&["run", "--id", "x", "--", "echo", "second"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(ran.stderr.contains('x') && ran.stderr.contains("running"));
    assert_eq!(pid_of(&world, "x"), pid);
    assert_eq!(world.journal("x"), journal);

    File::create(go).unwrap();
    assert_eq!(world.wait("x")["exit_code"], 3);
    let (journal, spec) = (world.journal("x"), world.job_dir("x").join("spec.json"));
    let spec = || fs::read(&spec).unwrap();
    let before = spec();
    let ran = world.outlive(&["run", "--id", "x", "--", "echo", "second"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(ran.stderr.contains("exited 3"), "{ran:?}");
    assert_eq!(world.journal("x"), journal);
    assert_eq!(spec(), before);
    assert_eq!(text(world.output("x")), "first\n");
    assert_eq!(names_in(&world.home().join("jobs")), ["x"]);
}

fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn of_fifty_launches_with_one_id_exactly_one_wins() {
    let world = World::new();
    let ran_once = world.path("ran-once");
    let script = format!("echo ran >> {}; exit 8", ran_once.display());
    let launch = || world.outlive(&["run", "--id", "same", "--shell", &script]);
    let rans: Vec<Ran> = thread::scope(|scope| {
        let launches: Vec<_> = (0..50).map(|_| scope.spawn(launch)).collect();
        launches.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let (won, lost): (Vec<&Ran>, Vec<&Ran>) = rans.iter().partition(|ran| ran.code == 0);
    assert_eq!(won.len(), 1, "{rans:?}");
    assert_eq!(won[0].stdout, "same\n");
    for ran in lost {
        assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
        assert!(ran.stderr.contains("the id same is taken"), "{ran:?}");
    }
    assert_eq!(world.wait("same")["exit_code"], 8);
    assert_eq!(fs::read_to_string(ran_once).unwrap(), "ran\n");
    assert_eq!(names_in(&world.home().join("jobs")), ["same"]);
    assert_eq!(world.events("same", "ended").len(), 1);
}

#[test]
fn a_thousand_concurrent_launches_are_a_thousand_intact_jobs() {
    const THREADS: usize = 8;
    const EACH: usize = 125;
    let world = World::new();
    let launch = |number: usize| {
        let script = format!("echo number {number}; exit {}", number % 256);
        (number, world.shell(&script))
    };
    let jobs: Vec<(usize, String)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let numbers = thread * EACH..(thread + 1) * EACH;
                scope.spawn(move || numbers.map(launch).collect::<Vec<_>>())
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect()
    });
    let ids: HashSet<&str> = jobs.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(ids.len(), THREADS * EACH);

    let all = ["wait", "--timeout", "60s", "--json"];
    let waited = Ran::of(world.command(all).args(&ids));
    assert_ne!(waited.code, 124, "{}", waited.stderr);
    for (number, id) in &jobs {
        assert_eq!(text(world.output(id)), format!("number {number}\n"));
        let ended = world.events(id, "ended");
        assert_eq!(ended.len(), 1);
        let outcome = json!({ "kind": "exited", "code": number % 256 });
        assert_eq!(ended[0]["outcome"], outcome, "{id}");
    }
    let listed = world.json(&["list", "--limit", "2000", "--json"]);
    assert_eq!(listed["jobs"].as_array().unwrap().len(), THREADS * EACH);
    until("every keeper has gone", || world.processes().is_empty());
    assert_eq!(names_in(&world.home().join("live")), [""; 0]);
    assert_eq!(names_in(&world.home().join("jobs")).len(), THREADS * EACH);
}

#[test]
fn bad_ids_are_wrong_usage_and_create_nothing() {
    let world = World::new();
    let long = "x".repeat(10_000);
    let not_text = OsString::from_vec(b"--id=a\xff".to_vec());
    let mut ids: Vec<OsString> = [
        "",
        ".",
        "..",
        "../x",
        "../../x",
        "a/b",
        "/tmp/x",
        "a/../b",
        ".hidden",
        ".new-x",
        "-rf",
        "_x",
        "a b",
        "a\n",
        "a\tb",
        "\u{e9}",
        "a\u{0301}",
        "a\u{202e}b",
        "a\u{200b}",
        "\u{ff41}",
        "a\u{2215}b",
        "a\\b",
        "a:b",
        "a%2fb",
        "~",
        "$HOME",
        "*",
        "a\u{85}b",
        &long,
        &long[..65],
    ]
    .iter()
    .map(|id| format!("--id={id}").into())
    .collect();
    ids.push(not_text);
    for id in ids {
        let args = [OsStr::new("run"), &id, OsStr::new("--"), OsStr::new("true")];
        let ran = Ran::of(&mut world.command(args));
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{id:?}: {ran:?}");
        assert_ne!(ran.stderr, "");
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    }
    assert_eq!(names_in(&world.path(".")), [""; 0]);
}

#[test]
fn bad_ids_are_no_such_job_to_every_verb() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let long = "x".repeat(10_000);
    let outside = format!("../jobs/{id}");
    for bad in ["", ".", "..", "../../etc", &outside, "a\u{202e}b", &long] {
        for verb in ["show", "log", "wait", "stop"] {
            let ran = world.outlive(&[verb, "--", bad]);
            assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{verb} {ran:?}");
        }
        let ran = world.outlive(&["signal", "--", bad, "KILL"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{ran:?}");
    }
    assert_eq!(world.show(&id)["state"], "running");
}

// A launcher killed on the way.

fn launch_with_hook(world: &World, id: &str, hook: &str) -> Ran {
    Ran::of(
        world
            .command(["run", "--id", id, "--session", "s", "--name", "n"])
            .args(["--shell", "echo whole; exit 5"])
            .env("OUTLIVE_HOOKS", format!("launcher:{hook}=kill")),
    )
}

fn assert_ran_exactly(world: &World, id: &str) {
    let job = world.wait(id);
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 5 }));
    assert_eq!(text(world.output(id)), "whole\n");
    assert_eq!(world.events(id, "started").len(), 1);
    assert_eq!(world.events(id, "ended").len(), 1);
}

fn assert_recorded_as_not_started(world: &World, id: &str) {
    let job = world.show(id);
    assert_eq!(job["state"], "ended", "{job}");
    assert_eq!(job["outcome"]["kind"], "not_started");
    assert_eq!(job["exit_code"], 125);
    assert_eq!(world.outlive(&["wait", id]).code, 125);
    assert_eq!(world.output(id), b"");
    assert_eq!(world.events(id, "started").len(), 0);
    assert_eq!(world.events(id, "ended").len(), 1);
}

fn listed(world: &World, args: &[&str]) -> Vec<String> {
    let all = [&["list", "--json"], args].concat();
    let jobs = world.json(&all)["jobs"].clone();
    let id = |job: &Value| job["id"].as_str().unwrap().to_owned();
    jobs.as_array().unwrap().iter().map(id).collect()
}

fn assert_nothing_left_half(world: &World) {
    until("nothing is left running", || world.processes().is_empty());
    // A link without a job is a launcher's that was killed before its job had a name.
    let mut live = names_in(&world.home().join("live"));
    live.retain(|id| world.job_dir(id).exists());
    assert_eq!(live, [""; 0]);
}

#[test]
fn a_launcher_killed_before_its_job_has_a_name_leaves_no_job() {
    for hook in ["DirectoryMade", "Linked"] {
        let world = World::new();
        assert_eq!(launch_with_hook(&world, "k", hook).code, 137);
        assert_eq!(listed(&world, &[]), [""; 0]);
        assert_eq!(world.outlive(&["show", "k"]).code, 3);
        until("nothing is left running", || world.processes().is_empty());
        // The start can be repeated, and what was left behind is cleared away.
        world.ok(&["run", "--id", "k", "--shell", "echo whole; exit 5"]);
        assert_ran_exactly(&world, "k");
        assert_nothing_left_half(&world);
        assert_eq!(listed(&world, &[]), ["k"]);
        make_older(&world.home().join("jobs"));
        world.ok(&["prune", "--all"]);
        assert_eq!(names_in(&world.home().join("jobs")), [""; 0]);
    }
}

/// As if what a launcher left behind had lain there for some time.
fn make_older(directory: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    for name in names_in(directory) {
        if name.starts_with(".new-") {
            let left = File::open(directory.join(name)).unwrap();
            left.set_modified(long_ago).unwrap();
        }
    }
}

#[test]
fn a_launcher_killed_before_it_started_a_keeper_leaves_a_job_that_never_started() {
    let world = World::new();
    assert_eq!(launch_with_hook(&world, "k", "Named").code, 137);
    assert_recorded_as_not_started(&world, "k");
    assert_eq!(listed(&world, &[]), ["k"]);
    assert_nothing_left_half(&world);
    let again = world.outlive(&["run", "--id", "k", "--", "true"]);
    assert_eq!(again.code, 125);
    assert!(again.stderr.contains("not started"), "{again:?}");
}

#[test]
fn a_job_whose_launcher_was_killed_is_listed_though_nobody_asked_for_it_before() {
    let world = World::new();
    assert_eq!(launch_with_hook(&world, "k", "Named").code, 137);
    assert_eq!(listed(&world, &[]), ["k"]);
    assert_eq!(listed(&world, &["--session", "s"]), ["k"]);
}

#[test]
fn a_launcher_killed_once_its_keeper_is_there_is_not_needed_any_more() {
    let world = World::new();
    assert_eq!(launch_with_hook(&world, "k", "KeeperSpawned").code, 137);
    assert_eq!(listed(&world, &[]), ["k"]);
    assert_ran_exactly(&world, "k");
    assert_nothing_left_half(&world);
    assert_eq!(world.show("n")["id"], "k");
    assert_eq!(listed(&world, &["--session", "s"]), ["k"]);
}

#[test]
fn a_job_whose_launcher_is_only_slow_is_not_taken_for_abandoned() {
    let world = World::new();
    for hook in ["Named", "KeeperSpawned"] {
        let mut launcher = world
            .command(["run", "--id", hook, "--shell", "echo whole; exit 5"])
            .env("OUTLIVE_HOOKS", format!("launcher:{hook}=stop"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = launcher.id() as i32;
        until("the launcher has stopped", || {
            procfs::stat(pid).is_some_and(|stat| stat.state == b'T')
        });
        if hook == "Named" {
            assert_eq!(world.show(hook)["state"], "starting");
        }
        listed(&world, &[]);
        kill(pid, 18);
        assert!(launcher.wait().unwrap().success());
        assert_ran_exactly(&world, hook);
    }
}

#[test]
fn a_launcher_killed_at_any_moment_leaves_nothing_half() {
    let world = World::new();
    for number in 0..40 {
        let mut launcher = world
            .command(["run", "--id", &format!("k{number}")])
            .args(["--shell", "echo whole; exit 5"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Not a wait for anything: the moment of the kill is what varies.
        thread::sleep(Duration::from_micros(500 * number));
        launcher.kill().unwrap();
        launcher.wait().unwrap();
    }
    listed(&world, &[]);
    for id in names_in(&world.home().join("jobs")) {
        if id.starts_with(".new-") {
            continue;
        }
        if world.wait(&id)["outcome"]["kind"] == "not_started" {
            assert_recorded_as_not_started(&world, &id);
        } else {
            assert_ran_exactly(&world, &id);
        }
    }
    assert_nothing_left_half(&world);
}

// Jobs that start jobs.

fn nest(world: &World, end: &str) -> PathBuf {
    let go = world.path("go");
    let inner = format!("{}; echo inner ended; exit 9", loop_until(&go));
    let outer = format!("\"$OUTLIVE\" run --id inner --shell '{inner}'; {end}");
    let ran = Ran::of(
        world
            .command(["run", "--id", "outer", "--shell", &outer])
            .env("OUTLIVE", env!("CARGO_BIN_EXE_outlive")),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    until("the inner job was launched", || {
        world.output("outer") == b"inner\n"
    });
    go
}

fn assert_inner_ends_exactly(world: &World, go: &Path) {
    assert_eq!(world.show("inner")["state"], "running");
    assert_eq!(world.events("inner", "kept").len(), 1);
    File::create(go).unwrap();
    let job = world.wait("inner");
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 9 }));
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(text(world.output("inner")), "inner ended\n");
}

#[test]
fn a_job_started_inside_a_job_outlives_its_stop() {
    let world = World::new();
    let go = nest(&world, "sleep 60");
    world.ok(&["stop", "outer"]);
    assert_eq!(world.show("outer")["ended_by"], "stop");
    assert_inner_ends_exactly(&world, &go);
}

#[test]
fn a_job_started_inside_a_job_is_none_of_its_leftovers() {
    let world = World::new();
    let go = nest(&world, "exit 0");
    let outer = world.wait("outer");
    assert_eq!(
        (&outer["exit_code"], &outer["lingering"]),
        (&json!(0), &json!(0))
    );
    until("the outer job is over", || {
        world.events("outer", "closed").len() == 1
    });
    assert_inner_ends_exactly(&world, &go);
}

#[test]
fn a_job_started_inside_a_job_outlives_its_stop_after_an_adoption() {
    let world = World::new();
    let go = nest(&world, "sleep 60");
    let pair = world.pair("outer");
    kill(pair.standby.unwrap(), 9);
    kill(pair.keeper, 9);
    until("the pair is gone", || {
        !is_alive(pair.keeper) && !is_alive(pair.standby.unwrap())
    });
    world.ok(&["stop", "outer"]);
    assert_eq!(world.show("outer")["ended_by"], "stop");
    assert_inner_ends_exactly(&world, &go);
}

// Long paths.

/// Below the world's own jobs, so that its processes are found; far longer than a socket's path.
fn long_home(world: &World) -> String {
    let mut home = world.home().join("jobs");
    while home.as_os_str().len() < 400 {
        home.push("a-directory-with-a-rather-long-name");
    }
    home.into_os_string().into_string().unwrap()
}

#[test]
fn a_home_too_deep_for_a_socket_works_in_full() {
    let world = World::new();
    let home = long_home(&world);
    let outlive = |args: &[&str]| Ran::of(world.command(args).env("OUTLIVE_HOME", &home));
    let ran = outlive(&["run", "--wait", "--shell", "echo hello; exit 3"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "hello\n"), "{ran:?}");

    assert_eq!(outlive(&["run", "--id", "j", "--", "sleep", "60"]).code, 0);
    assert_eq!(outlive(&["wait", "j", "--timeout", "10ms"]).code, 124);
    assert_eq!(outlive(&["signal", "j", "CONT"]).code, 0);
    assert!(outlive(&["list"]).stdout.contains("sleep 60"));
    assert_eq!(world.processes().len(), 3);
    let journal = format!("{home}/jobs/j/journal");
    for pid in keepers_in(&journal) {
        kill(pid, 9);
        until("it is gone", || !is_alive(pid));
    }
    let ran = outlive(&["stop", "j"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(outlive(&["wait", "j"]).code, 143);
    until("nothing is left", || world.processes().is_empty());
}

fn keepers_in(journal: &str) -> Vec<i32> {
    let text = fs::read_to_string(journal).unwrap();
    let kept = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .rfind(|record| record["event"].get("kept").is_some())
        .unwrap();
    ["standby", "keeper"]
        .iter()
        .map(|role| kept["event"]["kept"][role]["pid"].as_i64().unwrap() as i32)
        .collect()
}
