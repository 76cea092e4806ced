//! `run --env-clean` and `--env-pass`.

use super::{begun_with, configure, of_job};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;

#[test]
fn a_clean_environment_has_only_the_base() {
    let world = World::new();
    let caller = [
        ("FOO", "1"),
        ("GITHUB_TOKEN", "s3cr3t"),
        ("LC_TIME", "C"),
        ("TZ", "UTC"),
        ("PYTHONUNBUFFERED", "0"),
    ];
    let (all, _) = of_job(&world, &[], &caller);
    assert_eq!((&*all["FOO"], &*all["GITHUB_TOKEN"]), ("1", "s3cr3t"));
    assert_eq!(all["PYTHONUNBUFFERED"], "0");
    let (clean, ran) = of_job(&world, &["--env-clean", "--env", "GIVEN=2"], &caller);
    assert_eq!(ran.stderr, "");
    let base = [
        "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR",
    ];
    let more = [
        "XDG_RUNTIME_DIR",
        "DBUS_SESSION_BUS_ADDRESS",
        "GIVEN",
        "PYTHONUNBUFFERED",
    ];
    for name in clean.keys() {
        let is_known = base.iter().chain(&more).any(|known| known == name);
        let is_kind = name.starts_with("LC_") || name.starts_with("OUTLIVE_");
        assert!(is_known || is_kind, "{name} in {clean:?}");
    }
    assert_eq!(clean["PATH"], all["PATH"]);
    assert_eq!((&*clean["LC_TIME"], &*clean["TZ"]), ("C", "UTC"));
    assert_eq!(clean["GIVEN"], "2");
    assert_eq!(clean["PYTHONUNBUFFERED"], "1", "as for every job");
    // So that a job can start jobs in the same home.
    assert_eq!(clean["OUTLIVE_HOME"], all["OUTLIVE_HOME"]);
}

#[test]
fn patterns_add_to_a_clean_environment() {
    let world = World::new();
    let caller = [("MY_A", "1"), ("MY_B", "2"), ("OTHER", "3")];
    let options = ["--env-clean", "--env-pass", "MY_*", "--env-pass=OTHE?"];
    let (job, _) = of_job(&world, &options, &caller);
    assert_eq!(
        (&*job["MY_A"], &*job["MY_B"], &*job["OTHER"]),
        ("1", "2", "3")
    );
    let (job, _) = of_job(&world, &options[..3], &caller);
    assert!(!job.contains_key("OTHER"), "{job:?}");
}

/// A job can read the environment of its keepers.
#[test]
fn the_keepers_have_no_more_than_the_job() {
    let world = World::new();
    let mut command = world.command(["run", "--id", "j", "--env-clean", "--", "sleep", "60"]);
    let ran = Ran::of(command.env("FOO", "s3cr3t"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let pair = world.pair("j");
    for pid in [pair.keeper, pair.standby.unwrap(), world.leader("j")] {
        let text = begun_with(pid);
        assert!(text.contains("OUTLIVE_JOB=j\n"), "{text}");
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}

#[test]
fn a_clean_environment_has_what_a_doorbell_reads() {
    let world = World::new();
    let caller = [("OPS_SECRET", "s"), ("https_proxy", "p"), ("FOO", "1")];
    let (job, _) = of_job(&world, &["--env-clean"], &caller);
    assert!(!job.contains_key("OPS_SECRET"), "{job:?}");
    let bell = "[[doorbell]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"http://127.0.0.1:9/x\"\n\
                secret_env = \"OPS_SECRET\"\non = \"failure\"\n";
    configure(&world, bell);
    let (job, _) = of_job(&world, &["--env-clean"], &caller);
    assert_eq!((&*job["OPS_SECRET"], &*job["https_proxy"]), ("s", "p"));
    assert!(!job.contains_key("FOO"), "{job:?}");
}

#[test]
fn an_assignment_is_no_pattern() {
    let world = World::new();
    for wrong in ["A=b", ""] {
        let ran = world.outlive(&["run", "--env-pass", wrong, "--", "true"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("without a value"), "{ran:?}");
    }
}
