//! `run --place`

use super::Far;
use outlive_testkit::ran::Ran;
use serde_json::Value;
use std::fs;

/// The job that `run --json` has printed.
#[track_caller]
fn job(ran: &Ran) -> Value {
    let job = serde_json::from_str(&ran.stdout);
    job.unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn a_place_is_named_by_the_option_or_by_the_environment() {
    let far = Far::new();
    let world = &far.world;
    let place = |given: &str, args: &[&str]| {
        let args = [&["run", "--json"][..], args, &["--", "true"]].concat();
        let ran = Ran::of(world.command(args).env("OUTLIVE_PLACE", given));
        job(&ran)["place"].as_str().unwrap().to_owned()
    };
    assert_eq!(place("", &[]), "local");
    assert_eq!(place("local", &[]), "local");
    assert_eq!(place("far", &[]), "far");
    assert_eq!(place("far", &["--place", "local"]), "local");
    assert_eq!(place("far", &["--place", ""]), "local");
    assert_eq!(place("", &["--place", "far"]), "far");
}

#[test]
fn what_cannot_be_at_a_place_is_refused_and_makes_no_job() {
    let far = Far::new();
    let world = &far.world;
    for (args, word) in [
        (&["--place", "nowhere"][..], "nowhere"),
        (&["--place", "ssh:"], "ssh:"),
        (&["--place", "ftp:host"], "ftp:host"),
        (&["--place", "far", "--keep-awake"], "awake"),
        (&["--place", "far", "--env-clean"], "environment"),
        (&["--place", "far", "--env-pass", "A*"], "--env"),
        (&["--place", "far", "--login"], "login = true"),
        (&["--place", "far", "--foreground"], "foreground"),
    ] {
        let ran = world.outlive(&[&["run"][..], args, &["--", "true"]].concat());
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(word), "{args:?}: {ran:?}");
    }
    world.ok(&["run", "--id", "here", "--", "true"]);
    let after = ["run", "--place", "far", "--after", "here", "--", "true"];
    assert_eq!(world.outlive(&after).code, 2);
    assert_eq!(world.listed(&["--state", "all"]), ["here"]);
}

#[test]
fn only_variables_that_are_named_travel() {
    let far = Far::with("env = { CONFIGURED = \"c\" }");
    let args = [
        "run", "--place", "far", "--id", "job", "--wait", "--env", "GIVEN=g", "--env", "NAMED",
        "--", "env",
    ];
    let mut run = far.world.command(args);
    let ran = Ran::of(run.env("NAMED", "n").env("PRIVATE", "hunter2"));
    let said = ran.stdout.lines().collect::<Vec<_>>();
    for variable in ["GIVEN=g", "NAMED=n", "CONFIGURED=c", "OUTLIVE_JOB=job"] {
        assert!(said.contains(&variable), "{variable} is not in {ran:?}");
    }
    for absent in ["PRIVATE", "hunter2", "OUTLIVE_PLACE", "OUTLIVE_SESSION"] {
        assert!(!ran.stdout.contains(absent), "{absent} is in {ran:?}");
    }
}

#[test]
fn a_directory_is_one_of_the_place() {
    let far = Far::with("cwd = \"project\"");
    let project = far.there("project");
    fs::create_dir_all(project.join("src")).unwrap();
    let pwd = |args: &[&str]| {
        let args = [
            &["run", "--place", "far", "--wait"][..],
            args,
            &["--", "pwd"],
        ]
        .concat();
        far.world.ok(&args).trim().to_owned()
    };
    assert_eq!(pwd(&[]), project.to_str().unwrap());
    assert_eq!(
        pwd(&["--cwd", "src"]),
        project.join("src").to_str().unwrap()
    );
    assert_eq!(pwd(&["--cwd", "/"]), "/");
}

#[test]
fn the_same_command_at_another_place_is_another_job() {
    let far = Far::new();
    let run = |id: &str, place: &str| {
        let mut command = far.world.command([
            "run",
            "--id",
            id,
            "--place",
            place,
            "--cwd",
            "/",
            "--unless-running",
            "--json",
            "--",
            "sleep",
            "60",
        ]);
        job(&Ran::of(&mut command))["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(run("here", "local"), "here");
    assert_eq!(run("there", "far"), "there");
    assert_eq!(run("again", "far"), "there");
    far.world.ok(&["stop", "here", "there"]);
}

#[test]
fn a_place_that_is_not_reached_starts_nothing_and_makes_no_job() {
    let far = Far::new();
    far.cut();
    let ran = far
        .world
        .outlive(&["run", "--place", "far", "--json", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("the link is down"), "{ran:?}");
    assert!(ran.stdout.contains("\"code\":\"unreachable\""), "{ran:?}");
    assert_eq!(far.world.listed(&["--state", "all"]), [""; 0]);
    far.mend();
    far.world
        .ok(&["run", "--place", "far", "--wait", "--", "true"]);
}
