//! Which job a verb means, and wrong usage.

use outlive_testkit::world::World;

#[test]
fn a_job_is_found_by_id_name_or_unique_beginning_or_the_code_is_3() {
    let world = World::new();
    world.ok(&["run", "--id", "alpha1", "--name", "first", "--", "true"]);
    world.ok(&["run", "--id", "alpha2", "--", "true"]);
    world.ok(&["run", "--id", "beta", "--", "true"]);
    world.ok(&["wait", "alpha1", "alpha2", "beta"]);
    for (text, id) in [
        ("alpha1", "alpha1"),
        ("first", "alpha1"),
        ("b", "beta"),
        ("be", "beta"),
    ] {
        assert_eq!(world.show(text)["id"], id);
        assert_eq!(world.outlive(&["wait", text]).code, 0);
    }
    for text in ["alpha", "a", "gamma", "firs", "../jobs/beta", ""] {
        for verb in ["show", "log", "wait", "stop"] {
            let ran = world.outlive(&[verb, text]);
            assert_eq!(ran.code, 3, "{verb} {text:?}: {ran:?}");
            assert_eq!(ran.stdout, "");
        }
        assert_eq!(world.outlive(&["signal", text, "TERM"]).code, 3);
    }
    let ambiguous = world.outlive(&["show", "alpha"]).stderr;
    assert!(ambiguous.contains("alpha1") && ambiguous.contains("alpha2"));
}

#[test]
fn a_name_means_the_newest_job_that_has_it() {
    let world = World::new();
    world.ok(&["run", "--id", "old", "--name", "build", "--shell", "exit 1"]);
    world.until_over("old");
    world.ok(&["run", "--id", "new", "--name", "build", "--shell", "exit 2"]);
    assert_eq!(world.outlive(&["wait", "build"]).code, 2);
    assert_eq!(world.show("build")["id"], "new");
}

#[test]
fn one_unknown_job_among_several_exits_3_and_does_nothing() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    assert_eq!(world.outlive(&["wait", &id, "nobody"]).code, 3);
    assert_eq!(world.outlive(&["stop", &id, "nobody"]).code, 3);
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn waiting_for_a_sign_that_was_not_set_up_is_refused() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    for (what, option) in [
        ("match", "--watch"),
        ("quiet", "--quiet-after"),
        ("ready", "--ready"),
    ] {
        let ran = world.outlive(&["wait", &id, "--for", what]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(option), "{ran:?}");
    }
    world.ok(&["stop", &id]);
}

#[test]
fn empty_values_of_watch_on_end_and_quiet_after_are_refused() {
    let world = World::new();
    for options in [
        ["--watch", ""],
        ["--watch-not", ""],
        ["--on-end", ""],
        ["--quiet-after", "0"],
    ] {
        let ran = world.outlive(&[&["run"], &options[..], &["--", "true"]].concat());
        assert_eq!(ran.code, 2, "{options:?}: {ran:?}");
        assert!(ran.stderr.contains(options[0]), "{ran:?}");
    }
    assert!(!world.home().join("jobs").exists(), "and starts nothing");
}
