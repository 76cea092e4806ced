//! What is said of the jobs of a place that is not reached.

use super::Far;
use outlive_testkit::checks::exited;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;

#[test]
fn a_job_that_is_not_heard_from_is_unreachable_and_not_lost() {
    let far = Far::new();
    let world = &far.world;
    far.start("job", "echo up; exec sleep 60");
    far.cut();
    let job = world.show("job");
    assert_eq!(job["state"], "unreachable", "{job}");
    assert_eq!(job["last"]["state"], "running", "{job}");
    assert_eq!(job["unreachable"]["host"], "far", "{job}");
    assert!(job["unreachable"]["since"].is_string(), "{job}");
    assert!(
        job["unreachable"]["reason"]
            .as_str()
            .unwrap()
            .contains("the link is down")
    );
    assert!(job["heard_at"].is_string(), "{job}");
    assert!(
        job["outcome"].is_null() && job["exit_code"].is_null(),
        "{job}"
    );
    let list = world.ok(&["list"]);
    assert!(
        list.contains("PLACE") && list.contains("unreachable"),
        "{list}"
    );
    far.mend();
    assert_eq!(world.show("job")["state"], "running");
    world.ok(&["stop", "job"]);
    assert!(world.show("job").get("unreachable").is_none());
}

#[test]
fn nothing_is_sent_to_a_place_that_is_not_reached() {
    let far = Far::new();
    let world = &far.world;
    let args = [
        "run", "--place", "far", "--id", "job", "--stdin", "pipe", "--", "cat",
    ];
    world.ok(&args);
    far.cut();
    for args in [
        &["stop", "job"][..],
        &["send", "job", "x", "--enter"],
        &["signal", "job", "USR1"],
        &["label", "job", "k=v"],
        &["log", "job"],
    ] {
        let ran = world.outlive(args);
        assert_eq!(ran.code, 125, "{args:?}: {ran:?}");
        assert!(
            ran.stderr.contains("far was not reached"),
            "{args:?}: {ran:?}"
        );
        assert!(ran.stderr.contains("nothing was sent"), "{args:?}: {ran:?}");
    }
    far.mend();
    world.ok(&["send", "job", "y", "--enter", "--eof"]);
    world.wait("job");
    assert_eq!(world.ok(&["log", "job"]).trim(), "y");
}

#[test]
fn a_wait_goes_on_until_the_place_is_back() {
    let far = Far::new();
    let world = &far.world;
    let go = far.there("go");
    let script = format!(
        "until [ -e '{}' ]; do sleep 0.02; done; exit 7",
        go.display()
    );
    far.start("job", &script);
    far.cut();
    let ran = world.outlive(&["wait", "job", "--timeout", "100ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    let waiter = begin(world.command(["wait", "job"]));
    std::fs::write(&go, "").unwrap();
    until("it has ended there", || !far.is_busy());
    far.mend();
    assert_eq!(Ran::end_of(waiter).code, 7);
    assert_eq!(world.show("job")["outcome"], exited(7));
}

#[test]
fn the_end_and_its_words_stay_here() {
    let far = Far::new();
    let world = &far.world;
    far.start("job", "echo the last words; exit 3");
    world.wait("job");
    let events = far.told();
    assert!(
        events[0]["text"]
            .as_str()
            .unwrap()
            .contains("the last words"),
        "{events:?}"
    );
    far.cut();
    let job = world.show("job");
    assert_eq!(
        (&job["state"], &job["exit_code"]),
        (&"ended".into(), &3.into())
    );
    assert_eq!(job["preview"], "the last words\n");
    assert_eq!(world.outlive(&["log", "job"]).code, 125);
}

#[test]
fn a_job_is_removed_there_first() {
    let far = Far::new();
    let world = &far.world;
    for id in ["one", "two", "three"] {
        world.ok(&["run", "--place", "far", "--id", id, "--wait", "--", "true"]);
    }
    let jobs = far.there(".local/state/outlive/jobs");
    let there = |id: &str| jobs.join(id).is_dir();
    assert!(there("one"));
    world.ok(&["prune", "--all", "--place", "local"]);
    assert_eq!(world.listed(&["--state", "all"]).len(), 3);
    far.cut();
    let ran = world.outlive(&["prune", "--all"]);
    assert!(ran.stderr.contains("the link is down"), "{ran:?}");
    assert_eq!(world.listed(&["--state", "all"]).len(), 3);
    far.mend();
    world.ok(&["prune", "--keep", "2", "--place", "far"]);
    assert_eq!(
        (there("one"), there("two"), there("three")),
        (false, true, true)
    );
    far.cut();
    world.ok(&["prune", "--all", "--force"]);
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
    assert!(there("two"));
}

/// The file that says how its start went is gone. Nobody here decides what became of the job.
#[test]
fn a_job_of_a_place_is_never_taken_for_one_of_this_machine() {
    let far = Far::new();
    let world = &far.world;
    far.start("job", "exec sleep 60");
    far.cut();
    let dir = world.job_dir("job");
    let placed = std::fs::read(dir.join("placed")).unwrap();
    let journal = std::fs::read(dir.join("journal")).unwrap();
    std::fs::remove_file(dir.join("placed")).unwrap();
    // Nothing of it has come yet. Of a job of this machine, nothing would ever be known.
    std::fs::write(dir.join("journal"), "").unwrap();
    let job = world.show("job");
    assert!(job["outcome"].is_null(), "{job}");
    assert_eq!(std::fs::read(dir.join("journal")).unwrap(), b"");
    std::fs::write(dir.join("journal"), journal).unwrap();
    std::fs::write(dir.join("placed"), placed).unwrap();
    far.mend();
    world.ok(&["stop", "job"]);
}
