//! A place that is reached through another one: a container on an SSH host.

use outlive_sys::process;
use outlive_testkit::checks::{assert_same_bytes, exited};
use outlive_testkit::couriers::{kill_all, processes_that};
use outlive_testkit::place::Place;
use outlive_testkit::places::engine::{Engine, Kind};
use outlive_testkit::places::image::Image;
use outlive_testkit::places::sshd::HOST;
use outlive_testkit::places::{CmdSh, Inside, Ssh, shared};
use outlive_testkit::processes::{KILL, Process};
use outlive_testkit::scripts::numbers;
use outlive_testkit::tap::{Blow, Direction, Tap, Where};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// An engine on a host, and a home here that reaches its container `box` through the host.
struct Site {
    engine: Engine,
    world: World,
    _directory: tempfile::TempDir,
}

/// The variables that the tool needs at the host, as `NAME=VALUE`.
fn variables(engine: &Engine) -> Vec<String> {
    let variables = engine.variables().into_iter();
    variables
        .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
        .collect()
}

impl Site {
    /// `host` makes the host, which has these variables.
    fn of(host: impl FnOnce(&[&str]) -> Arc<dyn Place>) -> Site {
        let directory = tempfile::Builder::new()
            .prefix("outlive-engine-")
            .tempdir()
            .unwrap();
        let engine = Engine::start(Kind::Podman, directory.path()).unwrap();
        let programs = format!("{0}:{0}", shared().display());
        let cache = format!("XDG_CACHE_HOME={}", shared().display());
        engine.begin("box", &["--volume", &programs, "--env", &cache]);
        let variables = variables(&engine);
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        let mut world = World::at(host(&variables));
        let command = world.command::<&str>([]);
        let address = command.get_envs().find_map(|(name, value)| {
            (name == OsStr::new("OUTLIVE_PLACE"))
                .then(|| value.unwrap().to_str().unwrap().to_owned())
        });
        let configuration = world.path("config").join("outlive");
        fs::create_dir_all(&configuration).unwrap();
        let text = format!(
            "[place.host]\nat = {:?}\n[place.box]\nat = \"podman:box\"\nvia = \"host\"\n",
            address.unwrap()
        );
        fs::write(configuration.join("config.toml"), text).unwrap();
        // What the world sets for its own place comes later in a command, so each names the place.
        world.set("OUTLIVE_SESSION", "s");
        Site {
            engine,
            world,
            _directory: directory,
        }
    }

    fn over_ssh() -> Site {
        Site::of(|variables| {
            let line = format!("SetEnv {}", variables.join(" "));
            Arc::new(Ssh::with_server_lines(&line))
        })
    }

    fn inside(&self) -> Inside {
        self.engine.first("box").and_then(Inside::of).unwrap()
    }

    #[track_caller]
    fn start(&self, id: &str) {
        let script = format!(
            "echo started >> /tmp/starts-{id}; cat; until [ -e /tmp/go-{id} ]; do sleep 0.05; done; \
             seq 1 2000; exit 7"
        );
        let args = [
            "run",
            "--place",
            "box",
            "--id",
            id,
            "--session",
            "s",
            "--stdin",
            "pipe",
        ];
        self.world.ok(&[&args[..], &["--shell", &script]].concat());
    }

    #[track_caller]
    fn finish(&self, id: &str) {
        self.world.ok(&["send", id, "hello", "--enter", "--eof"]);
        fs::write(self.inside().path(Path::new(&format!("/tmp/go-{id}"))), "").unwrap();
        let job = self.world.wait(id);
        assert_eq!(job["outcome"], exited(7), "{job}");
        let log = self
            .world
            .outlive(&["log", id, "--raw", "--peek", "--bytes", "0:"]);
        assert_same_bytes(
            id,
            &log.bytes,
            &[b"hello\n".as_slice(), &numbers(2000)].concat(),
        );
        let starts = self.inside().path(Path::new(&format!("/tmp/starts-{id}")));
        assert_eq!(fs::read_to_string(starts).unwrap().lines().count(), 1);
        assert_eq!(self.world.events(id, "ended").len(), 1, "{id} ends once");
    }

    /// How often session `s` is told of an end from now on.
    #[track_caller]
    fn told(&self) -> usize {
        let inbox = self
            .world
            .json(&["inbox", "--session", "s", "--json", "--ack-all"]);
        let events = inbox["events"].as_array().unwrap().iter();
        events.filter(|event| event["kind"] == "ended").count()
    }

