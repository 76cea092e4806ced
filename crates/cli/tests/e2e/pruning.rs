//! `prune` removes what it may, and nothing else.

use crate::world::{World, is_alive, kill, until};
use outlive_sys::procfs;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

// By age, count, size.

#[test]
fn by_age_from_the_end() {
    let world = World::new();
    let old = ended_ago(&world, 3 * 60 * 60 * 1000);
    let young = ended_ago(&world, 60 * 60 * 1000);
    assert_eq!(removed(&world, &["--older-than", "4h"]), [""; 0]);
    assert_eq!(removed(&world, &["--older-than", "2h"]), [old.as_str()]);
    assert!(!world.job_dir(&old).exists());
    assert_eq!(world.show(&young)["state"], "ended");
}

#[test]
fn age_counts_from_the_end_and_not_from_the_start() {
    let world = World::new();
    let id = ended_ago(&world, 0);
    // It started a month ago and ended just now.
    set_wall(&world, &id, |kind, wall| match kind {
        "ended" | "closed" => wall,
        _ => wall - 30 * DAY_MS,
    });
    assert_eq!(removed(&world, &["--older-than", "1m"]), [""; 0]);
    // The directory's own times tell nothing either.
    touch(&world.job_dir(&id), "1 month ago");
    assert_eq!(removed(&world, &[]), [""; 0]);
}

#[test]
fn without_a_word_those_older_than_seven_days_go() {
    let world = World::new();
    let eight = ended_ago(&world, 8 * DAY_MS);
    let six = ended_ago(&world, 6 * DAY_MS);
    assert_eq!(removed(&world, &[]), [eight.as_str()]);
    assert!(world.job_dir(&six).exists());
}

#[test]
fn by_count_the_newest_ends_stay() {
    let world = World::new();
    // Ended in another order than started.
    let ids: Vec<String> = [3, 1, 4, 2]
        .map(|hours| ended_ago(&world, hours * 60 * 60 * 1000))
        .to_vec();
    let running = sleeper(&world, &[]);
    assert_eq!(removed(&world, &["--keep", "4"]), [""; 0]);
    assert_eq!(
        removed(&world, &["--keep", "2"]),
        [ids[2].as_str(), &ids[0]],
        "the oldest ends, oldest first"
    );
    assert_eq!(
        removed(&world, &["--keep", "0"]),
        [ids[3].as_str(), &ids[1]]
    );
    assert_eq!(world.show(&running)["state"], "running");
}

#[test]
fn by_size_the_oldest_go_until_the_rest_fits() {
    let world = World::new();
    let ids: Vec<String> = (0..4)
        .map(|_| {
            let id = over(&world, &["--", "head", "-c", "1000000", "/dev/zero"]);
            assert_eq!(world.show(&id)["output"]["bytes"], 1_000_000);
            id
        })
        .collect();
    assert_eq!(removed(&world, &["--max-size", "5M"]), [""; 0]);
    let answer = world.json(&["prune", "--json", "--max-size", "2500K"]);
    assert_eq!(answer["removed"], json!([ids[0], ids[1]]));
    let freed = answer["freed_bytes"].as_u64().unwrap();
    assert!((2_000_000..2_200_000).contains(&freed), "{freed}");
    assert_eq!(
        removed(&world, &["--max-size", "0"]),
        [ids[2].as_str(), &ids[3]]
    );
}

#[test]
fn all_is_all_that_has_ended() {
    let world = World::new();
    let running = sleeper(&world, &[]);
    let mut ended: Vec<String> = (0..3).map(|_| over(&world, &["--", "true"])).collect();
    ended.push(not_started(&world));
    let mut gone = removed(&world, &["--all"]);
    gone.sort();
    ended.sort();
    assert_eq!(gone, ended);
    assert_eq!(names_in(&world.home().join("jobs")), [running.as_str()]);
    assert_eq!(
        removed(&world, &["--all"]),
        [""; 0],
        "already so is no error"
    );
}

#[test]
fn what_any_option_names_goes() {
    let world = World::new();
    let old = ended_ago(&world, 3 * DAY_MS);
    let middle = ended_ago(&world, 2 * DAY_MS);
    let new = ended_ago(&world, 0);
    assert_eq!(
        removed(&world, &["--older-than", "60h", "--keep", "1"]),
        [old.as_str(), &middle]
    );
    assert!(world.job_dir(&new).exists());
}

