//! `--on-end` runs once for every kind of end.

use super::{Heard, command_bell, configure, end_of, standing, until_stands};
use outlive::api::event::Event;
use outlive::api::event_data::{Ended, OfJob};
use outlive_testkit::checks::every;
use outlive_testkit::environment::behind;
use outlive_testkit::processes::{is_alive, kill_for_good, pid_in};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;

/// A command, how it ends, and what the doorbell must be told.
struct End {
    words: &'static [&'static str],
    stopped: bool,
    kind: &'static str,
    exit_code: i32,
    ended_by: &'static str,
}

const fn end(
    words: &'static [&'static str],
    kind: &'static str,
    exit_code: i32,
    ended_by: &'static str,
) -> End {
    End {
        words,
        stopped: false,
        kind,
        exit_code,
        ended_by,
    }
}

const ENDS: [End; 7] = [
    end(&["--", "true"], "exited", 0, "itself"),
    end(&["--shell", "exit 3"], "exited", 3, "itself"),
    end(&["--shell", "kill -TERM $$"], "signaled", 143, "signal"),
    end(
        &["--timeout", "200ms", "--", "sleep", "60"],
        "signaled",
        143,
        "timeout",
    ),
    end(&["--", "/nowhere/at-all"], "not_started", 127, "itself"),
    end(&["--", "/"], "not_started", 126, "itself"),
    End {
        stopped: true,
        ..end(&["--", "sleep", "60"], "signaled", 143, "stop")
    },
];

#[test]
fn on_end_runs_once_for_every_end() {
    let name = |end: &End| format!("{:?}", end.words);
    every(&ENDS, name, |end| {
        let world = World::new();
        let heard = Heard::new(&world);
        let options = ["run", "--id", "job", "--session", "s"];
        let mut command = world.command(options);
        command.args(["--on-end", &heard.command()]).args(end.words);
        Ran::of(&mut command);
        if end.stopped {
            world.ok(&["stop", "job"]);
        }
        world.until_over("job");
        let [event] = heard.events().try_into().unwrap();
        let event: Value = event;
        serde_json::from_value::<Event>(event.clone()).expect("an event of the contract");
        serde_json::from_value::<OfJob<Ended>>(event["data"].clone()).expect("the data of an end");
        assert_eq!(event["event"], end_of(&world, "job").as_str());
        assert_eq!(event["kind"], "ended");
        assert_eq!(
            (&event["job"], &event["session"]),
            (&json!("job"), &json!("s"))
        );
        assert_eq!(event["data"]["outcome"]["kind"], end.kind, "{event}");
        assert_eq!(event["data"]["exit_code"], end.exit_code, "{event}");
        assert_eq!(event["data"]["ended_by"], end.ended_by, "{event}");
        let job = world.show("job");
        assert_eq!(event["at"], job["ended_at"]);
        let text = event["text"].as_str().unwrap();
        assert!(text.starts_with("Job job "), "{text}");
        let rung = json!({ "name": "on-end", "state": "rung", "attempts": 1 });
        assert_eq!(standing(&world, "job"), rung);
        let shown = world.ok(&["show", "job"]);
        assert!(shown.contains("\ndoorbell  on-end rung\n"), "{shown}");
        world.until_nothing_runs();
    });
}

#[test]
fn on_end_runs_in_the_directory_and_environment_of_the_job() {
    let world = World::new();
    let (there, said) = (world.path("there"), world.path("said"));
    fs::create_dir(&there).unwrap();
    let bell = format!("echo $MARKER $OUTLIVE_JOB $PWD > {}", said.display());
    let args = ["run", "--id", "job", "--env", "MARKER=green", "--cwd"];
    let mut command = world.command(args);
    command.arg(&there).args(["--on-end", &bell, "--", "true"]);
    assert_eq!(Ran::of(&mut command).code, 0);
    world.until_over("job");
    let expected = format!("green job {}\n", there.display());
    assert_eq!(fs::read_to_string(said).unwrap(), expected);
}

/// The command starts with default signals like other programs. A process that it leaves running is not a process of
/// the job.
#[test]
fn on_end_starts_with_default_signals_and_may_leave_processes() {
    let world = World::new();
    let (masks, left) = (world.path("masks"), world.path("left"));
    let bell = format!(
        "grep -E '^Sig(Blk|Ign)' /proc/self/status > {}; ls /proc/self/fd | wc -l >> {}; \
         env -i sleep 30 & echo $! > {}; \
         until tr '\\0' ' ' < /proc/$!/cmdline | grep -q '^sleep'; do :; done",
        masks.display(),
        masks.display(),
        left.display()
    );
    // The launcher may ignore signals. The doorbell command must not inherit that.
    let run = world.command(["run", "--on-end", &bell, "--", "true"]);
    let deaf = ["-c", "trap '' INT QUIT TERM CHLD; exec \"$@\"", "sh"];
    let id = Ran::of(&mut behind("sh", deaf, &run))
        .stdout
        .trim()
        .to_owned();
    world.until_over(&id);
    let masks = fs::read_to_string(masks).unwrap();
    // No signal is blocked, and none ignored except those that glibc reserves. Four descriptors are open: the three
    // standard ones and the directory that `ls` reads.
    let plain = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n4\n";
    assert_eq!(masks.replace("180000000\n", "000000000\n"), plain);
    assert_eq!(world.show(&id)["lingering"], 0);
    let left = pid_in(&left);
    assert!(is_alive(left));
    // Its environment is empty, so the end of the test would not find it.
    kill_for_good(left);
}

/// A shell that replaces itself by its last command passes on the signals that were blocked at its start. Then
/// `timeout` would not work.
#[test]
fn a_doorbell_command_is_ended_by_its_timeout() {
    let world = World::new();
    let bells = [
        ["--on-end", "exec timeout 0.1 sleep 60"],
        ["--session", "configured"],
    ];
    let bell = command_bell("exec timeout 0.1 sleep 60", "");
    for options in bells {
        if options[0] == "--session" {
            configure(&world, &bell);
        }
        let id = world.ok(&[&["run"], &options[..], &["--", "true"]].concat());
        until_stands(&world, &id, "waiting", 1);
        let failure = world.events(&id, "rung")[0]["failure"].to_string();
        assert!(failure.contains("124"), "{failure}");
        world.ok(&["stop", &id]);
        world.until_over(&id);
    }
}

#[test]
fn on_end_runs_though_the_directory_is_gone() {
    let world = World::new();
    let (there, heard) = (world.path("there"), Heard::new(&world));
    fs::create_dir(&there).unwrap();
    let mut command = world.command(["run", "--id", "job", "--cwd"]);
    command.arg(&there).args(["--on-end", &heard.command()]);
    let script = format!("rmdir {}", there.display());
    assert_eq!(Ran::of(command.args(["--shell", &script])).code, 0);
    world.until_over("job");
    assert_eq!(heard.events().len(), 1);
}

/// The doorbell command may pass the event on, so secrets are left out, as for configured doorbells.
#[test]
fn a_secret_in_the_command_is_left_out_of_what_on_end_gets() {
    let world = World::new();
    let heard = Heard::new(&world);
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let script = format!("true {token}");
    let id = world.ok(&["run", "--on-end", &heard.command(), "--shell", &script]);
    world.until_over(&id);
    let events = heard.events();
    let command = events[0]["data"]["command"].as_str().unwrap();
    assert!(command.starts_with("true "), "{command}");
    assert!(!events[0].to_string().contains(token), "{}", events[0]);
    // The job's own record has the full command.
    assert_eq!(world.show(&id)["command"], script.as_str());
}
