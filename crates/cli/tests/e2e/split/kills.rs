//! SIGKILL to the keepers of a job while it writes to both streams.

use super::{SAID, lines, start, stream};
use outlive_testkit::checks::{
    assert_nothing_is_left, assert_same_bytes, every, exited, keepings, until_output,
};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, go, let_go, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, thread, time::Duration};

/// Writes numbered lines to both streams in turn until `$GO` exists.
const STREAMS: &str =
    "i=0; until [ -e \"$GO\" ]; do i=$((i+1)); echo o$i; echo e$i >&2; done; exit 7";

fn any_below(limit: u64) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    (since.as_nanos() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) % limit
}

fn size(world: &World, id: &str) -> u64 {
    fs::metadata(world.job_dir(id).join("output")).map_or(0, |output| output.len())
}

/// Checks that the job ended as it should, with every line of each stream once and in order.
fn assert_whole(world: &World, id: &str) {
    let job = world.wait(id);
    assert_eq!(job["outcome"], exited(7), "{job}");
    let stdout = stream(world, id, "--stdout");
    let last = stdout.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_same_bytes("stdout", &stdout, &lines('o', last));
    assert_same_bytes("stderr", &stream(world, id, "--stderr"), &lines('e', last));
    assert_eq!(world.events(id, "ended").len(), 1);
    assert_nothing_is_left(world, id);
}

#[test]
fn two_hundred_kills_leave_every_byte_in_its_stream() {
    const JOBS: usize = 20;
    const KILLS: usize = 10;
    let jobs: Vec<usize> = (0..JOBS).collect();
    every(&jobs, usize::to_string, |_| {
        let world = World::new();
        let id = start(&world, &[], STREAMS);
        for _ in 0..KILLS {
            let before = size(&world, &id);
            until("it writes", || size(&world, &id) > before);
            thread::sleep(Duration::from_micros(any_below(20_000)));
            match any_below(3) {
                0 => world.kill_keeper(&id),
                1 => world.kill_standby(&id),
                _ => {
                    world.kill_both(&id);
                    world.show(&id);
                }
            }
        }
        let_go(&world);
        assert_whole(&world, &id);
    });
}

#[test]
fn a_keeper_killed_at_any_step_of_a_switch_loses_nothing() {
    let hooks = ["Captured", "Switched", "Drained", "OutputSynced", "Retired"];
    every(
        &hooks,
        |hook| (*hook).to_owned(),
        |hook| {
            let world = World::new();
            let script =
                "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo o$i; echo e$i >&2; done; exit 7";
            let args = ["run", "--streams", "split", "--shell", script];
            let ran =
                Ran::of(with_go(&world, &args).env("OUTLIVE_HOOKS", format!("keeper:{hook}=kill")));
            assert_eq!(ran.code, 0, "{ran:?}");
            let id = ran.text();
            assert_whole(&world, &id);
            assert!(
                keepings(&world, &id).contains(&"taken_over".to_owned()),
                "it came to {hook}"
            );
        },
    );
}

/// The keeper dies after it has written down that a byte of stderr comes, and before it takes one. What comes next is
/// of stdout.
#[test]
fn a_switch_without_a_byte_is_superseded() {
    for both in [false, true] {
        let world = World::new();
        // The keeper stops when it has written down that stderr comes first. Then there is more on both streams.
        let script =
            format!("echo error >&2; {WAITS} echo out; touch \"$GO.out\"; {SAID} said 10; exit 7");
        let args = [
            "run",
            "--id",
            "job",
            "--streams",
            "split",
            "--shell",
            &script,
        ];
        let ran = Ran::of(with_go(&world, &args).env("OUTLIVE_HOOKS", "keeper:Switched=stop"));
        assert_eq!(ran.code, 0, "{ran:?}");
        world.until_keeper_stops("job");
        assert_eq!(world.output("job"), b"");
        let_go(&world);
        until("there is more on both", || {
            go(&world).with_extension("out").exists()
        });
        match both {
            true => {
                world.kill_both("job");
                world.show("job");
            }
            false => world.kill_keeper("job"),
        }
        assert_eq!(world.wait("job")["outcome"], exited(7));
        // The successor took stdout first, at the offset that its predecessor had written down for stderr.
        assert_eq!(world.output("job"), b"out\nerror\n");
        assert_eq!(stream(&world, "job", "--stdout"), b"out\n");
        assert_eq!(stream(&world, "job", "--stderr"), b"error\n");
        assert_nothing_is_left(&world, "job");
    }
}

#[test]
fn an_unkept_job_loses_nothing_of_either_stream() {
    let world = World::new();
    let script = format!(
        "echo before; {WAITS} (seq -f o%.0f 1 20000) & seq -f e%.0f 1 20000 >&2; wait; exit 7"
    );
    let id = start(&world, &[], &script);
    until_output(&world, &id, "before\n");
    world.kill_both(&id);
    let_go(&world);
    // Both writers wait until somebody takes what they wrote.
    assert_eq!(world.output(&id), b"before\n");
    let job = world.wait(&id);
    assert_eq!(
        (&job["outcome"], &job["output"]["complete"]),
        (&exited(7), &true.into())
    );
    let stdout = [b"before\n".to_vec(), lines('o', 20_000)].concat();
    assert_same_bytes("stdout", &stream(&world, &id, "--stdout"), &stdout);
    assert_same_bytes(
        "stderr",
        &stream(&world, &id, "--stderr"),
        &lines('e', 20_000),
    );
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    assert_nothing_is_left(&world, &id);
}

/// What is in a feed is gone if its last writer closes it while nobody reads. The other stream goes on.
#[test]
fn an_unkept_job_that_loses_one_stream_says_so() {
    for (to, other) in [(">&2", "exec 2>/dev/null"), ("", "exec >/dev/null")] {
        let world = World::new();
        let script =
            format!("echo up; {WAITS} echo lost {to}; {other}; touch \"$GO.lost\"; exec sleep 60");
        let id = start(&world, &[], &script);
        until_output(&world, &id, "up\n");
        world.kill_both(&id);
        let_go(&world);
        until("it has closed one", || {
            go(&world).with_extension("lost").exists()
        });
        world.show(&id);
        let job = world.job(&["stop", &id, "--json"]);
        assert_eq!(job["output"]["complete"], false, "{job}");
        assert_nothing_is_left(&world, &id);
    }
}

#[test]
fn a_fast_writer_does_not_keep_the_other_stream_waiting() {
    let world = World::new();
    // A small bound makes the keeper take small strides. The line is soon dropped again, but it was seen.
    let options = ["--max-output", "64K", "--watch", "error"];
    let line = "a line that is long enough for the keeper to read many of them ".repeat(8);
    let script = format!(
        "yes '{line}' & {WAITS} echo error >&2; until [ -e \"$GO.end\" ]; do sleep 0.02; done; \
         kill $!; exit 3"
    );
    let id = start(&world, &options, &script);
    until("stdout is busy", || size(&world, &id) > 1 << 20);
    let_go(&world);
    until("stderr is taken", || {
        world.events(&id, "matched").len() == 1
    });
    fs::write(go(&world).with_extension("end"), "").unwrap();
    assert_eq!(world.wait(&id)["exit_code"], 3);
    assert_nothing_is_left(&world, &id);
}