#[test]
fn wrong_words_remove_nothing() {
    let world = World::new();
    let id = over(&world, &["--", "true"]);
    for args in [
        &["prune", "--older-than", "yesterday"][..],
        &["prune", "--keep", "-1"],
        &["prune", "--max-size", "lots"],
        &["prune", "--everything"],
        &["prune", &id],
    ] {
        assert_eq!(world.outlive(args).code, 2, "{args:?}");
    }
    assert!(world.job_dir(&id).exists());
}

#[test]
fn the_answer_says_what_was_done() {
    let world = World::new();
    let id = over(&world, &["--", "true"]);
    let answer = world.json(&["prune", "--all", "--json"]);
    assert_eq!(answer["removed"], json!([id]));
    assert!(answer["freed_bytes"].as_u64().unwrap() > 0);
    assert_eq!(answer["untold"], json!([]));
    assert_eq!(answer["unreadable"], json!([]));
    over(&world, &["--", "true"]);
    let said = world.ok(&["prune", "--all"]);
    assert!(said.starts_with("removed 1, "), "{said}");
}

// Never what runs.

#[test]
fn a_running_job_stays_whatever_is_asked() {
    let world = World::new();
    let id = sleeper(&world, &["--name", "dev", "--session", "s"]);
    for args in [
        &["--all", "--force"][..],
        &["--keep", "0", "--force"],
        &["--max-size", "0", "--force"],
        &["--older-than", "0", "--force"],
    ] {
        assert_eq!(removed(&world, args), [""; 0], "{args:?}");
    }
    assert_eq!(world.show("dev")["state"], "running");
    world.ok(&["stop", &id]);
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
}

#[test]
fn a_job_of_which_something_lingers_stays() {
    let world = World::new();
    let id = world.shell("setsid sleep 60 & exit 0");
    world.wait(&id);
    set_wall(&world, &id, |_, wall| wall - 30 * DAY_MS);
    for args in [
        &[][..],
        &["--all"],
        &["--all", "--force"],
        &["--keep", "0", "--force"],
    ] {
        assert_eq!(removed(&world, args), [""; 0], "{args:?}");
    }
    assert_eq!(world.show(&id)["lingering"], 1);
    world.ok(&["stop", &id]);
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
}

#[test]
fn a_running_job_whose_spec_is_damaged_stays_even_when_forced() {
    let world = World::new();
    let id = sleeper(&world, &[]);
    let pid = world.show(&id)["pid"].as_i64().unwrap() as i32;
    fs::write(world.job_dir(&id).join("spec.json"), "garbage").unwrap();
    let answer = world.json(&["prune", "--all", "--force", "--json"]);
    assert_eq!(answer["removed"], json!([]));
    assert!(world.job_dir(&id).join("journal").exists());
    assert!(is_alive(pid));
}

#[test]
fn a_job_whose_keepers_were_killed_is_not_taken_for_ended() {
    let world = World::new();
    let id = sleeper(&world, &[]);
    let pair = world.pair(&id);
    let leader = world.show(&id)["pid"].as_i64().unwrap() as i32;
    for pid in [pair.standby.unwrap(), pair.keeper] {
        kill(pid, 9);
        until("it is dead", || !is_alive(pid));
    }
    assert_eq!(removed(&world, &["--all", "--force"]), [""; 0]);
    assert_eq!(world.show(&id)["pid"], leader);
}

// Never what nobody was told.

