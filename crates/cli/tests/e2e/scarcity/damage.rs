//! Damaged files of a job.

use super::{assert_calm, assert_clear_error};
use outlive_testkit::checks::{exited, until_output};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::thread;

type Damage = (&'static str, fn(&Path));

fn cut(path: &Path, keep: impl Fn(&[u8]) -> usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..keep(&bytes)]).unwrap();
}

/// Replaces a file by a directory. Tries again if a verb of another test thread creates the file meanwhile.
fn replace_with_directory(path: &Path) {
    while fs::create_dir(path).is_err() {
        fs::remove_file(path).unwrap();
    }
}

/// Removes the files of a job. The directory stays, because a verb may create a file in it at the same time. Such a
/// verb may also have removed the socket already.
fn remove_everything_in(job: &Path) {
    for entry in fs::read_dir(job).unwrap() {
        let _ = fs::remove_file(entry.unwrap().path());
    }
    assert!(!job.join("spec.json").exists());
}

const GARBAGE: &[u8] =
    b"\x00\xff\xfe{\"v\":1,\n\n[]\nnull\n\"x\"\n{}\n\x1b[31m\n9999999999999999999999\n";

const DAMAGES: [Damage; 22] = [
    ("an empty journal", |job| {
        fs::write(job.join("journal"), "").unwrap()
    }),
    ("a journal torn in its first line", |job| {
        cut(&job.join("journal"), |_| 20)
    }),
    ("a journal torn in its last line", |job| {
        cut(&job.join("journal"), |all| all.len() - 9)
    }),
    ("half a journal", |job| {
        cut(&job.join("journal"), |all| all.len() / 2)
    }),
    ("a journal of garbage", |job| {
        fs::write(job.join("journal"), GARBAGE).unwrap()
    }),
    ("a journal with garbage in front", |job| {
        let old = fs::read(job.join("journal")).unwrap();
        fs::write(job.join("journal"), [GARBAGE, &old].concat()).unwrap();
    }),
    ("a journal of zeros", |job| {
        fs::write(job.join("journal"), vec![0; 1 << 20]).unwrap()
    }),
    ("a journal twice over", |job| {
        let old = fs::read(job.join("journal")).unwrap();
        fs::write(job.join("journal"), old.repeat(2)).unwrap();
    }),
    ("no journal", |job| {
        fs::remove_file(job.join("journal")).unwrap()
    }),
    ("a journal that is a directory", |job| {
        replace_with_directory(&job.join("journal"))
    }),
    ("an empty spec", |job| {
        fs::write(job.join("spec.json"), "").unwrap()
    }),
    ("half a spec", |job| {
        cut(&job.join("spec.json"), |all| all.len() / 2)
    }),
    ("a spec of garbage", |job| {
        fs::write(job.join("spec.json"), GARBAGE).unwrap()
    }),
    ("a spec that is a list", |job| {
        fs::write(job.join("spec.json"), "[]").unwrap()
    }),
    ("a spec nested without end", |job| {
        fs::write(job.join("spec.json"), "[".repeat(100_000)).unwrap();
    }),
    ("no spec", |job| {
        fs::remove_file(job.join("spec.json")).unwrap()
    }),
    ("a spec that is a directory", |job| {
        replace_with_directory(&job.join("spec.json"))
    }),
    ("no lock", |job| fs::remove_file(job.join("lock")).unwrap()),
    ("a lock that is a directory", |job| {
        replace_with_directory(&job.join("lock"))
    }),
    ("no output", |job| {
        fs::remove_file(job.join("output")).unwrap()
    }),
    ("an output that is a directory", |job| {
        replace_with_directory(&job.join("output"))
    }),
    ("no files at all", remove_everything_in),
];

