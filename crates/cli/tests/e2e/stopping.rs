//! `stop`, `signal` and `--timeout`: the whole tree.

use crate::world::{World, is_alive, kill, until};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const IGNORES: &str = "trap '' TERM; echo up; exec sleep 60";

// How a stopped job ends.

#[test]
fn a_job_that_traps_term_and_exits_0_exited_0_ended_by_stop() {
    let world = World::new();
    let id = started(&world, &[], "trap 'exit 0' TERM; echo up; sleep 60 & wait");
    let ran = world.outlive(&["stop", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stderr, "");
    let job = world.show(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 0 }));
    assert_eq!(job["exit_code"], 0);
    assert_eq!(job["ended_by"], "stop");
    let who = job["ended_by_detail"].as_str().unwrap();
    assert!(who.starts_with("outlive stop, pid "), "{who}");
}

#[test]
fn a_stop_tells_which_session_asked() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let mut stop = world.command(["stop", &id]);
    assert!(
        stop.env("OUTLIVE_SESSION", "alpha")
            .output()
            .unwrap()
            .status
            .success()
    );
    assert_eq!(world.show(&id)["ended_by_detail"], "session alpha");
}

#[test]
fn a_job_that_does_not_trap_term_ends_by_it_at_once() {
    let world = World::new();
    let id = world.ok(&["run", "--grace", "60s", "--", "sleep", "60"]);
    let job = stopped(&world, &id);
    assert_eq!(job["outcome"], signaled("SIGTERM"));
    assert_eq!(job["exit_code"], 143);
    assert_eq!(job["ended_by"], "stop");
}

#[test]
fn a_job_that_ignores_term_is_killed_after_the_grace() {
    let world = World::new();
    let id = started(&world, &[], IGNORES);
    let begun = Instant::now();
    let job: Value = world.json(&["stop", &id, "--grace", "400ms", "--json"]);
    assert!(begun.elapsed() >= Duration::from_millis(400));
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert_eq!(job["exit_code"], 137);
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(world.outlive(&["wait", &id]).code, 137);
    assert!(grace_taken(&world, &id) >= 400);
}

#[test]
fn term_comes_once_and_before_the_kill() {
    let world = World::new();
    let script = "trap 'echo asked' TERM; echo up; while :; do read -t 60 -u 9; done";
    let id = started(&world, &[], &with_silence(&world, script));
    let job = world.json(&["stop", &id, "--grace", "700ms", "--json"]);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert_eq!(world.output(&id), b"up\nasked\n");
}

#[test]
fn a_job_has_the_grace_it_was_started_with() {
    let world = World::new();
    let id = started(&world, &["--grace", "300ms"], IGNORES);
    let job = stopped(&world, &id);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    let asked = world.events(&id, "stop_requested");
    assert_eq!(asked[0]["grace_ms"], 300);
    let taken = grace_taken(&world, &id);
    assert!((300..2000).contains(&taken), "{taken} ms");
}

#[test]
fn no_grace_kills_at_once() {
    let world = World::new();
    let id = started(&world, &["--grace", "60s"], IGNORES);
    let job = world.json(&["stop", &id, "--grace", "0", "--json"]);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
}

#[test]
fn a_second_stop_may_hurry_the_first() {
    let world = World::new();
    let id = started(&world, &[], IGNORES);
    let mut first = stopping(&world, &[&id, "--grace", "10m"]);
    until("the stop is under way", || {
        world.show(&id)["state"] == "stopping"
    });
    let job = world.json(&["stop", &id, "--grace", "100ms", "--json"]);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_eq!(world.events(&id, "ended").len(), 1);
}

#[test]
fn a_second_stop_may_not_delay_the_first() {
    let world = World::new();
    let id = started(&world, &[], IGNORES);
    let mut first = stopping(&world, &[&id, "--grace", "500ms"]);
    until("the stop is under way", || {
        world.show(&id)["state"] == "stopping"
    });
    world.ok(&["stop", &id, "--grace", "10m"]);
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_eq!(world.show(&id)["outcome"], signaled("SIGKILL"));
}

