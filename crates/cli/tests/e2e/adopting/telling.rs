//! An adopted job is listed, named, waited for and told of like any other.

use super::{Started, adopted};
use crate::mcp::client::{Client, text_of};
use outlive_testkit::processes::KILL;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::world::World;
use serde_json::json;

#[test]
fn it_has_a_name_a_session_and_a_task() {
    let world = World::new();
    let mut started = Started::with(&world, &format!("{WAITS} exit 4"));
    let options = ["--name", "web", "--session", "s", "--task", "t"];
    let id = adopted(&world, started.pid(), &options);
    assert_eq!(
        world.listed(&["--session", "s", "--task", "t"]),
        [id.as_str()]
    );
    assert!(world.ok(&["list"]).contains("adopted"));
    let shown = Ran::of(
        world
            .command(["show", "web", "--json"])
            .env("OUTLIVE_SESSION", "s"),
    );
    assert!(shown.stdout.contains(&id), "{shown:?}");
    let waiting = world.begin(&["inbox", "--session", "s", "--wait", "--json"]);
    let_go(&world);
    started.reap();
    let told = Ran::end_of(waiting);
    assert!(told.stdout.contains(&id), "{told:?}");
    let again = world.json(&["inbox", "--session", "s", "--json"]);
    assert_eq!(again["events"].as_array().unwrap().len(), 0, "{again}");
}

#[test]
fn only_failures_are_told_if_that_is_asked_for() {
    let world = World::new();
    let mut started = Started::with(&world, "exec sleep 600");
    let options = ["--session", "s", "--notify", "never"];
    let id = adopted(&world, started.pid(), &options);
    outlive_testkit::processes::kill(started.pid(), KILL);
    started.reap();
    world.wait(&id);
    let inbox = world.json(&["inbox", "--session", "s", "--json"]);
    assert_eq!(inbox["events"].as_array().unwrap().len(), 0, "{inbox}");
}

#[test]
fn a_doorbell_rings_at_its_end() {
    let world = World::new();
    let rang = world.path("rang");
    let mut started = Started::with(&world, &format!("{WAITS} exit 4"));
    let bell = format!("cat > {}", rang.display());
    let id = adopted(&world, started.pid(), &["--on-end", &bell]);
    let_go(&world);
    started.reap();
    world.until_over(&id);
    let event: serde_json::Value = serde_json::from_slice(&std::fs::read(&rang).unwrap()).unwrap();
    assert_eq!(event["kind"], "ended", "{event}");
}

/// A keeper of an adopted job that has nothing to do makes no system call: nothing is polled.
#[test]
fn its_idle_keepers_do_not_wake() {
    let world = World::new();
    let started = Started::with(&world, "exec sleep 600");
    let id = adopted(&world, started.pid(), &[]);
    let pair = world.pair(&id);
    let (keeper, standby) = (pair.keeper, pair.standby.unwrap());
    for pid in [keeper, standby] {
        outlive_testkit::waiting::until("it sleeps for good", || {
            outlive_testkit::processes::sleeps_for_good(pid)
        });
    }
    world.ok(&["stop", &id]);
}

/// An agent that typed `cmd &` hands it over with the tool `run`.
#[test]
fn an_agent_adopts_over_mcp() {
    let world = World::new();
    let mut started = Started::with(&world, &format!("{WAITS} exit 4"));
    let mut client = Client::of(&world, "s");
    let run = json!({"command": "make", "adopt_pid": started.pid(), "name": "build"});
    let ran = client.tool("run", run.clone());
    assert!(text_of(&ran).contains("not captured"), "{ran}");
    let job = &ran["structuredContent"]["job"];
    assert_eq!(job["state"], "running", "{ran}");
    let log = client.tool("log", json!({"id": "build"}));
    assert!(text_of(&log).contains("started.log"), "{log}");
    let mut with_terminal = run.clone();
    with_terminal["pty"] = json!(true);
    let refused = client.tool("run", with_terminal);
    assert!(text_of(&refused).contains("pty"), "{refused}");
    let again = client.tool("run", run);
    assert!(text_of(&again).contains("use that job"), "{again}");
    let_go(&world);
    started.reap();
    let waited = client.ok("wait", json!({"ids": ["build"]}));
    let told = world.json(&["list", "--json"])["jobs"][0]["adopted"]["outcome_is_told"] == true;
    assert_eq!(waited["jobs"][0]["exit_code"] == 4, told, "{waited}");
}
