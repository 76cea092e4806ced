//! The text of an event, as an agent reads it.

use super::{ME, ended, inbox, only_event};
use crate::adoption::leader;
use outlive_testkit::checks::every;
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::world::World;
use serde_json::Value;

/// How many characters of the last output are shown at most.
const MAX_OUTPUT_CHARS: usize = 2000;

fn text(event: &Value) -> String {
    event["text"].as_str().unwrap().to_owned()
}

/// The text for the end of the only job.
fn block(world: &World) -> String {
    text(&only_event(&inbox(world, &["--wait=20s"])))
}

/// The output in the text, without the mark of each line.
fn shown_output(block: &str) -> String {
    let start = block.find("utput").unwrap();
    let start = start + block[start..].find(":\n").unwrap() + 2;
    let end = block.rfind("\nSee more:").unwrap();
    let unmarked = |line: &str| match line {
        "|" => String::new(),
        "[…]" => line.to_owned(),
        _ => line.strip_prefix("| ").expect("it is quoted").to_owned(),
    };
    let lines: Vec<String> = block[start..end].lines().map(unmarked).collect();
    lines.join("\n")
}

#[test]
fn the_text_names_each_way_to_end() {
    let cells = [
        ("exit 0", "succeeded (exit code 0) after ", ""),
        ("exit 3", "failed with exit code 3 after ", ""),
        (
            "exit 126",
            "failed with exit code 126",
            "could not be executed",
        ),
        (
            "nosuchcommand",
            "failed with exit code 127",
            "was not found",
        ),
        ("exit 130", "failed with exit code 130", "interrupted"),
        ("exit 137", "failed with exit code 137", "out of memory"),
        ("exit 139", "failed with exit code 139", "crashed"),
        ("kill -HUP $$", "was ended by SIGHUP", "closed"),
        ("kill -INT $$", "was ended by SIGINT", "Ctrl-C"),
        (
            "ulimit -c 0; kill -ABRT $$",
            "was ended by SIGABRT",
            "aborted",
        ),
        ("kill -KILL $$", "was ended by SIGKILL", "out of memory"),
        (
            "ulimit -c 0; kill -SEGV $$",
            "was ended by SIGSEGV",
            "memory that is not its own",
        ),
        ("kill -PIPE $$", "was ended by SIGPIPE", "nobody reads"),
        ("kill -TERM $$", "was ended by SIGTERM", "not outlive"),
    ];
    every(
        &cells,
        |cell| cell.0.to_owned(),
        |(script, how, cause)| {
            let world = World::new();
            let id = ended(&world, script);
            let block = block(&world);
            let first = block.lines().next().unwrap();
            assert!(first.starts_with(&format!("Job {id} {how}")), "{block}");
            assert!(first.contains(cause), "{block}");
            assert!(
                block.contains(&format!("\nCommand:\n| {script}\n")),
                "{block}"
            );
        },
    );
}

#[test]
fn a_successful_job_is_one_plain_block() {
    let world = World::new();
    let id = world.ok(&[
        "run",
        "--session",
        ME,
        "--name",
        "greet",
        "--shell",
        "echo a; echo b",
    ]);
    world.until_over(&id);
    let block = block(&world);
    let (first, rest) = block.split_once('\n').unwrap();
    let begin = format!("Job {id} (greet) succeeded (exit code 0) after ");
    let took = first
        .strip_prefix(&begin)
        .unwrap_or_else(|| panic!("{block}"));
    assert!(took.ends_with("s."), "{block}");
    assert_eq!(
        rest,
        format!("Command:\n| echo a; echo b\nOutput:\n| a\n| b\nSee more: outlive log {id}")
    );
}