#[test]
fn what_a_trap_starts_in_order_to_clean_up_is_let_do_so() {
    let world = World::new();
    // The orphan ends at once, so that the keeper looks at the tree again while they clean up.
    let script = "(sleep 60 &); trap 'sleep 0.3 && echo cleaned; exit 5' TERM; echo up; read -u 9";
    let script = with_silence(&world, script);
    let ids: Vec<String> = (0..16)
        .map(|_| started(&world, &["--grace", "20s"], &script))
        .collect();
    let mut args = vec!["stop"];
    args.extend(ids.iter().map(String::as_str));
    world.ok(&args);
    for id in &ids {
        let output = String::from_utf8(world.output(id)).unwrap();
        assert_eq!(output, "up\ncleaned\n", "{id}");
        let job = world.show(id);
        assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 5 }));
        assert_eq!(job["ended_by"], "stop");
    }
}

#[test]
fn what_a_trap_starts_is_killed_with_the_rest_when_the_grace_is_over() {
    let world = World::new();
    let pid = world.path("pid");
    let helper = format!("sh -c \"echo \\$\\$ > {}; exec sleep 60\"", pid.display());
    let script = format!("trap '{helper}' TERM; echo up; while :; do read -u 9; done");
    let id = started(&world, &[], &with_silence(&world, &script));
    let job = world.json(&["stop", &id, "--grace", "1s", "--json"]);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert!(!is_alive(pid_in(&pid)));
}

#[test]
fn a_suspended_job_is_stopped_too() {
    let world = World::new();
    let script = "trap 'echo asked; exit 3' TERM; echo up; while :; do read -u 9; done";
    let id = started(&world, &["--grace", "20s"], &with_silence(&world, script));
    let leader = leader(&world, &id);
    kill(leader, 19);
    until("it is suspended", || state_of(leader) == Some(b'T'));
    let job = stopped(&world, &id);
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 3 }));
    assert_eq!(job["ended_by"], "stop");
    assert!(world.output(&id).ends_with(b"asked\n"));
}

#[test]
fn a_suspended_job_that_ignores_term_is_killed() {
    let world = World::new();
    let id = started(&world, &["--grace", "200ms"], IGNORES);
    let leader = leader(&world, &id);
    kill(leader, 19);
    until("it is suspended", || state_of(leader) == Some(b'T'));
    assert_eq!(stopped(&world, &id)["outcome"], signaled("SIGKILL"));
}

// The whole tree.

/// Descendants of every sort, each of which writes its pid to `pids/<name>`.
fn family(world: &World, body: &str) -> String {
    let pids = world.path("pids");
    fs::create_dir(&pids).unwrap();
    let one = |name: &str| {
        format!(
            "sh -c '{body} echo $$ > {dir}/{name}.new; mv {dir}/{name}.new {dir}/{name}; exec sleep 60'",
            dir = pids.display()
        )
    };
    [
        format!("{} &", one("child")),
        format!("setsid {} &", one("own-session")),
        format!("( {} & )", one("orphan")),
        format!("( setsid {} & )", one("orphan-own-session")),
        format!("( ( ( setsid {} & ) & ) & )", one("daemon")),
        format!("env -i PATH=\"$PATH\" {} &", one("no-environment")),
        format!(
            "env -i PATH=\"$PATH\" setsid {} &",
            one("no-environment-own-session")
        ),
        format!("nohup {} >/dev/null 2>&1 </dev/null &", one("nohup")),
        format!(
            "bash -c '( {} & ); exit' &",
            one("grandchild").replace('\'', "'\\''")
        ),
        format!("{PYTHON} -c '{DAEMON}' {}/python &", pids.display()),
    ]
    .join("\n")
}

const PYTHON: &str = "/usr/bin/env python3";
/// The textbook daemon: fork, new session, fork, close everything.
const DAEMON: &str = r#"
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/"); os.umask(0)
os.closerange(0, 64)
name = sys.argv[1]
with open(name + ".new", "w") as f: f.write(str(os.getpid()))
os.rename(name + ".new", name)
time.sleep(60)
"#;
const FAMILY: usize = 10;

fn family_pids(world: &World) -> Vec<(String, i32)> {
    let entries = fs::read_dir(world.path("pids")).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none())
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                pid_in(&path),
            )
        })
        .collect()
}

/// Starts a job with a whole family; returns once all of it runs.
fn started_family(world: &World, options: &[&str], body: &str) -> (String, Vec<(String, i32)>) {
    let script = format!("{body}\n{}\necho up\nwait\nsleep 60", family(world, body));
    let id = started(world, options, &script);
    until("all of them run", || family_pids(world).len() == FAMILY);
    let pids = family_pids(world);
    for (name, pid) in &pids {
        assert!(is_alive(*pid), "{name} ended too early");
    }
    (id, pids)
}

fn assert_all_gone(pids: &[(String, i32)]) {
    let left: Vec<_> = pids.iter().filter(|(_, pid)| is_alive(*pid)).collect();
    assert_eq!(left, Vec::<&(String, i32)>::new());
}