pub fn run_every_verb_on(world: &World, id: &str, what: &str) {
    let verbs: [&[&str]; 13] = [
        &["list"],
        &["show", id],
        &["show", id, "--json"],
        &["log", id],
        &["log", id, "--bytes", "0:10"],
        &["wait", id, "--timeout", "500ms"],
        &["signal", id, "CONT"],
        &["run", "--id", id, "--", "true"],
        &["stop", id, "--grace", "100ms"],
        &["wait", id, "--timeout", "500ms", "--json"],
        &["prune"],
        &["list", "--json"],
        &["doctor"],
    ];
    for args in verbs {
        let ran = world.outlive(args);
        assert_calm(&ran);
        // `wait` prints on stdout how the job ended.
        let said = !ran.stderr.is_empty() || args[0] == "wait" && !ran.stdout.is_empty();
        assert!(ran.code == 0 || said, "{what}: {args:?}: {ran:?}");
        let whole = matches!(args[0], "list" | "prune" | "doctor");
        assert!(!whole || ran.code == 0, "{what}: {args:?}: {ran:?}");
    }
}

/// Checks that the other job is listed as running and kept its keeper.
pub fn assert_unharmed(world: &World, other: &str, what: &str) {
    let listed = world.json(&["list", "--json"]);
    let jobs = listed["jobs"].as_array().unwrap();
    let found = jobs.iter().find(|job| job["id"] == other);
    assert_eq!(found.unwrap()["state"], "running", "{what}");
    assert_eq!(world.events(other, "kept").len(), 1, "{what}");
}

#[test]
fn damage_to_an_ended_job_is_never_a_panic_and_harms_no_other() {
    let world = World::new();
    world.ok(&["run", "--id", "other", "--", "sleep", "60"]);
    for (number, (what, damage)) in DAMAGES.iter().enumerate() {
        let id = format!("d{number}");
        world.ok(&["run", "--id", &id, "--shell", "echo out; exit 3"]);
        world.wait(&id);
        until("it is over", || world.processes().len() == 3);
        damage(&world.job_dir(&id));
        run_every_verb_on(&world, &id, what);
        assert_unharmed(&world, "other", what);
        until(&format!("nothing of it runs, {what}"), || {
            world.processes().len() == 3
        });
    }
    assert_eq!(world.outlive(&["prune", "--all", "--force"]).code, 0);
    assert_unharmed(&world, "other", "after pruning");
}

/// Starts a job for each kind of damage, all at the same time. Each writes and sleeps; then `before` is called and the
/// job is damaged.
fn damage_sleepers(before: impl Fn(&World, &str) + Sync) {
    let world = World::new();
    world.ok(&["run", "--id", "other", "--", "sleep", "60"]);
    thread::scope(|scope| {
        for (number, (what, damage)) in DAMAGES.iter().enumerate() {
            let (world, before) = (&world, &before);
            scope.spawn(move || {
                let id = format!("d{number}");
                world.ok(&["run", "--id", &id, "--shell", "echo out; exec sleep 60"]);
                until_output(world, &id, "out\n");
                before(world, &id);
                damage(&world.job_dir(&id));
                run_every_verb_on(world, &id, what);
                assert_unharmed(world, "other", what);
            });
        }
    });
}

#[test]
fn damage_to_a_running_job_is_never_a_panic_and_harms_no_other() {
    damage_sleepers(|_, _| {});
}

#[test]
fn damage_to_a_job_whose_keepers_are_dead_is_never_a_panic_and_harms_no_other() {
    damage_sleepers(World::kill_both);
}

/// Runs a job that ends with 3, and then cuts its journal to `keep` bytes.
fn job_with_a_cut_journal(world: &World, keep: impl Fn(&str) -> usize) -> Ran {
    world.ok(&["run", "--id", "x", "--shell", "echo out; exit 3"]);
    world.wait("x");
    world.until_nothing_runs();
    let path = world.job_dir("x").join("journal");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..keep(&text)]).unwrap();
    world.outlive(&["wait", "x", "--json", "--timeout", "10s"])
}

