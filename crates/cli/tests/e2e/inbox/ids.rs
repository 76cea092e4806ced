//! An ID belongs to one job at a time. A session is never told of another session's job, and an ack for an earlier job
//! does not count for a later job with the same ID.

use super::{
    Consumer, ME, ack, assert_nothing_waits, end_event, ended, event_ids, inbox, inbox_of,
    only_event, post, try_to_post, waiting,
};
use outlive_testkit::processes::{CONT, STOP, begin, kill, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;

const THIEF: &str = "thief";

fn start(world: &World, session: &str, script: &str) -> Ran {
    world.outlive(&[
        "run",
        "--session",
        session,
        "--id",
        "mine",
        "--shell",
        script,
    ])
}

/// Runs a job with the ID `mine` to its end; returns the ID of the end event.
fn made(world: &World, script: &str) -> String {
    let ran = start(world, ME, script);
    assert_eq!(ran.code, 0, "{ran:?}");
    world.until_over("mine");
    end_event(world, "mine")
}

#[test]
fn a_session_that_was_refused_an_id_is_not_told_of_its_job() {
    let world = World::new();
    let event = made(&world, "exit 3");
    assert_eq!(start(&world, THIEF, "true").code, 125);
    for place in ["inbox", "sessions"] {
        assert!(!world.home().join(place).join(THIEF).exists(), "{place}");
    }
    assert_eq!(event_ids(&inbox_of(&world, THIEF, &[])), [""; 0]);
    assert_eq!(event_ids(&inbox(&world, &[])), [event]);
}

/// A launcher that is killed before it cleans up leaves its link behind. The first release left such links too.
#[test]
fn a_link_to_another_sessions_job_tells_nothing_and_silences_nobody() {
    let world = World::new();
    let event = made(&world, "exit 3");
    let mut thief = world.command(["run", "--session", THIEF, "--id", "mine", "--", "true"]);
    let thief = Ran::of(thief.env("OUTLIVE_HOOKS", "launcher:Refused=kill"));
    assert_eq!(thief.code, 137, "{thief:?}");
    let link = world.home().join("inbox").join(THIEF).join("mine");
    assert!(link.is_symlink());
    let dropped = world.json(&["session", "end", THIEF, "--drop", "--json"]);
    assert_eq!(dropped["dropped"], 0, "{dropped}");
    for _ in 0..9 {
        assert_eq!(
            event_ids(&inbox_of(&world, THIEF, &["--claim", "1ms"])),
            [""; 0]
        );
    }
    assert!(!link.is_symlink());
    assert_eq!(event_ids(&inbox(&world, &[])), [event]);
}

#[test]
fn a_late_ack_does_not_count_for_the_next_job_of_that_id() {
    let world = World::new();
    let first = made(&world, "true");
    ack(&world, &first);
    world.ok(&["prune", "--all"]);
    let second = made(&world, "exit 7");
    assert_ne!(first, second);
    let ran = world.outlive(&["inbox", "--session", ME, "--ack", &first]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let event = only_event(&inbox(&world, &[]));
    assert_eq!(event["event"], json!(second));
    assert_eq!(event["data"]["exit_code"], 7);
}

/// The consumer finds the job's file and is suspended before it acks. Meanwhile that job was pruned and another job
/// has its ID.
#[test]
fn a_delayed_ack_does_not_count_for_the_job_that_replaced_its_own() {
    let world = World::new();
    made(&world, "true");
    let mut command = world.command(["inbox", "--session", ME, "--json", "--ack-all"]);
    command.env("OUTLIVE_HOOKS", "consumer:Delivered=stop");
    let late = Consumer::begin(command);
    until_stopped(late.pid());
    world.ok(&["prune", "--all", "--force"]);
    let second = made(&world, "exit 7");
    kill(late.pid(), CONT);
    late.answer();
    assert_eq!(event_ids(&inbox(&world, &[])), [second]);
}

/// One of two jobs is removed after its event was delivered and before the ack.
#[test]
fn a_removed_job_does_not_keep_others_from_being_acked() {
    let world = World::new();
    let gone = world.ok(&["run", "--session", ME, "--id", "a", "--", "true"]);
    world.until_over(&gone);
    let stays = world.ok(&["run", "--session", ME, "--id", "b", "--", "true"]);
    world.until_over(&stays);
    let mut command = world.command(["inbox", "--session", ME, "--json", "--ack-all"]);
    command.env("OUTLIVE_HOOKS", "consumer:Delivered=stop");
    let consumer = Consumer::begin(command);
    until_stopped(consumer.pid());
    std::fs::remove_dir_all(world.job_dir(&gone)).unwrap();
    kill(consumer.pid(), CONT);
    let ran = consumer.end();
    assert!(ran.code == 125 && ran.stderr.contains("/a/told"), "{ran:?}");
    assert_nothing_waits(&world);
}

#[test]
fn a_job_whose_links_were_swept_during_its_launch_is_told() {
    let world = World::new();
    world.ok(&["run", "--", "true"]);
    let mut launcher = world.command(["run", "--session", ME, "--id", "mine", "--", "false"]);
    launcher.env("OUTLIVE_HOOKS", "launcher:Linked=stop");
    let launcher = begin(launcher);
    until_stopped(launcher.id() as i32);
    for place in ["inbox/me/mine", "sessions/me/mine", "live/mine"] {
        let link = world.home().join(place);
        let touched = std::process::Command::new("touch")
            .args(["-h", "-d", "2 minutes ago"])
            .arg(&link)
            .status();
        assert!(touched.unwrap().success());
    }
    world.ok(&["prune"]);
    assert!(!world.home().join("inbox/me").exists(), "it was swept up");
    kill(launcher.id() as i32, CONT);
    assert_eq!(Ran::end_of(launcher).code, 0);
    world.until_over("mine");
    assert_eq!(event_ids(&inbox(&world, &[])), [end_event(&world, "mine")]);
    assert_eq!(names_in(&world.home().join("sessions/me")), ["mine"]);
}

/// The keeper is still removing the job's names. If the job were pruned now, another job could get its ID.
#[test]
fn a_job_whose_keeper_still_clears_up_is_not_pruned() {
    let world = World::new();
    let ran = Ran::of(
        world
            .command(["run", "--id", "mine", "--", "true"])
            .env("OUTLIVE_HOOKS", "keeper:Noted=stop"),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let keeper = world.until_keeper_stops("mine");
    let pruned = world.json(&["prune", "--all", "--json"]);
    assert_eq!(
        (&pruned["removed"], &pruned["busy"]),
        (&json!([]), &json!(["mine"]))
    );
    kill(keeper, CONT);
    world.until_nothing_runs();
    let pruned = world.json(&["prune", "--all", "--json"]);
    assert_eq!(pruned["removed"], json!(["mine"]));
}

/// A job may create anything in its own directory.
#[test]
fn a_record_that_cannot_be_used_is_moved_aside_and_blocks_nothing() {
    let world = World::new();
    for what in [
        "mkdir $OUTLIVE_JOB_DIR/told && touch $OUTLIVE_JOB_DIR/told/x",
        "mkfifo $OUTLIVE_JOB_DIR/told",
        "ln -s told $OUTLIVE_JOB_DIR/told",
    ] {
        let (hostile, other) = (ended(&world, what), ended(&world, "true"));
        let mut events = [end_event(&world, &hostile), end_event(&world, &other)];
        events.sort();
        let ran = world.outlive(&["inbox", "--session", ME, "--json", "--ack-all"]);
        let answer = serde_json::from_str(&ran.stdout).unwrap();
        let mut told = event_ids(&answer);
        told.sort();
        assert_eq!(told, events, "{what}: {ran:?}");
        assert!(ran.stderr.contains("moved aside"), "{what}: {ran:?}");
        assert_nothing_waits(&world);
    }
}

#[test]
fn a_post_of_an_id_that_another_session_has_is_refused() {
    let world = World::new();
    let first = post(&world, &json!({}), &["--id", "mine"]);
    let file = world.path("post.json");
    fs::write(&file, "{}").unwrap();
    let path = file.to_str().unwrap();
    let args = ["post", "--session", THIEF, "--id", "mine", path];
    let ran = world.outlive(&args);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("another session"), "{ran:?}");
    assert_eq!(waiting(&world, THIEF), 0);
    ack(&world, &first);
    world.ok(&["prune", "--all"]);
    assert_eq!(world.outlive(&args).code, 125, "also once it was pruned");
}

#[test]
fn a_post_that_was_told_and_pruned_is_not_told_again() {
    let world = World::new();
    let first = post(&world, &json!({}), &["--id", "mine"]);
    ack(&world, &first);
    world.ok(&["prune", "--all"]);
    let ran = try_to_post(&world, "{}", &["--id", "mine"]);
    assert_eq!(
        (ran.code, ran.stdout.trim_end()),
        (0, first.as_str()),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("posted before"), "{ran:?}");
    assert_nothing_waits(&world);
}

/// The power failed before the links were synced to the disk.
#[test]
fn after_a_power_loss_the_inbox_finds_what_it_had() {
    let world = World::new();
    let posted = post(&world, &json!({}), &[]);
    let gate = outlive_testkit::gate::Gate::new(&world);
    let id = world.ok(&["run", "--session", ME, "--shell", &gate.then("exit 3")]);
    for lost in ["inbox", "live", "sessions"] {
        fs::remove_dir_all(world.home().join(lost)).unwrap();
        // The standby may make it again: it links a new job once more, a moment after the start.
        fs::create_dir_all(world.home().join(lost)).unwrap();
    }
    fs::remove_file(world.home().join("boot")).unwrap();
    assert_eq!(event_ids(&inbox(&world, &[])), [posted]);
    gate.open();
    let event = only_event(&inbox(&world, &["--wait=20s"]));
    assert_eq!(event["event"], json!(end_event(&world, &id)));
    assert_eq!(world.listed(&["--session", ME, "--state", "all"]), [id]);
}

/// The consumer was suspended until its claim had expired and another consumer had told the event.
#[test]
fn a_consumer_delayed_past_its_claim_delivers_nothing() {
    let world = World::new();
    let event = end_event(&world, &ended(&world, "true"));
    let args = ["inbox", "--session", ME, "--json", "--claim", "300ms"];
    let mut command = world.command(args);
    command.env("OUTLIVE_HOOKS", "consumer:Confirming=stop");
    let late = Consumer::begin(command);
    until_stopped(late.pid());
    let answer = inbox(&world, &["--wait=20s", "--ack-all"]);
    assert_eq!(event_ids(&answer), [event]);
    kill(late.pid(), CONT);
    assert_eq!(late.answer(), json!({ "events": [] }));
}

/// The waiter's answer tells the session the end, so the inbox does not deliver it meanwhile. If the waiter dies, the
/// inbox does.
#[test]
fn the_inbox_leaves_an_end_to_its_waiter_unless_the_waiter_dies() {
    for dies in [false, true] {
        let world = World::new();
        let gate = outlive_testkit::gate::Gate::new(&world);
        let id = world.ok(&["run", "--session", ME, "--shell", &gate.then("exit 3")]);
        let mut wait = world.command(["wait", &id]);
        wait.env("OUTLIVE_SESSION", ME);
        let mut wait = begin(wait);
        outlive_testkit::processes::until_blocked(wait.id() as i32);
        kill(wait.id() as i32, STOP);
        gate.open();
        world.until_over(&id);
        assert_eq!(
            event_ids(&inbox(&world, &[])),
            [""; 0],
            "it is left to the waiter"
        );
        if dies {
            wait.kill().unwrap();
            wait.wait().unwrap();
            let event = only_event(&inbox(&world, &["--wait=20s"]));
            assert_eq!(event["event"], json!(end_event(&world, &id)));
        } else {
            kill(wait.id() as i32, CONT);
            assert_eq!(Ran::end_of(wait).code, 3);
            assert_nothing_waits(&world);
        }
    }
}

/// The poster is suspended after it found no earlier post with its ID. Meanwhile that post is made, told and pruned.
#[test]
fn a_poster_that_is_held_up_while_its_post_is_told_and_pruned_posts_nothing() {
    let world = World::new();
    let file = world.path("late.json");
    fs::write(&file, "{}").unwrap();
    let mut late = world.command(["post", "--session", ME, "--id", "mine"]);
    late.arg(&file).env("OUTLIVE_HOOKS", "poster:Written=stop");
    let late = begin(late);
    until_stopped(late.id() as i32);
    let first = post(&world, &json!({}), &["--id", "mine"]);
    ack(&world, &first);
    world.ok(&["prune", "--all"]);
    kill(late.id() as i32, CONT);
    let ran = Ran::end_of(late);
    assert_eq!(
        (ran.code, ran.stdout.trim_end()),
        (0, first.as_str()),
        "{ran:?}"
    );
    assert_nothing_waits(&world);
}

#[test]
fn a_post_that_was_removed_by_force_before_it_was_told_may_be_posted_again() {
    let world = World::new();
    post(&world, &json!({}), &["--id", "mine"]);
    world.ok(&["prune", "--all", "--force"]);
    let second = post(&world, &json!({}), &["--id", "mine"]);
    assert_eq!(event_ids(&inbox(&world, &[])), [second]);
}

/// The job and the post are made at the same time: each finds the ID free first.
#[test]
fn a_job_and_a_post_cannot_share_an_id() {
    let world = World::new();
    world.ok(&["run", "--", "true"]);
    let mut launcher = world.command(["run", "--session", THIEF, "--id", "mine", "--", "true"]);
    launcher.env("OUTLIVE_HOOKS", "launcher:Linked=stop");
    let launcher = begin(launcher);
    until_stopped(launcher.id() as i32);
    let posted = post(&world, &json!({}), &["--id", "mine"]);
    kill(launcher.id() as i32, CONT);
    let ran = Ran::end_of(launcher);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("belongs to a posted event"), "{ran:?}");
    assert_eq!(event_ids(&inbox_of(&world, THIEF, &[])), [""; 0]);
    assert_eq!(event_ids(&inbox(&world, &[])), [posted]);
    assert!(!world.job_dir("mine").exists());

    let world = World::new();
    let file = world.path("late.json");
    fs::write(&file, "{}").unwrap();
    let mut poster = world.command(["post", "--session", THIEF, "--id", "mine"]);
    poster
        .arg(&file)
        .env("OUTLIVE_HOOKS", "poster:Written=stop");
    let poster = begin(poster);
    until_stopped(poster.id() as i32);
    let event = made(&world, "true");
    kill(poster.id() as i32, CONT);
    assert_eq!(Ran::end_of(poster).code, 125);
    assert_eq!(event_ids(&inbox_of(&world, THIEF, &[])), [""; 0]);
    assert_eq!(event_ids(&inbox(&world, &[])), [event]);
}

/// The history still has an ended job with the same ID.
#[test]
fn after_a_power_loss_a_job_whose_id_was_used_before_is_found_too() {
    let world = World::new();
    let first = made(&world, "true");
    ack(&world, &first);
    world.ok(&["prune", "--all"]);
    let gate = outlive_testkit::gate::Gate::new(&world);
    assert_eq!(start(&world, ME, &gate.then("exit 3")).code, 0);
    for lost in ["inbox", "live", "sessions"] {
        fs::remove_dir_all(world.home().join(lost)).unwrap();
        // The standby may make it again: it links a new job once more, a moment after the start.
        fs::create_dir_all(world.home().join(lost)).unwrap();
    }
    fs::remove_file(world.home().join("boot")).unwrap();
    assert_eq!(world.listed(&[]), ["mine"]);
    gate.open();
    let event = only_event(&inbox(&world, &["--wait=20s"]));
    assert_eq!(event["event"], json!(end_event(&world, "mine")));
}

#[test]
fn a_session_that_was_dropped_gets_no_link_back() {
    let world = World::new();
    let gate = outlive_testkit::gate::Gate::new(&world);
    let id = world.ok(&["run", "--session", ME, "--shell", &gate.then("true")]);
    world.ok(&["session", "end", ME, "--drop"]);
    gate.open();
    world.until_over(&id);
    world.until_nothing_runs();
    assert!(!world.home().join("inbox").join(ME).exists());
}

/// Claims that expire at once deliver nothing. They must not cause an endless loop either.
#[test]
fn a_claim_of_zero_length_expires() {
    let world = World::new();
    super::configure(&world, "[inbox]\nclaim = \"0.4ms\"\n");
    ended(&world, "true");
    assert_eq!(world.outlive(&["inbox", "--session", ME]).code, 0);
}

/// A consumer appends to a job's files. It must not follow a link that the job put in the place of such a file.
#[test]
fn a_link_in_the_place_of_a_record_is_not_followed() {
    let world = World::new();
    let victim = world.path("victim");
    for file in ["told", "journal"] {
        fs::write(&victim, "precious").unwrap();
        let script = format!(
            "cd $OUTLIVE_JOB_DIR; rm -f {file}; ln -s {} {file}; exit 5",
            victim.display()
        );
        world.ok(&["run", "--session", ME, "--shell", &script]);
        world.until_nothing_runs();
        for args in [
            &["list", "--state", "all"][..],
            &["inbox", "--session", ME, "--ack-all"],
        ] {
            world.outlive(args);
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{file}");
    }
}