    /// The processes of `podman exec`.
    fn transports(&self) -> Vec<Process> {
        processes_that(|pid| {
            let words = process::arguments(pid);
            let has = |word: &[u8]| words.iter().any(|it| it == word);
            has(b"exec") && has(b"sh") && words[0].ends_with(b"podman") && {
                let value = process::started_with(pid, "CONTAINERS_CONF").ok().flatten();
                let own = &self.engine.variables()[0].1;
                value.is_some_and(|value| value == own.as_encoded_bytes())
            }
        })
    }
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_container_on_an_ssh_host_is_a_place() {
    needs!(Podman, Ssh);
    let site = Site::over_ssh();
    site.start("job");
    assert_eq!(site.world.show("job")["place"], "box");
    // The tool runs at the host, as the host's login has it.
    let transports = site.transports();
    assert_eq!(transports.len(), 1, "{transports:?}");
    let couriers = site.world.couriers();
    assert_eq!(couriers.len(), 2, "one for each place");
    let parents = couriers.iter().map(|it| it.pid);
    let parent = process::stat(transports[0].pid).unwrap().parent;
    assert!(parents.into_iter().all(|pid| pid != parent));
    site.finish("job");
    assert_eq!(site.told(), 1);
    let check = site.world.outlive(&["place", "check", "box"]);
    assert_eq!(check.code, 0, "{check:?}");
    let id = site
        .world
        .ok(&["run", "--place", "box", "--", "sleep", "1000"]);
    assert_eq!(site.world.job(&["stop", &id, "--json"])["ended_by"], "stop");
}

/// Either wire, and each process between here and the container.
#[test]
#[ignore = "cargo xtask places runs it"]
fn jobs_are_exact_though_everything_between_is_killed() {
    needs!(Podman, Ssh);
    let site = Site::over_ssh();
    site.start("job");
    type Kill = fn(&Site);
    let kills: [(&str, Kill); 4] = [
        ("the couriers", |site| site.world.kill_couriers()),
        ("ssh", |site| {
            let ssh = site.world.transports();
            kill_all(&ssh);
        }),
        ("the far end at the host", |site| site.world.kill_far_ends()),
        ("podman exec", |site| kill_all(&site.transports())),
    ];
    for (what, kill) in kills {
        assert_eq!(site.world.show("job")["state"], "running", "before {what}");
        let waiter = site.world.begin(&["wait", "job", "--timeout", "2s"]);
        kill(&site);
        assert_eq!(site.world.show("job")["state"], "running", "after {what}");
        assert_eq!(
            waiter.wait_with_output().unwrap().status.code(),
            Some(124),
            "{what}"
        );
    }
    site.finish("job");
    assert_eq!(site.told(), 1);
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_job_is_started_once_wherever_the_first_wire_is_cut() {
    needs!(Podman);
    let tap = Arc::new(Tap::before(CmdSh::default()));
    let mut made = None;
    let site = Site::of(|variables| {
        let behind = CmdSh::with(variables);
        let tapped = Arc::new(Tap::before(behind));
        made = Some(tapped.clone());
        tapped
    });
    drop(tap);
    let tap = made.unwrap();
    for (number, direction) in [Direction::There, Direction::Here]
        .into_iter()
        .cycle()
        .take(24)
        .enumerate()
    {
        let id = format!("job-{number}");
        // The connections before it are gone, so that each start has all of them to make.
        site.world.kill_couriers();
        tap.strike(direction, number + 1, Blow::Cut(Where::Within(4)));
        site.start(&id);
        site.finish(&id);
        tap.disarm();
        assert_eq!(site.told(), 1, "{id}");
    }
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn what_is_wrong_is_said_of_the_place_where_it_is() {
    needs!(Podman, Ssh);
    let site = Site::over_ssh();
    site.start("job");
    let refusal = || {
        let ran = site.world.outlive(&["run", "--place", "box", "--", "true"]);
        assert_eq!(ran.code, 125, "{ran:?}");
        ran.stderr
    };
    site.engine.ok(&["pause", "box"]);
    site.world.kill_couriers();
    assert!(refusal().contains("the container is paused"));
    site.engine.ok(&["unpause", "box"]);
    site.finish("job");
    site.engine.remove("box");
    site.world.kill_couriers();
    assert!(refusal().contains("podman has no container \"box\""));
    // Without a shell, the program goes there through both.
    let sleep = ["/sleep", "1000000"];
    site.engine.run("box", &[], Image::NoShell, &sleep).unwrap();
    let id = site
        .world
        .ok(&["run", "--place", "box", "--", "/sleep", "0.1"]);
    assert_eq!(site.world.wait(&id)["outcome"], exited(0));
    let file = site.world.path("config/outlive/config.toml");
    let text = fs::read_to_string(&file).unwrap();
    let wrong = text.replacen(HOST, "no-such-host.invalid", 1);
    assert_ne!(text, wrong);
    fs::write(&file, wrong).unwrap();
    for courier in site.world.couriers() {
        courier.signal(KILL);
    }
    until("they are gone", || site.world.couriers().is_empty());
    let refusal = refusal();
    assert!(
        refusal.contains("host, through which it is reached, was not reached"),
        "{refusal}"
    );
    let job = site.world.show(&id);
    assert_eq!(job["outcome"], exited(0), "what is known is shown: {job}");
    let place = site.world.json(&["place", "list", "--json"]);
    assert_ne!(place["places"], Value::Null);
}
