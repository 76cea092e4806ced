//! A launch is carried out once, however often and over however many wires it is sent.

use super::id;
use outlive_core::far::{Answer, Call, FarVariables, Launched, Opening, Standing};
use outlive_core::wire::{Frame, Kind, split};
use outlive_core::{Incarnation, os_text::OsText};
use outlive_testkit::checks::every;
use outlive_testkit::processes::{CONT, kill, until_stopped};
use outlive_testkit::waiting::until;
use outlive_testkit::wire_client::{WireClient, open_frame};
use outlive_testkit::world::World;
use std::fs;

/// A job that leaves a line in a file each time it runs.
fn counted(world: &World) -> String {
    format!("echo ran >> {}", world.path("ran").display())
}

fn times(world: &World) -> usize {
    let text = fs::read_to_string(world.path("ran")).unwrap_or_default();
    text.lines().count()
}

#[test]
fn a_job_runs_with_the_variables_of_its_launch() {
    let world = World::new();
    let far = WireClient::greeted(&world);
    let mut launch = far.launch_of("job", &["sh", "-c", "echo $GREETING-$HOME; pwd; exit 7"]);
    launch.variables = FarVariables {
        removed: vec!["HOME".into()],
        set: vec![("GREETING".into(), "hello".into())],
    };
    launch.spec.cwd = "below".into();
    let here = world.path("login");
    fs::create_dir_all(here.join("below")).unwrap();
    drop(far);
    let mut far = WireClient::greeted_with(&world, |command| {
        command.env("HOME", &here);
    });
    launch.epoch = far.epoch;
    assert_eq!(far.try_launch(launch), Launched::There);
    let records = far.until_over("job");
    assert!(
        records.iter().any(|line| line.contains(r#""code":7"#)),
        "{records:?}"
    );
    let expected = format!("hello-\n{}\n", here.join("below").display());
    assert_eq!(String::from_utf8_lossy(&world.output("job")), expected);
}

#[test]
fn a_repeated_launch_is_the_same_job_and_another_one_is_refused() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    let launch = far.launch_of("job", &["sh", "-c", &counted(&world)]);
    for _ in 0..3 {
        assert_eq!(far.try_launch(launch.clone()), Launched::There);
    }
    far.until_over("job");
    assert_eq!(far.try_launch(launch.clone()), Launched::There);
    let mut other = launch.clone();
    other.spec.incarnation = Some(Incarnation::parse("00000001").unwrap());
    assert_eq!(far.try_launch(other), Launched::IdTaken);
    assert_eq!(times(&world), 1);
    // A job of the far home itself.
    world.ok(&["run", "--id", "own", "--", "true"]);
    let mut own = launch;
    own.spec.id = id("own");
    assert_eq!(far.try_launch(own), Launched::IdTaken);
    let jobs = ["job", "own", "none"].map(id).to_vec();
    let standing = far.call(Call::Standing { jobs }).unwrap();
    let expected = vec![Standing::There, Standing::OtherJob, Standing::NotThere];
    assert_eq!(standing, Answer::Standing(expected));
}

/// The wire is cut after each frame of a launch, and inside of each. Then the launch is repeated.
#[test]
fn a_launch_cut_anywhere_and_repeated_runs_once() {
    let wire = |far: &WireClient, launch| {
        let opening = Opening::Call(Box::new(Call::Launch(Box::new(launch))));
        open_frame(far.journals + 1, &opening).encode()
    };
    let cuts = [0, 1, 20, 400, usize::MAX];
    every(
        &cuts,
        |cut| format!("cut at {cut}"),
        |cut| {
            let world = World::new();
            let far = WireClient::greeted(&world);
            let launch = far.launch_of("job", &["sh", "-c", &counted(&world)]);
            let bytes = wire(&far, launch.clone());
            far.write(&bytes[..bytes.len().min(*cut)]).unwrap();
            far.leave();
            let mut far = WireClient::greeted(&world);
            let there = far
                .call(Call::Standing {
                    jobs: vec![id("job")],
                })
                .unwrap();
            let expected = match *cut == usize::MAX {
                true => Standing::There,
                false => Standing::NotThere,
            };
            assert_eq!(there, Answer::Standing(vec![expected]));
            let mut launch = launch;
            launch.epoch = far.epoch;
            assert_eq!(far.try_launch(launch), Launched::There);
            far.until_over("job");
            assert_eq!(times(&world), 1);
        },
    );
}

/// The far end is killed at each step of a launch. Then the launch is repeated.
/// `far:Launched` is after the job was started, before the answer.
#[test]
fn a_launch_killed_at_any_step_and_repeated_runs_once() {
    let steps = [
        "launcher:DirectoryMade",
        "launcher:Linked",
        "launcher:Named",
        "launcher:Relinked",
        "launcher:KeeperSpawned",
        "far:Launched",
        "far:News",
    ];
    every(
        &steps,
        |step| step.to_string(),
        |step| {
            let world = World::new();
            let mut far = WireClient::greeted_with(&world, |command| {
                command.env("OUTLIVE_HOOKS", format!("{step}=kill"));
            });
            let launch = far.launch_of("job", &["sh", "-c", &counted(&world)]);
            far.open(&Opening::Call(Box::new(Call::Launch(Box::new(
                launch.clone(),
            )))));
            far.until_gone();
            let mut far = WireClient::greeted(&world);
            let mut again = launch;
            again.epoch = far.epoch;
            assert_eq!(far.try_launch(again), Launched::There);
            far.until_over("job");
            assert_eq!(times(&world), 1);
        },
    );
}

/// An old far end is about to name a job when the next wire says hello.
#[test]
fn after_the_next_hello_an_older_wire_starts_nothing() {
    let world = World::new();
    let mut old = WireClient::greeted(&world);
    let launch = old.launch_of("job", &["sh", "-c", &counted(&world)]);
    let mut new = WireClient::greeted(&world);
    assert!(new.epoch > old.epoch);
    assert_eq!(old.try_launch(launch.clone()), Launched::Stale);
    // A place of the same home that is the same host has epochs of its own.
    let mut other = WireClient::start(&world);
    other.hello("other").unwrap();
    let mut current = launch;
    current.epoch = new.epoch;
    assert_eq!(new.try_launch(current), Launched::There);
    new.until_over("job");
    assert_eq!(times(&world), 1);
}

/// Whoever says hello waits for a launch that is about to have its name: then it is there, for good.
#[test]
fn a_hello_waits_for_a_launch_that_is_being_named() {
    let world = World::new();
    let mut old = WireClient::greeted_with(&world, |command| {
        command.env("OUTLIVE_HOOKS", "launcher:Linked=stop");
    });
    let launch = old.launch_of("job", &["sh", "-c", &counted(&world)]);
    let launching = old.open(&Opening::Call(Box::new(Call::Launch(Box::new(launch)))));
    until_stopped(old.pid());
    let mut new = WireClient::start(&world);
    let hello = new.begin_hello("place");
    until("the hello waits for the lock", || waits_for_lock(new.pid()));
    assert!(new.frames().is_empty(), "the job may still get its name");
    kill(old.pid(), CONT);
    let epoch = new.greeting(hello).unwrap().epoch;
    assert!(epoch > old.epoch);
    let there = new
        .call(Call::Standing {
            jobs: vec![id("job")],
        })
        .unwrap();
    assert_eq!(there, Answer::Standing(vec![Standing::There]));
    assert_eq!(old.answer(launching), Ok(Answer::Launch(Launched::There)));
    until("it ran", || times(&world) == 1);
}

/// Whether a thread of a process sleeps until a file lock is free.
fn waits_for_lock(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let mut calls =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("syscall")).ok());
    // fcntl and F_OFD_SETLKW.
    calls.any(|call| call.split(' ').nth(2) == Some("0x26"))
}

