//! `prune` while other programs start, run and prune jobs.

use super::{removed, texts, touch};
use outlive_testkit::processes::{CONT, STOP, begin, kill, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::scripts::{loop_until, over};
use outlive_testkit::trace::strace;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[test]
fn pruning_while_jobs_are_launched_harms_none() {
    let world = World::new();
    let done = AtomicBool::new(false);
    let pruned = thread::scope(|scope| {
        let pruner = scope.spawn(|| prune_until(&world, &done));
        let stop = SetOnDrop(&done);
        for n in 0..20 {
            let session = format!("s{n}");
            // When this job is pruned, its session has no jobs for a moment.
            over(&world, &["--session", &session, "--", "true"]);
            let script = format!("sleep 0.05; echo {n}; exec sleep 60");
            let id = format!("j{n}");
            world.ok(&[
                "run",
                "--id",
                &id,
                "--session",
                &session,
                "--name",
                "dev",
                "--shell",
                &script,
            ]);
        }
        drop(stop);
        pruner.join().unwrap()
    });
    assert!(pruned.iter().all(|id| !id.starts_with('j')), "{pruned:?}");
    for n in 0..20 {
        let id = format!("j{n}");
        assert_eq!(world.show(&id)["state"], "running");
        until("it wrote", || {
            world.output(&id) == format!("{n}\n").as_bytes()
        });
        assert!(world.live(&id).exists());
        assert!(world.home().join(format!("sessions/s{n}/{id}")).exists());
    }
    let shown = world.as_session("s19", &["show", "dev", "--json"]);
    assert!(shown.stdout.contains("\"id\":\"j19\""), "{shown:?}");
}

/// Prunes until `done`; returns the IDs of all removed jobs.
fn prune_until(world: &World, done: &AtomicBool) -> Vec<String> {
    let mut pruned = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let answer = world.json(&["prune", "--all", "--json"]);
        assert_eq!(answer["unreadable"], json!([]));
        pruned.extend(texts(&answer["removed"]));
    }
    pruned
}

#[test]
fn a_job_removed_before_its_launcher_looked_was_still_started() {
    let world = World::new();
    let launcher = stopped_at(&world, "KeeperSpawned", &["--id", "mine", "--", "true"]);
    until("it has begun and is over", || {
        world.job_dir("mine").join("journal").exists() && world.events("mine", "closed").len() == 1
    });
    world.until_over("mine");
    world.ok(&["prune", "--all"]);
    kill(launcher.id() as i32, CONT);
    let ran = Ran::end_of(launcher);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "mine\n"));
}

/// Sets the flag when dropped, so that the other thread ends even if this one panics.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_launcher_stopped_anywhere_still_has_its_job_after_a_prune() {
    for place in ["DirectoryMade", "Named", "Linked", "KeeperSpawned"] {
        let world = World::new();
        over(&world, &["--session", "s", "--", "true"]);
        let args = ["--session", "s", "--id", "mine", "--", "sleep", "60"];
        let mut launcher = stopped_at(&world, place, &args);
        let directory = only_launching(&world);
        touch(&directory, "2 hours ago");
        let ran = world.outlive(&["prune", "--all", "--force", "--json"]);
        assert_eq!(ran.code, 0, "{place}: {ran:?}");
        assert!(!ran.stdout.contains("\"mine\""), "{place}: {ran:?}");
        assert!(directory.exists(), "{place}");
        kill(launcher.id() as i32, CONT);
        assert_eq!(launcher.wait().unwrap().code(), Some(0), "{place}");
        assert_eq!(world.show("mine")["state"], "running", "{place}");
        assert!(world.home().join("sessions/s/mine").exists(), "{place}");
    }
}

