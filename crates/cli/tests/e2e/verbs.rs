//! The verbs as people use them: exit codes, what is printed, and what is refused.

use outlive_testkit::checks::{exited, signaled, until_output, until_wrote};
use outlive_testkit::gate::Gate;
use outlive_testkit::processes::{CONT, STOP, is_alive, kill, until_stopped};
use outlive_testkit::ran::{Ran, ids_of};
use outlive_testkit::scripts::{over, sleeper};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub fn error_of(ran: &Ran) -> Value {
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    answer["error"].clone()
}

#[test]
fn run_wait_with_a_limit_says_that_time_ran_out() {
    let world = World::new();
    let ran = world.outlive(&["run", "--wait=100ms", "--shell", "echo out; exec sleep 60"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    let id = world.listed(&[]).remove(0);
    assert_eq!(ran.stdout, "out\n", "only what the job wrote");
    assert!(ran.stderr.contains(&id), "{ran:?}");
    let ran = world.outlive(&["run", "--wait=100ms", "--json", "--", "sleep", "60"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    let job: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(job["state"], "running");
}

#[test]
fn wait_and_stop_always_answer_with_a_list() {
    let world = World::new();
    let (one, two) = (sleeper(&world, &[]), sleeper(&world, &[]));
    let answer = world.json(&["stop", &one, "--json"]);
    assert_eq!(ids_of(&answer), [one.as_str()]);
    let answer: Value =
        serde_json::from_str(&world.outlive(&["wait", &one, "--json"]).stdout).unwrap();
    assert_eq!(ids_of(&answer), [one.as_str()]);
    let answer = world.json(&["stop", &one, &two, "--json"]);
    assert_eq!(ids_of(&answer), [one.as_str(), &two]);
}

#[test]
fn errors_are_json_with_a_code_if_json_was_asked_for() {
    let world = World::new();
    let id = world.ok(&["run", "--id", "mine", "--", "sleep", "60"]);
    for (args, exit, code) in [
        (&["show", "none", "--json"][..], 3, "no_such_job"),
        (&["wait", "none", "--json"], 3, "no_such_job"),
        (
            &["run", "--id", "mine", "--json", "--", "true"],
            125,
            "id_taken",
        ),
        (&["signal", "none", "TERM", "--json"], 3, "no_such_job"),
        (&["inbox", "--json"], 2, "no_session"),
        (&["send", &id, "x", "--json"], 125, "refused"),
        (
            &["session", "end", "unknown", "--json"],
            3,
            "no_such_session",
        ),
        (
            &["run", "--json", "--timeout", "never", "--", "true"],
            2,
            "usage",
        ),
        (&["show", "--json"], 2, "usage"),
    ] {
        let ran = world.outlive(args);
        assert_eq!(ran.code, exit, "{args:?}: {ran:?}");
        let error = error_of(&ran);
        assert_eq!(error["code"], code, "{args:?}: {ran:?}");
        assert!(
            ran.stderr.contains(error["message"].as_str().unwrap()),
            "{ran:?}"
        );
    }
}

#[test]
fn a_stop_of_many_goes_on_past_one_that_fails() {
    let world = World::new();
    let ids: Vec<String> = (0..3).map(|_| sleeper(&world, &[])).collect();
    let keeper = world.pair(&ids[1]).keeper;
    kill(keeper, STOP);
    until_stopped(keeper);
    let ran = world.outlive(&["stop", &ids[0], &ids[1], &ids[2], "--json"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ids_of(&answer), [ids[0].as_str(), &ids[2]]);
    assert_eq!(answer["failed"][0]["id"], json!(ids[1]));
    assert_eq!(answer["failed"][0]["error"]["code"], "no_answer");
    let words = format!("stopping {} failed", ids[1]);
    assert!(ran.stderr.contains(&words), "{ran:?}");
    kill(keeper, CONT);
}

#[test]
fn many_jobs_need_few_descriptors_for_a_stop_and_one_each_for_a_wait() {
    let world = World::new();
    let ids: Vec<String> = (0..60)
        .map(|_| sleeper(&world, &["--session", "me"]))
        .collect();
    let behind = |limits: &str, args: &[&str]| {
        Ran::of(&mut outlive_testkit::environment::behind(
            "prlimit",
            [limits],
            &world.command(args),
        ))
    };
    let of_all = |verb: &[&'static str]| -> Vec<&str> {
        let ids = ids.iter().map(String::as_str);
        verb.iter().copied().chain(ids).collect()
    };
    let wait = of_all(&["wait", "--timeout", "200ms", "--any"]);
    let inbox = ["inbox", "--session", "me", "--wait=200ms"];
    for args in [&wait[..], &inbox] {
        // The soft limit is raised as far as the hard one.
        let waited = behind("--nofile=40:4096", args);
        assert_eq!(waited.code, 124, "{waited:?}");
        let refused = behind("--nofile=40:40", args);
        assert_eq!(refused.code, 125, "{refused:?}");
        assert!(refused.stderr.contains("60 running jobs"), "{refused:?}");
        assert!(refused.stderr.contains("ulimit -Hn"), "{refused:?}");
    }
    let stopped = behind("--nofile=40:40", &of_all(&["stop"]));
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert_eq!(world.listed(&["--state", "running"]), [""; 0]);
}

#[test]
fn peeking_at_a_log_does_not_count_as_told() {
    let world = World::new();
    let id = world.ok(&["run", "--session", "me", "--shell", "echo out; exit 3"]);
    world.until_over(&id);
    let waiting = || world.json(&["inbox", "--session", "me", "--peek", "--json"]);
    let read = world.as_session("me", &["log", &id, "--peek", "--follow"]);
    assert_eq!((read.code, read.stdout.as_str()), (0, "out\n"));
    assert_eq!(waiting()["events"].as_array().unwrap().len(), 1);
    assert_eq!(world.as_session("me", &["log", &id]).code, 0);
    assert_eq!(waiting()["events"], json!([]));
}

#[test]
fn a_command_line_cannot_send_escape_sequences_to_the_terminal() {
    let world = World::new();
    let evil = "\u{1b}]0;title\u{7}\u{1b}[31m\u{9b}2J";
    let id = world.ok(&["run", "--session", "me", "--", "sh", "-c", "exit 3", evil]);
    world.until_over(&id);
    let start = world.outlive(&["run", "--", &format!("/none/{evil}")]);
    let cwd = world.path(evil);
    fs::create_dir(&cwd).unwrap();
    let there = world.ok(&["run", "--cwd", cwd.to_str().unwrap(), "--", "true"]);
    let texts = [
        world.ok(&["show", &id]),
        world.ok(&["show", &there]),
        world.ok(&["list"]),
        world.ok(&["inbox", "--session", "me"]),
        start.stderr + &start.stdout,
        world.outlive(&["show", evil]).stderr,
        world
            .outlive(&["run", "--timeout", evil, "--", "true"])
            .stderr,
        world.outlive(&[evil]).stderr,
    ];
    for text in texts {
        let controls = text.chars().filter(|c| c.is_control() && *c != '\n');
        assert_eq!(controls.count(), 0, "{text:?}");
    }
}

#[test]
fn a_command_of_several_lines_is_shown_as_such() {
    let world = World::new();
    let id = world.ok(&["run", "--shell", "true\necho two"]);
    let shown = world.ok(&["show", &id]);
    assert!(
        shown.contains("command   true\n          echo two\n"),
        "{shown}"
    );
}

#[test]
fn a_timeout_of_zero_is_no_limit() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.ok(&["run", "--timeout", "0", "--shell", &gate.then("exit 3")]);
    assert_eq!(world.show(&id)["state"], "running");
    gate.open();
    assert_eq!(world.wait(&id)["outcome"], exited(3));
}

#[test]
fn impossible_requests_are_refused_with_a_reason() {
    let world = World::new();
    let pipe = sleeper(&world, &["--stdin", "pipe"]);
    let ran = world.outlive(&["send", &pipe, "--key", "C-c"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("--pty"), "{ran:?}");
    let ended = over(&world, &["--", "true"]);
    let ran = world.outlive(&["signal", &ended, "TERM"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("it has ended"), "{ran:?}");
    let ran = world.outlive(&["run", "sleep 5"]);
    assert_eq!(ran.code, 127, "{ran:?}");
    assert!(ran.stderr.contains("--shell 'sleep 5'"), "{ran:?}");
}

#[test]
fn a_suspended_job_is_shown_as_such() {
    let world = World::new();
    let id = sleeper(&world, &[]);
    let leader = world.leader(&id);
    kill(leader, STOP);
    until_stopped(leader);
    assert_eq!(world.show(&id)["suspended"], true);
    assert!(world.ok(&["list"]).contains("running (suspended)"));
    kill(leader, CONT);
    until("it goes on", || world.show(&id)["suspended"] == Value::Null);
}

#[test]
fn an_interactive_shell_ends_with_its_terminal() {
    let world = World::new();
    let args = [
        "run",
        "--pty",
        "--grace",
        "20s",
        "--env",
        "PS1=ready:",
        "--",
    ];
    let id = world.ok(&[&args[..], &["bash", "--norc", "--noprofile", "-i"]].concat());
    until_wrote(&world, &id, "ready:");
    let leader = world.leader(&id);
    world.ok(&["stop", &id]);
    assert!(!is_alive(leader));
    assert_eq!(
        world.show(&id)["outcome"],
        signaled("SIGHUP"),
        "within its grace"
    );
}

#[test]
fn a_home_that_others_may_write_to_is_refused() {
    let world = World::new();
    fs::create_dir(world.home()).unwrap();
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o777)).unwrap();
    let ran = world.outlive(&["run", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("chmod go-w"), "{ran:?}");
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o755)).unwrap();
    world.ok(&["run", "--", "true"]);
    let mode = fs::metadata(world.home()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// A variable that is empty by mistake can turn the home into `/`.
#[test]
fn a_directory_with_another_purpose_is_neither_changed_nor_used_as_the_home() {
    let world = World::new();
    fs::create_dir(world.home()).unwrap();
    fs::write(world.home().join("notes.txt"), "mine").unwrap();
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(world.ok(&["list"]), "");
    let ran = world.outlive(&["run", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("set OUTLIVE_HOME"), "{ran:?}");
    let mode = fs::metadata(world.home()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let names = fs::read_dir(world.home()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["notes.txt"]);
    // A private directory is not taken by mistake, and a configuration may be there first.
    fs::rename(
        world.home().join("notes.txt"),
        world.home().join("config.toml"),
    )
    .unwrap();
    fs::write(world.home().join("config.toml"), "").unwrap();
    world.ok(&["run", "--", "true"]);
}

#[test]
fn since_with_lines_shows_the_last_lines_of_that_time() {
    let world = World::new();
    let id = over(&world, &["--shell", "seq 5"]);
    assert_eq!(
        world.ok(&["log", &id, "--since", "1h", "--lines", "2"]),
        "4\n5"
    );
    assert_eq!(world.ok(&["log", &id, "--since", "1h"]), "1\n2\n3\n4\n5");
    let lines = world.ok(&["log", &id, "--timestamps", "--json", "--lines", "1"]);
    let line: Value = serde_json::from_str(&lines).unwrap();
    assert!(line["at"].is_string() && line["text"] == "5", "{line}");
}

#[test]
fn a_notice_shows_the_beginning_and_the_end_of_an_output() {
    let world = World::new();
    let script = "echo configured with --fast; seq 1 20000; echo failed at the end; exit 3";
    let id = world.ok(&["run", "--session", "me", "--shell", script]);
    world.until_over(&id);
    let text = world.ok(&["inbox", "--session", "me"]);
    assert!(text.contains("configured with --fast"), "{text}");
    assert!(
        text.contains("\n[…]\n") && text.contains("failed at the end"),
        "{text}"
    );
    assert!(!text.contains("\n10000\n"), "{text}");
}

/// Limits that are set for the job apply to the job and not to its keepers.
#[test]
fn resource_limits_apply_to_the_job_and_not_to_its_keepers() {
    let world = World::new();
    let script = "ulimit -t; ulimit -f; exec sleep 60";
    let words = ["--cpu=100:200", "--fsize=9437184:18874368"];
    let run = world.command(["run", "--id", "x", "--", "bash", "-c", script]);
    let ran = Ran::of(&mut outlive_testkit::environment::behind(
        "prlimit", words, &run,
    ));
    assert_eq!(ran.code, 0, "{ran:?}");
    until_output(&world, "x", "100\n9216\n");
    let pair = world.pair("x");
    for pid in [Some(pair.keeper), pair.standby].into_iter().flatten() {
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let of = |name: &str| limits.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(!of("Max cpu time").contains("100"), "{limits}");
        assert!(!of("Max file size").contains("9437184"), "{limits}");
    }
}

#[test]
fn force_removes_nothing_that_runs() {
    let world = World::new();
    let id = sleeper(&world, &["--pty"]);
    let leader = world.leader(&id);
    fs::write(world.job_dir(&id).join("journal"), "no journal\n").unwrap();
    let pruned = world.json(&["prune", "--all", "--force", "--json"]);
    assert_eq!(pruned["removed"], json!([]), "{pruned}");
    assert!(is_alive(leader) && world.job_dir(&id).exists());
}

/// As after a disk error: verbs can still read and ask, and `stop` stops the job.
#[test]
fn jobs_of_a_read_only_home_can_be_shown_and_stopped() {
    needs!(Root);
    let world = World::new();
    let id = sleeper(&world, &[]);
    let leader = world.leader(&id);
    let home = world.home();
    let home = home.to_str().unwrap();
    let outlive = outlive_testkit::programs::outlive();
    let script = format!(
        "mount --bind {home} {home} && mount -o remount,ro,bind {home} && \
         {outlive} list && {outlive} show {id} && {outlive} stop {id}"
    );
    let ran = Ran::of(&mut world.within("unshare", ["--mount", "sh", "-c", &script]));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("running"), "{ran:?}");
    assert!(!is_alive(leader));
}