#[test]
fn a_job_that_cannot_start_is_there_and_its_journal_says_why() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["/no/such/program"]);
    let records = far.until_over("job");
    let told = records.iter().any(|line| line.contains("not_started"));
    assert!(told, "{records:?}");
}

#[test]
fn what_makes_no_sense_is_not_made() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    let sound = far.launch_of("job", &["true"]);
    let mut wrong = vec![sound.clone(); 6];
    wrong[0].spec.session = None;
    wrong[1].spec.incarnation = None;
    wrong[2].spec.argv = Vec::new();
    wrong[3].spec.argv = vec![OsText::from("a\0b")];
    wrong[4].variables.set = vec![("A=B".into(), "x".into())];
    wrong[5].spec.format = 99;
    for launch in wrong {
        let launched = far.try_launch(launch.clone());
        let is_refused = matches!(launched, Launched::NotMade { .. });
        assert!(is_refused, "{launched:?} for {launch:?}");
    }
    assert!(!world.job_dir("job").exists());
    assert_eq!(far.try_launch(sound), Launched::There);
}

#[test]
fn a_launch_may_be_longer_than_a_frame() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    let text = "x".repeat(600 * 1024);
    let mut launch = far.launch_of("job", &["sh", "-c", "cat", "sh"]);
    launch.spec.command = text.clone();
    launch.variables.set = vec![("SHORT".into(), "y".into())];
    let stream = far.open(&Opening::LongCall);
    let call = serde_json::to_vec(&Call::Launch(Box::new(launch))).unwrap();
    far.send_within_room(stream, split(&call));
    far.send(&Frame::new(stream, Kind::Shut, []));
    assert_eq!(far.answer(stream), Ok(Answer::Launch(Launched::There)));
    far.until_over("job");
}

