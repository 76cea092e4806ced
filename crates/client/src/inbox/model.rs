//! A model check of telling events: the real functions on a real directory, in every order.
//!
//! | story | what could go wrong |
//! |---|---|
//! | two consumers | both tell an event, or neither |
//! | a refused start | another session learns of a job, or its owner does not |
//! | an id used again | a late ack counts for the new job, or the new job's link is removed with the old one's |
//! | a paused launcher | its links are removed |
//! | a post made twice | it is told twice, or to the wrong session |
//!
//! After each run, whichever actors died and whichever claims expired: each event of a started job was
//! told to its session at least once, and never after its ack. Nobody was told about another session's
//! job. Nothing was dropped without a report. If no actor died and no claim expired: each event was
//! told exactly once.

mod schedule;
mod world;

use schedule::{Actor, Limits, Story, explore};
use world::World;

fn story(begin: fn() -> World, actors: &'static [Actor<World>]) -> Story<World> {
    Story {
        begin,
        actors,
        enter: World::enter,
        lapse: World::lapse,
        check: World::check,
    }
}

fn holds(story: &Story<World>, limits: Limits) {
    match explore(story, limits) {
        // Fewer runs would mean that the steps at which actors pause are gone.
        Ok(runs) => assert!(runs > 100, "{runs} runs"),
        Err(why) => panic!("{why}"),
    }
}

const LIMITS: Limits = Limits {
    deviations: 2,
    crashes: 1,
    lapses: 1,
};

fn with_ended_job() -> World {
    let world = World::new();
    world.start("s");
    world
}

fn with_told_job() -> World {
    let world = with_ended_job();
    world.consume("s");
    world
}

const TWO_CONSUMERS: &[Actor<World>] = &[
    ("first", |world| world.consume("s")),
    ("second", |world| world.consume("s")),
];

#[test]
fn two_consumers_tell_each_event_once() {
    let limits = Limits {
        deviations: 3,
        ..LIMITS
    };
    holds(&story(with_ended_job, TWO_CONSUMERS), limits);
}

#[test]
fn a_refused_start_takes_nothing_from_the_owner() {
    let actors: &[Actor<World>] = &[
        ("thief", |world| world.start("t")),
        ("thief's consumer", |world| world.consume("t")),
        ("owner's consumer", |world| world.consume("s")),
    ];
    holds(&story(with_ended_job, actors), LIMITS);
    let closing: &[Actor<World>] = &[
        ("thief", |world| world.start("t")),
        ("thief's end", |world| world.close("t")),
        ("owner's consumer", |world| world.consume("s")),
    ];
    holds(&story(with_ended_job, closing), LIMITS);
}

#[test]
fn a_reused_id_is_another_job() {
    let actors: &[Actor<World>] = &[
        ("consumer", |world| world.consume("s")),
        ("pruner", World::prune),
        ("launcher", |world| world.start("s")),
    ];
    holds(&story(with_ended_job, actors), LIMITS);
    holds(&story(with_ended_job, LATE_ACK), LIMITS);
    let late: &[Actor<World>] = &[
        ("late consumer", |world| world.consume("s")),
        ("consumer", |world| world.consume("s")),
        ("pruner", World::prune),
        ("launcher", |world| world.start("s")),
    ];
    holds(&story(with_ended_job, late), LIMITS);
}

const LATE_ACK: &[Actor<World>] = &[
    ("late acker", |world| world.ack_late("s")),
    ("consumer", |world| world.consume("s")),
    ("pruner", World::prune),
    ("launcher", |world| world.start("s")),
];

/// `cargo test -p outlive model -- --ignored`: about an hour on two cores.
#[test]
#[ignore = "every interleaving with one more switch takes an hour"]
fn the_stories_hold_with_one_more_deviation() {
    let more = |deviations| Limits {
        deviations,
        ..LIMITS
    };
    holds(&story(with_ended_job, TWO_CONSUMERS), more(4));
    holds(&story(with_ended_job, LATE_ACK), more(3));
}

#[test]
fn a_pruner_never_removes_a_link_of_the_next_job() {
    let actors: &[Actor<World>] = &[
        ("pruner", World::prune),
        ("launcher", |world| world.start("t")),
        ("consumer", |world| world.consume("t")),
    ];
    holds(&story(with_told_job, actors), LIMITS);
    let two: &[Actor<World>] = &[
        ("pruner", World::prune),
        ("other pruner", World::prune),
        ("launcher", |world| world.start("s")),
    ];
    holds(&story(with_told_job, two), LIMITS);
}

#[test]
fn the_job_of_a_paused_launcher_is_found_when_it_continues() {
    let actors: &[Actor<World>] = &[
        ("launcher", |world| world.start("s")),
        ("sweeper", World::prune),
        ("consumer", |world| world.consume("s")),
    ];
    holds(&story(World::new, actors), LIMITS);
}

#[test]
fn a_post_made_twice_is_told_once() {
    let actors: &[Actor<World>] = &[
        ("poster", |world| world.post("s")),
        ("poster again", |world| world.post("s")),
        ("poster for another", |world| world.post("t")),
        ("consumer", |world| world.consume("s")),
        ("pruner", World::prune),
    ];
    let begin = World::with_one_post;
    holds(&story(begin, actors), LIMITS);
    // The second poster has checked before the first one's post is told and pruned.
    let late: &[Actor<World>] = &[
        ("late poster", |world| world.post("s")),
        ("poster", |world| world.post("s")),
        ("consumer", |world| world.consume("s")),
        ("pruner", World::prune),
    ];
    holds(&story(begin, late), LIMITS);
}
