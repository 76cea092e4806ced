//! When one of the pair is killed, the other starts a new partner.

use outlive_testkit::checks::{assert_nothing_is_left, exited, keepings};
use outlive_testkit::processes::{KILL, is_alive, kill, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, started, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

/// A job that prints `before`, waits for `$GO`, prints `after` and ends with 7.
const LATER: &str = "echo before; until [ -e \"$GO\" ]; do sleep 0.02; done; echo after; exit 7";

fn waiting(world: &World, options: &[&str]) -> String {
    let args = [&["run", "--id", "job"], options, &["--shell", LATER]].concat();
    assert_eq!(Ran::of(&mut with_go(world, &args)).code, 0);
    until("it has begun", || {
        world.output("job").starts_with(b"before")
    });
    "job".to_owned()
}

fn assert_ended_well(world: &World, id: &str) {
    let_go(world);
    assert_eq!(world.wait(id)["exit_code"], 7);
    assert_eq!(world.events(id, "ended").len(), 1);
    assert_eq!(world.events(id, "ended")[0]["outcome"], exited(7));
    let output = String::from_utf8(world.output(id)).unwrap();
    assert_eq!(output.replace('\r', ""), "before\nafter\n");
    assert_eq!(world.show(id)["output"]["complete"], true);
    assert_nothing_is_left(world, id);
}

#[test]
fn a_keeper_whose_standby_is_killed_makes_another() {
    let world = World::new();
    let id = waiting(&world, &[]);
    let (keeper, standby) = world.settled_pair(&id);
    kill_for_good(standby);
    until("there is another", || {
        world
            .pair(&id)
            .standby
            .is_some_and(|new| new != standby && is_alive(new))
    });
    assert_eq!(world.pair(&id).keeper, keeper);
    assert_eq!(keepings(&world, &id), ["launched"]);
    assert_ended_well(&world, &id);
}

#[test]
fn a_standby_that_takes_over_makes_another() {
    let world = World::new();
    let id = waiting(&world, &[]);
    let (keeper, standby) = world.settled_pair(&id);
    kill_for_good(keeper);
    until("there is another", || world.pair(&id).keeper == standby);
    world.settled_pair(&id);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
    assert_ended_well(&world, &id);
}

/// Kills the standby and the keeper in turn, several times. No verb is called in between, so only the pair itself can
/// learn how the job ends.
fn survives_killing_in_turn(options: &[&str]) {
    let world = World::new();
    let id = waiting(&world, options);
    for round in 0..6 {
        let (keeper, standby) = world.settled_pair(&id);
        kill_for_good(if round % 2 == 0 { standby } else { keeper });
        until("there are two again", || {
            let pair = world.pair(&id);
            (pair.keeper, pair.standby) != (keeper, Some(standby))
        });
    }
    world.settled_pair(&id);
    assert!(!keepings(&world, &id).contains(&"adopted".to_owned()));
    assert_ended_well(&world, &id);
}

#[test]
fn a_job_outlives_every_one_of_its_keepers() {
    survives_killing_in_turn(&[]);
}

#[test]
fn a_job_on_a_terminal_outlives_every_one_of_its_keepers() {
    survives_killing_in_turn(&["--pty"]);
}

#[test]
fn a_job_with_input_outlives_every_one_of_its_keepers() {
    survives_killing_in_turn(&["--stdin", "pipe"]);
}

#[test]
fn input_goes_on_and_ends_after_both_first_keepers_are_gone() {
    let world = World::new();
    let id = world.ok(&["run", "--stdin", "pipe", "--", "cat"]);
    for word in ["one\n", "two\n", "three\n", "four\n"] {
        let (keeper, standby) = world.settled_pair(&id);
        world.ok(&["send", &id, word]);
        kill_for_good(keeper);
        until("the standby keeps it", || world.pair(&id).keeper == standby);
    }
    world.settled_pair(&id);
    world.ok(&["send", &id, "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"one\ntwo\nthree\nfour\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_keeper_that_is_no_ancestor_of_the_job_stops_its_whole_tree() {
    let world = World::new();
    let script =
        "(setsid sleep 1000 & setsid sleep 1000 &) ; sleep 1000 & echo up; exec sleep 1000";
    let id = started(&world, &[], script);
    for _ in 0..2 {
        let (keeper, standby) = world.settled_pair(&id);
        kill_for_good(keeper);
        until("the standby keeps it", || world.pair(&id).keeper == standby);
    }
    let (keeper, standby) = world.settled_pair(&id);
    world.ok(&["stop", &id]);
    assert_eq!(world.show(&id)["ended_by"], "stop");
    assert_eq!(world.show(&id)["exit_code"], 143);
    until("the keepers leave", || {
        !is_alive(keeper) && !is_alive(standby)
    });
    assert_nothing_is_left(&world, &id);
}

/// The end was recorded by a keeper that is dead. The lingering process is not a child of the present keeper.
#[test]
fn a_keeper_that_is_no_ancestor_of_the_job_keeps_its_lingering_processes() {
    let world = World::new();
    let script = format!("({WAITS} echo late) & exit 3");
    let args = ["run", "--id", "job", "--shell", &script];
    assert_eq!(Ran::of(&mut with_go(&world, &args)).code, 0);
    until("it has ended", || !world.events("job", "ended").is_empty());
    for _ in 0..2 {
        let (keeper, standby) = world.settled_pair("job");
        kill_for_good(keeper);
        until("the standby keeps it", || {
            world.pair("job").keeper == standby
        });
    }
    world.settled_pair("job");
    let_go(&world);
    until("it is over", || !world.events("job", "closed").is_empty());
    assert_eq!(world.output("job"), b"late\n");
    assert_eq!(world.events("job", "ended")[0]["outcome"], exited(3));
    assert_nothing_is_left(&world, "job");
}

/// A standby that was forked while the job waited is not the parent of the leader, so it could not learn the outcome.
#[test]
fn a_standby_made_while_the_job_waits_for_its_lock_is_replaced_when_it_starts() {
    let world = World::new();
    let first = started(&world, &["--lock", "one"], "echo up; exec sleep 1000");
    let args = ["run", "--id", "job", "--lock", "one", "--shell", LATER];
    assert_eq!(Ran::of(&mut with_go(&world, &args)).code, 0);
    let (_, standby) = world.settled_pair("job");
    kill_for_good(standby);
    until("there is another", || {
        world.pair("job").standby.is_some_and(|new| new != standby)
    });
    let (_, early) = world.settled_pair("job");
    world.ok(&["stop", &first]);
    until("it has begun", || {
        world.output("job").starts_with(b"before")
    });
    until("it has another", || {
        world.pair("job").standby.is_some_and(|new| new != early)
    });
    let (keeper, standby) = world.settled_pair("job");
    assert!(!is_alive(early));
    kill_for_good(keeper);
    until("the standby keeps it", || {
        world.pair("job").keeper == standby
    });
    assert_ended_well(&world, "job");
}

/// A standby inherits the connections of its keeper. If it kept them open, a client would never notice that the keeper
/// is gone.
#[test]
fn a_client_hears_of_its_keeper_s_end_though_a_standby_was_forked_meanwhile() {
    let world = World::new();
    let id = waiting(&world, &[]);
    let waiter = outlive_testkit::processes::begin(world.command(["wait", &id]));
    let (keeper, standby) = world.settled_pair(&id);
    outlive_testkit::processes::until_blocked(waiter.id() as i32);
    kill_for_good(standby);
    until("there is another", || {
        world.pair(&id).standby.is_some_and(|new| new != standby)
    });
    let (_, standby) = world.settled_pair(&id);
    kill(keeper, KILL);
    until("it keeps", || world.pair(&id).keeper == standby);
    let_go(&world);
    assert_eq!(Ran::end_of(waiter).code, 7);
}

/// When the keeper ends normally, its standby ends too.
#[test]
fn a_standby_leaves_with_the_keeper_that_made_it() {
    let world = World::new();
    let id = waiting(&world, &[]);
    let (_, standby) = world.settled_pair(&id);
    kill_for_good(standby);
    until("there is another", || {
        world.pair(&id).standby.is_some_and(|new| new != standby)
    });
    let (keeper, standby) = world.settled_pair(&id);
    let_go(&world);
    world.wait(&id);
    until("both leave", || !is_alive(keeper) && !is_alive(standby));
    assert_eq!(keepings(&world, &id), ["launched"]);
}