/// As `sshd` leaves it: bash takes such an environment for a login and reads `.bashrc`.
#[test]
fn what_the_connection_was_is_not_known_to_the_job() {
    let world = World::new();
    let home = world.path("login");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join(".bashrc"), "echo Welcome\n").unwrap();
    let mut far = WireClient::greeted_with(&world, |command| {
        command.env("HOME", &home).env("SHLVL", "0");
        command.env("SSH_CLIENT", "::1 1 22");
        command.env("SSH_CONNECTION", "::1 1 ::1 22");
    });
    far.launch("job", &["bash", "-c", "echo $SSH_CLIENT$SSH_CONNECTION."]);
    far.until_over("job");
    assert_eq!(String::from_utf8_lossy(&world.output("job")), ".\n");
}

#[test]
fn a_login_shell_gives_its_environment_and_nothing_of_what_it_prints() {
    let world = World::new();
    let home = world.path("login");
    fs::create_dir_all(&home).unwrap();
    fs::write(
        home.join(".profile"),
        "echo Welcome; export FROM_PROFILE=yes\n",
    )
    .unwrap();
    let mut far = WireClient::greeted_with(&world, |command| {
        command.env("HOME", &home).env("SHELL", "/bin/sh");
    });
    let mut launch = far.launch_of("job", &["sh", "-c", "echo $FROM_PROFILE"]);
    launch.login = true;
    assert_eq!(far.try_launch(launch), Launched::There);
    far.until_over("job");
    assert_eq!(world.output("job"), b"yes\n");
}

/// The answer of the first launch was lost, and by now the login shell does not work.
#[test]
fn a_job_that_is_there_needs_no_login_shell_again() {
    let world = World::new();
    let shell = |program: &'static str| {
        WireClient::greeted_with(&world, move |command| {
            command.env("SHELL", program);
        })
    };
    let mut far = shell("/bin/sh");
    let mut launch = far.launch_of("job", &["sh", "-c", &counted(&world)]);
    launch.login = true;
    assert_eq!(far.try_launch(launch.clone()), Launched::There);
    far.kill();
    let mut far = shell("/bin/false");
    launch.epoch = far.epoch;
    assert_eq!(far.try_launch(launch.clone()), Launched::There);
    // Without a job, it is needed.
    launch.spec.id = id("other");
    let launched = far.try_launch(launch);
    assert!(matches!(launched, Launched::NotMade { .. }), "{launched:?}");
    until("it ran", || times(&world) == 1);
}
