//! `outlive place`: names for places, and what can be done with a place as a whole.

use outlive_testkit::places::{CmdSh, Ssh, sshd::HOST};
use outlive_testkit::processes;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A world with a place of the name `far`, which is not the default of `--place`.
fn named() -> World {
    let world = World::new();
    let there = world.path("there");
    fs::create_dir(&there).unwrap();
    let address = CmdSh::default().address(&there);
    world.ok(&["place", "add", "far", &address, "--reach", "20s"]);
    world
}

fn file(world: &World) -> String {
    fs::read_to_string(world.path("config/outlive/config.toml")).unwrap()
}

#[track_caller]
fn refused(world: &World, args: &[&str]) -> String {
    let ran = world.outlive(args);
    assert_ne!(ran.code, 0, "{ran:?}");
    ran.stderr
}

fn only(list: &Value) -> &Value {
    let places = list["places"].as_array().unwrap();
    assert_eq!(places.len(), 1, "{list}");
    &places[0]
}

#[test]
fn a_place_is_added_at_the_end_of_the_file_and_removed_from_it() {
    let world = World::new();
    let path = world.path("config/outlive/config.toml");
    let mine = "# my settings\n[inbox]\nattempts = 3   # enough\n";
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, mine).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let added = world.json(&[
        "place",
        "add",
        "gpu",
        "ssh:me@gpu1",
        "--cwd",
        "/data",
        "--far-home",
        "~/jobs",
        "--login",
        "--env",
        "A=it's \"a\"",
        "--reach",
        "90s",
        "--json",
    ]);
    assert_eq!(added["replaced"], false, "{added}");
    assert_eq!(added["file"], path.to_str().unwrap());
    let table = "[place.gpu]\nat = \"ssh:me@gpu1\"\ncwd = \"/data\"\nhome = \"~/jobs\"\nlogin = true\n\
                 env = { A = \"it's \\\"a\\\"\" }\nreach = \"90s\"\n";
    assert_eq!(file(&world), format!("{mine}\n{table}"));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    let list = world.json(&["place", "list", "--json"]);
    let expected = json!({
        "name": "gpu", "address": "ssh:me@gpu1", "contact": "never", "heard_at": null,
        "unreachable": null, "jobs": 0, "running": 0,
    });
    assert_eq!(only(&list), &expected);
    assert!(refused(&world, &["place", "add", "gpu", "ssh:other"]).contains("--replace"));
    let replaced = world.json(&["place", "add", "gpu", "ssh:other", "--replace", "--json"]);
    assert_eq!(replaced["replaced"], true);
    assert_eq!(
        file(&world),
        format!("{mine}\n[place.gpu]\nat = \"ssh:other\"\n")
    );
    world.ok(&["place", "remove", "gpu"]);
    assert_eq!(file(&world), mine);
    assert_eq!(
        world.json(&["place", "list", "--json"])["places"],
        json!([])
    );
}

