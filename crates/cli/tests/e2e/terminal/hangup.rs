//! When both keepers are killed, their terminal hangs up.

use outlive_testkit::checks::{assert_nothing_is_left, until_file, until_output};
use outlive_testkit::processes::is_alive;
use outlive_testkit::scripts::{WAITS, go, let_go, on_terminal};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

#[test]
fn a_job_whose_keepers_are_both_killed_is_hung_up_and_has_an_end() {
    let world = World::new();
    let script = "trap 'echo hup > \"$GO\"; exit 9' HUP; echo up; while :; do sleep 0.02; done";
    let id = on_terminal(&world, script);
    until_output(&world, &id, "up\r\n");
    let pid = world.leader(&id);
    world.kill_both(&id);
    until_file(&go(&world), b"hup\n");
    until("the leader is gone", || !is_alive(pid));
    let job = world.wait(&id);
    assert_eq!(job["state"], "ended", "{job}");
    let honest = job["exit_code"] == 9 || job["outcome"]["kind"] == "lost";
    assert!(honest, "{job}");
    let ran = world.outlive(&["send", &id, "x"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("ended"), "{}", ran.stderr);
    assert_eq!(world.ok(&["log", &id, "--screen"]), "up");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_job_that_ignores_the_hangup_goes_on_without_a_terminal() {
    let world = World::new();
    let id = on_terminal(&world, &format!("trap '' HUP; echo up; {WAITS}exit 6"));
    until_output(&world, &id, "up\r\n");
    world.kill_both(&id);
    assert_eq!(world.show(&id)["state"], "running");
    for verb in [["send", &id, "x"], ["resize", &id, "24x80"]] {
        let ran = world.outlive(&verb);
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(
            ran.stderr.contains("its terminal was lost"),
            "{verb:?}: {}",
            ran.stderr
        );
    }
    assert_eq!(world.ok(&["log", &id, "--screen"]), "up");
    let_go(&world);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 6);
    // Output that was still in the terminal is lost. Nobody knows whether there was any.
    assert_eq!(job["output"]["complete"], false, "{job}");
    assert_nothing_is_left(&world, &id);
}
