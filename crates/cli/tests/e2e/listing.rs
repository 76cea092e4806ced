//! `list` costs what it shows; damaged jobs harm no others.

use crate::world::{Ran, World, kill, until};
use outlive_sys::procfs;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What `shared/INTERFACE.md` promises of every job.
const KEYS: [&str; 22] = [
    "id",
    "name",
    "session",
    "task",
    "place",
    "command",
    "argv",
    "cwd",
    "pty",
    "state",
    "pid",
    "started_at",
    "ended_at",
    "duration_ms",
    "outcome",
    "exit_code",
    "ended_by",
    "lingering",
    "output",
    "awaiting_input",
    "ready",
    "usage",
];

// Which, in which order.

#[test]
fn running_jobs_come_first_by_start_then_ended_ones_newest_end_first() {
    let world = World::new();
    // Its end is the newest though its start is the oldest.
    let late = world.ok(&["run", "--", "sleep", "60"]);
    let first = ended(&world, &[]);
    let running = [sleeper(&world, &[]), sleeper(&world, &[])];
    let second = ended(&world, &[]);
    world.ok(&["stop", &late]);
    assert_lists(
        &world,
        &[],
        &[&running[0], &running[1], &late, &second, &first],
    );
}

#[test]
fn a_state_selects_the_jobs_in_it() {
    let world = World::new();
    let running = sleeper(&world, &[]);
    let over = ended(&world, &[]);
    assert_lists(&world, &["--state", "running"], &[&running]);
    assert_lists(&world, &["--state", "ended"], &[&over]);
    assert_lists(&world, &["--state", "all"], &[&running, &over]);
    assert_eq!(world.outlive(&["list", "--state", "asleep"]).code, 2);
}

#[test]
fn a_limit_counts_ended_jobs_only_and_keeps_the_newest() {
    let world = World::new();
    let running = [sleeper(&world, &[]), sleeper(&world, &[])];
    let over: Vec<String> = (0..4).map(|_| ended(&world, &[])).collect();
    assert_lists(
        &world,
        &["--limit", "2"],
        &[&running[0], &running[1], &over[3], &over[2]],
    );
    assert_lists(&world, &["--limit", "0"], &[&running[0], &running[1]]);
    assert_lists(&world, &["--limit", "1", "--state", "ended"], &[&over[3]]);
}

#[test]
fn twenty_ended_jobs_are_shown_unless_asked_otherwise() {
    let world = World::new();
    let ids_made = fabricate(&world, 25);
    let newest: Vec<&String> = ids_made.iter().rev().take(20).collect();
    assert_lists(&world, &[], &newest);
    assert_eq!(ids(&world, &["--limit", "100"]).len(), 26);
}

#[test]
fn a_job_that_lingers_takes_no_newer_ones_place() {
    let world = World::new();
    let lingering = world.shell("setsid sleep 60 & exit 0");
    world.wait(&lingering);
    let newer = ended(&world, &[]);
    assert_eq!(world.show(&lingering)["lingering"], 1);
    assert_lists(&world, &["--limit", "1"], &[&newer]);
    assert_lists(&world, &["--state", "running"], &[]);
    assert_lists(&world, &[], &[&newer, &lingering]);
}

#[test]
fn an_end_noted_late_is_no_newer_for_that() {
    let world = World::new();
    let go = world.path("go");
    let script = format!("until [ -e {} ]; do sleep 0.01; done", go.display());
    let first = world.shell_with_hooks("keeper:EndedRecorded=stop", &script);
    fs::write(&go, "").unwrap();
    let keeper = world.pair(&first).keeper;
    until("its keeper has recorded the end and noted nothing", || {
        procfs::stat(keeper).is_some_and(|stat| stat.state == b'T')
    });
    let second = ended(&world, &[]);
    kill(keeper, 18);
    until("its end is noted too", || {
        !world.home().join("live").join(&first).is_symlink()
    });
    assert_lists(&world, &[], &[&second, &first]);
    assert_lists(&world, &["--limit", "1"], &[&second]);
}

#[test]
fn a_session_and_a_task_select_their_jobs() {
    let world = World::new();
    let alpha = ["--session", "alpha"];
    let beta = ["--session", "beta/β"];
    let a = sleeper(&world, &[&alpha[..], &["--task", "build"]].concat());
    let b = sleeper(&world, &[&beta[..], &["--task", "build"]].concat());
    let c = ended(&world, &[&alpha[..], &["--task", "test"]].concat());
    let d = ended(&world, &beta);
    let e = ended(&world, &[]);
    assert_lists(&world, &alpha, &[&a, &c]);
    assert_lists(&world, &beta, &[&b, &d]);
    assert_lists(&world, &["--task", "build"], &[&a, &b]);
    assert_lists(&world, &[&alpha[..], &["--task", "test"]].concat(), &[&c]);
    assert_lists(&world, &[&beta[..], &["--state", "ended"]].concat(), &[&d]);
    assert_lists(&world, &["--session", "nobody"], &[]);
    assert_lists(&world, &["--task", "alpha"], &[]);
    assert_lists(&world, &[], &[&a, &b, &e, &d, &c]);
}