#[test]
fn a_session_that_was_not_told_keeps_its_job() {
    let world = World::new();
    let id = untold(&world, &[]);
    let ran = world.outlive(&["prune", "--all", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("nobody has been told"), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["removed"], json!([]));
    assert_eq!(answer["untold"], json!([id]));
    assert_eq!(removed(&world, &["--keep", "0"]), [""; 0]);
    assert_eq!(removed(&world, &["--all", "--force"]), [id.as_str()]);
}

#[test]
fn looking_at_a_job_is_not_being_told() {
    let world = World::new();
    let id = untold(&world, &[]);
    world.show(&id);
    world.ok(&["list", "--session", "s"]);
    world.ok(&["wait", "--timeout", "5s"]);
    assert_eq!(removed(&world, &["--all"]), [""; 0]);
}

#[test]
fn whoever_waited_was_told() {
    let world = World::new();
    let id = untold(&world, &[]);
    world.ok(&["wait", &id]);
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
}

#[test]
fn whoever_ran_out_of_time_was_not_told() {
    let world = World::new();
    let gate = world.path("gate");
    let script = format!("until [ -e {} ]; do sleep 0.02; done", gate.display());
    let id = world.ok(&["run", "--session", "s", "--shell", &script]);
    assert_eq!(world.outlive(&["wait", &id, "--timeout", "50ms"]).code, 124);
    fs::write(&gate, "").unwrap();
    until_over(&world, &id);
    assert_eq!(removed(&world, &["--all"]), [""; 0]);
}

#[test]
fn whoever_stopped_a_job_or_stayed_with_it_was_told() {
    let world = World::new();
    let stopped = sleeper(&world, &["--session", "s"]);
    world.ok(&["stop", &stopped]);
    world.ok(&[
        "run",
        "--session",
        "s",
        "--id",
        "stayed",
        "--wait",
        "--",
        "true",
    ]);
    until_over(&world, &stopped);
    until_over(&world, "stayed");
    let mut gone = removed(&world, &["--all"]);
    gone.sort();
    assert_eq!(gone, [stopped.as_str(), "stayed"]);
}

#[test]
fn a_session_that_never_wants_to_be_told_does_not_keep_its_jobs() {
    let world = World::new();
    let id = untold(&world, &["--notify", "never"]);
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
}

#[test]
fn an_untold_job_does_not_keep_others() {
    let world = World::new();
    let kept = untold(&world, &[]);
    let gone = over(&world, &["--", "true"]);
    assert_eq!(removed(&world, &["--all"]), [gone.as_str()]);
    assert!(world.job_dir(&kept).exists());
}

// What goes with a job.

#[test]
fn the_links_of_a_removed_job_go_with_it() {
    let world = World::new();
    let labels = ["--name", "my/dev", "--session", "s:1", "--task", "t"];
    let id = over(&world, &[&labels[..], &["--", "true"]].concat());
    let home = world.home();
    assert_eq!(names_in(&home.join("names")).len(), 1);
    assert_eq!(names_in(&home.join("sessions")).len(), 1);
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
    for place in ["jobs", "live", "names", "sessions"] {
        assert_eq!(names_in(&home.join(place)), [""; 0], "{place}");
    }
    assert_eq!(world.json(&["list", "--json"]), json!({ "jobs": [] }));
    for text in [&id, "my/dev"] {
        assert_eq!(world.outlive(&["show", text]).code, 3);
    }
}

#[test]
fn a_name_that_a_newer_job_has_stays() {
    let world = World::new();
    let old = over(&world, &["--name", "dev", "--session", "s", "--", "true"]);
    let new = sleeper(&world, &["--name", "dev", "--session", "s"]);
    assert_eq!(removed(&world, &["--all"]), [old.as_str()]);
    assert_eq!(world.show("dev")["id"], new.as_str());
    assert_eq!(names_in(&world.home().join("sessions/s")), [new.as_str()]);
}

#[test]
fn an_id_is_free_again_once_its_job_is_removed() {
    let world = World::new();
    over(&world, &["--id", "again", "--session", "s", "--", "true"]);
    assert_ne!(
        world.outlive(&["run", "--id", "again", "--", "true"]).code,
        0
    );
    removed(&world, &["--all"]);
    let id = over(&world, &["--id", "again", "--", "sh", "-c", "exit 7"]);
    assert_eq!(world.show(&id)["exit_code"], 7);
}

#[test]
fn the_ends_of_a_day_go_once_all_its_jobs_are_gone() {
    let world = World::new();
    let id = ended_ago(&world, 9 * DAY_MS);
    let other = over(&world, &["--", "true"]);
    let day = |ago: u64| {
        world
            .home()
            .join(format!("ended/{}", (now_ms() - ago) / DAY_MS))
    };
    fs::write(day(9 * DAY_MS), format!("1 {id}\n")).unwrap();
    fs::write(day(8 * DAY_MS), format!("1 {other}\n")).unwrap();
    assert_eq!(removed(&world, &[]), [id.as_str()]);
    assert!(!day(9 * DAY_MS).exists());
    assert!(day(8 * DAY_MS).exists(), "one of its jobs is still there");
}

#[test]
fn what_pruners_left_half_removed_is_swept() {
    let world = World::new();
    let gone = world.home().join("jobs/.gone-abc-0001");
    over(&world, &["--", "true"]);
    fs::create_dir(&gone).unwrap();
    fs::write(gone.join("output"), "x").unwrap();
    world.ok(&["prune"]);
    assert!(!gone.exists());
}

#[test]
fn what_dead_launchers_left_is_swept_once_it_is_old() {
    let world = World::new();
    over(&world, &["--", "true"]);
    let make = |name: &str| {
        let path = world.home().join("jobs").join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("lock"), "").unwrap();
        path
    };
    let fresh = make(".new-fresh-1-0001");
    let old = make(".new-old-1-0002");
    touch(&old, "2 hours ago");
    world.ok(&["prune"]);
    assert!(fresh.exists());
    assert!(!old.exists());
}

