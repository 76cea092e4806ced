//! What is removed by itself, and what never is.

use super::{configure, ended_days_ago, existing, exists, make_due, old, start};
use outlive_testkit::records::names_in;
use outlive_testkit::scripts::{over, sleeper};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;

#[test]
fn jobs_go_a_month_after_their_end() {
    let world = World::new();
    let ids = [29, 31, 400].map(|days| old(&world, days));
    let long = world.ok(&["run", "--", "sleep", "600"]);
    let new = start(&world);
    assert_eq!(existing(&world, &ids), [&ids[0]]);
    assert!(exists(&world, &new) && exists(&world, &long));
    let listed = world.listed(&["--limit", "all"]);
    assert!(!listed.contains(&ids[1]), "{listed:?}");
    // Nothing of them is left, not even in the list of ends.
    assert_eq!(names_in(&world.home().join("ended")).len(), 2);
}

#[test]
fn the_oldest_go_when_there_are_too_many_but_none_of_the_last_day() {
    let world = World::new();
    configure(&world, "[retention]\njobs = 3\n");
    let ids: Vec<String> = [2, 6, 3, 5, 4].map(|days| old(&world, days)).into();
    let fresh = [(); 2].map(|()| over(&world, &["--", "true"]));
    start(&world);
    // Two fresh ones, and of the others the newest. The job of the start itself has not ended in time, or has.
    let kept = existing(&world, &ids);
    assert!(kept == [&ids[0]] || kept.is_empty(), "{kept:?}");
    assert_eq!(existing(&world, &fresh).len(), 2);

    configure(&world, "[retention]\njobs = 1\n");
    start(&world);
    assert_eq!(existing(&world, &ids), [""; 0]);
    assert_eq!(existing(&world, &fresh).len(), 2, "ended today");
}

#[test]
fn the_oldest_go_when_all_take_too_much_space() {
    let world = World::new();
    configure(&world, "[retention]\nsize = \"5M\"\n");
    let write = ["--", "head", "-c", "2000000", "/dev/urandom"];
    let ids: Vec<String> = [4, 3, 2]
        .map(|days| ended_days_ago(&world, &write, days))
        .into();
    start(&world);
    assert_eq!(existing(&world, &ids), [&ids[1], &ids[2]]);
    configure(&world, "[retention]\nsize = \"1G\"\n");
    start(&world);
    assert_eq!(existing(&world, &ids).len(), 2);
}

#[test]
fn what_somebody_may_still_need_is_kept() {
    let world = World::new();
    configure(&world, "[retention]\nage = \"2d\"\njobs = 1\n");
    let untold = world.ok(&["run", "--session", "s", "--", "true"]);
    world.until_over(&untold);
    super::age(&world, &untold, 5);
    let held = old(&world, 5);
    let spec = world.job_dir(&held).join("spec.json");
    let spec = spec.to_str().unwrap();
    // As a client does that waits for the job.
    let script = "import fcntl,struct,sys,time\nf=open(sys.argv[1])\n\
                  fcntl.fcntl(f,37,struct.pack('hhqqi',fcntl.F_RDLCK,0,0,0,0))\nprint('held',flush=True)\ntime.sleep(600)";
    let holder = world.ok(&["run", "--", "python3", "-c", script, spec]);
    until("the job is held", || world.output(&holder) == b"held\n");
    let lingering = world.ok(&["run", "--shell", "sleep 600 & exit 0"]);
    world.ok(&["wait", &lingering]);
    let gone = old(&world, 5);
    start(&world);
    assert!(!exists(&world, &gone));
    for id in [&untold, &held, &holder, &lingering] {
        assert!(exists(&world, id), "{id}");
    }
    // Once the session was told and nobody waits, they go.
    world.ok(&["inbox", "--session", "s", "--ack-all"]);
    world.ok(&["stop", &holder]);
    start(&world);
    assert!(!exists(&world, &untold) && !exists(&world, &held));
}

#[test]
fn old_posts_that_were_told_go_too() {
    let world = World::new();
    let post = |id: &str| {
        let file = world.path("post.json");
        let at = "2020-01-01T00:00:00Z";
        let event = json!({"id": id, "kind": "delegation", "outcome": "completed", "summary": "x", "ended_at": at});
        fs::write(&file, event.to_string()).unwrap();
        world.ok(&["post", "--session", "s", file.to_str().unwrap()]);
    };
    post("told");
    world.ok(&["inbox", "--session", "s", "--ack-all"]);
    post("untold");
    over(&world, &["--", "true"]);
    configure(&world, "[retention]\nage = \"1ms\"\n");
    start(&world);
    assert_eq!(
        names_in(&world.home().join("posts"))
            .iter()
            .filter(|name| !name.starts_with('.'))
            .count(),
        1
    );
    let inbox = world.ok(&["inbox", "--session", "s", "--peek"]);
    assert!(inbox.contains("untold"), "{inbox}");
}

#[test]
fn it_can_be_switched_off_as_a_whole_or_by_limit() {
    let world = World::new();
    let id = old(&world, 400);
    for off in [
        "enabled = false",
        "age = 0\njobs = 0\nsize = 0",
        "age = \"0\"\njobs = 5",
    ] {
        configure(&world, &format!("[retention]\n{off}\n"));
        start(&world);
        assert!(exists(&world, &id), "{off}");
    }
    configure(&world, "");
    start(&world);
    assert!(!exists(&world, &id));
}

#[test]
fn a_job_of_a_wrong_clock_is_judged_by_its_own_record() {
    let world = World::new();
    sleeper(&world, &[]);
    let id = over(&world, &["--", "true"]);
    // Only the list says that it ended long ago.
    let directory = world.home().join("ended");
    let day = directory.join(&names_in(&directory)[0]);
    let text = fs::read_to_string(&day).unwrap();
    fs::remove_file(&day).unwrap();
    let line = text.lines().find(|line| line.ends_with(&id)).unwrap();
    let (_, name) = line.split_once(' ').unwrap();
    fs::write(directory.join("1"), format!("86400001 {name}\n")).unwrap();
    make_due(&world);
    start(&world);
    assert!(exists(&world, &id));
}
