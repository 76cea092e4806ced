//! The end of an adopted process: exact where the kernel tells it, and never guessed.

use super::{Started, adopt, adopted, log, outcome_is_told};
use outlive_sys::filter::linux_4_18;
use outlive_testkit::checks::{assert_nothing_is_left, every, exited, keepings, signaled};
use outlive_testkit::processes::{KILL, kill, state_of};
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;

/// Whether the process that started it reaps it before or after the keeper has looked.
#[derive(Clone, Copy, Debug)]
enum Parent {
    ReapsAtOnce,
    NeverReaps,
}

#[test]
fn its_exit_code_is_known_whether_its_parent_reaps_it_or_not() {
    let cells: Vec<(i32, Parent)> = [0, 7]
        .into_iter()
        .flat_map(|code| [(code, Parent::ReapsAtOnce), (code, Parent::NeverReaps)])
        .collect();
    every(
        &cells,
        |cell| format!("{cell:?}"),
        |(code, parent)| {
            let world = World::new();
            let mut started = Started::with(&world, &format!("{WAITS} exit {code}"));
            let id = adopted(&world, started.pid(), &[]);
            let job = world.show(&id);
            assert_eq!(job["state"], "running");
            assert_eq!(job["pid"], started.pid());
            assert_eq!(keepings(&world, &id), ["adopted"]);
            let_go(&world);
            match parent {
                Parent::ReapsAtOnce => started.reap(),
                Parent::NeverReaps => until("it has ended", || {
                    matches!(state_of(started.pid()), Some(b'Z') | None)
                }),
            }
            let ended = world.wait(&id);
            match (outcome_is_told(&job), parent) {
                (true, _) | (false, Parent::NeverReaps) => {
                    assert_eq!(ended["outcome"], exited(*code), "{ended}");
                    assert_eq!(ended["ended_by"], "itself");
                    assert!(ended["duration_ms"].is_u64(), "{ended}");
                }
                (false, Parent::ReapsAtOnce) => assert_is_lost(&ended),
            }
            assert_eq!(world.events(&id, "ended").len(), 1);
            assert_nothing_is_left(&world, &id);
        },
    );
}

fn assert_is_lost(ended: &Value) {
    assert_eq!(ended["outcome"]["kind"], "lost", "{ended}");
    assert_eq!(ended["exit_code"], Value::Null);
    let reason = ended["outcome"]["reason"].as_str().unwrap();
    assert!(reason.contains("adopted"), "{ended}");
}

#[test]
fn a_signal_from_elsewhere_is_reported_as_one() {
    let world = World::new();
    let mut started = Started::with(&world, "exec sleep 600");
    let id = adopted(&world, started.pid(), &[]);
    kill(started.pid(), KILL);
    let ended = world.wait(&id);
    started.reap();
    assert_eq!(ended["outcome"], signaled("SIGKILL"), "{ended}");
    assert_eq!(ended["ended_by"], "signal");
}

#[test]
fn its_output_stays_where_it_goes_and_everything_says_so() {
    let world = World::new();
    let mut started = Started::with(&world, &format!("{WAITS} echo hello; exit 3"));
    let ran = adopt(&world, started.pid(), &["--session", "s"]);
    let path = log(&world);
    let path = path.to_str().unwrap();
    assert!(ran.stderr.contains("not captured"), "{ran:?}");
    assert!(ran.stderr.contains(path), "{ran:?}");
    let id = ran.text();
    let job = world.show(&id);
    assert_eq!(job["adopted"]["stdout"], path);
    assert_eq!(job["adopted"]["stderr"], path);
    assert!(job["command"].as_str().unwrap().contains("echo hello"));
    let_go(&world);
    started.reap();
    world.wait(&id);
    assert_eq!(fs::read_to_string(path).unwrap(), "hello\n");
    let shown = world.outlive(&["log", &id]);
    assert_eq!(shown.stdout, "");
    assert!(shown.stderr.contains("not captured"), "{shown:?}");
    assert!(shown.stderr.contains(path), "{shown:?}");
    assert!(world.ok(&["show", &id]).contains(path));
    let told = world.ok(&["inbox", "--session", "s"]);
    assert!(told.contains("Its output is not captured"), "{told}");
    assert!(told.contains(path), "{told}");
    assert!(!told.contains("It wrote nothing"), "{told}");
    let refused = world.outlive(&["send", &id, "text"]);
    assert_eq!(refused.code, 125, "{refused:?}");
}

#[test]
fn its_time_limit_counts_from_the_adoption() {
    let world = World::new();
    let started = Started::with(&world, "exec sleep 600");
    let id = adopted(&world, started.pid(), &["--timeout", "200ms"]);
    let ended = world.wait(&id);
    assert_eq!(ended["ended_by"], "timeout", "{ended}");
    assert!(ended["duration_ms"].as_u64().unwrap() >= 200, "{ended}");
}

/// The process ends between the look of the launcher and that of the keeper.
#[test]
fn a_process_that_ends_meanwhile_is_lost_and_not_guessed() {
    let world = World::new();
    let mut started = Started::with(&world, &format!("{WAITS} exit 0"));
    let pid = started.pid().to_string();
    let mut command = world.command(["adopt", &pid, "--id", "job"]);
    let adopting = command
        .env("OUTLIVE_HOOKS", "launcher:Relinked=stop")
        .spawn();
    let mut adopting = adopting.unwrap();
    outlive_testkit::processes::until_stopped(adopting.id() as i32);
    let_go(&world);
    started.reap();
    kill(adopting.id() as i32, outlive_testkit::processes::CONT);
    assert!(adopting.wait().unwrap().success());
    let job = world.show("job");
    assert_eq!(job["outcome"]["kind"], "lost", "{job}");
    assert_eq!(job["exit_code"], json!(null));
    assert_eq!(world.outlive(&["wait", "job"]).code, 125);
}

/// Before Linux 6.15 the kernel tells only the parent. Then the adoption says so, and no code is made up.
#[test]
fn where_the_kernel_does_not_tell_the_outcome_it_is_said_and_not_guessed() {
    let mut world = World::new();
    world.refuse(&linux_4_18());
    let mut started = Started::with(&world, &format!("{WAITS} exit 7"));
    let ran = adopt(&world, started.pid(), &[]);
    assert!(ran.stderr.contains("but not its exit code"), "{ran:?}");
    let id = ran.text();
    assert!(!outcome_is_told(&world.show(&id)));
    let_go(&world);
    started.reap();
    let code = world.outlive(&["wait", &id]).code;
    let ended = world.show(&id);
    // A keeper that looks just before the parent reaps it sees the code.
    match ended["outcome"]["kind"].as_str().unwrap() {
        "exited" => assert_eq!((code, &ended["exit_code"]), (7, &json!(7))),
        _ => {
            assert_is_lost(&ended);
            assert_eq!(code, 125);
        }
    }
}
