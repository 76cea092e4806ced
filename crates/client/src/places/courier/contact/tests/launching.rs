//! Starts at a far end whose answers are not what they should be.

use super::*;
use crate::places::courier::{clients, starts};
use crate::places::dial::Reply;
use crate::places::records::Placed;
use outlive_core::far::{FarVariables, Launched, Opening, Standing};
use std::sync::Mutex;

/// Serves a wire to a far end that answers calls with what this returns, while `ask` runs.
fn answered(
    courier: &Arc<Courier>,
    answer: impl Fn(&Call) -> Vec<u8> + Send + 'static,
    ask: impl FnOnce(BootTime),
) {
    let (mut there, input) = std::io::pipe().unwrap();
    let (output, mut back) = std::io::pipe().unwrap();
    let input = File::from(OwnedFd::from(input));
    let output = File::from(OwnedFd::from(output));
    let far = std::thread::spawn(move || {
        let mut decoder = Decoder::default();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = there.read(&mut buffer) {
            decoder.push(&buffer[..count]);
            while let Ok(Some(frame)) = decoder.next_frame() {
                let opening = (frame.kind == Kind::Open)
                    .then(|| serde_json::from_slice::<Opening>(&frame.payload));
                let Some(Ok(Opening::Call(call))) = opening else {
                    continue;
                };
                let said = match *call {
                    Call::Hello(_) => encoded(&Answer::Hello(Box::new(greeting(instance(), WIRE)))),
                    call => answer(&call),
                };
                let data = Frame::new(frame.stream, Kind::Data, said).encode();
                let end = Frame::new(frame.stream, Kind::End, []).encode();
                let _ = back.write_all(&[data, end].concat());
            }
        }
    });
    let wire = begin(&input, false).unwrap();
    let by = clock::boot() + Duration::from_secs(10);
    let (mine, reader) = (Arc::clone(courier), Arc::clone(&wire));
    let reads = std::thread::spawn(move || drop(serve(&mine, &reader, &output, None, by)));
    courier.wire(by).unwrap();
    ask(by);
    wire.cut(Unreached::TimedOut);
    reads.join().unwrap();
    drop(input);
    far.join().unwrap();
}

fn encoded(answer: &Answer) -> Vec<u8> {
    serde_json::to_vec(answer).unwrap()
}

/// What the client that starts job `a` is told.
fn started(courier: &Arc<Courier>, by: BootTime, again: bool) -> Reply {
    let variables = FarVariables {
        removed: Vec::new(),
        set: Vec::new(),
    };
    let told = Mutex::new(None);
    starts::start(courier, &id("a"), variables, by, again, |reply| {
        *told.lock().unwrap() = Some(reply.clone());
    });
    told.into_inner().unwrap().unwrap()
}

fn placed(courier: &Courier) -> Placed {
    Placed::read(&courier.outlive.job_dir(&id("a"))).unwrap()
}

#[test]
fn a_start_whose_answer_cannot_be_read_may_have_been_made() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &["a"]);
    answered(
        &courier,
        |_| b"{\"launch\":".to_vec(),
        |by| {
            let reply = started(&courier, by, false);
            assert!(matches!(reply, Reply::Lost(_)), "{reply:?}");
        },
    );
    assert_eq!(placed(&courier).start(), Start::Asked);
}

/// The far end started the job, its answer was lost, and the start that is sent again cannot be made.
#[test]
fn a_start_that_is_sent_again_in_vain_may_have_been_made_before() {
    let cases = [
        (Some(Standing::There), "started"),
        (Some(Standing::NotThere), "not_started"),
        (None, "asked"),
    ];
    for (standing, expected) in cases {
        let world = tempfile::tempdir().unwrap();
        let courier = courier_with(world.path(), &["a"]);
        let said = standing.clone();
        let answer = move |call: &Call| match (call, &said) {
            (Call::Launch(_), _) => {
                let reason = "no shell".to_owned();
                encoded(&Answer::Launch(Launched::NotMade { reason }))
            }
            (_, Some(standing)) => encoded(&Answer::Standing(vec![standing.clone()])),
            (_, None) => Vec::new(),
        };
        answered(&courier, answer, |by| {
            let reply = started(&courier, by, true);
            let told = match &reply {
                Reply::Started => "started",
                Reply::NotStarted { .. } => "not_started",
                Reply::Lost(_) => "asked",
                _ => "something else",
            };
            assert_eq!(told, expected, "{reply:?}");
        });
        let noted = match placed(&courier).start() {
            Start::Answered => "started",
            Start::NotStarted(_) => "not_started",
            Start::Asked => "asked",
            Start::Lost(_) => "lost",
        };
        assert_eq!(noted, expected, "{standing:?}");
    }
}

#[test]
fn a_job_that_is_there_is_not_refused_though_that_cannot_be_recorded() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &["a"]);
    let spec = courier.outlive.job_dir(&id("a")).spec();
    let answer = move |call: &Call| {
        if matches!(call, Call::Launch(_)) {
            fs::remove_file(&spec).unwrap();
        }
        encoded(&Answer::Launch(Launched::There))
    };
    answered(&courier, answer, |by| {
        let reply = started(&courier, by, false);
        assert!(matches!(reply, Reply::Lost(_)), "{reply:?}");
    });
}

#[test]
fn a_start_that_is_not_decided_is_settled_over_the_wire_that_is_there() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &["a"]);
    let answer = |call: &Call| match call {
        Call::Standing { jobs } => encoded(&Answer::Standing(vec![Standing::There; jobs.len()])),
        _ => Vec::new(),
    };
    // Nobody made it known when the wire was opened.
    let link = courier.outlive.home().live_link(&id("a"));
    fs::remove_file(&link).unwrap();
    answered(&courier, answer, |by| {
        let dir = courier.outlive.job_dir(&id("a"));
        fs::hard_link(dir.lock(), &link).unwrap();
        let reply = started(&courier, by, false);
        assert!(matches!(reply, Reply::Lost(_)), "{reply:?}");
        clients::call(&courier, &Call::Standing { jobs: Vec::new() }, by);
        while placed(&courier).start() == Start::Asked {
            assert!(clock::boot() < by, "nobody asked for it");
            std::thread::yield_now();
        }
    });
    assert_eq!(placed(&courier).start(), Start::Answered);
}

#[test]
fn a_job_whose_id_is_taken_there_is_forgotten() {
    let world = tempfile::tempdir().unwrap();
    let courier = courier_with(world.path(), &["a"]);
    answered(
        &courier,
        |_| encoded(&Answer::Launch(Launched::IdTaken)),
        |by| assert_eq!(started(&courier, by, false), Reply::IdTaken),
    );
    // The next job of this id may be another one.
    assert_eq!(courier.replicas.seq(&id("a")), None);
}