#[test]
fn the_text_says_that_a_job_timed_out() {
    let world = World::new();
    world.ok(&[
        "run",
        "--session",
        ME,
        "--timeout",
        "100ms",
        "--",
        "sleep",
        "60",
    ]);
    let block = block(&world);
    assert!(
        block.contains("was ended by SIGTERM (stopped: its time of 100ms was up)"),
        "{block}"
    );
    assert!(!block.contains("Somebody asked"), "{block}");
    assert!(block.ends_with("It wrote nothing."), "{block}");
}

#[test]
fn the_text_says_who_stopped_a_job() {
    let world = World::new();
    let id = sleeper(&world, &["--session", ME]);
    let mut stop = world.command(["stop", &id]);
    assert_eq!(Ran::of(stop.env("OUTLIVE_SESSION", "other")).code, 0);
    let block = block(&world);
    assert!(block.contains("was ended by SIGTERM (stopped "), "{block}");
}

#[test]
fn the_text_says_why_a_job_could_not_start() {
    let world = World::new();
    let mut run = world.command(["run", "--session", ME, "--", "/no/such/program"]);
    assert_eq!(Ran::of(run.env("OUTLIVE_SESSION", "other")).code, 127);
    let block = block(&world);
    assert!(block.contains("could not be started: "), "{block}");
    assert!(block.contains("PATH"), "{block}");
    assert!(block.contains("Command:\n| /no/such/program"), "{block}");
    assert!(!block.contains("See more"), "{block}");
}

#[test]
fn the_text_says_that_an_outcome_is_unknown() {
    let world = World::new();
    let id = sleeper(&world, &["--session", ME]);
    let leader = leader(&world, &id);
    world.kill_both(&id);
    kill_for_good(leader);
    let event = only_event(&inbox(&world, &["--wait=20s"]));
    let block = text(&event);
    // The outcome is known only if the leader's new parent has not reaped it yet.
    match event["data"]["outcome"]["kind"].as_str().unwrap() {
        "lost" => {
            assert!(block.contains("ended, and nobody knows how: "), "{block}");
            assert!(block.contains("Do not take it for a success"), "{block}");
            assert_eq!(event["data"]["exit_code"], Value::Null);
        }
        "signaled" => assert!(block.contains("was ended by SIGKILL"), "{block}"),
        other => panic!("{other}: {block}"),
    }
}

/// The record is changed as if the machine had been restarted meanwhile.
#[test]
fn the_text_says_that_a_job_was_lost() {
    let world = World::new();
    let id = sleeper(&world, &["--session", ME]);
    let leader = leader(&world, &id);
    world.kill_both(&id);
    kill_for_good(leader);
    let other = "00000000-0000-0000-0000-000000000000";
    crate::adoption::rewrite(&world, &id, "accepted", |event| {
        event["boot"] = other.into()
    });
    let event = only_event(&inbox(&world, &[]));
    let block = text(&event);
    assert_eq!(event["data"]["outcome"]["kind"], "lost", "{block}");
    let how = format!("Job {id} ended, and nobody knows how: the machine was restarted");
    assert!(block.starts_with(&how), "{block}");
    assert!(block.contains("Do not take it for a success"), "{block}");
}

#[test]
fn the_text_says_what_still_runs() {
    let world = World::new();
    let id = world.ok(&["run", "--session", ME, "--shell", "sleep 60 & exit 0"]);
    let block = block(&world);
    let lingers = format!("1 of its processes still runs; `outlive stop {id}` ends it.");
    assert!(block.contains(&lingers), "{block}");
}

#[test]
fn the_last_output_is_whole_lines_that_fit() {
    let world = World::new();
    ended(&world, "seq 1 10000");
    let block = block(&world);
    let shown = shown_output(&block);
    assert!(shown.chars().count() <= MAX_OUTPUT_CHARS, "{}", shown.len());
    let (head, tail) = shown.split_once("\n[…]\n").unwrap();
    let numbers =
        |text: &str| -> Vec<u32> { text.lines().map(|line| line.parse().unwrap()).collect() };
    let (head, tail) = (numbers(head), numbers(tail));
    assert_eq!(head, (1..=head.len() as u32).collect::<Vec<_>>());
    assert_eq!(
        tail,
        (10_001 - tail.len() as u32..=10_000).collect::<Vec<_>>()
    );
    assert!(head.len() > 100 && tail.len() > 250, "{shown}");
    assert!(
        block.contains("Output (beginning and end of 47.7 KiB)"),
        "{block}"
    );
}

