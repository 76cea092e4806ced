#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::*;
use crate::jobs::presence::{self, Presence};
use crate::places::{Place, Settings};
use outlive_core::far::Instance;
use outlive_core::place::Address;
use std::fs;
use std::sync::Arc;

/// The courier of a new home, which has placed these jobs.
pub fn courier_with(root: &std::path::Path, jobs: &[&str]) -> Arc<Courier> {
    let outlive = Outlive::open_at(root.join("home")).unwrap();
    outlive.prepare().unwrap();
    let place = Place {
        name: "cmd:x".to_owned(),
        address: Address::parse("cmd:x").unwrap(),
        settings: Settings::default(),
    };
    records::make_directory(&outlive, &place).unwrap();
    for job in jobs {
        let spec = serde_json::json!({
            "format": 1, "id": job, "incarnation": "abcd1234", "place": "cmd:x", "command": "true",
            "argv": ["true"], "cwd": "/", "grace_ms": 1, "notify": "end", "leftovers": "keep",
        });
        let dir = outlive.job_dir(&id(job));
        fs::create_dir(dir.path()).unwrap();
        fs::write(dir.spec(), spec.to_string()).unwrap();
        fs::write(dir.lock(), "").unwrap();
        fs::write(dir.journal(), "").unwrap();
        drop(records::Placing::begin(&dir, instance()).unwrap());
        fs::hard_link(dir.lock(), outlive.home().live_link(&id(job))).unwrap();
    }
    Arc::new(Courier::new(outlive, place, HomeId::from_bits(1)))
}

pub fn instance() -> Instance {
    Instance {
        home: HomeId::from_bits(2),
        root: "/far".into(),
        host: "far".to_owned(),
        machine: None,
        boot: "b".to_owned(),
        container: None,
    }
}

pub fn id(text: &str) -> JobId {
    JobId::parse(text).unwrap()
}

fn line(seq: u64, event: &str) -> String {
    format!(r#"{{"v":1,"seq":{seq},"at":{{"wall_ms":1,"boot_ms":1}},"event":{event}}}"#)
}

const ENDED: &str = r#"{"ended":{"outcome":{"kind":"exited","code":7},"ended_by":"itself","duration_ms":1,"output_bytes":0,"dropped_bytes":0,"lingering":0,"usage":null}}"#;
const CLOSED: &str = r#"{"closed":{"output_bytes":0,"dropped_bytes":0}}"#;
const ACCEPTED: &str = r#"{"accepted":{"boot":"b"}}"#;

fn journal_of(courier: &Courier, job: &str) -> String {
    fs::read_to_string(courier.outlive.job_dir(&id(job)).journal()).unwrap()
}

#[test]
fn only_new_records_of_jobs_that_are_followed_are_taken() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &["a", "b"]);
    courier.replicas.follow(&courier, &id("a")).unwrap();
    let injected =
        line(9, r#"{"log_base":{"offset":0,"from":0}}"#).replace(r#""log_base""#, "\n\"log_base\"");
    let unknown = r#"{"v":9,"seq":3,"at":{},"event":{"from_the_future":1}}"#;
    let ended_again = line(6, ENDED);
    let cases = [
        ("b", line(1, ACCEPTED), Taken::Ignored),
        ("none", line(1, ACCEPTED), Taken::Ignored),
        ("a", line(1, ACCEPTED), Taken::Appended),
        ("a", line(1, ACCEPTED), Taken::Ignored),
        ("a", "words".to_owned(), Taken::Ignored),
        ("a", injected, Taken::Ignored),
        ("a", line(u64::MAX, "\"started\""), Taken::Ignored),
        ("a", unknown.to_owned(), Taken::Appended),
        ("a", line(2, "\"started\""), Taken::Ignored),
        ("a", line(5, ENDED), Taken::Appended),
        ("a", ended_again, Taken::Ignored),
        ("a", line(7, CLOSED), Taken::Appended),
        ("a", line(8, "\"started\""), Taken::Ignored),
    ];
    for (job, text, expected) in &cases {
        let taken = courier.replicas.take(&courier, &id(job), text).unwrap();
        assert_eq!(taken, *expected, "{job}: {text}");
    }
    let taken = cases.iter().filter(|case| case.2 == Taken::Appended);
    let expected: String = taken.map(|(_, text, _)| format!("{text}\n")).collect();
    assert_eq!(journal_of(&courier, "a"), expected);
    assert_eq!(journal_of(&courier, "b"), "");
}

#[test]
fn a_line_that_was_cut_short_is_ended_and_its_record_is_taken_again() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &["a"]);
    let journal = courier.outlive.job_dir(&id("a")).journal();
    let first = line(1, ACCEPTED);
    fs::write(&journal, format!("{first}\n{{\"v\":1,\"seq\":2,")).unwrap();
    let after = courier.replicas.follow(&courier, &id("a")).unwrap();
    assert_eq!(after, Some(1));
    let second = line(2, "\"started\"");
    courier.replicas.take(&courier, &id("a"), &second).unwrap();
    let expected = format!("{first}\n{{\"v\":1,\"seq\":2,\n{second}\n");
    assert_eq!(journal_of(&courier, "a"), expected);
}

#[test]
fn what_somebody_else_has_appended_is_seen() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &["a"]);
    let job = id("a");
    courier.replicas.follow(&courier, &job).unwrap();
    let reason = "given up".to_owned();
    let at = clock::wall();
    note(
        &courier.outlive,
        &job,
        &PlacedStep::Lost {
            reason,
            at,
            heard_at: None,
        },
    )
    .unwrap();
    close(&courier, &job).unwrap();
    close(&courier, &job).unwrap();
    let before = journal_of(&courier, "a");
    assert_eq!(
        before.lines().count(),
        2,
        "ended and closed, once: {before}"
    );
    for seq in [1, 2, 3] {
        let taken = courier
            .replicas
            .take(&courier, &job, &line(seq, ENDED))
            .unwrap();
        assert_eq!(taken, Taken::Ignored);
    }
    assert_eq!(journal_of(&courier, "a"), before);
}

/// As `place remove --forget` leaves it, which settles the job with the same function.
#[test]
fn a_forgotten_job_that_has_ended_is_over() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &["a"]);
    let job = id("a");
    let dir = courier.outlive.job_dir(&job);
    fs::write(dir.journal(), format!("{}\n", line(1, ENDED))).unwrap();
    let reason = "given up".to_owned();
    let at = clock::wall();
    note(
        &courier.outlive,
        &job,
        &PlacedStep::Lost {
            reason,
            at,
            heard_at: None,
        },
    )
    .unwrap();
    let (presence, state) = presence::meet(&courier.outlive, &job).unwrap();
    assert_eq!((presence, state.is_final()), (Presence::Over, true));
}

/// Two places of this home, one of which claims to be the home of the other.
#[test]
fn what_a_place_says_of_the_jobs_of_another_one_counts_for_nothing() {
    let home = tempfile::tempdir().unwrap();
    let courier = courier_with(home.path(), &["a"]);
    let liar = Arc::new(Courier::new(
        courier.outlive.clone(),
        Place {
            name: "cmd:liar".to_owned(),
            ..courier.place.clone()
        },
        HomeId::from_bits(1),
    ));
    assert!(liar.replicas.follow(&liar, &id("a")).is_err());
    let line = line(1, r#"{"log_base":{"offset":0,"from":0}}"#);
    assert_eq!(
        liar.replicas.take(&liar, &id("a"), &line).unwrap(),
        Taken::Ignored
    );
    assert!(standing(&liar, &id("a")).is_none());
    assert!(standing(&courier, &id("a")).is_some());
}