#[test]
fn stop_ends_every_descendant_however_it_detached_itself() {
    let world = World::new();
    let (id, pids) = started_family(&world, &["--grace", "20s"], "");
    let job = stopped(&world, &id);
    assert_all_gone(&pids);
    assert_eq!(job["lingering"], 0);
    assert_eq!(job["ended_by"], "stop");
    until("the keepers are gone", || world.processes().is_empty());
}

#[test]
fn stop_kills_every_descendant_that_does_not_listen() {
    let world = World::new();
    let (id, pids) = started_family(&world, &["--grace", "300ms"], "trap \"\" TERM HUP INT;");
    let job = stopped(&world, &id);
    assert_all_gone(&pids);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    until("the keepers are gone", || world.processes().is_empty());
}

#[test]
fn a_timeout_ends_every_descendant_too() {
    let world = World::new();
    let (id, pids) = started_family(&world, &["--grace", "20s", "--timeout", "4s"], "");
    let job = world.wait(&id);
    assert_eq!(job["ended_by"], "timeout");
    until("nothing is left", || world.processes().is_empty());
    assert_all_gone(&pids);
}

#[test]
fn descendants_that_ignore_term_are_killed_though_the_leader_listened() {
    let world = World::new();
    let pid = world.path("pid");
    let script = format!(
        "setsid sh -c 'trap \"\" TERM; echo $$ > {}; echo up; exec sleep 60' & trap 'exit 0' TERM; while :; do read -u 9; done",
        pid.display()
    );
    let id = started(
        &world,
        &["--grace", "300ms"],
        &with_silence(&world, &script),
    );
    let job = stopped(&world, &id);
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 0 }));
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(job["lingering"], 0);
    assert!(!is_alive(pid_in(&pid)));
}

#[test]
fn a_job_that_keeps_forking_is_wholly_gone_after_a_stop() {
    let world = World::new();
    let script = world.path("forks.py");
    fs::write(&script, FORKS).unwrap();
    let log = world.path("forked");
    let id = world.ok(&[
        "run",
        "--grace",
        "200ms",
        "--",
        "python3",
        script.to_str().unwrap(),
        log.to_str().unwrap(),
    ]);
    until("it forks busily", || forked(&log).len() > 40);
    let job = stopped(&world, &id);
    assert_eq!(job["ended_by"], "stop");
    let left: Vec<i32> = forked(&log)
        .into_iter()
        .filter(|pid| is_alive(*pid))
        .collect();
    assert_eq!(left, [0; 0]);
    until("the keepers are gone", || world.processes().is_empty());
    assert_eq!(world.show(&id)["lingering"], 0);
}

/// A chain in which each process starts the next in a session of its own and stays for a while, deaf
/// to TERM; at most 3000 of them.
const FORKS: &str = r#"
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for n in range(3000):
    os.write(log, b"%d\n" % os.getpid())
    if os.fork():
        if n == 0: time.sleep(60)
        time.sleep(0.3)
        os._exit(0)
    if n % 3 == 0: os.setsid()
    time.sleep(0.001)
time.sleep(60)
"#;

fn forked(log: &Path) -> Vec<i32> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

// Nobody else.

#[test]
fn other_jobs_and_the_asker_itself_hear_nothing_of_a_stop() {
    let world = World::new();
    let trap = "trap 'echo heard' TERM HUP INT CONT USR1; echo up; while :; do read -u 9; done";
    let other = started(&world, &[], &with_silence(&world, trap));
    let mut own = own_child(&world);
    let victim = started(&world, &["--grace", "100ms"], IGNORES);
    world.ok(&["signal", &victim, "CONT"]);
    world.ok(&["stop", &victim]);

    assert_eq!(world.output(&other), b"up\n");
    assert_eq!(world.show(&other)["state"], "running");
    assert_eq!(own.try_wait().unwrap(), None);
    assert_eq!(fs::read(world.path("heard")).unwrap(), b"up\n");
    own.kill().unwrap();
    own.wait().unwrap();
}

/// A process of the test's own group that notes every signal.
fn own_child(world: &World) -> Child {
    let heard = world.path("heard");
    let script = format!(
        "exec > {heard}; trap 'echo heard' TERM HUP INT CONT USR1; echo up; while :; do read -u 9; done",
        heard = heard.display()
    );
    let child = Command::new("bash")
        .args(["-c", &with_silence(world, &script)])
        .spawn()
        .unwrap();
    until("it is up", || {
        fs::read(&heard).is_ok_and(|text| text == b"up\n")
    });
    child
}

