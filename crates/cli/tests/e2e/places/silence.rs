//! A wire that stalls, loses what it carries, or changes it.

use super::{assert_exact, counted, tapped};
use outlive_testkit::scripts::numbers;
use outlive_testkit::tap::{Blow, Direction};
use std::time::Duration;

#[test]
fn a_slow_wire_is_only_slow() {
    let (tap, world) = tapped();
    for (round, direction) in Direction::BOTH.into_iter().enumerate() {
        let id = format!("job-{round}");
        let script = counted(&world, &id, "seq 1 1000; exit 5");
        tap.strike(direction, 4, Blow::Delay(Duration::from_millis(1500)));
        let ran = world.outlive(&["run", "--id", &id, "--session", "s", "--shell", &script]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_exact(&world, &id, 5, &numbers(1000));
        assert!(tap.disarm());
    }
}

/// A carrier that changes bytes is noticed where a frame cannot be read any more. The first bytes of a frame are its
/// header.
#[test]
fn a_frame_that_cannot_be_read_ends_the_wire_and_nothing_else() {
    let (tap, world) = tapped();
    let mut round = 0;
    for direction in Direction::BOTH {
        for nth in [2, 3, 5] {
            for at in [0, 2] {
                round += 1;
                let id = format!("job-{round}");
                let script = counted(&world, &id, "seq 1 1000; exit 5");
                world.kill_couriers();
                tap.strike(direction, nth, Blow::Flip(at));
                let ran =
                    world.outlive(&["run", "--id", &id, "--session", "s", "--shell", &script]);
                tap.disarm();
                let passed = tap.passed();
                assert_eq!(
                    ran.code, 0,
                    "byte {at} of part {nth} {direction:?}: {ran:?}\n{passed:#?}"
                );
                assert_exact(&world, &id, 5, &numbers(1000));
            }
        }
    }
}
