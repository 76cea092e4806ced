//! What one call does at the place, made by hand: calls that are executed twice, late or in another order, and answers that are
//! fetched piece by piece.

use outlive::places::Unreached;
use outlive::places::bootstrap::Program;
use outlive::places::tunnel::fuzzing::{
    Answer, Begin, Request, TunnelId, decode, encode, encode_base64, find,
};
use outlive_core::event;
use outlive_core::far::{Call, Hello, HomeId, Opening, WIRE};
use outlive_core::os_text::OsText;
use outlive_core::spec;
use outlive_core::wire::{Decoder, Frame, Kind};
use outlive_testkit::couriers::far_ends_at;
use outlive_testkit::processes::{Process, begin};
use outlive_testkit::programs;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A tunnel whose calls the test makes.
struct Tunnel {
    world: World,
    digest: String,
    request: Request,
}

impl Tunnel {
    fn new() -> Tunnel {
        let world = World::new();
        let cache = world.path("digest");
        let program = Program::at(Path::new(programs::far()), &cache).unwrap();
        let request = Request {
            tunnel: TunnelId::parse("0123456789abcdef").unwrap(),
            call: 0,
            begin: None,
            home: Some(OsText::from(world.home().into_os_string())),
            at: 0,
            had: 0,
            patience_ms: 20_000,
            stay_ms: 60_000,
            limit: 16 * 1024,
            ends: false,
        };
        Tunnel {
            world,
            digest: program.digest,
            request,
        }
    }

    fn begin(&self) -> Begin {
        Begin {
            digest: self.digest.clone(),
            shown: true,
        }
    }

    fn command(&self, request: &Request, bytes: &[u8]) -> Command {
        let request = encode_base64(&encode(request, bytes));
        let mut command = Command::new(programs::far());
        command
            .args(["carry", &request])
            .env("HOME", self.world.path(""))
            .stdin(Stdio::null());
        command
    }

    /// Makes a call.
    #[track_caller]
    fn call(&self, request: &Request, bytes: &[u8]) -> (Answer, Vec<u8>) {
        answer(&Ran::of(&mut self.command(request, bytes)))
    }

    /// Makes the first call, which brings the hello. Returns the request for what follows.
    #[track_caller]
    fn greeted(&self) -> Request {
        let first = Request {
            call: 1,
            begin: Some(self.begin()),
            ..self.request.clone()
        };
        let (answer, bytes) = self.call(&first, &hello());
        assert_eq!(answer.over, None);
        assert_eq!(frames(&bytes).last().unwrap().kind, Kind::End);
        Request {
            call: 2,
            at: answer.taken,
            had: answer.at + bytes.len() as u64,
            ..self.request.clone()
        }
    }

    fn far_ends(&self) -> Vec<Process> {
        far_ends_at(&self.world.path(""))
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        outlive_testkit::couriers::kill_all(&self.far_ends());
    }
}

#[track_caller]
fn answer(ran: &Ran) -> (Answer, Vec<u8>) {
    let payloads = find(&ran.bytes);
    assert_eq!(payloads.len(), 1, "{ran:?}");
    let (answer, bytes) = decode::<Answer>(&payloads[0]).unwrap();
    (answer, bytes.to_vec())
}

fn frames(bytes: &[u8]) -> Vec<Frame> {
    let mut decoder = Decoder::default();
    decoder.push(bytes);
    std::iter::from_fn(|| decoder.next_frame().unwrap()).collect()
}

fn open(stream: u64, opening: &Opening) -> Vec<u8> {
    let payload = serde_json::to_vec(opening).unwrap();
    Frame::new(stream, Kind::Open, payload).encode()
}

fn hello() -> Vec<u8> {
    let hello = Hello {
        wire: WIRE,
        home: HomeId::from_bits(0xfeed),
        place: "place".to_owned(),
        journal_format: event::FORMAT,
        spec_format: spec::FORMAT,
    };
    open(1, &Opening::Call(Box::new(Call::Hello(hello))))
}

fn doctor(stream: u64) -> Vec<u8> {
    open(stream, &Opening::Call(Box::new(Call::Doctor)))
}

#[test]
fn one_call_brings_a_question_and_its_whole_answer() {
    let tunnel = Tunnel::new();
    let request = tunnel.greeted();
    let begun = Instant::now();
    let (answer, bytes) = tunnel.call(&request, &doctor(2));
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "patience is not used up"
    );
    let kinds: Vec<Kind> = frames(&bytes).iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds.first(), Some(&Kind::Data));
    assert_eq!(kinds.last(), Some(&Kind::End));
    assert!(!answer.more);
    assert_eq!(tunnel.far_ends().len(), 1);
}

#[test]
fn a_first_call_that_is_executed_twice_starts_one_far_end() {
    let tunnel = Tunnel::new();
    let first = Request {
        call: 1,
        begin: Some(tunnel.begin()),
        ..tunnel.request.clone()
    };
    let both: Vec<Child> = (0..2)
        .map(|_| begin(tunnel.command(&first, &hello())))
        .collect();
    let answers: Vec<_> = both
        .into_iter()
        .map(|child| answer(&Ran::end_of(child)))
        .collect();
    for (answer, bytes) in &answers {
        assert_eq!(answer.over, None);
        assert_eq!(
            (answer.at, bytes),
            (0, &answers[0].1),
            "both have all that was said"
        );
    }
    assert_eq!(tunnel.far_ends().len(), 1);
}

