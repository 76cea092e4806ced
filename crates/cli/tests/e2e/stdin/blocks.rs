//! The writes of several clients are not mixed.

use super::{ROOM, begin_send, end_input, reader, until_it_waits};
use outlive_testkit::checks::every;
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::world::World;
use std::process::Child;

/// The runs of equal letters. If no writes were mixed, there is one run for each block.
fn runs(bytes: &[u8]) -> Vec<(u8, usize)> {
    let mut runs: Vec<(u8, usize)> = Vec::new();
    for byte in bytes {
        match runs.last_mut() {
            Some((letter, count)) if letter == byte => *count += 1,
            _ => runs.push((*byte, 1)),
        }
    }
    runs
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

#[test]
fn blocks_of_several_clients_are_not_mixed() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    let names = b"abcdefgh";
    let senders: Vec<Child> = names
        .iter()
        .map(|letter| begin_send(&world, &id, &[], &vec![*letter; 300_000]))
        .collect();
    for sender in senders {
        let ran = Ran::end_of(sender);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    end_input(&world, &id);
    let expected: Vec<(u8, usize)> = names.iter().map(|letter| (*letter, 300_000)).collect();
    assert_eq!(sorted(runs(&world.output(&id))), expected);
}

#[test]
fn blocks_of_several_clients_are_not_mixed_when_the_keeper_is_killed_between_their_pieces() {
    every(
        &[0, 1, 2, 3],
        |round| format!("round {round}"),
        |_| {
            let world = World::new();
            let id = reader(&world, &format!("{WAITS}exec cat"));
            let big = begin_send(&world, &id, &[], &vec![b'A'; 3 * ROOM]);
            until_it_waits(&big);
            let others: Vec<Child> = (b'a'..=b'd')
                .map(|letter| begin_send(&world, &id, &[], &vec![letter; 1000]))
                .collect();
            others.iter().for_each(until_it_waits);
            kill_for_good(world.pair(&id).keeper);
            let_go(&world);
            for sender in [big].into_iter().chain(others) {
                let ran = Ran::end_of(sender);
                assert_eq!(ran.code, 0, "{ran:?}");
            }
            end_input(&world, &id);
            let mut expected = vec![(b'A', 3 * ROOM)];
            expected.extend((b'a'..=b'd').map(|letter| (letter, 1000)));
            assert_eq!(sorted(runs(&world.output(&id))), expected);
        },
    );
}

#[test]
fn a_client_killed_in_the_middle_of_its_write_does_not_keep_others_from_writing() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec cat"));
    let mut killed = begin_send(&world, &id, &[], &vec![b'A'; 3 * ROOM]);
    until_it_waits(&killed);
    let others: Vec<Child> = (b'a'..=b'c')
        .map(|letter| begin_send(&world, &id, &[], &vec![letter; 200_000]))
        .collect();
    others.iter().for_each(until_it_waits);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let_go(&world);
    for sender in others {
        let ran = Ran::end_of(sender);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    end_input(&world, &id);
    let mut runs = runs(&world.output(&id));
    let (letter, count) = runs.remove(0);
    assert_eq!(letter, b'A');
    assert!(count > ROOM && count < 3 * ROOM, "{count}");
    let expected: Vec<(u8, usize)> = (b'a'..=b'c').map(|letter| (letter, 200_000)).collect();
    assert_eq!(sorted(runs), expected);
}
