//! A job from start to end.

use crate::world::World;

#[test]
fn a_job_runs_from_start_to_end() {
    let world = World::new();
    let id = world.shell("echo hello; exit 3");
    let job = world.wait(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(
        job["outcome"],
        serde_json::json!({ "kind": "exited", "code": 3 })
    );
    assert_eq!(job["exit_code"], 3);
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(world.output(&id), b"hello\n");
    assert_eq!(world.events(&id, "ended").len(), 1);
}