#[test]
fn a_limit_counts_only_what_was_selected() {
    let world = World::new();
    let mine = ended(&world, &["--session", "s", "--task", "t"]);
    for _ in 0..3 {
        ended(&world, &[]);
    }
    assert_lists(&world, &["--session", "s", "--limit", "1"], &[&mine]);
    assert_lists(&world, &["--task", "t", "--limit", "1"], &[&mine]);
}

#[test]
fn a_session_key_that_cannot_be_one_is_wrong_usage() {
    let world = World::new();
    for bad in ["", "a\nb", &"x".repeat(300)] {
        assert_eq!(
            world.outlive(&["list", "--session", bad]).code,
            2,
            "{bad:?}"
        );
    }
}

// What it says.

#[test]
fn every_job_in_json_has_every_key_of_the_interface() {
    let world = World::new();
    let running = sleeper(&world, &["--name", "n", "--session", "s", "--task", "t"]);
    let over = ended(&world, &[]);
    let answer = world.json(&["list", "--json"]);
    let only: BTreeSet<&str> = answer
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(only, BTreeSet::from(["jobs"]));
    for job in answer["jobs"].as_array().unwrap() {
        let keys: BTreeSet<&str> = job
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(keys, BTreeSet::from(KEYS), "{job}");
        let output: BTreeSet<&str> = job["output"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(
            output,
            BTreeSet::from(["bytes", "complete", "dropped_bytes", "path"])
        );
    }
    let jobs = [&answer["jobs"][0], &answer["jobs"][1]];
    assert_eq!(
        [&jobs[0]["id"], &jobs[1]["id"]],
        [&json!(running), &json!(over)]
    );
    for (key, value) in [
        ("name", json!("n")),
        ("session", json!("s")),
        ("task", json!("t")),
        ("place", json!("local")),
        ("command", json!("sleep 60")),
        ("argv", json!(["sleep", "60"])),
        ("pty", json!(false)),
        ("state", json!("running")),
        ("ended_at", Value::Null),
        ("outcome", Value::Null),
        ("exit_code", Value::Null),
        ("ended_by", Value::Null),
        ("usage", Value::Null),
    ] {
        assert_eq!(jobs[0][key], value, "{key}");
    }
    assert_eq!(jobs[1]["state"], "ended");
    assert_eq!(jobs[1]["pid"], Value::Null);
}

#[test]
fn list_and_show_say_the_same_of_a_job() {
    let world = World::new();
    let id = ended(&world, &["--name", "n"]);
    let mut shown = world.show(&id);
    shown.as_object_mut().unwrap().remove("preview");
    assert_eq!(world.json(&["list", "--json"])["jobs"][0], shown);
}

#[test]
fn the_table_has_one_line_a_job_under_its_headings() {
    let world = World::new();
    let running = sleeper(&world, &["--name", "dev"]);
    let over = world.ok(&["run", "--", "printf", "a\nb"]);
    world.wait(&over);
    let table = world.ok(&["list"]);
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert_eq!(
        lines[0],
        ["ID", "STATE", "TIME", "OUTPUT", "NAME", "COMMAND"]
    );
    assert_eq!(lines[1][..2], [running.as_str(), "running"]);
    assert_eq!(lines[1][lines[1].len() - 3..], ["dev", "sleep", "60"]);
    assert_eq!(lines[2][..3], [over.as_str(), "exited", "0"]);
    // Columns begin where their headings do.
    let at = table.lines().next().unwrap().find("COMMAND").unwrap();
    assert_eq!(&table.lines().nth(1).unwrap()[at..], "sleep 60");
}

#[test]
fn ps_is_another_word_for_list() {
    let world = World::new();
    let id = ended(&world, &[]);
    assert_eq!(world.ok(&["ps"]), world.ok(&["list"]));
    assert_eq!(world.json(&["ps", "--json"])["jobs"][0]["id"], id.as_str());
}

#[test]
fn an_empty_home_lists_no_jobs_and_no_errors() {
    let world = World::new();
    let ran = world.outlive(&["list", "--json"]);
    assert_eq!(
        (ran.code, ran.stdout.trim(), ran.stderr.as_str()),
        (0, r#"{"jobs":[]}"#, "")
    );
    let ran = world.outlive(&["list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(!ran.stderr.contains("outlive:"), "{ran:?}");
}

#[test]
fn looking_at_a_home_that_is_not_there_makes_nothing() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    let home = elsewhere.to_str().unwrap();
    for args in [
        &["list"][..],
        &["list", "--state", "running", "--json"],
        &["list", "--session", "s"],
        &["--home", home, "list"],
        &["prune", "--all"],
    ] {
        assert_eq!(world.outlive(args).code, 0, "{args:?}");
    }
    assert_eq!(world.outlive(&["show", "x"]).code, 3);
    assert!(!world.home().exists());
    assert!(!elsewhere.exists());
}

#[test]
fn home_and_the_environment_choose_the_home() {
    let world = World::new();
    let id = ended(&world, &[]);
    let other = world.path("other");
    let args = ["--home", other.to_str().unwrap(), "list", "--json"];
    assert_eq!(world.json(&args), json!({ "jobs": [] }));
    let mut unset = world.command(["list", "--json", "--home", world.home().to_str().unwrap()]);
    let ran = Ran::of(unset.env_remove("OUTLIVE_HOME"));
    assert!(ran.stdout.contains(&id), "{ran:?}");
}

// What it costs.

#[test]
fn listing_costs_what_it_shows_with_ten_thousand_ended_jobs_as_with_ten() {
    let few = World::new();
    let many = World::new();
    for (world, count) in [(&few, 10), (&many, 10_000)] {
        crowd(world, count);
        sleeper(world, &["--session", "s"]);
        sleeper(world, &[]);
    }
    let running = ["list", "--state", "running"];
    for (args, more) in [
        (&running[..], 5),
        (&[&running[..], &["--json"]].concat(), 5),
        (&[&running[..], &["--session", "s"]].concat(), 5),
        // The ends of a day are one file, read in more pieces the larger it is.
        (&["list", "--limit", "5"], 40),
    ] {
        let (a, b) = (calls(&few, args), calls(&many, args));
        assert!(a > 20, "the trace is empty");
        assert!(
            b <= a + more,
            "{args:?}: {a} calls with 10, {b} with 10,000"
        );
    }
    assert_eq!(ids(&many, &["--limit", "500"]).len(), 2 + 500);
}

/// How many system calls this takes.
fn calls(world: &World, args: &[&str]) -> usize {
    let trace = world.path("trace");
    let outlive = world.command(args);
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-q", "-o"])
        .arg(&trace)
        .arg(outlive.get_program())
        .args(args);
    for (key, value) in outlive.get_envs() {
        match value {
            Some(value) => strace.env(key, value),
            None => strace.env_remove(key),
        };
    }
    let ran = Ran::of(&mut strace);
    assert_eq!(ran.code, 0, "{ran:?}");
    fs::read_to_string(trace).unwrap().lines().count()
}

/// This many jobs that ended one after another, beside the real one they are copies of; in order.
fn fabricate(world: &World, count: usize) -> Vec<String> {
    let model = ended(world, &[]);
    let directory = world.job_dir(&model);
    let spec = fs::read_to_string(directory.join("spec.json")).unwrap();
    let journal = fs::read(directory.join("journal")).unwrap();
    let ended = world.journal(&model).last().unwrap()["at"]["wall_ms"]
        .as_u64()
        .unwrap();
    let mut history = File::options().append(true).open(day(world)).unwrap();
    let mut lines = String::new();
    let mut ids = Vec::new();
    for n in 0..count {
        let id = format!("old{n:05}");
        let copy = world.job_dir(&id);
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("spec.json"), spec.replace(&model, &id)).unwrap();
        fs::write(
            copy.join("journal"),
            moved(&journal, ended, ended + 1 + n as u64),
        )
        .unwrap();
        lines.push_str(&format!("{} {id}\n", ended + 1 + n as u64));
        ids.push(id);
    }
    history.write_all(lines.as_bytes()).unwrap();
    ids
}

/// This many ended jobs, made fast: one job under many ids.
fn crowd(world: &World, count: usize) {
    let model = ended(world, &[]);
    let mut history = String::new();
    for n in 0..count {
        let id = format!("old{n:05}");
        std::os::unix::fs::symlink(&model, world.job_dir(&id)).unwrap();
        history.push_str(&format!("1 {id}\n"));
    }
    let mut day = File::options().append(true).open(day(world)).unwrap();
    day.write_all(history.as_bytes()).unwrap();
}

/// The journal with its end at another time.
fn moved(journal: &[u8], from: u64, to: u64) -> String {
    let text = std::str::from_utf8(journal).unwrap();
    text.replace(&format!("\"wall_ms\":{from}"), &format!("\"wall_ms\":{to}"))
}

/// The one file of days there is.
fn day(world: &World) -> std::path::PathBuf {
    let mut days = fs::read_dir(world.home().join("ended")).unwrap();
    days.next().unwrap().unwrap().path()
}

// Damage.

#[test]
fn a_damaged_job_is_reported_and_the_others_are_listed() {
    let world = World::new();
    let good = [ended(&world, &[]), sleeper(&world, &[])];
    let bad = [ended(&world, &[]), sleeper(&world, &[])];
    for id in &bad {
        fs::write(world.job_dir(id).join("spec.json"), "garbage").unwrap();
    }
    let ran = world.outlive(&["list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for id in &bad {
        let about = ran
            .stderr
            .lines()
            .filter(|line| line.contains(id.as_str()))
            .count();
        assert_eq!(about, 1, "{ran:?}");
    }
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let listed: Vec<&str> = answer["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["id"].as_str().unwrap())
        .collect();
    assert_eq!(listed, [&good[1], &good[0]]);
    assert_eq!(world.outlive(&["list", "--quiet", "--json"]).stderr, "");
}

#[test]
fn every_sort_of_damage_leaves_the_others_listed() {
    let world = World::new();
    let good = ended(&world, &[]);
    let damage: [fn(&Path); 6] = [
        |dir| fs::write(dir.join("spec.json"), "").unwrap(),
        |dir| fs::write(dir.join("spec.json"), "{}").unwrap(),
        |dir| fs::remove_file(dir.join("spec.json")).unwrap(),
        |dir| fs::remove_file(dir.join("journal")).unwrap(),
        |dir| fs::write(dir.join("journal"), b"\xff\xfe\0\n{}\n[]\n").unwrap(),
        |dir| {
            fs::remove_file(dir.join("journal")).unwrap();
            fs::create_dir(dir.join("journal")).unwrap();
        },
    ];
    for harm in damage {
        harm(&world.job_dir(&ended(&world, &[])));
    }
    fs::create_dir(world.job_dir("empty")).unwrap();
    fs::write(world.home().join("jobs/stray"), "").unwrap();
    std::os::unix::fs::symlink("../jobs/nothing", world.home().join("live/nothing")).unwrap();
    let ran = world.outlive(&["list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let listed = answer["jobs"].as_array().unwrap();
    let found = listed
        .iter()
        .find(|job| job["id"] == good.as_str())
        .unwrap();
    assert_eq!(found["outcome"], json!({ "kind": "exited", "code": 0 }));
    // What a damaged journal does not tell is never taken for success.
    for job in listed.iter().filter(|job| job["id"] != good.as_str()) {
        assert_eq!(job["outcome"]["kind"], "lost", "{job}");
        assert_eq!(job["exit_code"], Value::Null);
    }
}

#[test]
fn damaged_lines_among_the_noted_ends_are_passed_over() {
    let world = World::new();
    let id = ended(&world, &[]);
    let mut history = File::options().append(true).open(day(&world)).unwrap();
    history
        .write_all(b"nonsense\n12 ../../etc\n99999999999999999999999 x\n\n17 gone")
        .unwrap();
    fs::write(world.home().join("ended/not-a-day"), "1 x\n").unwrap();
    assert_lists(&world, &[], &[&id]);
}

// Finding one.

#[test]
fn an_id_its_unique_beginning_and_a_name_find_a_job() {
    let world = World::new();
    let one = ended(&world, &["--id", "apple-pie", "--name", "dessert"]);
    let two = ended(&world, &["--id", "apple-tart"]);
    let exact = ended(&world, &["--id", "app"]);
    let found = |text: &str| world.show(text)["id"].as_str().unwrap().to_owned();
    assert_eq!(found("apple-pie"), one);
    assert_eq!(found("apple-p"), one);
    assert_eq!(found("dessert"), one);
    assert_eq!(found("apple-t"), two);
    assert_eq!(found("app"), exact, "a whole id is no beginning of others");
    for (text, words) in [
        ("apple", "apple-pie, apple-tart"),
        ("pear", "pear"),
        ("../jobs/app", "no job"),
    ] {
        let ran = world.outlive(&["show", text]);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn a_name_means_the_newest_job_that_has_it() {
    let world = World::new();
    let old = ended(&world, &["--name", "dev"]);
    let new = sleeper(&world, &["--name", "dev"]);
    assert_eq!(world.show("dev")["id"], new.as_str());
    assert_eq!(world.show(&old)["name"], "dev");
}

// Quiet, closed pipes, help.

#[test]
fn quiet_says_nothing_on_stderr() {
    let world = World::new();
    let id = ended(&world, &[]);
    for (args, code) in [
        (&["stop", &id, "--quiet"][..], 0),
        (&["--quiet", "show", "nonesuch"], 3),
        (&["wait", "nonesuch", "--quiet"], 3),
        (&["--quiet", "run", "--", "/no/such/program"], 127),
        (&["--quiet", "signal", &id, "TERM"], 0),
        (&["run", "--quiet", "--shell", "true &"], 0),
    ] {
        let ran = world.outlive(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (code, ""), "{args:?}");
        let loud: Vec<&str> = args
            .iter()
            .copied()
            .filter(|arg| *arg != "--quiet")
            .collect();
        assert_ne!(world.outlive(&loud).stderr, "", "{loud:?}");
    }
}

#[test]
fn a_reader_that_has_read_enough_is_no_error() {
    let world = World::new();
    fabricate(&world, 50);
    for args in [
        &["list", "--limit", "50"][..],
        &["list", "--json", "--limit", "50"],
        &["completions", "bash"],
        &["man"],
        &["log", "old00001"],
    ] {
        let ran = into_closed_pipe(&world, args);
        assert_eq!(ran.stderr, "", "{args:?}");
        assert!([0, 141].contains(&ran.code), "{args:?}: {ran:?}");
    }
}

/// With a standard output that nobody reads.
fn into_closed_pipe(world: &World, args: &[&str]) -> Ran {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = world
        .command(args)
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(141),
        stdout: String::new(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn the_first_line_can_be_had_alone() {
    let world = World::new();
    fabricate(&world, 30);
    let script = format!("{} list | head -1", env!("CARGO_BIN_EXE_outlive"));
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &script])
        .env("OUTLIVE_HOME", world.home());
    let ran = Ran::of(&mut shell);
    assert!(ran.stdout.starts_with("ID "), "{ran:?}");
    assert_eq!((ran.stdout.lines().count(), ran.stderr.as_str()), (1, ""));
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let world = World::new();
    ended(&world, &[]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = world.command(["list"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the output"));
}

#[test]
fn every_shell_has_its_completions() {
    let world = World::new();
    for (shell, words) in [
        ("bash", ["complete -F", "--older-than"]),
        ("zsh", ["#compdef outlive", "--older-than"]),
        ("fish", ["complete -c outlive", "older-than"]),
    ] {
        let script = world.ok(&["completions", shell]);
        for word in words.iter().chain(&["run", "prune", "detach"]) {
            assert!(script.contains(word), "{shell}: no {word:?}");
        }
    }
    assert_eq!(world.outlive(&["completions", "tclsh"]).code, 2);
    assert!(!world.home().exists());
}

#[test]
fn the_manual_is_printed_or_written_a_page_a_command() {
    let world = World::new();
    let page = world.ok(&["man"]);
    for word in [".TH outlive 1", ".SH NAME", ".SH SYNOPSIS", "prune", "124"] {
        assert!(page.contains(word), "no {word:?} in {page}");
    }
    let dir = world.path("share/man");
    world.ok(&["man", "--dir", dir.to_str().unwrap()]);
    for name in [
        "outlive",
        "outlive-run",
        "outlive-list",
        "outlive-stop",
        "outlive-prune",
        "outlive-wait",
    ] {
        let page = fs::read_to_string(dir.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    assert!(!world.home().exists());
}

// Small things.

#[track_caller]
fn assert_lists(world: &World, args: &[&str], expected: &[&String]) {
    let listed = ids(world, args);
    assert_eq!(listed.iter().collect::<Vec<_>>(), expected, "list {args:?}");
}

/// The ids listed, in order.
fn ids(world: &World, args: &[&str]) -> Vec<String> {
    let answer = world.json(&[&["list", "--json"], args].concat());
    answer["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["id"].as_str().unwrap().to_owned())
        .collect()
}

/// A job that has ended, of which nothing is left.
fn ended(world: &World, options: &[&str]) -> String {
    let id = world.ok(&[&["run"], options, &["--", "true"]].concat());
    world.wait(&id);
    until("it is out of what runs", || {
        world
            .home()
            .join("live")
            .join(&id)
            .symlink_metadata()
            .is_err()
    });
    id
}

fn sleeper(world: &World, options: &[&str]) -> String {
    world.ok(&[&["run"], options, &["--", "sleep", "60"]].concat())
}