#[test]
fn a_job_started_from_inside_a_job_survives_the_outer_ones_stop() {
    let world = World::new();
    let (outer, inner) = nested(&world, "sleep 60");
    let pid = leader(&world, &inner);
    let job = stopped(&world, &outer);
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(job["lingering"], 0);
    assert!(is_alive(pid));
    assert_eq!(world.show(&inner)["state"], "running");
    let pair = world.pair(&inner);
    assert!(is_alive(pair.keeper) && pair.standby.is_some_and(is_alive));
    // And it is still kept as any other.
    assert_eq!(stopped(&world, &inner)["ended_by"], "stop");
    assert!(!is_alive(pid));
}

#[test]
fn a_job_started_from_inside_a_job_does_not_linger_in_it() {
    let world = World::new();
    let (outer, inner) = nested(&world, "exit 4");
    assert_eq!(world.wait(&outer)["exit_code"], 4);
    until("the outer job is closed", || {
        world.events(&outer, "closed").len() == 1
    });
    assert_eq!(world.show(&outer)["lingering"], 0);
    assert_eq!(world.events(&outer, "ended")[0]["lingering"], 0);
    assert_eq!(world.show(&inner)["state"], "running");
}

#[test]
fn a_signal_to_a_job_does_not_reach_the_jobs_started_from_it() {
    let world = World::new();
    let (outer, inner) = nested(
        &world,
        "trap 'echo heard' USR1; echo up; while :; do sleep 0.05; done",
    );
    until("the outer job is up", || {
        world.output(&outer).ends_with(b"up\n")
    });
    world.ok(&["signal", &outer, "USR1"]);
    until("the outer job heard", || {
        String::from_utf8_lossy(&world.output(&outer)).contains("heard")
    });
    assert_eq!(world.show(&inner)["state"], "running");
}

/// A job that starts another and then does this.
fn nested(world: &World, then: &str) -> (String, String) {
    let file = world.path("inner");
    let script = format!(
        "{outlive} run -- sleep 60 > {file}.new && mv {file}.new {file}\n{then}",
        outlive = env!("CARGO_BIN_EXE_outlive"),
        file = file.display(),
    );
    let outer = world.shell(&script);
    until("the inner job runs", || file.exists());
    let inner = fs::read_to_string(&file).unwrap().trim().to_owned();
    (outer, inner)
}

// Ended jobs, several jobs, wrong words.

#[test]
fn stopping_an_ended_job_says_so_and_is_no_error() {
    let world = World::new();
    let id = world.shell("exit 3");
    world.wait(&id);
    let before = world.journal(&id);
    let ran = world.outlive(&["stop", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stderr, format!("outlive: {id} had already ended\n"));
    assert_eq!(world.journal(&id), before);
    assert_eq!(world.show(&id)["ended_by"], "itself");
}

#[test]
fn several_jobs_are_stopped_within_one_grace() {
    let world = World::new();
    let ids: Vec<String> = (0..5)
        .map(|_| started(&world, &["--grace", "800ms"], IGNORES))
        .collect();
    let mut args = vec!["stop", "--json"];
    args.extend(ids.iter().map(String::as_str));
    let answer = world.json(&args);
    let shown: Vec<&str> = jobs(&answer)
        .iter()
        .map(|job| job["id"].as_str().unwrap())
        .collect();
    assert_eq!(shown, ids);
    for job in jobs(&answer) {
        assert_eq!(job["outcome"], signaled("SIGKILL"));
    }
    // All were asked before the first was killed.
    let at = |id: &String, kind| boot_ms(&world, id, kind);
    let asked = ids.iter().map(|id| at(id, "stop_requested")).max();
    let ended = ids.iter().map(|id| at(id, "ended")).min();
    assert!(asked < ended, "{asked:?} {ended:?}");
}

#[test]
fn one_job_stopped_is_one_job_in_json() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let job = world.json(&["stop", "--json", &id]);
    assert_eq!(job["id"], id.as_str());
    assert_eq!(job["state"], "ended");
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(job["exit_code"], 143);
    assert!(job["ended_by_detail"].is_string());
    assert!(job["usage"].is_object());
}

#[test]
fn a_stop_in_words_names_the_job_and_its_outcome() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let said = world.ok(&["stop", &id]);
    assert!(
        said.starts_with(&format!("{id} SIGTERM (stopped) after ")),
        "{said}"
    );
}

