//! `log --follow` as text: finished lines, questions, progress bars.

use super::follower::Follower;
use outlive_testkit::checks::until_output;
use outlive_testkit::scripts::{WAITS, let_go, start};
use outlive_testkit::trace::watch_for_two_seconds;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// A job that writes what it is sent.
fn echo(world: &World) -> String {
    world.ok(&["run", "--stdin", "pipe", "--", "cat"])
}

fn send(world: &World, id: &str, text: &str) {
    world.ok(&["send", id, "--", text]);
}

/// Sends the pieces one after the other. Each is sent once the one before is in the output.
fn send_each(world: &World, id: &str, pieces: &[&str]) {
    let mut all = String::from_utf8(world.output(id)).unwrap();
    for piece in pieces {
        send(world, id, piece);
        all.push_str(piece);
        until_output(world, id, &all);
    }
}

fn end(world: &World, id: &str) {
    world.ok(&["send", id, "--eof"]);
}

fn follow(world: &World, id: &str, options: &[&str]) -> Follower {
    let args = [&["log", id, "--follow"], options].concat();
    Follower::start(world.command(args))
}

#[test]
fn follow_prints_a_question_and_continues_its_line() {
    let world = World::new();
    let id = echo(&world);
    let mut log = follow(&world, &id, &[]);
    log.until_blocked();
    send(&world, &id, "ready\nPassword: ");
    assert_eq!(log.line(), "ready\n");
    assert_eq!(log.bytes(10), "Password: ");
    send(&world, &id, "***\r\nwelcome\r\n");
    assert_eq!(log.line(), "***\n");
    assert_eq!(log.line(), "welcome\n");
    end(&world, &id);
    assert_eq!(log.rest(), (Vec::new(), 0));
}

#[test]
fn a_follower_sleeps_after_it_printed_a_question() {
    needs!(Strace);
    let world = World::new();
    let id = echo(&world);
    let mut log = follow(&world, &id, &[]);
    send(&world, &id, "line\nname? ");
    assert_eq!(log.line(), "line\n");
    assert_eq!(log.bytes(6), "name? ");
    log.until_blocked();
    let trace = watch_for_two_seconds(&world, &[log.child.id() as i32]);
    let returned = trace.lines().filter(|line| line.contains(" = ")).count();
    assert_eq!(returned, 0, "{trace}");
    end(&world, &id);
    assert_eq!(log.rest(), (Vec::new(), 0));
}

#[test]
fn a_printed_progress_bar_ends_on_its_own_line() {
    let world = World::new();
    let id = echo(&world);
    let mut log = follow(&world, &id, &[]);
    send(&world, &id, " 10%");
    assert_eq!(log.bytes(4), " 10%");
    send_each(&world, &id, &["\r 50%\r100%\ndone\n"]);
    end(&world, &id);
    assert_eq!(log.rest(), (b"\n100%\ndone\n".to_vec(), 0));
}

#[test]
fn a_moving_progress_bar_is_printed_in_its_last_state() {
    let world = World::new();
    let bar = "for n in $(seq 1 300); do printf '\\r%d of 300 \\033[K' $n; done; printf '\\rall\\033[K\\n'";
    let id = start(&world, &format!("echo up; {WAITS} {bar}; echo after"));
    until_output(&world, &id, "up\n");
    let mut log = follow(&world, &id, &[]);
    assert_eq!(log.line(), "up\n");
    let_go(&world);
    let (bytes, code) = log.rest();
    // If the machine pauses for a moment, a state in between may be shown.
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.ends_with("all\nafter\n"), "{text}");
    assert!(text.lines().count() < 10, "{text}");
    assert!(!text.contains(['\r', '\x1b']), "{text:?}");
    assert_eq!(code, 0);
}

#[test]
fn escape_sequences_and_characters_split_across_reads_are_kept_whole() {
    let world = World::new();
    let id = start(
        &world,
        "printf 'a\\033'; sleep 0.01; printf '[1;3'; sleep 0.01; printf '1mred\\033[0m \\342'; \
         sleep 0.01; printf '\\234\\223\\n'",
    );
    assert_eq!(follow(&world, &id, &[]).line(), "ared ✓\n");
}

#[test]
fn follow_in_json_prints_one_object_for_each_line() {
    let world = World::new();
    let id = echo(&world);
    let mut log = follow(&world, &id, &["--json"]);
    let mut next = || serde_json::from_str::<Value>(&log.line()).unwrap();
    send(&world, &id, "\x1b[1mone\x1b[m\ntwo\nthree? ");
    assert_eq!(next(), json!({ "from_byte": 0, "text": "one\n" }));
    assert_eq!(next(), json!({ "from_byte": 11, "text": "two\n" }));
    assert_eq!(next(), json!({ "from_byte": 15, "text": "three? " }));
    send(&world, &id, "yes\n");
    assert_eq!(next(), json!({ "from_byte": 22, "text": "yes\n" }));
    end(&world, &id);
    assert_eq!(log.rest(), (Vec::new(), 0));
}

#[test]
fn follow_says_where_output_is_missing() {
    let world = World::new();
    let id = world.ok(&[
        "run",
        "--max-output",
        "64K",
        "--shell",
        "printf '\\033[1mfirst\\033[m\\n'; seq 1 100000; echo last",
    ]);
    world.wait(&id);
    let all = ["--lines", "1000000"];
    let text = world.outlive(&[&["log", &id, "--follow"], &all[..]].concat());
    let whole = world.outlive(&[&["log", &id], &all[..]].concat());
    assert_eq!(text.stdout, whole.stdout);
    assert!(
        text.stdout.contains("not kept here"),
        "{}",
        text.stdout.len()
    );
    let from = ["--offset", "1", "--lines", "1000000", "--json"];
    let objects = world.outlive(&[&["log", &id, "--follow"], &from[..]].concat());
    let dropped: Vec<Value> = objects
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|object| object["dropped_from"].is_u64())
        .collect();
    assert_eq!(dropped.len(), 1, "{dropped:?}");
    assert_eq!(dropped[0]["dropped_from"], 16 * 1024);
}

#[test]
fn follow_redacts_secrets_that_come_in_pieces() {
    let world = World::new();
    let token = ["ghp", "_", &"a1B2".repeat(9)].concat();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    let id = echo(&world);
    let mut log = follow(&world, &id, &["--redact"]);
    send(&world, &id, &format!("the token {}", &token[..11]));
    assert_eq!(log.bytes(10), "the token ");
    send(
        &world,
        &id,
        &format!("\x1b[1m{}\x1b[m is mine\n", &token[11..]),
    );
    assert_eq!(log.line(), "ghp_[redacted:github-token] is mine\n");
    send(&world, &id, "-----BEGIN PRIVATE KEY-----\n");
    assert_eq!(log.line(), "[redacted:private-key]\n");
    send_each(
        &world,
        &id,
        &[
            &body[..9],
            &body[9..],
            "YWJj\n-----END PRIVATE",
            " KEY-----\n",
        ],
    );
    send(&world, &id, "Passphrase:");
    assert_eq!(log.bytes(11), "Passphrase:");
    end(&world, &id);
    assert_eq!(log.rest(), (Vec::new(), 0));
}
