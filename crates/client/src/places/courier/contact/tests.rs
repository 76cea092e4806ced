#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::*;
use crate::places::courier::replicas::tests::{courier_with, id, instance};
use crate::places::records::{Known, PlacedStep};
use outlive_core::far::{FarClock, Instance};
use outlive_core::wire::{Decoder, Frame, Kind};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

mod launching;

fn greeting(instance: Instance, wire: u32) -> Greeting {
    Greeting {
        shown: false,
        wire,
        instance,
        epoch: 1,
        login_directory: "/".into(),
        shell: "sh".into(),
        user: "me".to_owned(),
        system: "Linux".to_owned(),
        clock: FarClock {
            wall_ms: clock::wall(),
            boot_ms: clock::boot(),
        },
        notes: Vec::new(),
    }
}

/// Serves a wire to a far end that answers the hello like this and then says these bytes on the stream of journals.
fn served(courier: &Arc<Courier>, greeting: Greeting, then: Vec<Frame>) -> Fault {
    let (mut there, input) = std::io::pipe().unwrap();
    let (output, mut back) = std::io::pipe().unwrap();
    let input = File::from(OwnedFd::from(input));
    let output = File::from(OwnedFd::from(output));
    let far = std::thread::spawn(move || {
        let mut decoder = Decoder::default();
        let mut buffer = [0; 4096];
        let mut opened = 0;
        while opened < 2 {
            match there.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => decoder.push(&buffer[..count]),
            }
            while let Ok(Some(frame)) = decoder.next_frame() {
                if frame.kind == Kind::Open {
                    opened += 1;
                }
                if frame.kind == Kind::Open && frame.stream == 1 {
                    let answer = serde_json::to_vec(&Answer::Hello(Box::new(greeting.clone())));
                    let said = Frame::new(1, Kind::Data, answer.unwrap());
                    back.write_all(&said.encode()).unwrap();
                    back.write_all(&Frame::new(1, Kind::End, []).encode())
                        .unwrap();
                }
            }
        }
        for frame in then {
            let _ = back.write_all(&frame.encode());
        }
    });
    let wire = begin(&input, false).unwrap();
    let by = clock::boot() + Duration::from_secs(10);
    let fault = serve(courier, &wire, &output, None, by).unwrap_err();
    drop((input, output));
    far.join().unwrap();
    fault
}

fn journals(text: &str) -> Frame {
    Frame::new(2, Kind::Data, text.as_bytes())
}

#[test]
fn another_home_at_the_address_is_no_place_of_its_jobs() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &["a"]);
    let known = Known {
        instance: instance(),
        heard_at: clock::wall(),
        unreached: None,
    };
    records::write_known(&courier.outlive, &courier.place, &known).unwrap();
    let other = Instance {
        home: outlive_core::far::HomeId::from_bits(3),
        ..instance()
    };
    let fault = served(&courier, greeting(other, WIRE), Vec::new());
    assert!(
        matches!(fault, Fault::Broken(Unreached::OtherInstance(_))),
        "{fault:?}"
    );
    let fault = served(&courier, greeting(instance(), WIRE), Vec::new());
    assert_eq!(fault, Fault::Ended);
}

#[test]
fn a_far_end_of_another_version_is_not_understood() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &[]);
    let fault = served(&courier, greeting(instance(), WIRE + 1), Vec::new());
    assert!(
        matches!(fault, Fault::Broken(Unreached::NotUnderstood(_))),
        "{fault:?}"
    );
    assert_eq!(records::read_known(&courier.outlive, &courier.place), None);
}

#[test]
fn a_far_end_that_breaks_the_rules_loses_its_wire() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &[]);
    let cases = [
        vec![journals("no json\n")],
        vec![
            journals(r#"{"record":{"job":"../../x","line":"{}"}}"#),
            journals("\n"),
        ],
        vec![Frame::new(7, Kind::Open, b"{}".as_slice())],
        vec![Frame::new(2, Kind::Room, b"many".as_slice())],
        vec![Frame::new(2, Kind::End, [])],
        (0..40).map(|_| journals(&"x".repeat(64 * 1024))).collect(),
    ];
    for frames in cases {
        let said = format!("{frames:?}");
        let fault = served(&courier, greeting(instance(), WIRE), frames);
        assert!(matches!(fault, Fault::Broken(_)), "{said}: {fault:?}");
    }
}

#[test]
fn what_a_far_end_says_of_jobs_that_it_does_not_have_is_no_news() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &["mine", "other"]);
    let at = clock::wall();
    replicas::note(&courier.outlive, &id("mine"), &PlacedStep::Answered { at }).unwrap();
    let record =
        r#"{\"v\":1,\"seq\":1,\"at\":{\"wall_ms\":1,\"boot_ms\":1},\"event\":\"started\"}"#;
    let said = ["mine", "other", "none"].map(|job| {
        journals(&format!(
            "{{\"record\":{{\"job\":\"{job}\",\"line\":\"{record}\"}}}}\n"
        ))
    });
    let fault = served(&courier, greeting(instance(), WIRE), said.to_vec());
    assert_eq!(fault, Fault::Ended);
    let journal = |job| fs::read_to_string(courier.outlive.job_dir(&id(job)).journal()).unwrap();
    assert_eq!(journal("mine").lines().count(), 1);
    assert_eq!(journal("other"), "");
    assert!(!courier.outlive.job_dir(&id("none")).path().exists());
}