#[test]
fn kill_is_another_word_for_stop() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    world.ok(&["kill", &id]);
    assert_eq!(world.show(&id)["ended_by"], "stop");
}

#[test]
fn a_name_or_the_beginning_of_an_id_is_enough_to_stop_a_job() {
    let world = World::new();
    let named = world.ok(&["run", "--name", "server", "--", "sleep", "60"]);
    let long = world.ok(&["run", "--id", "zebra-crossing", "--", "sleep", "60"]);
    world.ok(&["stop", "server", "zeb"]);
    assert_eq!(world.show(&named)["ended_by"], "stop");
    assert_eq!(world.show(&long)["ended_by"], "stop");
}

#[test]
fn one_unknown_job_among_those_to_stop_stops_none() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let ran = world.outlive(&["stop", &id, "nonesuch"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("nonesuch"), "{ran:?}");
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn wrong_words_to_stop_are_wrong_usage_and_change_nothing() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    for args in [
        &["stop"][..],
        &["stop", &id, "--grace", "soon"],
        &["stop", &id, "--grace", "-1"],
    ] {
        assert_eq!(world.outlive(args).code, 2, "{args:?}");
    }
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn stop_waits_until_nothing_is_left() {
    let world = World::new();
    let ids: Vec<String> = (0..8)
        .map(|_| world.shell("sleep 60 & sleep 60 & sleep 60"))
        .collect();
    for id in &ids {
        let leader = leader(&world, id);
        world.ok(&["stop", id]);
        assert!(!is_alive(leader));
        let keepers = world.pair(id);
        let left: Vec<i32> = world
            .processes()
            .into_iter()
            .filter(|pid| belongs_to(*pid, &world.job_dir(id)))
            .filter(|pid| *pid != keepers.keeper && Some(*pid) != keepers.standby)
            .collect();
        assert_eq!(left, [0; 0]);
    }
}

fn belongs_to(pid: i32, directory: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    outlive_sys::procfs::started_with(pid, "OUTLIVE_JOB_DIR")
        .is_some_and(|mark| mark == directory.as_os_str().as_bytes())
}

// --timeout

#[test]
fn a_timeout_stops_a_job_and_is_what_ended_it() {
    let world = World::new();
    let id = world.ok(&["run", "--timeout", "300ms", "--", "sleep", "60"]);
    let job = world.wait(&id);
    assert_eq!(job["outcome"], signaled("SIGTERM"));
    assert_eq!(job["exit_code"], 143);
    assert_eq!(job["ended_by"], "timeout");
    let duration = job["duration_ms"].as_u64().unwrap();
    assert!((300..10_000).contains(&duration), "{duration} ms");
}

#[test]
fn a_timeout_kills_a_job_that_ignores_term_after_the_grace() {
    let world = World::new();
    let id = started(&world, &["--timeout", "500ms", "--grace", "250ms"], IGNORES);
    let job = world.wait(&id);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert_eq!(job["ended_by"], "timeout");
    assert!(job["duration_ms"].as_u64().unwrap() >= 750, "{job}");
    assert!(grace_taken(&world, &id) >= 250);
}

#[test]
fn a_job_that_answers_a_timeout_with_exit_0_exited_0_ended_by_timeout() {
    let world = World::new();
    let script = with_silence(&world, "trap 'echo bye; exit 0' TERM; echo up; read -u 9");
    let id = started(&world, &["--timeout", "500ms"], &script);
    let job = world.wait(&id);
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 0 }));
    assert_eq!(job["ended_by"], "timeout");
    assert_eq!(world.output(&id), b"up\nbye\n");
}

#[test]
fn a_job_that_ends_within_its_time_ended_by_itself() {
    let world = World::new();
    let id = world.ok(&["run", "--timeout", "60s", "--", "true"]);
    let job = world.wait(&id);
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(world.events(&id, "stop_requested").len(), 0);
}

// signal

