//! What `outlive rpc` takes reads back, has its defaults, and refuses what it does not know.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use outlive_api::event_id::EventId;
use outlive_api::id::JobId;
use outlive_api::label::Label;
use outlive_api::labels::LabelFilter;
use outlive_api::request::Selector;
use outlive_api::rpc::{
    AckAny, AnswerTo, Ask, Cancel, CheckPlaces, Executed, Find, FollowEvents, FollowJobs,
    FollowOutput, FollowUsage, LendPlace, OfPlace, RemovePlace, RequestId, Taken, ToldOf,
};
use outlive_api::schemas;
use outlive_api::streams::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json, to_value};
use std::fmt::Debug;
use std::time::Duration;

fn job() -> JobId {
    JobId::parse("job").unwrap()
}

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

/// Checks a type: it reads back, refuses unknown keys, and reads the least that can be written.
fn reads_back<T>(full: &T, least: (Value, T)) -> Value
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let written = to_value(full).unwrap();
    assert_eq!(&from_value::<T>(written.clone()).unwrap(), full);
    assert_eq!(from_value::<T>(least.0).unwrap(), least.1);
    let mut unknown = written.clone();
    unknown["unknown"] = json!(1);
    assert!(from_value::<T>(unknown.clone()).is_err(), "{unknown}");
    written
}

/// Checks a request of a verb: its JSON also sets every field of its schema.
fn check<T>(name: &str, full: &T, least: (Value, T))
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let written = reads_back(full, least);
    let all = schemas::requests();
    let schema = &all.iter().find(|named| named.name == name).unwrap().schema;
    for (key, property) in schema["properties"].as_object().unwrap() {
        let value = written.get(key).unwrap_or(&Value::Null);
        assert_ne!(value, &Value::Null, "{name}: {key} is not set");
        assert_ne!(Some(value), property.get("default"), "{name}: {key}");
    }
}

#[test]
fn requests_that_follow_something_read_back() {
    let output = FollowOutput {
        job: job(),
        from: 7,
        stream: Some(Stream::Stderr),
        apart: true,
    };
    let least = FollowOutput {
        job: job(),
        from: 0,
        stream: None,
        apart: false,
    };
    check(
        "follow_output_request",
        &output,
        (json!({"job": "job"}), least),
    );
    let events = FollowEvents {
        sessions: Some(vec![label("s")]),
        peek: true,
        claim: Some(Duration::from_secs(1)),
    };
    let least = FollowEvents::default();
    check("follow_events_request", &events, (json!({}), least));
    let jobs = FollowJobs {
        select: Selector {
            session: Some(label("s")),
            task: Some(label("t")),
            labels: vec![LabelFilter::parse("k=v").unwrap()],
            place: Some("gpu".to_owned()),
        },
        ended: 3,
    };
    check(
        "follow_jobs_request",
        &jobs,
        (json!({}), FollowJobs::default()),
    );
    let usage = FollowUsage {
        job: job(),
        every: Some(Duration::from_millis(100)),
    };
    let least = FollowUsage {
        job: job(),
        every: None,
    };
    check(
        "follow_usage_request",
        &usage,
        (json!({"job": "job"}), least),
    );
}

#[test]
fn other_requests_read_back() {
    let find = Find {
        text: "web".to_owned(),
        any_session: true,
    };
    let least = Find {
        text: "web".to_owned(),
        any_session: false,
    };
    check("find_request", &find, (json!({"text": "web"}), least));
    let ack = AckAny {
        session: Some(label("s")),
        events: vec![EventId::parse("job:7.k3f9x2").unwrap()],
        jobs: vec![job()],
        delivered: true,
    };
    check("ack_any_request", &ack, (json!({}), AckAny::default()));
    let places = CheckPlaces {
        places: vec!["gpu".to_owned()],
    };
    check(
        "place_check_request",
        &places,
        (json!({}), CheckPlaces::default()),
    );
    let place = "gpu".to_owned();
    let remove = RemovePlace {
        place: place.clone(),
        forget: true,
    };
    let least = RemovePlace {
        place: place.clone(),
        forget: false,
    };
    check(
        "place_remove_request",
        &remove,
        (json!({"place": "gpu"}), least),
    );
    let lend = LendPlace {
        name: label("box"),
        input: true,
        serial: true,
    };
    let least = LendPlace {
        name: label("box"),
        input: false,
        serial: false,
    };
    check("place_lend_request", &lend, (json!({"name": "box"}), least));
    let clean = OfPlace { place };
    check(
        "place_clean_request",
        &clean,
        (json!({"place": "gpu"}), clean.clone()),
    );
}

#[test]
fn messages_read_back() {
    let ask = Ask {
        id: RequestId::Text("a".to_owned()),
        verb: "send".to_owned(),
        request: json!({"job": "job"}),
        speaker: Some(label("s")),
        redact: true,
        window: Some(1),
        bytes: Some(2),
    };
    let least = Ask {
        id: RequestId::Number(1),
        verb: "list".to_owned(),
        request: Value::Null,
        speaker: None,
        redact: false,
        window: None,
        bytes: None,
    };
    let written = reads_back(&ask, (json!({"id": 1, "verb": "list"}), least));
    assert_eq!(written["as"], "s");
    let id = || RequestId::Number(1);
    reads_back(
        &Cancel { cancel: id() },
        (json!({"cancel": 1}), Cancel { cancel: id() }),
    );
    let taken = || Taken {
        taken: id(),
        sent: 3,
    };
    reads_back(&taken(), (json!({"taken": 1, "sent": 3}), taken()));
    let answer = AnswerTo {
        answer: id(),
        result: Executed {
            id: 7,
            output: "x".to_owned(),
            timed_out: true,
            error: Some("y".to_owned()),
            gone: true,
        },
    };
    let least = AnswerTo {
        answer: id(),
        result: Executed {
            id: 7,
            ..Executed::default()
        },
    };
    reads_back(&answer, (json!({"answer": 1, "result": {"id": 7}}), least));
    reads_back(
        &ToldOf { told: id() },
        (json!({"told": 1}), ToldOf { told: id() }),
    );
}