#[test]
fn files_that_are_not_ours_are_left_alone() {
    let world = World::new();
    over(&world, &["--", "true"]);
    let jobs = world.home().join("jobs");
    fs::create_dir(jobs.join(".hidden")).unwrap();
    fs::write(jobs.join("README of mine"), "x").unwrap();
    world.ok(&["prune", "--all", "--force"]);
    assert_eq!(names_in(&jobs), [".hidden", "README of mine"]);
}

#[test]
fn a_job_that_cannot_be_read_goes_only_when_forced() {
    let world = World::new();
    let id = over(&world, &["--", "true"]);
    let good = over(&world, &["--", "true"]);
    fs::write(world.job_dir(&id).join("spec.json"), "garbage").unwrap();
    let ran = world.outlive(&["prune", "--all", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains(&id), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["removed"], json!([good]));
    assert_eq!(answer["unreadable"], json!([id]));
    assert_eq!(removed(&world, &["--force"]), [id.as_str()]);
    assert_eq!(names_in(&world.home().join("jobs")), [""; 0]);
}

// While others start, run and prune.

#[test]
fn pruning_while_jobs_are_launched_harms_none() {
    let world = World::new();
    let done = AtomicBool::new(false);
    let pruned = thread::scope(|scope| {
        let pruner = scope.spawn(|| prune_until(&world, &done));
        let stop = SetOnDrop(&done);
        for n in 0..20 {
            let session = format!("s{n}");
            // Once this one is told and removed, its session is empty for a moment.
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
        assert!(world.home().join("live").join(&id).exists());
        assert!(world.home().join(format!("sessions/s{n}/{id}")).exists());
    }
    assert_eq!(world.show("dev")["id"], "j19");
}

/// Prunes again and again; returns all that was removed.
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
    until_over(&world, "mine");
    world.ok(&["prune", "--all"]);
    kill(launcher.id() as i32, 18);
    let output = launcher.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!((output.status.code(), said.as_ref()), (Some(0), "mine\n"));
}

/// Lets the other thread end also when this one panics.
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
        kill(launcher.id() as i32, 18);
        assert_eq!(launcher.wait().unwrap().code(), Some(0), "{place}");
        assert_eq!(world.show("mine")["state"], "running", "{place}");
        assert!(world.home().join("sessions/s/mine").exists(), "{place}");
    }
}

/// A launcher that is stopped at this place.
fn stopped_at(world: &World, place: &str, args: &[&str]) -> Child {
    let launcher = world
        .command([&["run"], args].concat())
        .env("OUTLIVE_HOOKS", format!("launcher:{place}=stop"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = launcher.id() as i32;
    until("the launcher is at the hook", || {
        procfs::stat(pid).is_some_and(|stat| stat.state == b'T')
    });
    launcher
}

/// The directory of the job `mine`, named or not.
fn only_launching(world: &World) -> PathBuf {
    let jobs = world.home().join("jobs");
    let mine = |name: &String| name == "mine" || name.starts_with(".new-mine-");
    jobs.join(names_in(&jobs).into_iter().find(mine).unwrap())
}

#[test]
fn a_session_directory_removed_in_the_middle_of_a_launch_is_made_again() {
    let world = World::new();
    over(&world, &["--session", "s", "--", "true"]);
    // The second link of a launch is its session's: its making is held up while prune removes the
    // session's last other job, and with it the directory.
    let launcher = slowed(
        &world.command(["run", "--session", "s", "--id", "mine", "--", "sleep", "60"]),
        &world.path("trace"),
        &[],
        "symlink,symlinkat:delay_enter=1000000:when=2",
    )
    .spawn()
    .unwrap();
    until("the launch has got to its links", || {
        world.home().join("live/mine").symlink_metadata().is_ok()
    });
    world.ok(&["prune", "--all"]);
    let output = launcher.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""));
    assert_eq!(world.show("mine")["state"], "running");
    assert!(world.home().join("sessions/s/mine").exists());
}

/// The command with some of its system calls on these paths (all, if none is given) held up.
fn slowed(command: &Command, trace: &Path, paths: &[PathBuf], inject: &str) -> Command {
    let calls = inject.split(':').next().unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-q", "-o"]).arg(trace);
    for path in paths {
        strace.arg("-P").arg(path);
    }
    strace
        .args(["-e", &format!("trace={calls}")])
        .args(["-e", &format!("inject={inject}")])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(key, value),
            None => strace.env_remove(key),
        };
    }
    strace
}

