//! What the courier has safely is told: nobody there waits for it, and its job can be removed.

use super::id;
use outlive_core::far::{Answer, Call, FromJournals};
use outlive_testkit::processes::kill;
use outlive_testkit::waiting::until;
use outlive_testkit::wire_client::{WireClient, session_of};
use outlive_testkit::world::World;

const CONTINUE: i32 = 18;

#[test]
fn a_job_can_be_removed_once_its_records_were_acked() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["true"]);
    let records = far.until_over("job");
    let link = world
        .home()
        .join("inbox")
        .join(session_of(&far.home).as_str())
        .join("job");
    assert!(link.symlink_metadata().is_ok());
    let jobs = || vec![id("job"), id("none")];
    let Ok(Answer::Removed { left }) = far.call(Call::Remove { jobs: jobs() }) else {
        panic!("no answer");
    };
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(world.job_dir("job").exists());
    far.ack("job", records.len() as u64);
    let removed = far.call(Call::Remove { jobs: jobs() });
    assert_eq!(removed, Ok(Answer::Removed { left: Vec::new() }));
    assert!(!world.job_dir("job").exists());
}

#[test]
fn acked_news_waits_for_nobody_there() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["true"]);
    let records = far.until_over("job");
    let session = session_of(&far.home);
    let link = world
        .home()
        .join("inbox")
        .join(session.as_str())
        .join("job");
    far.ack("job", 1);
    far.ack("job", records.len() as u64);
    // It records what was acked before it leaves.
    far.leave();
    until("the link is gone", || link.symlink_metadata().is_err());
    assert!(world.job_dir("job").exists());
}

/// The keeper is suspended after it has recorded the end, and before it has noted that elsewhere; the standby before it
/// syncs the names of the job.
#[test]
fn news_that_was_acked_before_the_keeper_had_done_with_the_end_waits_for_nobody_there() {
    let world = World::new();
    let mut far = WireClient::greeted_with(&world, |command| {
        command.env(
            "OUTLIVE_HOOKS",
            "keeper:EndedRecorded=stop,standby:Syncs=stop",
        );
    });
    far.launch("job", &["true"]);
    // The keeper tells nobody, and every answer about a job comes after its records.
    until("the end is recorded", || {
        let standing = far.call(Call::Standing {
            jobs: vec![id("job")],
        });
        assert!(standing.is_ok(), "{standing:?}");
        let records = far.records("job");
        records
            .last()
            .is_some_and(|last| last.contains("\"closed\""))
    });
    let records = far.records("job");
    let inbox = world
        .home()
        .join("inbox")
        .join(session_of(&far.home).as_str());
    let link = inbox.join("job");
    assert!(link.symlink_metadata().is_ok());
    far.finish("job", records.len() as u64);
    far.until_finished("job");
    assert!(link.symlink_metadata().is_err());
    assert!(!world.processes().is_empty(), "the keeper is suspended");
    // The standby may come to its step only now.
    until("nothing is left running", || {
        let left = world.processes();
        left.iter().for_each(|pid| kill(*pid, CONTINUE));
        left.is_empty()
    });
    assert!(link.symlink_metadata().is_err(), "it is not made again");
}

#[test]
fn the_last_ack_is_confirmed_however_often_it_comes() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["true"]);
    let records = far.until_over("job").len() as u64;
    for times in 1..=2 {
        far.finish("job", records);
        let finished = |told: &FromJournals| matches!(told, FromJournals::Finished { .. });
        until("it is confirmed", || {
            far.told().iter().filter(|told| finished(told)).count() == times
        });
    }
    // A job that is not there is owed nothing.
    far.finish("none", 7);
    far.until_finished("none");
    let removed = far.call(Call::Remove {
        jobs: vec![id("job")],
    });
    assert_eq!(removed, Ok(Answer::Removed { left: Vec::new() }));
    far.finish("job", records);
    assert!(far.call(Call::Standing { jobs: Vec::new() }).is_ok());
}

#[test]
fn a_job_that_runs_is_not_removed() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["sleep", "60"]);
    let answer = far
        .call(Call::Remove {
            jobs: vec![id("job")],
        })
        .unwrap();
    let expected = vec![(id("job"), "it is not over".to_owned())];
    assert_eq!(answer, Answer::Removed { left: expected });
}
