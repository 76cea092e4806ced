//! `--redact`: `log`, `show` and `list` leave out text that looks like a credential.

use crate::text::printed;
use outlive_testkit::gate::Gate;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;

#[test]
fn redact_leaves_out_secrets() {
    let world = World::new();
    let token = ["ghp", "_", &"a1B2".repeat(9)].concat();
    let id = world.shell(&format!(
        "echo token is {token}; echo API_TOKEN=s3cretvalue99; echo fine"
    ));
    world.wait(&id);
    let shown = world.outlive(&["log", &id, "--redact"]).stdout;
    assert!(
        !shown.contains(&token) && !shown.contains("s3cretvalue99"),
        "{shown}"
    );
    assert!(
        shown.contains("[redacted:") && shown.ends_with("fine\n"),
        "{shown}"
    );
    assert!(
        world.outlive(&["log", &id]).stdout.contains(&token),
        "it is the owner's own terminal"
    );
    assert!(
        world
            .outlive(&["log", &id, "--redact", "--no-redact"])
            .stdout
            .contains(&token)
    );
    assert!(
        !world
            .ok(&["log", &id, "--redact", "--grep", "TOKEN"])
            .contains("s3cret")
    );
}

#[test]
fn secrets_of_commands_headers_and_files_are_left_out_and_code_is_not() {
    let world = World::new();
    let lines = [
        (
            "curl -u bob:hunter2 host",
            "curl -u bob:[redacted:password] host",
        ),
        (
            "machine h login u password hunter2",
            "machine h login u password [redacted:password]",
        ),
        ("Cookie: sid=hunter2; a=b", "Cookie: [redacted:cookie]"),
        (
            "https://a1b2c3d4e5f6@host/x",
            "https://[redacted:url-token]@host/x",
        ),
        (
            "user=bob&password=hunter2&city=Rome",
            "user=bob&password=[redacted:password]&city=Rome",
        ),
        ("self.token = token", "self.token = token"),
        ("const token = await get()", "const token = await get()"),
    ];
    let (said, shown): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
    let program = format!("cat <<'EOF'\n{}\nEOF", said.join("\n"));
    let id = world.shell(&program);
    world.wait(&id);
    let expected = format!("{}\n", shown.join("\n"));
    assert_eq!(world.outlive(&["log", &id, "--redact"]).stdout, expected);

    let id = world.ok(&["run", "--", "true", "sshpass", "-p", "correct horse", "ssh"]);
    world.wait(id.trim());
    for form in [
        &["show", id.trim(), "--redact"][..],
        &["list", "--redact", "--json"],
    ] {
        let shown = world.ok(form);
        assert!(
            !shown.contains("correct") && !shown.contains("horse"),
            "{shown}"
        );
    }
}

#[test]
fn grep_searches_the_redacted_line() {
    let world = World::new();
    let id = printed(&world, r"one\n\033[31mer\033[0mror 7\n 10%%\r100%% done\n");
    let grep = |pattern: &str| world.outlive(&["log", &id, "--grep", pattern]).stdout;
    assert_eq!(grep("^error [0-9]$"), "error 7\n");
    assert_eq!(grep("^100%"), "100% done\n");
    assert_eq!(grep("31m|10%\r"), "", "what is not shown is not found");
    let json: Value = world.json(&["log", &id, "--grep", "done", "--json"]);
    assert_eq!(
        (&json["line"], &json["from_byte"], &json["text"]),
        (&3.into(), &21.into(), &"100% done".into())
    );
    let timed = world.outlive(&["log", &id, "--timestamps"]).stdout;
    let texts: Vec<&str> = timed
        .lines()
        .map(|l| l.split_once(' ').unwrap().1)
        .collect();
    assert_eq!(texts, ["one", "error 7", "100% done"]);
}

/// A single line of a private key cannot be recognised by its name or its shape.
#[test]
fn grep_does_not_find_the_lines_of_a_private_key() {
    let world = World::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let script = format!(
        "echo '-----BEGIN PRIVATE KEY-----'; echo {body}; echo {body}; echo '-----END PRIVATE KEY-----'; echo MII"
    );
    let id = world.shell(&script);
    world.wait(&id);
    let grep = |options: &[&str]| {
        let args = [&["log", &id, "--grep", "MII"], options].concat();
        world.outlive(&args).stdout
    };
    assert_eq!(grep(&["--redact"]), "MII\n");
    assert_eq!(grep(&[]).lines().count(), 3);
}