#[test]
fn a_home_that_is_half_made_is_pruned_without_an_error() {
    let world = World::new();
    fs::create_dir_all(world.home().join("jobs")).unwrap();
    let ran = world.outlive(&["prune", "--all"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    // And it can still be finished by a launch.
    over(&world, &["--", "true"]);
}

#[test]
fn several_pruners_at_once_are_all_content() {
    let world = World::new();
    let mut ids: Vec<String> = (0..40).map(|_| world.ok(&["run", "--", "true"])).collect();
    for id in &ids {
        until_over(&world, id);
    }
    let pruners: Vec<Child> = (0..4)
        .map(|_| {
            world
                .command(["prune", "--all", "--json"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut gone = Vec::new();
    for pruner in pruners {
        let output = pruner.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        gone.extend(texts(&answer["removed"]));
    }
    gone.sort();
    ids.sort();
    assert_eq!(gone, ids, "each removed by one of them");
    assert_eq!(names_in(&world.home().join("jobs")), [""; 0]);
}

#[test]
fn a_job_removed_while_it_is_being_listed_is_no_damage() {
    let world = World::new();
    let id = over(&world, &["--", "true"]);
    let (trace, dir) = (world.path("trace"), world.job_dir(&id));
    let list = slowed(
        &world.command(["list", "--json"]),
        &trace,
        &[dir.join("spec.json"), dir.join("journal")],
        "openat:delay_enter=1000000:when=2",
    )
    .spawn()
    .unwrap();
    until("list has read the spec", || {
        fs::read_to_string(&trace).is_ok_and(|calls| calls.contains("spec.json"))
    });
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
    let output = list.wait_with_output().unwrap();
    let (said, wrote) = (
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout),
    );
    assert_eq!((said.as_ref(), wrote.as_ref()), ("", "{\"jobs\":[]}\n"));
    assert_eq!(output.status.code(), Some(0));
}

// Small things.

/// What a prune with these options removes.
fn removed(world: &World, args: &[&str]) -> Vec<String> {
    let answer = world.json(&[&["prune", "--json"], args].concat());
    texts(&answer["removed"])
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap();
    list.iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

/// A job that has ended, of which nothing is left and whose end was told.
fn over(world: &World, args: &[&str]) -> String {
    let id = world.ok(&[&["run"], args].concat());
    world.wait(&id);
    until_over(world, &id);
    id
}

fn until_over(world: &World, id: &str) {
    until("it is over", || {
        world
            .home()
            .join("live")
            .join(id)
            .symlink_metadata()
            .is_err()
    });
}

/// A session's job whose end nobody was told.
fn untold(world: &World, options: &[&str]) -> String {
    let id = world.ok(&[&["run", "--session", "s"], options, &["--", "true"]].concat());
    until_over(world, &id);
    id
}

fn not_started(world: &World) -> String {
    let ran = world.outlive(&["run", "--id", "broken", "--", "/no/such/program"]);
    assert_eq!(ran.code, 127, "{ran:?}");
    "broken".to_owned()
}

fn sleeper(world: &World, options: &[&str]) -> String {
    world.ok(&[&["run"], options, &["--", "sleep", "60"]].concat())
}

/// A job that ended this long ago.
fn ended_ago(world: &World, ms: u64) -> String {
    let id = over(world, &["--", "true"]);
    set_wall(world, &id, |_, wall| wall - ms);
    id
}

/// Changes when the events of a job happened.
fn set_wall(world: &World, id: &str, change: impl Fn(&str, u64) -> u64) {
    let mut text = String::new();
    for mut record in world.journal(id) {
        let kind = match record["event"].as_str() {
            Some(kind) => kind.to_owned(),
            None => record["event"]
                .as_object()
                .unwrap()
                .keys()
                .next()
                .unwrap()
                .clone(),
        };
        let wall = record["at"]["wall_ms"].as_u64().unwrap();
        record["at"]["wall_ms"] = json!(change(&kind, wall));
        text.push_str(&format!("{record}\n"));
    }
    fs::write(world.job_dir(id).join("journal"), text).unwrap();
}

fn now_ms() -> u64 {
    let since: Duration = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis() as u64
}

/// Sets a directory's time of change.
fn touch(path: &Path, when: &str) {
    let done = Command::new("touch")
        .args(["-d", when])
        .arg(path)
        .status()
        .unwrap();
    assert!(done.success());
}

/// The names in a directory, sorted.
fn names_in(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