/// A launcher that a hook has stopped at this place.
fn stopped_at(world: &World, place: &str, args: &[&str]) -> Child {
    let launcher = world
        .command([&["run"], args].concat())
        .env("OUTLIVE_HOOKS", format!("launcher:{place}=stop"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    until_stopped(launcher.id() as i32);
    launcher
}

/// The directory of the job `mine`, which may not have its final name yet.
fn only_launching(world: &World) -> PathBuf {
    let jobs = world.home().join("jobs");
    let mine = |name: &String| name == "mine" || name.starts_with(".new-mine-");
    jobs.join(names_in(&jobs).into_iter().find(mine).unwrap())
}

#[test]
fn a_session_directory_removed_in_the_middle_of_a_launch_is_made_again() {
    needs!(Strace);
    let world = World::new();
    over(&world, &["--session", "s", "--", "true"]);
    // The first symbolic link that a launch makes is in the session's directory. It is delayed, and meanwhile `prune`
    // removes the session's last other job and that directory.
    let launcher = slowed(
        &world.command(["run", "--session", "s", "--id", "mine", "--", "sleep", "60"]),
        &world.path("trace"),
        &[],
        "symlink,symlinkat:delay_enter=1000000:when=1",
    );
    until("the launch has got to its links", || {
        world.home().join("live/mine").symlink_metadata().is_ok()
    });
    world.ok(&["prune", "--all"]);
    let ran = Ran::end_of(launcher);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(world.show("mine")["state"], "running");
    assert!(world.home().join("sessions/s/mine").exists());
}

/// Starts the command under `strace`, which delays some of its system calls: those on these paths, or all if there are
/// none.
fn slowed(command: &Command, trace: &Path, paths: &[PathBuf], inject: &str) -> Child {
    let calls = inject.split(':').next().unwrap();
    let (calls, inject) = (format!("trace={calls}"), format!("inject={inject}"));
    let mut options: Vec<&OsStr> = ["-e", &calls, "-e", &inject].map(OsStr::new).to_vec();
    for path in paths {
        options.extend([OsStr::new("-P"), path.as_os_str()]);
    }
    begin(strace(command, trace, &options))
}

#[test]
fn several_concurrent_pruners_all_succeed() {
    let world = World::new();
    let mut ids: Vec<String> = (0..40).map(|_| world.ok(&["run", "--", "true"])).collect();
    for id in &ids {
        world.until_over(id);
    }
    let pruners: Vec<Child> = (0..4)
        .map(|_| begin(world.command(["prune", "--all", "--json"])))
        .collect();
    let mut gone = Vec::new();
    for pruner in pruners {
        let ran = Ran::end_of(pruner);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        gone.extend(texts(&answer["removed"]));
    }
    gone.sort();
    ids.sort();
    assert_eq!(gone, ids, "each removed by one of them");
    assert_eq!(names_in(&world.home().join("jobs")), [""; 0]);
}

#[test]
fn a_job_removed_while_it_is_being_listed_is_no_damage() {
    needs!(Strace);
    let world = World::new();
    let id = over(&world, &["--", "true"]);
    let (trace, dir) = (world.path("trace"), world.job_dir(&id));
    let list = slowed(
        &world.command(["list", "--json"]),
        &trace,
        &[dir.join("spec.json"), dir.join("journal")],
        "openat:delay_enter=1000000:when=2",
    );
    until("list has read the spec", || {
        fs::read_to_string(&trace).is_ok_and(|calls| calls.contains("spec.json"))
    });
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
    let ran = Ran::end_of(list);
    assert_eq!(
        (ran.code, ran.stderr.as_str(), ran.stdout.as_str()),
        (0, "", "{\"jobs\":[]}\n")
    );
}

#[test]
fn an_end_that_is_waited_for_is_told_though_others_prune_meanwhile() {
    let world = World::new();
    let go = world.path("go");
    let script = format!("{}; echo last; exit 5", loop_until(&go));
    let waiter = begin(world.command(["run", "--wait", "--id", "mine", "--shell", &script]));
    until("it runs", || {
        world.job_dir("mine").join("journal").exists() && world.events("mine", "started").len() == 1
    });
    kill(waiter.id() as i32, STOP);
    until_stopped(waiter.id() as i32);
    fs::write(&go, "").unwrap();
    world.until_over("mine");
    let answer = world.json(&["prune", "--all", "--json"]);
    assert_eq!(
        (&answer["removed"], &answer["untold"]),
        (&json!([]), &json!(["mine"]))
    );
    kill(waiter.id() as i32, CONT);
    let ran = Ran::end_of(waiter);
    assert_eq!((ran.code, ran.stdout.as_str()), (5, "last\n"));
    assert_eq!(removed(&world, &["--all"]), ["mine"]);
}
