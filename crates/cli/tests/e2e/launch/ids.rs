//! `--id`: IDs that are taken, malformed, or used by several starts at once.

use super::text;
use outlive_testkit::checks::exited;
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::world::World;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::thread;

#[test]
fn a_taken_id_is_refused_with_the_state_of_its_job() {
    let world = World::new();
    let go = world.path("go");
    let script = format!("echo first; {}; exit 3", loop_until(&go));
    world.ok(&["run", "--id", "x", "--shell", &script]);
    let (pid, journal) = (world.leader("x"), world.journal("x"));

    let ran = world.outlive(&["run", "--id", "x", "--", "echo", "second"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(ran.stderr.contains('x') && ran.stderr.contains("running"));
    assert_eq!(world.leader("x"), pid);
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

#[test]
fn one_of_fifty_launches_with_one_id_wins() {
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
        let outcome = exited((number % 256) as i32);
        assert_eq!(ended[0]["outcome"], outcome, "{id}");
    }
    assert_eq!(world.listed(&["--limit", "2000"]).len(), THREADS * EACH);
    world.until_nothing_runs();
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
