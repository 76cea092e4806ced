//! A person interrupts or suspends `run --wait`: the job goes on, and one line says so.

use crate::attaching::person::Person;
use outlive_testkit::processes::{CONT, INT, begin, kill, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

const TERM: i32 = 15;
const TSTP: i32 = 20;

fn script() -> String {
    // What a person types is on the screen too, so the output differs from it.
    format!("echo up=$((40+2)); {WAITS}echo over; exit 4")
}

/// `run` with these options, which follows a job named `j`, once the job has written.
fn following(world: &World, options: &[&str]) -> Child {
    let script = script();
    let args = [&["run", "--id", "j"], options, &["--shell", &script]].concat();
    let mut command = with_go(world, &args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = begin(command);
    until("the job has written", || {
        world.job_dir("j").join("output").exists() && world.output("j") == b"up=42\n"
    });
    until("the signals are noticed", || blocks(child.id() as i32, INT));
    child
}

/// Whether the process blocks this signal.
fn blocks(pid: i32, signal: i32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("SigBlk:\t"));
    let mask = line.and_then(|line| u64::from_str_radix(line, 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

#[track_caller]
fn goes_on(world: &World) {
    assert_eq!(world.show("j")["state"], "running");
    let_go(world);
    assert_eq!(world.wait("j")["exit_code"], 4);
    assert_eq!(world.output("j"), b"up=42\nover\n");
}

#[test]
fn a_person_who_presses_ctrl_c_reads_what_becomes_of_the_job() {
    let world = World::new();
    let person = Person::sits_down(&world);
    person.enters(&format!(
        "clear; outlive run --wait --id j --shell '{}'; echo code=$?",
        script()
    ));
    person.until_sees("up=42");
    person.presses("C-c");
    person.until_sees("`outlive stop j` stops it");
    // As for every command that Ctrl-C ends: a shell gives up a list of commands only then.
    person.presses("Enter");
    person.enters("clear; outlive show j | grep -c running; echo asked=$((40+2))");
    person.until_sees("asked=42");
    assert!(person.sees().starts_with("1\n"), "{}", person.sees());
    goes_on(&world);
}

#[test]
fn a_person_who_presses_ctrl_z_can_come_back() {
    let world = World::new();
    let person = Person::sits_down(&world);
    person.enters(&format!(
        "clear; outlive run --wait --id j --shell '{}'; echo code=$?",
        script()
    ));
    person.until_sees("up=42");
    person.presses("C-z");
    person.until_sees("`fg` follows it again; `outlive stop j` stops it");
    person.until_sees("Stopped");
    person.enters("fg");
    let_go(&world);
    person.until_sees("over");
    assert_eq!(world.wait("j")["exit_code"], 4);
    person.has_a_sane_terminal();
}

#[test]
fn an_interrupted_command_dies_of_the_signal_and_says_one_line() {
    for signal in [INT, TERM] {
        for options in [&["--wait"][..], &["--wait=1h"], &["--wait", "--json"]] {
            let world = World::new();
            let child = following(&world, options);
            kill(child.id() as i32, signal);
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.signal(), Some(signal), "{options:?}");
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(said.lines().count(), 1, "{said}");
            for part in [
                "outlive: j continues",
                "`outlive stop j`",
                "`outlive wait j`",
            ] {
                assert!(said.contains(part), "{said}");
            }
            goes_on(&world);
        }
    }
}

#[test]
fn a_suspended_command_says_one_line_and_follows_on() {
    let world = World::new();
    let child = following(&world, &["--wait"]);
    let pid = child.id() as i32;
    kill(pid, TSTP);
    until_stopped(pid);
    kill(pid, CONT);
    let_go(&world);
    let ran = Ran::end_of(child);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (4, "up=42\nover\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("`fg` follows it again"), "{ran:?}");
}

#[test]
fn a_signal_that_the_caller_ignores_does_nothing() {
    let world = World::new();
    let script = script();
    let line = "trap '' INT; exec \"$0\" run --wait --id j --shell \"$1\"";
    let mut shell = world.within("bash", ["-c", line]);
    shell.arg(outlive_testkit::programs::outlive()).arg(&script);
    shell.env("GO", outlive_testkit::scripts::go(&world));
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = begin(shell);
    let pid = child.id() as i32;
    // For a moment all signals are blocked.
    until("the others are noticed", || {
        blocks(pid, TERM) && !blocks(pid, INT)
    });
    kill(pid, INT);
    let_go(&world);
    let ran = Ran::end_of(child);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (4, "up=42\nover\n"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("continues"), "{ran:?}");
}

#[test]
fn quiet_says_nothing() {
    let world = World::new();
    let child = following(&world, &["--wait", "--quiet"]);
    kill(child.id() as i32, INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(INT));
    assert_eq!(output.stderr, b"");
    goes_on(&world);
}