#[test]
fn a_call_that_is_executed_again_brings_nothing_twice() {
    let tunnel = Tunnel::new();
    let request = tunnel.greeted();
    let (_, bytes) = tunnel.call(&request, &doctor(2));
    // A second frame with the number of an earlier stream would end the wire.
    let (again, repeated) = tunnel.call(&request, &doctor(2));
    assert_eq!((again.over, repeated), (None, bytes.clone()));
    let later = Request {
        call: 3,
        at: again.taken,
        had: request.had + bytes.len() as u64,
        ..request.clone()
    };
    let (answer, _) = tunnel.call(&later, &doctor(3));
    assert_eq!(answer.over, None);
    // An earlier one that comes late waits for nobody and takes nothing away.
    let begun = Instant::now();
    let (late, nothing) = tunnel.call(&request, &doctor(2));
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!((late.taken, nothing), (answer.taken, Vec::new()));
}

#[test]
fn bytes_behind_a_gap_are_not_taken() {
    let tunnel = Tunnel::new();
    let request = tunnel.greeted();
    let early = Request {
        at: request.at + 5,
        patience_ms: 0,
        ..request.clone()
    };
    let (answer, _) = tunnel.call(&early, &doctor(2));
    assert_eq!((answer.taken, answer.over), (request.at, None));
}

#[test]
fn an_answer_is_fetched_piece_by_piece() {
    let tunnel = Tunnel::new();
    let request = tunnel.greeted();
    let mut request = Request {
        limit: 1024,
        ..request
    };
    let mut sent = doctor(2);
    let mut got = Vec::new();
    loop {
        let ran = Ran::of(&mut tunnel.command(&request, &sent));
        assert!(ran.bytes.len() <= 1024, "{} bytes", ran.bytes.len());
        let (answer, bytes) = answer(&ran);
        got.extend_from_slice(&bytes);
        sent.clear();
        request = Request {
            call: request.call + 1,
            at: answer.taken,
            had: answer.at + bytes.len() as u64,
            ..request
        };
        if !answer.more {
            break;
        }
    }
    assert!(got.len() > 1024 && request.call > 3, "{} bytes", got.len());
    assert_eq!(frames(&got).last().unwrap().kind, Kind::End);
}

#[test]
fn a_later_call_takes_the_place_of_one_that_waits() {
    let tunnel = Tunnel::new();
    let request = tunnel.greeted();
    let waiting = begin(tunnel.command(&request, &[]));
    let begun = Instant::now();
    let later = Request {
        call: 3,
        ..request.clone()
    };
    let (answered, bytes) = tunnel.call(&later, &doctor(2));
    assert_eq!(answered.over, None);
    assert!(!bytes.is_empty());
    let (earlier, nothing) = answer(&Ran::end_of(waiting));
    assert_eq!((earlier.over, nothing), (None, Vec::new()));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_far_end_leaves_when_its_wire_is_over_and_never_begins_again() {
    let tunnel = Tunnel::new();
    let request = tunnel.greeted();
    let last = Request {
        ends: true,
        ..request.clone()
    };
    tunnel.call(&last, &[]);
    until("the far end has left", || tunnel.far_ends().is_empty());
    // The first call is executed once more, late.
    let first = Request {
        call: 1,
        begin: Some(tunnel.begin()),
        ..tunnel.request.clone()
    };
    let (answer, _) = tunnel.call(&first, &hello());
    assert!(
        matches!(answer.over, Some(Unreached::Refused(_))),
        "{answer:?}"
    );
    assert!(tunnel.far_ends().is_empty());
}

#[test]
fn a_far_end_that_is_not_called_leaves() {
    let tunnel = Tunnel::new();
    let request = Request {
        stay_ms: 100,
        patience_ms: 0,
        ..tunnel.greeted()
    };
    tunnel.call(&request, &[]);
    until("the far end has left", || tunnel.far_ends().is_empty());
    let (answer, _) = tunnel.call(&request, &[]);
    assert!(
        matches!(answer.over, Some(Unreached::Refused(_))),
        "{answer:?}"
    );
}

#[test]
fn a_wrong_program_or_request_is_refused() {
    let tunnel = Tunnel::new();
    let first = Request {
        call: 1,
        begin: Some(Begin {
            digest: "0".repeat(64),
            shown: true,
        }),
        ..tunnel.request.clone()
    };
    let (answer, _) = tunnel.call(&first, &hello());
    let why = answer.over.unwrap().to_string();
    assert!(why.contains("not the program that was sent"), "{why}");
    for request in ["", "====", "e30K", "x y"] {
        let ran = Ran::of(Command::new(programs::far()).args(["carry", request]));
        assert_eq!(ran.code, 125, "{request:?}: {ran:?}");
        assert!(ran.bytes.is_empty(), "{ran:?}");
    }
    assert!(tunnel.far_ends().is_empty());
}

/// The call must return although the far end and jobs stay.
#[test]
fn nothing_that_stays_holds_the_output_of_a_call() {
    let tunnel = Tunnel::new();
    let first = Request {
        call: 1,
        begin: Some(tunnel.begin()),
        ..tunnel.request.clone()
    };
    let mut command = tunnel.command(&first, &hello());
    // `Ran` reads to the end of both, which comes only when nobody has them open.
    let ran = Ran::of(&mut command);
    answer(&ran);
    let [far_end] = tunnel.far_ends()[..] else {
        panic!("there is one far end");
    };
    for fd in 0..3 {
        let target = std::fs::read_link(format!("/proc/{}/fd/{fd}", far_end.pid)).unwrap();
        assert_eq!(target, Path::new("/dev/null"), "{fd}");
    }
}
