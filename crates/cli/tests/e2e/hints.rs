//! Command lines that are nearly right: the error says how to write them.

use outlive_testkit::world::World;

fn says(world: &World, args: &[&str], code: i32, hint: &str) {
    let ran = world.outlive(args);
    assert_eq!(ran.code, code, "{args:?}: {ran:?}");
    assert!(ran.stderr.contains(hint), "{args:?}: {ran:?}");
}

#[test]
fn send_with_keys_before_the_id_says_the_right_order() {
    let world = World::new();
    let hint = "`outlive send web --key C-c`";
    says(&world, &["send", "--key", "C-c", "web"], 2, hint);
    let usage = "outlive send <ID> [TEXT] [OPTIONS]";
    says(&world, &["send", "--key", "C-c", "w"], 2, usage);
}

#[test]
fn run_wait_with_a_separate_duration_says_to_use_an_equals_sign() {
    let world = World::new();
    for args in [
        &["run", "--wait", "5s", "--", "true"][..],
        &["run", "--quiet", "--wait", "5s", "true"],
    ] {
        says(&world, args, 127, "did you mean --wait=5s?");
    }
    let ready = ["run", "--ready", "port:1", "--wait-ready", "5s", "true"];
    says(&world, &ready, 127, "did you mean --wait-ready=5s?");
    let ran = world.outlive(&["run", "--wait", "/no/such/program"]);
    assert!(!ran.stderr.contains("did you mean"), "{ran:?}");
}

#[test]
fn run_without_a_command_says_what_to_give() {
    let world = World::new();
    let hint = "give a command, or --shell 'STRING'";
    says(&world, &["run"], 2, hint);
    says(&world, &["run", "--wait", "--"], 2, hint);
    assert_eq!(world.listed(&["--state", "all"]).len(), 0);
}
