//! The journals of all jobs, record by record, whoever dies.

use super::id;
use outlive_core::Size;
use outlive_core::control::Request;
use outlive_core::far::{Answer, Call, FromJournals, HOME_GONE, Opening, Standing, ToJournals};
use outlive_core::wire::{Frame, Kind};
use outlive_testkit::checks::keepings;
use outlive_testkit::processes::is_alive;
use outlive_testkit::waiting::until;
use outlive_testkit::wire_client::WireClient;
use outlive_testkit::world::World;
use std::fs;
use std::thread;

/// The lines of the journal there.
fn lines(world: &World, job: &str) -> Vec<String> {
    let text = fs::read_to_string(world.job_dir(job).join("journal")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn records_come_as_they_are_there_and_once() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["sh", "-c", "echo a; sleep 0.05"]);
    assert_eq!(far.until_over("job"), lines(&world, "job"));
    // From a number on, and again if it is asked for again.
    let count = lines(&world, "job").len();
    far.follow("job", count as u64 - 2);
    let expected = [
        &lines(&world, "job")[..],
        &lines(&world, "job")[count - 2..],
    ]
    .concat();
    let again = far.until_records("job", |records| records.len() >= expected.len());
    assert_eq!(again, expected);
}

#[test]
fn what_is_not_there_is_gone_and_jobs_of_others_are_not_there() {
    let world = World::new();
    world.ok(&["run", "--id", "own", "--", "sleep", "60"]);
    let mut far = WireClient::greeted(&world);
    for job in ["none", "own"] {
        far.follow(job, 0);
        let gone = FromJournals::Gone { job: id(job) };
        until("it is said to be gone", || far.told().contains(&gone));
        let control = far.open(&Opening::Control { job: id(job) });
        assert_eq!(far.ended(control).unwrap_err().code, "no_such_job");
        let look = far.call(Call::Look { job: id(job) });
        assert_eq!(look.unwrap_err().code, "no_such_job");
    }
    world.ok(&["stop", "own"]);
}

/// A disk that is away is no verdict about the jobs on it. The courier ends the wire.
#[test]
fn nothing_is_said_of_jobs_whose_home_has_vanished() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["true"]);
    far.until_over("job");
    fs::rename(world.home(), world.path("away")).unwrap();
    let calls = || {
        let jobs = || vec![id("job")];
        [
            Call::Standing { jobs: jobs() },
            Call::Remove { jobs: jobs() },
            Call::Look { job: id("job") },
        ]
    };
    for asked in calls() {
        assert_eq!(far.call(asked).unwrap_err().code, HOME_GONE);
    }
    // As a mount point looks from which the disk has gone.
    fs::create_dir_all(world.home().join("jobs")).unwrap();
    for asked in calls() {
        assert_eq!(far.call(asked).unwrap_err().code, HOME_GONE);
    }
    let control = far.open(&Opening::Control { job: id("job") });
    assert_eq!(far.ended(control).unwrap_err().code, HOME_GONE);
    far.follow("job", 0);
    assert_eq!(far.ended(far.journals).unwrap_err().code, HOME_GONE);
    assert!(!far.told().contains(&FromJournals::Gone { job: id("job") }));
    fs::remove_dir_all(world.home()).unwrap();
    fs::rename(world.path("away"), world.home()).unwrap();
    let mut far = WireClient::greeted(&world);
    let standing = far.call(Call::Standing {
        jobs: vec![id("job"), id("none")],
    });
    let expected = vec![Standing::There, Standing::NotThere];
    assert_eq!(standing, Ok(Answer::Standing(expected)));
    far.follow("job", 0);
    let expected = lines(&world, "job");
    let records = far.until_records("job", |records| records.len() >= expected.len());
    assert_eq!(records, expected);
}