#[test]
fn characters_are_counted_and_none_is_cut() {
    let world = World::new();
    ended(
        &world,
        "for n in $(seq 100); do printf '日%.0s' $(seq 99); echo; done",
    );
    let block = block(&world);
    let line = "日".repeat(99);
    let shown = shown_output(&block);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.iter().filter(|shown| **shown == line).count(), 19);
    assert_eq!(lines.iter().filter(|shown| **shown == "[…]").count(), 1);
    assert_eq!(lines.len(), 20);
}

#[test]
fn a_line_that_is_too_long_is_shown_by_its_end() {
    let world = World::new();
    ended(&world, "head -c 5000 /dev/zero | tr '\\0' x; echo end");
    let block = block(&world);
    let shown = shown_output(&block);
    assert!(shown.ends_with("xend"), "{block}");
    assert!(shown.chars().count() <= MAX_OUTPUT_CHARS, "{block}");
    assert!(shown.chars().count() > MAX_OUTPUT_CHARS / 2, "{block}");
}

/// Most of the output is colours, and the part that is read starts in the middle of a colour sequence.
#[test]
fn escape_sequences_do_not_count_and_are_removed() {
    let world = World::new();
    let colours = "\\033[38;5;196m".repeat(41);
    ended(
        &world,
        &format!("for n in $(seq 1 200); do printf '{colours}line %03d\\033[0m\\n' $n; done"),
    );
    let block = block(&world);
    let shown = shown_output(&block);
    for line in shown.lines().filter(|line| *line != "[…]") {
        let number = line
            .strip_prefix("line ")
            .unwrap_or_else(|| panic!("{block}"));
        assert_eq!(number.len(), 3, "{block}");
    }
    assert!(shown.ends_with("line 200"), "{block}");
    assert!(shown.lines().count() >= 20, "{block}");
}

#[test]
fn secrets_are_left_out_of_text_and_data() {
    let world = World::new();
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
    let script = format!("echo token {token}; echo DB_PASSWORD=hunter2hunter2; true {token}");
    ended(&world, &script);
    let event = only_event(&inbox(&world, &["--wait=20s"]));
    let whole = event.to_string();
    for leaked in [&token[4..], "hunter2hunter2"] {
        assert!(!whole.contains(leaked), "{event:#}");
    }
    let marked = whole.matches("[redacted:").count();
    assert!(marked >= 4, "{event:#}");
}

/// The output is cut inside a private key, and inside a token.
#[test]
fn secrets_that_are_cut_off_are_redacted_too() {
    let world = World::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let script = format!(
        "echo -----BEGIN PRIVATE KEY-----; for n in $(seq 40); do echo {body}; done; \
         echo -----END PRIVATE KEY-----; echo done"
    );
    ended(&world, &script);
    let event = only_event(&inbox(&world, &["--wait=20s"]));
    let shown = shown_output(event["text"].as_str().unwrap());
    assert!(!shown.contains("MIIEvQ"), "{event:#}");
    assert!(shown.ends_with("done"), "{event:#}");

    let world = World::new();
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
    // The output is short enough to be read in full, but its last 2,000 characters start inside the token.
    let rest = "y".repeat(1978);
    ended(&world, &format!("printf '%020d {token} {rest}\\n' 1"));
    let event = only_event(&inbox(&world, &["--wait=20s"]));
    let shown = shown_output(event["text"].as_str().unwrap());
    assert!(!shown.contains(&token[30..]), "{event:#}");
}
