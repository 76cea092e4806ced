//! Limits that cannot be used are refused with a word on what can.

use outlive_testkit::world::World;

#[test]
fn a_limit_that_makes_no_sense_is_refused() {
    let world = World::new();
    for (option, value, word) in [
        ("--memory", "4k", "at least 1M"),
        ("--memory", "lots", "64M"),
        ("--cpus", "0", "such as 1.5"),
        ("--cpus", "two", "such as 2 or 0.5"),
        ("--pids", "0", "1.."),
        ("--nice", "20", "-20..=19"),
    ] {
        let ran = world.outlive(&["run", option, value, "--", "true"]);
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.stderr.contains(word), "{option} {value}: {ran}");
    }
    for options in ["--follow", "--every=1s"] {
        let ran = world.outlive(&["show", "x", options]);
        assert_eq!(ran.code, 2, "{ran}");
    }
}
