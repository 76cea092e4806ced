//! `live` and `ended` are not synced to disk. After a restart, the next verb rebuilds both from the jobs.

use super::ended;
use crate::adoption::rewrite;
use outlive_testkit::processes::kill;
use outlive_testkit::ran::{Ran, ids_of};
use outlive_testkit::records::names_in;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::trace::strace;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;

const BEFORE: &str = "00000000-0000-0000-0000-000000000000";

/// Removes everything from `live` and `ended`, as a power loss may do.
fn forget_all(world: &World) {
    for directory in ["live", "ended"] {
        for name in names_in(&world.home().join(directory)) {
            fs::remove_file(world.home().join(directory).join(name)).unwrap();
        }
    }
}

fn restart(world: &World) {
    fs::write(world.home().join("boot"), BEFORE).unwrap();
}

#[test]
fn what_a_power_loss_took_from_live_and_ended_is_listed_after_the_restart() {
    let world = World::new();
    let over = ended(&world, &[]);
    let ran = sleeper(&world, &[]);
    let leader = world.leader(&ran);
    world.kill_both(&ran);
    rewrite(&world, &ran, "accepted", |accepted| {
        accepted["boot"] = json!(BEFORE)
    });
    forget_all(&world);
    restart(&world);
    let listed = world.listed(&[]);
    assert!(
        listed.contains(&over) && listed.contains(&ran),
        "{listed:?}"
    );
    assert_eq!(world.show(&over)["exit_code"], 0);
    assert_eq!(world.show(&ran)["outcome"]["kind"], "lost");
    // The job is in the history again and no longer in `live`.
    assert_eq!(world.listed(&["--state", "running"]), Vec::<String>::new());
    assert_eq!(names_in(&world.home().join("live")), Vec::<String>::new());
    assert_eq!(world.listed(&[]).len(), 2);
    kill(leader, 9);
}

#[test]
fn all_jobs_are_scanned_once_per_boot() {
    let world = World::new();
    ended(&world, &[]);
    forget_all(&world);
    // During one boot nothing can get lost, so `list` does not search the job directories.
    assert_eq!(world.listed(&[]), Vec::<String>::new());
    restart(&world);
    assert_eq!(world.listed(&[]).len(), 1);
    forget_all(&world);
    assert_eq!(world.listed(&[]), Vec::<String>::new());
}

#[test]
fn a_job_that_cannot_be_linked_again_is_listed_all_the_same() {
    needs!(Strace);
    let world = World::new();
    let over = ended(&world, &[]);
    forget_all(&world);
    restart(&world);
    let list = world.command(["list", "--state", "all", "--json"]);
    let full = "inject=link,linkat,symlink,symlinkat:error=ENOSPC";
    let ran = Ran::of(&mut strace(
        &list,
        &world.path("trace"),
        &["-f", "-e", full],
    ));
    assert_eq!(ran.code, 0, "{ran:?}");
    let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ids_of(&listed), std::slice::from_ref(&over));
    assert_eq!(names_in(&world.home().join("live")), Vec::<String>::new());
    // Once there is space, the job is still listed.
    assert_eq!(world.listed(&[]), [over]);
}

/// What may be left of a journal if the power fails just after the start: nothing, zeros, or only the first line.
#[test]
fn a_reset_just_after_the_start_is_recorded_as_a_restart() {
    for left in ["nothing", "zeros", "first line"] {
        let world = World::new();
        let id = sleeper(&world, &[]);
        let leader = world.leader(&id);
        world.kill_both(&id);
        rewrite(&world, &id, "accepted", |accepted| {
            accepted["boot"] = json!(BEFORE)
        });
        let journal = world.job_dir(&id).join("journal");
        let text = fs::read(&journal).unwrap();
        let end = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let bytes = match left {
            "nothing" => Vec::new(),
            "zeros" => vec![0; text.len()],
            _ => [&text[..end], &vec![0; text.len() - end]].concat(),
        };
        fs::write(&journal, bytes).unwrap();
        // The journal was written before this machine was last started.
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let file = fs::File::options().append(true).open(&journal).unwrap();
        file.set_modified(long_ago).unwrap();
        restart(&world);
        let job = world.show(&id);
        assert_eq!(job["outcome"]["kind"], "lost", "{left}: {job}");
        let reason = job["outcome"]["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("the machine was restarted"),
            "{left}: {reason}"
        );
        kill(leader, 9);
    }
}