#[test]
fn an_end_that_is_whole_in_a_torn_journal_stays_exact() {
    let world = World::new();
    let ran = job_with_a_cut_journal(&world, |text| text.len() - 9);
    assert_eq!(ran.code, 3, "{ran:?}");
    let job = ran.job();
    assert_eq!(job["outcome"], exited(3));
    assert_eq!(world.events("x", "ended").len(), 1);
    assert_eq!(world.outlive(&["log", "x"]).stdout, "out\n");
}

#[test]
fn an_end_that_is_gone_from_a_journal_is_lost_and_never_a_success() {
    for keep in [
        (|text: &str| text.find("\"ended\"").unwrap() + 4) as fn(&str) -> usize,
        |text: &str| text.find("\"started\"").unwrap(),
        |_: &str| 5,
        |_: &str| 0,
    ] {
        let world = World::new();
        let ran = job_with_a_cut_journal(&world, keep);
        assert_eq!(ran.code, 125, "{ran:?}");
        let job = ran.job();
        assert_eq!(job["state"], "ended");
        assert_eq!(job["outcome"]["kind"], "lost");
        assert_eq!(job["exit_code"], Value::Null);
        assert_eq!(job["ended_by"], "unknown");
        assert_eq!(world.show("x")["outcome"], job["outcome"], "it stays so");
        assert_eq!(world.outlive(&["log", "x"]).stdout, "out\n");
        world.until_nothing_runs();
    }
}

#[test]
fn a_journal_emptied_under_a_running_keeper_still_gets_the_exact_end() {
    let world = World::new();
    let script = format!("echo out; {}; exit 3", loop_until(&world.path("go")));
    let id = world.shell(&script);
    until_output(&world, &id, "out\n");
    fs::write(world.job_dir(&id).join("journal"), "").unwrap();
    File::create(world.path("go")).unwrap();
    let ran = world.outlive(&["wait", &id, "--timeout", "10s"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(world.outlive(&["log", &id]).stdout, "out\n");
}

#[test]
fn a_job_whose_spec_is_damaged_can_still_be_stopped() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    fs::write(world.job_dir(&id).join("spec.json"), "{").unwrap();
    let shown = world.outlive(&["show", &id]);
    assert_clear_error(&shown);
    assert_eq!(shown.code, 125);
    assert!(shown.stderr.contains("spec.json"), "{shown:?}");
    assert_calm(&world.outlive(&["stop", &id]));
    world.until_nothing_runs();
    assert_eq!(world.events(&id, "ended").len(), 1);
    let listed = world.outlive(&["list"]);
    assert_eq!(listed.code, 0);
}

/// Two pairs of keepers would both read the output, and each would get only a part.
#[test]
fn a_lock_that_was_replaced_under_its_keepers_starts_no_second_pair() {
    let world = World::new();
    let id = world.shell("echo up; exec sleep 60");
    until_output(&world, &id, "up\n");
    fs::remove_file(world.job_dir(&id).join("lock")).unwrap();
    assert_eq!(world.show(&id)["state"], "running");
    world.ok(&["list"]);
    world.ok(&["log", &id]);
    assert_eq!(world.outlive(&["wait", &id, "--timeout", "50ms"]).code, 124);
    assert_eq!(world.events(&id, "kept").len(), 1);
    world.ok(&["stop", &id]);
    assert_eq!(world.events(&id, "ended").len(), 1);
}

#[test]
fn a_job_whose_socket_was_removed_is_said_not_to_answer_until_it_is_adopted() {
    let world = World::new();
    let id = world.shell("echo up; exec sleep 60");
    until_output(&world, &id, "up\n");
    fs::remove_file(world.job_dir(&id).join("control")).unwrap();
    let ran = world.outlive(&["stop", &id]);
    assert_clear_error(&ran);
    assert!(ran.stderr.contains("does not answer"), "{ran:?}");
    // A waiter reads the job's record from time to time.
    let ran = world.outlive(&["wait", &id, "--timeout", "300ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    world.kill_both(&id);
    world.ok(&["stop", &id]);
    assert_eq!(world.show(&id)["ended_by"], "stop");
}
