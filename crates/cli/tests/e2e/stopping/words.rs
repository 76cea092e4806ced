//! `stop` of ended jobs and of several jobs, its text, and wrong usage.

use outlive_testkit::checks::signaled;
use outlive_testkit::processes::is_alive;
use outlive_testkit::ran::ids_of;
use outlive_testkit::scripts::{IGNORES, started};
use outlive_testkit::world::World;
use std::path::Path;

#[test]
fn stopping_an_ended_job_says_so_and_is_no_error() {
    let world = World::new();
    let id = world.shell("exit 3");
    world.wait(&id);
    let before = world.journal(&id);
    let ran = world.outlive(&["stop", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stderr, format!("outlive: {id} had already ended\n"));
    assert_eq!(world.journal(&id), before);
    assert_eq!(world.show(&id)["ended_by"], "itself");
}

#[test]
fn several_jobs_are_stopped_within_one_grace() {
    let world = World::new();
    let ids: Vec<String> = (0..5)
        .map(|_| started(&world, &["--grace", "800ms"], IGNORES))
        .collect();
    let mut args = vec!["stop", "--json"];
    args.extend(ids.iter().map(String::as_str));
    let answer = world.json(&args);
    assert_eq!(ids_of(&answer), ids);
    for job in answer["jobs"].as_array().unwrap() {
        assert_eq!(job["outcome"], signaled("SIGKILL"));
    }
    // Every job got its stop request before the first was killed.
    let at = |id: &String, kind| world.boot_ms(id, kind);
    let asked = ids.iter().map(|id| at(id, "stop_requested")).max();
    let ended = ids.iter().map(|id| at(id, "ended")).min();
    assert!(asked < ended, "{asked:?} {ended:?}");
}

#[test]
fn one_job_stopped_is_one_job_in_json() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let job = world.job(&["stop", "--json", &id]);
    assert_eq!(job["id"], id.as_str());
    assert_eq!(job["state"], "ended");
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(job["exit_code"], 143);
    assert!(job["ended_by_detail"].is_string());
    assert!(job["usage"].is_object());
}

#[test]
fn a_stop_in_words_names_the_job_and_its_outcome() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let said = world.ok(&["stop", &id]);
    assert!(
        said.starts_with(&format!("{id} SIGTERM (stopped) after ")),
        "{said}"
    );
}

#[test]
fn kill_is_another_word_for_stop() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    world.ok(&["kill", &id]);
    assert_eq!(world.show(&id)["ended_by"], "stop");
}

#[test]
fn a_name_or_the_beginning_of_an_id_is_enough_to_stop_a_job() {
    let world = World::new();
    let named = world.ok(&["run", "--name", "server", "--", "sleep", "60"]);
    let long = world.ok(&["run", "--id", "zebra-crossing", "--", "sleep", "60"]);
    world.ok(&["stop", "server", "zeb"]);
    assert_eq!(world.show(&named)["ended_by"], "stop");
    assert_eq!(world.show(&long)["ended_by"], "stop");
}

#[test]
fn one_unknown_job_among_those_to_stop_stops_none() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let ran = world.outlive(&["stop", &id, "nonesuch"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("nonesuch"), "{ran:?}");
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn a_malformed_stop_is_wrong_usage_and_changes_nothing() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    for args in [
        &["stop"][..],
        &["stop", &id, "--grace", "soon"],
        &["stop", &id, "--grace", "-1"],
    ] {
        assert_eq!(world.outlive(args).code, 2, "{args:?}");
    }
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn stop_waits_until_nothing_is_left() {
    let world = World::new();
    let ids: Vec<String> = (0..8)
        .map(|_| world.shell("sleep 60 & sleep 60 & sleep 60"))
        .collect();
    for id in &ids {
        let leader = world.leader(id);
        world.ok(&["stop", id]);
        assert!(!is_alive(leader));
        let keepers = world.pair(id);
        let left: Vec<i32> = world
            .processes()
            .into_iter()
            .filter(|pid| belongs_to(*pid, &world.job_dir(id)))
            .filter(|pid| *pid != keepers.keeper && Some(*pid) != keepers.standby)
            .collect();
        assert_eq!(left, [0; 0]);
    }
}

fn belongs_to(pid: i32, directory: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    outlive_sys::process::started_with(pid, "OUTLIVE_JOB_DIR")
        .ok()
        .flatten()
        .is_some_and(|mark| mark == directory.as_os_str().as_bytes())
}
