#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::*;
use crate::places::Settings;
use outlive_core::place::Address;
use outlive_sys::control::{Listener, Read};
use std::thread;

/// What a call comes to if the courier answers it like this.
fn called(call: Call, reply: &Reply) -> PlaceError {
    let world = tempfile::tempdir().unwrap();
    let outlive = Outlive::open_at(world.path().join("home")).unwrap();
    let place = Place {
        name: "cmd:x".to_owned(),
        address: Address::parse("cmd:x").unwrap(),
        settings: Settings::default(),
    };
    let directory = records::make_directory(&outlive, &place).unwrap();
    let listener = Listener::bind(&directory, records::SOCKET).unwrap();
    let line = format!("{}\n", serde_json::to_string(reply).unwrap());
    let courier = thread::spawn(move || {
        let readable = [(listener.as_fd(), Interest::Readable)];
        poll::wait(&readable, None).unwrap();
        let client = listener.accept().unwrap().unwrap();
        poll::wait(&[(client.as_fd(), Interest::Readable)], None).unwrap();
        assert!(matches!(client.read(&mut [0; 4096]), Ok(Read::Bytes(_))));
        client.write(line.as_bytes()).unwrap();
    });
    let error = super::call(&outlive, &place, call, Duration::from_secs(10)).unwrap_err();
    courier.join().unwrap();
    match error {
        Error::Place(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn a_change_whose_answer_was_lost_is_not_called_unsent() {
    let lost = Reply::Lost(Unreached::TimedOut);
    let unreached = Reply::Unreached(Unreached::TimedOut);
    let remove = || Call::Remove { jobs: Vec::new() };
    let error = called(remove(), &lost);
    assert!(matches!(error, PlaceError::Unanswered { .. }), "{error}");
    let error = called(remove(), &unreached);
    assert!(matches!(error, PlaceError::Unreached { .. }), "{error}");
    let error = called(Call::Doctor, &lost);
    assert!(matches!(error, PlaceError::Unreached { .. }), "{error}");
}