/// A page may start in the middle of a secret.
#[test]
fn a_page_that_starts_within_a_private_key_shows_nothing_of_it() {
    let world = World::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----",
        body.repeat(20)
    );
    let id = world.ok(&["run", "--", "printf", "%s\n", &key, "after"]);
    world.wait(&id);
    let part = |count: &str, options: &[&str]| {
        let part = ["log", &id, "--redact", "--offset", "5", "--lines", count];
        world.outlive(&[&part, options].concat()).stdout
    };
    assert_eq!(part("4", &[]), "");
    assert_eq!(part("4", &["--timestamps"]), "");
    assert_eq!(part("40", &[]), "after\n");
    // These print everything up to the end of the output.
    assert_eq!(part("4", &["--grep", "."]), "after\n");
    assert_eq!(part("4", &["--follow"]), "after\n");
}

#[test]
fn a_secret_split_over_two_pages_is_in_neither() {
    let world = World::new();
    let gate = Gate::new(&world);
    let halves = ["ghp_16C7e42F292c6912", "E7710c838347Ae178B4a"];
    let rest = gate.then(&format!("echo {}; echo after", halves[1]));
    let id = world.shell(&format!("echo one; printf 'it is {}'; {rest}", halves[0]));
    until("its first half has come", || {
        world.output(&id).ends_with(halves[0].as_bytes())
    });
    let look = |cursor: Option<&str>| -> Value {
        let from = cursor.map_or(vec![], |cursor| vec!["--cursor", cursor]);
        world.json(&[&["log", &id, "--redact", "--json"], &from[..]].concat())
    };
    let first = look(None);
    assert_eq!(first["text"], "one\nit is ");
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(look(Some(cursor))["text"], "", "nothing is new");
    gate.open();
    world.wait(&id);
    let expected = "it is ghp_[redacted:github-token]\nafter\n";
    assert_eq!(look(Some(cursor))["text"], expected);
    let followed = ["log", &id, "--redact", "--follow", "--cursor", cursor];
    assert_eq!(world.outlive(&followed).stdout, expected);
}

#[test]
fn redact_applies_to_the_screen() {
    let world = World::new();
    let id = world.ok(&[
        "run",
        // The terminal is too narrow for the secret, which is wrapped over several rows.
        "--pty=10x20",
        "--shell",
        "echo API_TOKEN=s3cretvalue99tail; exec sleep 60",
    ]);
    let screen = |options: &[&str]| {
        let shown = [&["log", &id, "--screen"], options].concat();
        world.outlive(&shown).stdout
    };
    until("it has come", || {
        screen(&[]).contains("s3cretvalu\ne99tail")
    });
    for form in [&["--redact"][..], &["--redact", "--json"]] {
        let shown = screen(form);
        assert!(shown.contains("API_TOKEN=[redacted:"), "{shown}");
        assert!(
            !shown.contains("s3cret") && !shown.contains("e99tail"),
            "{shown}"
        );
    }
}

/// An unfinished line is usually a question or a progress report, so it must be shown.
#[test]
fn an_unfinished_line_without_a_secret_is_shown() {
    let world = World::new();
    let id = world.shell("printf 'step 3/7'; exec sleep 60");
    until("it has come", || world.output(&id) == b"step 3/7");
    assert_eq!(world.outlive(&["log", &id, "--redact"]).stdout, "step 3/7");
}

#[test]
fn show_and_list_redact_when_asked() {
    let world = World::new();
    let secret = "s3cret-Value-99";
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}", body.repeat(20));
    let print = "printf '%s\n' \"API_TOKEN=$1\" \"$2\"";
    // In this script `--password` is `$0` and the secret is `$1`.
    let job = ["sh", "-c", print, "--password", secret, &key];
    let id = world.ok(&[&["run", "--"], &job[..]].concat());
    world.wait(&id);
    for json in [&[][..], &["--json"]] {
        let ask = |verb: &[&str], secrets: &[&str]| world.ok(&[verb, json, secrets].concat());
        for verb in [&["show", &id][..], &["list"]] {
            let shown = ask(verb, &["--redact"]);
            assert!(!shown.contains(secret), "{shown}");
            assert!(!shown.contains("MIIEv"), "{shown}");
        }
        assert!(ask(&["show", &id], &["--redact"]).contains("[redacted:"));
        assert!(ask(&["show", &id], &[]).contains(secret), "the owner's own");
        assert!(ask(&["show", &id], &["--redact", "--no-redact"]).contains("MIIEv"));
    }
}
