//! A job may open its output by name again after all its processes have closed it.

use outlive_testkit::processes::until_blocked;
use outlive_testkit::scripts::{go, let_go, loop_until};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

/// More than a pipe can hold, so the job can continue only if the keeper reads.
const MUCH: usize = 200_000;

#[test]
fn output_written_through_a_reopened_descriptor_is_kept() {
    let world = World::new();
    let closed = world.path("closed");
    let script = format!(
        "echo a; exec 1>&- 2>&-; : > {}; {}; exec > \"$OUTLIVE_JOB_DIR/feed\"; head -c {MUCH} /dev/zero; exit 7",
        closed.display(),
        loop_until(&go(&world)),
    );
    let id = world.shell(&script);
    until("it is closed", || closed.exists());
    // Then the keeper has noticed that the output was closed.
    until_blocked(world.pair(&id).keeper);
    let_go(&world);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 7);
    assert_eq!(job["output"]["complete"], true);
    assert_eq!(world.output(&id), [&b"a\n"[..], &[0; MUCH]].concat());
}
