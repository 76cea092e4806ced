//! Whatever a courier sends, a far end refuses it in words or leaves. It does not crash.

use super::id;
use outlive_core::far::{Call, Opening, ToJournals};
use outlive_core::wire::{Frame, Kind, MAX_PAYLOAD, WINDOW};
use outlive_testkit::checks::every;
use outlive_testkit::wire_client::WireClient;
use outlive_testkit::world::World;

/// What `outlive-far` exits with after it has said what was wrong.
const WRONG: Option<i32> = Some(125);

#[test]
fn what_is_no_frame_ends_the_wire() {
    let long = format!("1 data {}\n", MAX_PAYLOAD + 1);
    let cases: [&[u8]; 6] = [
        b"Welcome to gpu1\n",
        b"99999999999999999999999 open 0\n\n",
        b"1 open 2\n{}x",
        long.as_bytes(),
        b"1 data 0\n\n",
        &[0xff; 4096],
    ];
    every(
        &cases,
        |bytes| String::from_utf8_lossy(bytes).into_owned(),
        |bytes| {
            let world = World::new();
            let mut far = WireClient::start(&world);
            far.write(bytes).unwrap();
            assert_eq!(far.until_gone().code(), WRONG);
        },
    );
}

/// The first stream of each case is a long call, whose rest is waited for.
#[test]
fn frames_that_make_no_sense_end_the_wire() {
    let flood =
        (0..20 * WINDOW / MAX_PAYLOAD).map(|_| Frame::new(7, Kind::Data, vec![0; MAX_PAYLOAD]));
    let cases = [
        vec![Frame::new(7, Kind::Open, "{}")],
        vec![Frame::new(3, Kind::Open, "{}")],
        vec![Frame::new(7, Kind::Room, "many")],
        vec![Frame::new(9, Kind::Shut, [])],
        flood.collect(),
    ];
    every(
        &cases,
        |frames| format!("{:?}", frames[0]),
        |frames| {
            let world = World::new();
            let mut far = WireClient::start(&world);
            far.hello("place").unwrap();
            far.send(&Frame::new(7, Kind::Open, "\"long_call\""));
            frames.iter().for_each(|frame| far.send(frame));
            if frames.len() == 1 {
                assert_eq!(far.until_gone().code(), WRONG);
            }
        },
    );
}

#[test]
fn nothing_is_served_before_the_hello_and_there_is_one() {
    let world = World::new();
    let mut far = WireClient::start(&world);
    let refused = far.call(Call::Doctor).unwrap_err();
    assert_eq!(refused.code, "refused");
    let journals = far.open(&Opening::Journals);
    assert_eq!(far.ended(journals).unwrap_err().code, "refused");
    for place in ["..", "a/b", "", &"x".repeat(201)] {
        let mut far = WireClient::start(&world);
        assert_eq!(far.hello(place).unwrap_err().code, "bad_input", "{place:?}");
    }
    far.hello("place").unwrap();
    assert_eq!(far.hello("place").unwrap_err().code, "refused");
    let journals = far.open(&Opening::Journals);
    let second = far.open(&Opening::Journals);
    assert_eq!(far.ended(second).unwrap_err().code, "refused");
    assert!(
        far.call(Call::Standing { jobs: Vec::new() }).is_ok(),
        "{journals}"
    );
    assert!(far.leave().success());
}

/// Otherwise a job here and its copy at the place would be one directory.
#[test]
fn the_home_of_the_asker_is_no_place() {
    let world = World::new();
    let mut far = WireClient::start(&world);
    let instance = far.hello("place").unwrap().instance;
    let mut far = WireClient::start(&world);
    far.home = instance.home;
    let refused = far.hello("place").unwrap_err();
    assert_eq!(refused.code, "bad_input");
    assert!(
        refused.message.contains("also the home here"),
        "{refused:?}"
    );
}

#[test]
fn an_opening_that_cannot_be_read_ends_its_stream_only() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    let deep = "[".repeat(60_000);
    for payload in ["", "{}", "null", r#"{"control":{"job":"../x"}}"#, &deep] {
        let stream = far.open_raw(payload.as_bytes());
        assert_eq!(
            far.ended(stream).unwrap_err().code,
            "bad_input",
            "{payload:.40}"
        );
    }
    assert!(far.call(Call::Standing { jobs: Vec::new() }).is_ok());
}

#[test]
fn a_wrong_request_for_journals_ends_the_wire() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.ask_journals(&ToJournals::Leave { job: id("none") });
    far.send(&Frame::new(far.journals, Kind::Data, "{}\n"));
    assert_eq!(far.until_gone().code(), WRONG);
}

/// Who only asks fills no memory: the wire ends.
#[test]
fn who_asks_without_reading_loses_the_wire() {
    let world = World::new();
    let mut far = WireClient::deaf(&world);
    let pings = Frame::new(0, Kind::Ping, []).encode().repeat(10_000);
    while far.write(&pings).is_ok() {}
    far.until_gone();
}
