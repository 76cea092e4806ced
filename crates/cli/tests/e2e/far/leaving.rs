//! A far end leaves when its wire is over. Jobs do not notice.

use super::id;
use outlive_core::far::{Call, Opening};
use outlive_core::wire::{Frame, Kind};
use outlive_testkit::processes::{is_alive, kill};
use outlive_testkit::waiting::until;
use outlive_testkit::wire_client::WireClient;
use outlive_testkit::world::World;

const HANG_UP: i32 = 1;

#[test]
fn the_end_of_its_input_ends_it_while_jobs_run_on() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["sleep", "60"]);
    let control = far.open(&Opening::Control { job: id("job") });
    far.until_records("job", |records| records.len() >= 4);
    let pair = world.settled_pair("job");
    assert!(far.leave().success());
    assert!(is_alive(pair.0) && is_alive(pair.1), "{control}");
    assert_eq!(world.show("job")["state"], "running");
}

#[test]
fn nobody_who_reads_its_output_ends_it() {
    let world = World::new();
    let mut far = WireClient::start_with(&world, |command| {
        // A pipe whose reader ends at once.
        command.stdout(closed_pipe());
    });
    assert!(far.until_gone().success());
}

fn closed_pipe() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

#[test]
fn a_hangup_does_not_end_it() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    kill(far.pid(), HANG_UP);
    assert!(far.call(Call::Standing { jobs: Vec::new() }).is_ok());
    far.launch("job", &["sh", "-c", "kill -HUP $$; sleep 60"]);
    // The job has its own signals: what the far end ignores ends the job.
    let records = far.until_over("job");
    assert!(
        records.iter().any(|line| line.contains("signaled")),
        "{records:?}"
    );
}

#[test]
fn a_ping_is_answered() {
    let world = World::new();
    let far = WireClient::start(&world);
    far.send(&Frame::new(0, Kind::Ping, []));
    let pong = Frame::new(0, Kind::Pong, []);
    until("a pong comes", || far.frames().contains(&pong));
    assert!(far.leave().success());
}