#[test]
fn a_signal_reaches_the_leader_and_its_children() {
    let world = World::new();
    let child = "trap \"echo child\" USR1; echo up; while :; do read -u 9; done";
    let script = format!(
        "trap 'echo leader' USR1\nfor n in 1 2 3; do bash -c '{child}' & done\necho up\nwhile :; do read -u 9; done"
    );
    let id = started(&world, &[], &with_silence(&world, &script));
    until("all are up", || count(&world, &id, "up") == 4);
    let answer = world.json(&["signal", &id, "USR1", "--json"]);
    assert_eq!(
        answer,
        json!({ "id": id, "signal": "SIGUSR1", "reached": 4, "denied": 0 })
    );
    until("all have heard", || {
        count(&world, &id, "child") == 3 && count(&world, &id, "leader") == 1
    });
    assert_eq!(
        world.ok(&["signal", &id, "usr1"]),
        format!("{id} SIGUSR1 to 4")
    );
    until("all have heard again", || {
        count(&world, &id, "child") == 6 && count(&world, &id, "leader") == 2
    });
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn a_signal_may_be_a_number_or_a_name_in_any_dress() {
    let world = World::new();
    let script = "trap 'echo heard' USR2; echo up; while :; do read -u 9; done";
    let id = started(&world, &[], &with_silence(&world, script));
    for (times, word) in (1..).zip(["12", "USR2", "SIGUSR2", "sigusr2"]) {
        assert_eq!(
            world.ok(&["signal", &id, word]),
            format!("{id} SIGUSR2 to 1")
        );
        until("it heard", || count(&world, &id, "heard") == times);
    }
}

#[test]
fn bad_signals_are_wrong_usage_and_send_nothing() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    for bad in ["", "NOPE", "0", "65", "-1", "SIG", "9x", "TERM "] {
        let ran = world.outlive(&["signal", &id, bad]);
        assert_eq!(ran.code, 2, "{bad:?}: {ran:?}");
        assert_ne!(ran.stderr, "");
    }
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn a_signal_to_an_ended_job_says_so_and_is_no_error() {
    let world = World::new();
    let id = world.shell("exit 0");
    world.wait(&id);
    let ran = world.outlive(&["signal", &id, "TERM", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stderr, format!("outlive: {id} had already ended\n"));
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["reached"], 0);
    assert_eq!(world.outlive(&["signal", "nonesuch", "TERM"]).code, 3);
}

#[test]
fn stop_and_cont_signals_suspend_and_continue_the_tree() {
    let world = World::new();
    let id = started(&world, &[], "sleep 60 & echo up; wait");
    let leader = leader(&world, &id);
    world.ok(&["signal", &id, "STOP"]);
    until("it is suspended", || state_of(leader) == Some(b'T'));
    assert_eq!(world.show(&id)["state"], "running");
    world.ok(&["signal", &id, "CONT"]);
    until("it goes on", || state_of(leader) == Some(b'S'));
}

// Small things.

/// Starts a job with these options that says `up` once it is as it should be.
fn started(world: &World, options: &[&str], script: &str) -> String {
    let args = [&["run"], options, &["--shell", script]].concat();
    let id = world.ok(&args);
    until("the job is up", || count(world, &id, "up") > 0);
    id
}

/// The script with a descriptor 9 from which nothing ever comes: a shell that reads from it sleeps
/// without a child, and runs its traps at once.
fn with_silence(world: &World, script: &str) -> String {
    let silence = world.path("silence");
    if !silence.exists() {
        let made = Command::new("mkfifo").arg(&silence).status().unwrap();
        assert!(made.success());
    }
    format!("exec 9<>{}\n{script}", silence.display())
}

fn stopped(world: &World, id: &str) -> Value {
    world.json(&["stop", id, "--json"])
}

fn stopping(world: &World, args: &[&str]) -> Child {
    world
        .command(["stop"])
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn signaled(signal: &str) -> Value {
    json!({ "kind": "signaled", "signal": signal, "core_dumped": false })
}

fn jobs(answer: &Value) -> &[Value] {
    answer["jobs"].as_array().unwrap()
}

/// How many lines of the output are this word.
fn count(world: &World, id: &str, word: &str) -> usize {
    let output = String::from_utf8_lossy(&world.output(id)).into_owned();
    output.lines().filter(|line| *line == word).count()
}

/// From being asked to the end, in milliseconds.
fn grace_taken(world: &World, id: &str) -> u64 {
    boot_ms(world, id, "ended") - boot_ms(world, id, "stop_requested")
}

fn boot_ms(world: &World, id: &str, kind: &str) -> u64 {
    let journal = world.journal(id);
    let record = journal
        .iter()
        .find(|record| record["event"].get(kind).is_some());
    record.unwrap()["at"]["boot_ms"].as_u64().unwrap()
}

fn leader(world: &World, id: &str) -> i32 {
    world.show(id)["pid"].as_i64().unwrap() as i32
}

fn state_of(pid: i32) -> Option<u8> {
    outlive_sys::procfs::stat(pid).map(|stat| stat.state)
}

fn pid_in(path: &Path) -> i32 {
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}
