//! Matches in very large outputs.

use super::{EVERY_MATCH, run, told, told_of, world};

/// Lines that are longer than the part that is searched at a time.
#[test]
fn a_match_anywhere_in_a_very_long_line_is_found_once() {
    needs!(Python);
    let world = world(EVERY_MATCH);
    for place in [0, 65_530, 500_000, 1_048_560] {
        let script = format!(
            "python3 -c 'print(\"x\" * {place} + \"ERROR\" + \"x\" * (1048576 - {place})); print(\"after ERROR\")'"
        );
        let told = told_of(&world, &["--watch", "ERROR"], &script);
        assert_eq!(told.len(), 2, "a match at {place}");
        assert_eq!(told[1], "after ERROR");
        assert!(told[0].len() <= 2000, "{} bytes are told", told[0].len());
    }
}

#[test]
fn a_match_in_the_middle_of_a_flood_is_found_though_the_middle_is_dropped() {
    let world = world(EVERY_MATCH);
    let script = "head -c 100000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo the ERROR; head -c 100000000 /dev/zero | tr '\\0' y";
    let id = run(&world, &["--max-output", "1M", "--watch", "ERROR"], script);
    let job = world.wait(&id);
    assert_eq!(told(&world, &id), ["the ERROR"]);
    let matched = &world.events(&id, "matched")[0]["last"]["offset"];
    let offset = matched.as_u64().unwrap();
    assert_eq!(offset, 100_000_000 + 100_000_000_u64.div_ceil(99));
    let dropped = job["output"]["dropped_bytes"].as_u64().unwrap();
    assert!(dropped > 199_000_000, "{job}");
    let kept = world.ok(&["log", &id, "--grep", "ERROR"]);
    assert!(!kept.contains("the ERROR"), "it is still there");
}

/// None of very many matches is lost for lack of space.
#[test]
fn many_matches_at_once_are_all_told() {
    let world = world(EVERY_MATCH);
    let id = run(&world, &["--watch", "n"], "seq -f 'n %g' 1 5000");
    world.wait(&id);
    assert_eq!(super::matches(&world, &id), 5000);
    let last = world.events(&id, "matched").pop().unwrap();
    assert_eq!(last["last"]["text"], "n 5000");
}
