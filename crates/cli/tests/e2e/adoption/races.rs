//! Many adoptions at the same time, and kills at random moments.

use super::{keepers, unkept};
use crate::pair::{assert_whole_stream, places_in_the_stream, start_stream, stream_to};
use outlive_testkit::checks::{assert_nothing_is_left, every, keepings};
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::world::World;
use std::process::{Child, Stdio};

#[test]
fn many_verbs_at_once_adopt_a_job_once() {
    let world = World::new();
    let id = unkept(&world, &format!("{WAITS} echo done; exit 7"));
    let spawn = |_| {
        world
            .command(["show", &id, "--json"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let verbs: Vec<Child> = (0..20).map(spawn).collect();
    for mut verb in verbs {
        assert_eq!(verb.wait().unwrap().code(), Some(0));
    }
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    let pair = world.pair(&id);
    let mut expected = vec![pair.keeper, pair.standby.unwrap()];
    let mut alive = keepers(&world);
    expected.sort_unstable();
    alive.sort_unstable();
    assert_eq!(alive, expected);
    let_go(&world);
    assert_eq!(world.outlive(&["wait", &id]).code, 7);
    assert_eq!(world.output(&id), b"done\n");
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn killing_both_keepers_during_fast_output_loses_and_repeats_no_byte() {
    const KILLS: usize = 6;
    let mut streams: Vec<Vec<u64>> = (0..10).map(|_| places_in_the_stream(KILLS)).collect();
    streams.iter_mut().for_each(|places| places.sort_unstable());
    every(
        &streams,
        |places| format!("killed at bytes {places:?}"),
        |places| {
            let world = World::new();
            let id = start_stream(&world);
            for at in places {
                stream_to(&world, &id, *at);
                world.kill_both(&id);
                assert_eq!(world.show(&id)["state"], "running");
            }
            assert_whole_stream(&world, &id);
            assert_eq!(keepings(&world, &id).len(), 1 + KILLS);
        },
    );
}
