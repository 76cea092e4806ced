//! Input arrives once and in order while the keeper or its standby is killed at random.

use super::{begin_send, end_input, random, reader};
use outlive_testkit::checks::{assert_same_bytes, every};
use outlive_testkit::processes::{KILL, kill, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, numbers, send_line};
use outlive_testkit::world::World;
use std::thread;
use std::time::Duration;

/// Kills the keeper or the standby at a random moment while lines are sent, each by its own process.
fn lines_arrive_once_though_a_random_kill_hits(victim: fn(&World, &str) -> i32) {
    let rounds: Vec<usize> = (0..40).collect();
    every(
        &rounds,
        |round| format!("round {round}"),
        |_| {
            let world = World::new();
            let id = reader(&world, "exec cat");
            let victim = victim(&world, &id);
            let micros = random() % 60_000;
            thread::scope(|scope| {
                let id = &id;
                let world = &world;
                scope.spawn(move || (1..=20).for_each(|n| send_line(world, id, &n.to_string())));
                thread::sleep(Duration::from_micros(micros));
                kill(victim, KILL);
            });
            send_line(&world, &id, "21");
            end_input(&world, &id);
            assert_same_bytes(
                format!("killed after {micros} µs"),
                &world.output(&id),
                &numbers(21),
            );
        },
    );
}

#[test]
fn lines_arrive_once_and_in_order_though_the_keeper_is_killed_at_random() {
    lines_arrive_once_though_a_random_kill_hits(|world, id| world.pair(id).keeper);
}

#[test]
fn lines_arrive_once_and_in_order_though_the_standby_is_killed_at_random() {
    lines_arrive_once_though_a_random_kill_hits(|world, id| world.pair(id).standby.unwrap());
}

/// The lines that one of the clients sends.
fn lines_of(client: char) -> Vec<String> {
    (1..=10).map(|n| format!("{client}{n}")).collect()
}

#[test]
fn lines_of_several_clients_arrive_once_though_the_keeper_is_killed_at_random() {
    let rounds: Vec<usize> = (0..12).collect();
    every(
        &rounds,
        |round| format!("round {round}"),
        |_| {
            let world = World::new();
            let id = reader(&world, "exec cat");
            let keeper = world.pair(&id).keeper;
            let micros = random() % 100_000;
            thread::scope(|scope| {
                for client in ['a', 'b', 'c'] {
                    let (world, id) = (&world, &id);
                    scope.spawn(move || {
                        let lines = lines_of(client);
                        lines.iter().for_each(|line| send_line(world, id, line));
                    });
                }
                thread::sleep(Duration::from_micros(micros));
                kill(keeper, KILL);
            });
            end_input(&world, &id);
            let output = String::from_utf8(world.output(&id)).unwrap();
            assert_eq!(output.lines().count(), 30, "{micros} µs: {output}");
            for client in ['a', 'b', 'c'] {
                let arrived: Vec<&str> = output
                    .lines()
                    .filter(|line| line.starts_with(client))
                    .collect();
                assert_eq!(arrived, lines_of(client), "killed after {micros} µs");
            }
        },
    );
}

#[test]
fn long_writes_in_flight_arrive_once_though_the_keeper_is_killed_at_random() {
    let rounds: Vec<usize> = (0..20).collect();
    every(
        &rounds,
        |round| format!("round {round}"),
        |_| {
            let world = World::new();
            let id = reader(&world, "exec cat");
            let sender = begin_send(&world, &id, &[], &numbers(150_000));
            let micros = random() % 80_000;
            thread::sleep(Duration::from_micros(micros));
            kill_for_good(world.pair(&id).keeper);
            let ran = Ran::end_of(sender);
            assert_eq!(ran.code, 0, "{ran:?}");
            end_input(&world, &id);
            assert_same_bytes(
                format!("killed after {micros} µs"),
                &world.output(&id),
                &numbers(150_000),
            );
        },
    );
}

#[test]
fn the_end_of_input_is_sent_once_though_the_keeper_is_killed_at_random() {
    let rounds: Vec<usize> = (0..30).collect();
    every(
        &rounds,
        |round| format!("round {round}"),
        |_| {
            let world = World::new();
            let id = reader(&world, &format!("cat; {WAITS}exit 0"));
            let keeper = world.pair(&id).keeper;
            let micros = random() % 6_000;
            let sender = begin_send(&world, &id, &["last", "--eof"], b"");
            thread::sleep(Duration::from_micros(micros));
            kill_for_good(keeper);
            let ran = Ran::end_of(sender);
            assert_eq!(ran.code, 0, "killed after {micros} µs: {ran:?}");
            let_go(&world);
            assert_eq!(world.wait(&id)["exit_code"], 0);
            assert_eq!(world.output(&id), b"last");
        },
    );
}
