//! A release that knows no limits meets a job that has some.

use super::both_ways;
use outlive_testkit::checks::keepings;
use std::path::PathBuf;

/// The control groups of a job, as its journal names them.
fn groups(meeting: &super::Meeting, id: &str) -> Vec<PathBuf> {
    let confined = meeting.world.events(id, "confined");
    let directory = |group: &serde_json::Value| group["directory"].as_str().map(PathBuf::from);
    let groups = confined
        .iter()
        .filter_map(|confined| confined["groups"].as_array());
    groups.flatten().filter_map(directory).collect()
}

/// It shows the job and waits for it. If it adopts the job, it leaves the groups, and pruning by the newer one removes
/// them.
#[test]
fn a_limited_job_is_used_and_adopted() {
    both_ways(|meeting| {
        if !meeting.host.knows("--memory") || meeting.guest.knows("--memory") {
            return;
        }
        let options = ["--memory", "100M", "--nice", "3"];
        let id = meeting.host.start(&options, "nice; exit 5");
        assert_eq!(meeting.guest.wait(&id), 5);
        assert_eq!(meeting.guest.show(&id)["ended_by"], "itself");
        meeting.world.until_over(&id);
        assert!(groups(meeting, &id).iter().all(|group| !group.exists()));

        let id = meeting.host.start(&options, "exec sleep 60");
        meeting.world.kill_both(&id);
        let stopped = meeting.guest.ok(&["stop", &id]);
        assert!(stopped.contains("SIGTERM"), "{stopped}");
        assert_eq!(keepings(meeting.world, &id), ["launched", "adopted"]);
        assert_eq!(meeting.host.show(&id)["ended_by"], "stop");
        meeting.world.until_over(&id);
        meeting.world.until_nothing_runs();
        // Pruning removes the journal, too.
        let groups = groups(meeting, &id);
        meeting.host.ok(&["prune", "--all", "--force"]);
        assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
    });
}
