//! What the courier has safely is told: nobody there waits for it, and its job can be removed.

use super::id;
use outlive_core::far::{Answer, Call};
use outlive_testkit::waiting::until;
use outlive_testkit::wire_client::{WireClient, session_of};
use outlive_testkit::world::World;

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