#[test]
fn a_file_that_is_a_link_stays_one() {
    let world = World::new();
    let path = world.path("config/outlive/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(world.path("dotfiles.toml"), "").unwrap();
    symlink(world.path("dotfiles.toml"), &path).unwrap();
    world.ok(&["place", "add", "gpu", "ssh:gpu1"]);
    assert!(path.is_symlink());
    let text = fs::read_to_string(world.path("dotfiles.toml")).unwrap();
    assert_eq!(text, "[place.gpu]\nat = \"ssh:gpu1\"\n");
}

/// Half of a change would be worse than none.
#[test]
fn what_cannot_be_changed_safely_is_refused() {
    let world = World::new();
    let path = world.path("config/outlive/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mine = "place = { gpu = { at = \"ssh:gpu1\" } }\n";
    fs::write(&path, mine).unwrap();
    for args in [
        &["place", "add", "other", "ssh:x"][..],
        &["place", "remove", "gpu"],
        &["place", "add", "gpu", "ssh:x", "--replace"],
    ] {
        assert!(refused(&world, args).contains("edit the file"), "{args:?}");
        assert_eq!(file(&world), mine);
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_written() {
    let world = World::new();
    for (args, words) in [
        (&["local", "ssh:x"][..], "is this machine"),
        (&["a:b", "ssh:x"], "cannot be the name"),
        (&["x", "ssh:-oProxyCommand=date"], "begins with a hyphen"),
        (&["x", "y"], "is not an address"),
        (&["x", "cmd:sh 'a"], "a quote is not closed"),
        (&["x", "ssh:h", "--far-home", "jobs"], "begin with / or ~/"),
        (&["x", "ssh:h", "--env", "s3cret"], "write NAME=VALUE"),
    ] {
        let said = refused(&world, &[&["place", "add"], args].concat());
        assert!(said.contains(words), "{args:?}: {said}");
    }
    assert!(!world.path("config").exists());
    for verb in ["check", "clean", "connect", "remove"] {
        let said = refused(&world, &["place", verb, "nobody"]);
        assert!(said.contains("no place \"nobody\" is configured"), "{said}");
        assert!(refused(&world, &["place", verb, "local"]).contains("is this machine"));
    }
}

#[test]
fn check_says_who_answers() {
    let world = named();
    let checks = world.json(&["place", "check", "--json"]);
    let place = only(&checks);
    let answer = &place["answer"];
    assert_eq!(
        (&place["name"], &place["error"]),
        (&json!("far"), &json!(null))
    );
    let home = world.path("there/.local/state/outlive");
    assert_eq!(answer["home"], home.to_str().unwrap(), "{checks}");
    assert!(
        answer["system"].as_str().unwrap().starts_with("Linux"),
        "{checks}"
    );
    assert!(answer["round_trip_us"].as_u64().unwrap() > 0);
    assert_eq!(answer["less"], json!([]), "it is this machine");
    let text = world.ok(&["place", "check", "far"]);
    assert!(
        text.contains("reached") && text.contains(home.to_str().unwrap()),
        "{text}"
    );
    let list = world.json(&["place", "list", "--json"]);
    assert_eq!(only(&list)["contact"], "reached");
    world.kill_couriers();
}

#[test]
fn check_says_why_nobody_answers() {
    let world = named();
    world.ok(&[
        "place",
        "add",
        "gone",
        "cmd:sh -c 'echo no way in >&2; exit 1'",
        "--reach",
        "1s",
    ]);
    let ran = world.outlive(&["place", "check", "--json"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    let checks: Value = serde_json::from_slice(&ran.bytes).unwrap();
    assert!(checks["places"][0]["answer"].is_object(), "{checks}");
    let error = &checks["places"][1]["error"];
    assert_eq!(error["code"], "unreachable", "{checks}");
    assert!(
        error["message"].as_str().unwrap().contains("no way in"),
        "{checks}"
    );
    let ran = world.outlive(&["place", "check", "gone"]);
    assert!(ran.text().contains("NOT REACHED  no way in"), "{ran:?}");
    world.kill_couriers();
}

#[test]
fn clean_removes_programs_of_other_versions() {
    let world = World::new();
    let (there, cache) = (world.path("there"), world.path("cache"));
    fs::create_dir(&there).unwrap();
    // Not the directory for programs that tests share.
    let variable = format!("XDG_CACHE_HOME={}", cache.display());
    let address = CmdSh::with(&[&variable]).address(&there);
    world.ok(&["place", "add", "far", &address, "--reach", "20s"]);
    world.ok(&["place", "check", "far"]);
    let programs = cache.join("outlive");
    let old = format!("far-{}", "0".repeat(64));
    let file = fs::File::create(programs.join(&old)).unwrap();
    // A program that was just sent may be about to be started.
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(hour_ago).unwrap();
    let cleaned = world.json(&["place", "clean", "far", "--json"]);
    assert_eq!(cleaned, json!({"name": "far", "removed": [old]}));
    assert_eq!(
        programs.read_dir().unwrap().count(),
        1,
        "its own program stays"
    );
    world.kill_couriers();
}

#[test]
fn a_place_with_jobs_stays_until_they_are_forgotten() {
    let world = named();
    let ended = world.ok(&["run", "--place", "far", "--shell", "exit 3"]);
    assert_eq!(world.outlive(&["wait", &ended]).code, 3);
    let script = "exec sleep 600";
    let running = world.ok(&["run", "--place", "far", "--session", "s", "--shell", script]);
    let list = world.json(&["place", "list", "--json"]);
    assert_eq!(
        (&only(&list)["jobs"], &only(&list)["running"]),
        (&json!(2), &json!(1))
    );
    let said = refused(&world, &["place", "remove", "far"]);
    assert!(
        said.contains("1 that are not over, and 1 ended ones"),
        "{said}"
    );
    let removed = world.json(&["place", "remove", "far", "--forget", "--json"]);
    assert_eq!(removed["forgotten"], json!([running]));
    let job = world.show(&running);
    assert_eq!(job["state"], "ended", "{job}");
    assert_eq!(job["outcome"]["kind"], "lost", "{job}");
    assert_eq!(job["outcome"]["reason"], "forgotten by request", "{job}");
    let inbox = world.json(&["inbox", "--session", "s", "--json"]);
    assert_eq!(inbox["events"].as_array().unwrap().len(), 1, "{inbox}");
    assert_eq!(inbox["events"][0]["kind"], "ended");
    assert_eq!(world.show(&ended)["exit_code"], 3);
    assert!(world.couriers().is_empty(), "the courier is gone");
    kill_below(&world.path("there/.local/state/outlive/jobs"));
}

/// Somebody may remove it from the file.
#[test]
fn jobs_of_a_place_that_is_no_longer_configured_can_be_forgotten() {
    let world = named();
    let id = world.ok(&["run", "--place", "far", "--shell", "exec sleep 600"]);
    let there = world.path("there/.local/state/outlive/jobs");
    fs::write(world.path("config/outlive/config.toml"), "").unwrap();
    let list = world.json(&["place", "list", "--json"]);
    assert_eq!(
        (&only(&list)["name"], &only(&list)["address"]),
        (&json!("far"), &json!(null))
    );
    assert!(refused(&world, &["place", "remove", "far"]).contains("1 that are not over"));
    let removed = world.json(&["place", "remove", "far", "--forget", "--json"]);
    assert_eq!(
        removed,
        json!({"name": "far", "file": null, "forgotten": [id]})
    );
    assert_eq!(world.show(&id)["outcome"]["kind"], "lost");
    kill_below(&there);
}

/// What was forgotten runs on.
#[track_caller]
fn kill_below(jobs: &Path) {
    let left = processes::of_jobs_in(jobs);
    assert!(!left.is_empty());
    for pid in left {
        processes::kill(pid, processes::KILL);
    }
}

/// A world with a server of SSH, and a place `far` that is reached over it.
fn with_ssh(lines: &str) -> (Arc<Ssh>, World) {
    let ssh = Arc::new(Ssh::with_server_lines(lines));
    let world = World::at(ssh.clone());
    world.ok(&[
        "place",
        "add",
        "far",
        &format!("ssh:{HOST}"),
        "--reach",
        "10s",
    ]);
    (ssh, world)
}

#[test]
fn connect_leaves_a_connection_that_others_use() {
    needs!(Ssh);
    let (ssh, world) = with_ssh("");
    let server = ssh.server(&world.path_there(""));
    let connected = world.json(&["place", "connect", "far", "--json"]);
    assert_eq!(connected, json!({"name": "far", "already": false}));
    let connected = world.json(&["place", "connect", "far", "--json"]);
    assert_eq!(connected["already"], true);
    // From now on nobody can log in, but who is logged in.
    fs::write(
        server.file("ssh_config"),
        format!("Host {HOST}\n HostName 127.0.0.1\n Port 1\n"),
    )
    .unwrap();
    let checks = world.json(&["place", "check", "far", "--json"]);
    assert!(only(&checks)["answer"].is_object(), "{checks}");
    let id = world.ok(&["run", "--place", "far", "--shell", "exit 4"]);
    assert_eq!(world.outlive(&["wait", &id]).code, 4);
    world.ok(&["place", "remove", "far", "--forget"]);
    until("the connection is gone", || server.sessions().is_empty());
}

#[test]
fn connect_is_for_ssh() {
    let world = named();
    let said = refused(&world, &["place", "connect", "far"]);
    assert!(said.contains("nothing to log in to"), "{said}");
}

/// The user's own master connection is used, but none is made.
#[test]
fn no_connection_is_left_without_being_asked() {
    needs!(Ssh);
    let (ssh, world) = with_ssh("");
    let server = ssh.server(&world.path_there(""));
    let config = server.file("ssh_config");
    let socket = world.path("master");
    let text = fs::read_to_string(&config).unwrap();
    let lines = " ControlMaster auto\n ControlPersist yes\n ForwardAgent yes\n RemoteCommand date\n RequestTTY force\n LocalCommand touch";
    let touched = world.path("touched");
    fs::write(
        &config,
        format!(
            "{text} ControlPath {}\n{lines} {}\n PermitLocalCommand yes\n",
            socket.display(),
            touched.display()
        ),
    )
    .unwrap();
    let mut check = world.command(["place", "check", "far", "--json"]);
    let ran = Ran::of(check.env("SSH_AUTH_SOCK", world.path("agent")));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!socket.exists() && !touched.exists());
    world.kill_couriers();
}

/// Whoever is root there could use every key of this user.
#[test]
fn the_agent_with_the_keys_is_not_lent() {
    needs!(Ssh);
    let (ssh, world) = with_ssh("");
    let config = ssh.server(&world.path_there("")).file("ssh_config");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        format!("{text} ForwardAgent yes\n ForwardX11 yes\n"),
    )
    .unwrap();
    let socket = world.path("agent");
    let mut agent = processes::begin({
        let mut agent = Command::new("ssh-agent");
        agent.arg("-D").arg("-a").arg(&socket);
        agent
    });
    until("the agent listens", || socket.exists());
    let script = "echo ${SSH_AUTH_SOCK-none} ${DISPLAY-none}";
    let mut run = world.command(["run", "--place", "far", "--id", "job", "--shell", script]);
    let ran = Ran::of(run.env("SSH_AUTH_SOCK", &socket).env("DISPLAY", ":7"));
    let waited = world.outlive(&["wait", "job"]);
    let log = world.outlive(&["log", "job"]);
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!((ran.code, waited.code), (0, 0), "{ran:?} {waited:?}");
    assert_eq!(log.text(), "none none", "{log:?}");
}
