//! What the next keeper does with input that the last keeper accepted.

use super::{
    ROOM, begin_send, end_input, letters, reader, reader_with_hooks, send_bytes, stopped,
    until_it_waits,
};
use outlive_testkit::checks::{assert_same_bytes, keepings, until_output};
use outlive_testkit::processes::{CONT, STOP, kill, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, send_line};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

#[test]
fn what_was_accepted_before_a_kill_is_delivered_by_the_next_keeper() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec cat"));
    let block = letters(ROOM / 2);
    send_bytes(&world, &id, &block);
    kill_for_good(world.pair(&id).keeper);
    send_line(&world, &id, "after");
    let_go(&world);
    end_input(&world, &id);
    let expected = [&block[..], b"after\n"].concat();
    assert_same_bytes("echo", &world.output(&id), &expected);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
}

#[test]
fn what_is_sent_while_the_keeper_is_dead_and_its_heir_not_yet_up_arrives() {
    let world = World::new();
    let id = reader_with_hooks(&world, "heir:Begun=stop", "exec cat");
    send_line(&world, &id, "before");
    let pair = world.pair(&id);
    kill_for_good(pair.keeper);
    until("the heir has stopped", || stopped(&world) == pair.standby);
    let sender = begin_send(&world, &id, &["during", "--enter"], b"");
    until_it_waits(&sender);
    kill(pair.standby.unwrap(), CONT);
    assert_eq!(Ran::end_of(sender).code, 0);
    send_line(&world, &id, "after");
    end_input(&world, &id);
    assert_eq!(world.output(&id), b"before\nduring\nafter\n");
}

/// Kills both keepers, the keeper first. The standby holds the input open, so it is suspended before that.
fn kill_both(world: &World, id: &str) {
    let pair = world.pair(id);
    pair.standby.into_iter().for_each(|pid| kill(pid, STOP));
    kill_for_good(pair.keeper);
    pair.standby.into_iter().for_each(kill_for_good);
}

/// The two keepers are the only writers of the pipe. Without them, a job that is blocked in `read` reads the end of
/// its input.
#[test]
fn when_both_keepers_are_killed_a_blocked_reader_sees_the_end() {
    let world = World::new();
    let id = reader(&world, "cat; echo end; exec sleep 60");
    send_line(&world, &id, "x");
    until_output(&world, &id, "x\n");
    kill_both(&world, &id);
    assert_eq!(world.show(&id)["state"], "running");
    until_output(&world, &id, "x\nend\n");
}

/// A job that did not read at that moment has lost its input too, so the adopting keeper cannot write to it.
#[test]
fn when_both_keepers_are_killed_what_is_sent_later_is_refused() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec cat"));
    kill_both(&world, &id);
    let ran = world.outlive(&["send", &id, "later", "--enter"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(
        ran.stderr.contains("its input was lost when its keepers"),
        "{ran:?}"
    );
    let_go(&world);
    assert_eq!(
        world.wait(&id)["exit_code"],
        0,
        "it sees the end of its input"
    );
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
}

/// The client was told that the end was sent, so the next keeper must deliver it.
#[test]
fn an_end_that_was_sent_comes_also_when_both_keepers_are_killed() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}cat; echo end"));
    world.ok(&["send", &id, "x\n", "--eof"]);
    kill_both(&world, &id);
    assert_eq!(world.show(&id)["state"], "running");
    let_go(&world);
    let ran = world.outlive(&["wait", &id, "--timeout", "8s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.output(&id), b"x\nend\n");
}