/// Every answer of a keeper comes after the records that it speaks of.
#[test]
fn records_come_before_the_answers_that_speak_of_them() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["sleep", "60"]);
    let control = far.open(&Opening::Control { job: id("job") });
    far.send(&request(
        control,
        &Request::Resize {
            size: Size::parse("80x24").unwrap(),
        },
    ));
    far.until_data(control, "a refusal", |data| data.ends_with(b"\n"));
    far.send(&request(
        control,
        &Request::Stop {
            grace_ms: Some(500),
            detail: None,
            session: None,
        },
    ));
    far.ended(control).unwrap();
    let frames = far.frames();
    let place = |is: &dyn Fn(&Frame) -> bool| frames.iter().position(is).unwrap();
    let stopped = place(&|frame| {
        frame.stream == control && String::from_utf8_lossy(&frame.payload).contains("stopped")
    });
    let ended = place(&|frame| {
        frame.stream == far.journals
            && String::from_utf8_lossy(&frame.payload).contains("\\\"ended\\\"")
    });
    assert!(ended < stopped, "{frames:?}");
    assert_eq!(far.until_over("job"), lines(&world, "job"));
}

fn request(stream: u64, request: &Request) -> Frame {
    let mut line = serde_json::to_vec(request).unwrap();
    line.push(b'\n');
    Frame::new(stream, Kind::Data, line)
}

#[test]
fn a_follow_that_was_sent_before_a_call_counts_for_its_answer() {
    let world = World::new();
    let mut first = WireClient::greeted(&world);
    first.launch("job", &["sleep", "60"]);
    let expected = lines(&world, "job");
    first.kill();
    let mut far = WireClient::greeted(&world);
    far.follow("job", 1);
    far.call(Call::Standing {
        jobs: vec![id("job")],
    })
    .unwrap();
    let records = far.records("job");
    assert!(records.starts_with(&expected[1..]), "{records:?}");
}

#[test]
fn the_next_far_end_goes_on_where_a_killed_one_was() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["sh", "-c", "sleep 60"]);
    let before = far.until_records("job", |records| records.len() >= 4);
    far.kill();
    assert!(is_alive(world.leader("job")));
    let mut far = WireClient::greeted(&world);
    far.follow("job", before.len() as u64);
    let control = far.open(&Opening::Control { job: id("job") });
    far.send(&request(
        control,
        &Request::Stop {
            grace_ms: Some(500),
            detail: None,
            session: None,
        },
    ));
    let after = far.until_over("job");
    assert_eq!([before, after].concat(), lines(&world, "job"));
}

#[test]
fn a_job_whose_keepers_were_killed_is_adopted() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["sleep", "60"]);
    far.until_records("job", |records| records.len() >= 4);
    world.kill_both("job");
    far.until_records("job", |records| records.last().unwrap().contains("adopted"));
    assert_eq!(keepings(&world, "job"), ["launched", "adopted"]);
    world.ok(&["stop", "job"]);
    assert_eq!(far.until_over("job"), lines(&world, "job"));
    until("what it started is reaped", || {
        children(far.pid()).is_empty()
    });
}

/// The processes that this one has not waited for, zombies too.
fn children(pid: i32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn many_jobs_are_followed_at_once_and_left_one_by_one() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    let jobs: Vec<String> = (0..20).map(|number| format!("job{number}")).collect();
    for job in &jobs {
        far.launch(
            job,
            &["sh", "-c", "[ $OUTLIVE_JOB = job7 ] && sleep 60; echo done"],
        );
    }
    let left = id("job7");
    far.ask_journals(&ToJournals::Leave { job: left.clone() });
    thread::scope(|scope| {
        for job in jobs.iter().filter(|job| **job != "job7") {
            scope.spawn(|| assert_eq!(far.until_over(job), lines(&world, job)));
        }
    });
    far.call(Call::Standing { jobs: vec![left] }).unwrap();
    let before = far.records("job7");
    world.ok(&["stop", "job7"]);
    world.until_over("job7");
    far.call(Call::Standing { jobs: Vec::new() }).unwrap();
    assert_eq!(far.records("job7"), before);
}
