//! `log` as a reader wants it, and as it is.

use outlive_testkit::gate::Gate;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;

/// A job that prints this, as `printf` understands it; over.
fn printed(world: &World, format: &str) -> String {
    let id = world.ok(&["run", "--", "printf", format]);
    world.wait(&id);
    id
}

#[test]
fn colours_and_progress_are_shown_as_they_ended() {
    let world = World::new();
    for (format, text) in [
        (r"\033[31mred\033[0m\n", "red\n"),
        (r" 10%%\r 50%%\r100%%\ndone\n", "100%\ndone\n"),
        (r"abX\bc\n", "abc\n"),
        (r"one\r\ntwo\r\n", "one\ntwo\n"),
        (r"\033]0;title\007shown\n", "shown\n"),
        (r"bad \377 byte\n", "bad \u{fffd} byte\n"),
        (r"no newline", "no newline"),
    ] {
        let id = printed(&world, format);
        assert_eq!(world.outlive(&["log", &id]).stdout, text, "{format}");
        let json: Value = world.json(&["log", &id, "--json"]);
        assert_eq!(json["text"], text, "{format}");
    }
}

#[test]
fn raw_bytes_are_always_to_be_had() {
    let world = World::new();
    let id = printed(&world, r"\033[31mred\033[0m\r\n");
    for options in [
        &["--raw"][..],
        &["--follow", "--raw"],
        &["--grep", "r", "--raw"],
    ] {
        let args = [&["log", &id], options].concat();
        assert_eq!(
            world.outlive(&args).stdout,
            "\x1b[31mred\x1b[0m\r\n",
            "{args:?}"
        );
    }
    assert_eq!(world.outlive(&["log", &id, "--follow"]).stdout, "red\n");
    assert_eq!(
        world.outlive(&["log", &id, "--bytes", "0:5"]).stdout,
        "\x1b[31m"
    );
}

#[test]
fn a_budget_keeps_the_beginning_and_the_end() {
    let world = World::new();
    let id = world.shell("seq 1 20000");
    world.wait(&id);
    let log = world.outlive(&[
        "log", &id, "--offset", "1", "--lines", "20000", "--budget", "4K",
    ]);
    assert!(log.stdout.len() <= 4096, "{} bytes", log.stdout.len());
    assert!(log.stdout.starts_with("1\n2\n3\n"), "{}", log.stdout);
    assert!(log.stdout.ends_with("19999\n20000\n"), "{}", log.stdout);
    let said: Vec<&str> = log
        .stdout
        .lines()
        .filter(|line| line.contains("left out"))
        .collect();
    assert_eq!(said.len(), 1, "{said:?}");
    let hint = log.stderr.split('`').nth(1).unwrap();
    let hint: Vec<&str> = hint.split(' ').skip(1).collect();
    let middle = world.outlive(&hint).stdout;
    let [head, tail] = log
        .stdout
        .split(&format!("{}\n", said[0]))
        .collect::<Vec<_>>()[..]
    else {
        panic!("head and tail: {}", log.stdout);
    };
    let whole: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    assert!(
        format!("{head}{middle}{tail}") == whole,
        "what was left out is what is shown then"
    );
    let shown = log.stdout.lines().count() as u64 - 1;
    let digits: String = said[0]
        .split("lines")
        .next()
        .unwrap()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    assert_eq!(
        digits.parse::<u64>().unwrap(),
        20_000 - shown,
        "{}",
        said[0]
    );
}

/// However small it is: the end is what a reader needs most.
#[test]
fn a_small_budget_keeps_the_end() {
    let world = World::new();
    let id = world.shell("seq 1 1000");
    world.wait(&id);
    for (budget, has_beginning) in [("60", false), ("100", true), ("300", true)] {
        let log = world.outlive(&["log", &id, "--lines", "1000", "--budget", budget]);
        let text = log.stdout;
        assert!(text.len() <= budget.parse().unwrap(), "{budget}: {text}");
        assert!(text.ends_with("\n1000\n"), "{budget}: {text}");
        assert!(text.contains(" left out …]\n"), "{budget}: {text}");
        assert_eq!(
            text.starts_with("1\n2\n"),
            has_beginning,
            "{budget}: {text}"
        );
    }
}

/// Unless so many were asked for.
#[test]
fn the_last_lines_are_said_to_be_some_of_many() {
    let world = World::new();
    let [few, many] = ["seq 1 200", "seq 1 12345"].map(|script| world.shell(script));
    world.wait(&few);
    world.wait(&many);
    let said = |args: &[&str]| world.outlive(args).stderr;
    let note = said(&["log", &many]);
    assert_eq!(
        note,
        "outlive: showing the last 200 of 12345 lines; --lines N shows more\n"
    );
    for args in [
        &["log", &few][..],
        &["log", &many, "--lines", "10"],
        &["log", &many, "--offset", "5"],
        &["log", &many, "--json"],
        &["log", &many, "--quiet"],
    ] {
        assert_eq!(said(args), "", "{args:?}");
    }
}

#[test]
fn a_very_long_line_is_shortened_and_says_by_how_much() {
    let world = World::new();
    let id = world.shell("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo after");
    world.wait(&id);
    let text = world.outlive(&["log", &id]).stdout;
    assert!(text.len() < 20_000, "{} bytes", text.len());
    assert!(
        text.contains("bytes left out") && text.ends_with("\nafter\n"),
        "{}",
        &text[text.len() - 100..]
    );
    assert_eq!(
        world.outlive(&["log", &id, "--raw"]).stdout.len(),
        3_000_000 + 7
    );
}

#[test]
fn secrets_are_left_out_where_that_is_asked_for() {
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
fn a_line_is_searched_as_it_is_shown() {
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

/// The lines of a private key have neither a name nor a shape of their own.
#[test]
fn a_key_is_not_found_line_by_line() {
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

/// What a part begins with may be the middle of a secret.
#[test]
fn a_part_that_begins_within_a_key_shows_nothing_of_it() {
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
    // These go on to the end.
    assert_eq!(part("4", &["--grep", "."]), "after\n");
    assert_eq!(part("4", &["--follow"]), "after\n");
}

#[test]
fn a_secret_that_comes_in_two_parts_is_shown_in_neither() {
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
fn a_screen_is_shown_without_its_secrets_too() {
    let world = World::new();
    let id = world.ok(&[
        "run",
        // Too narrow for it: the terminal breaks it over rows.
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

/// Which is most often a question, or how far something has come.
#[test]
fn an_unfinished_line_that_tells_of_no_secret_is_shown_as_it_is() {
    let world = World::new();
    let id = world.shell("printf 'step 3/7'; exec sleep 60");
    until("it has come", || world.output(&id) == b"step 3/7");
    assert_eq!(world.outlive(&["log", &id, "--redact"]).stdout, "step 3/7");
}

#[test]
fn show_and_list_leave_secrets_out_where_that_is_asked_for() {
    let world = World::new();
    let secret = "s3cret-Value-99";
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}", body.repeat(20));
    let print = "printf '%s\n' \"API_TOKEN=$1\" \"$2\"";
    // The option is `$0`.
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

/// U+009B begins a control sequence where a terminal honours C1 controls.
#[test]
fn json_has_no_character_that_a_terminal_obeys() {
    let world = World::new();
    let text = "\u{9b}2J\u{90}\u{7f}é";
    let id = world.ok(&["run", "--", "printf", "%s", text]);
    world.wait(&id);
    for args in [
        &["log", &id, "--raw", "--json"][..],
        &["log", &id, "--grep", "é", "--raw", "--json"],
        &["log", &id, "--follow", "--raw", "--json"],
        &["show", &id, "--json"],
        &["list", "--json"],
    ] {
        let json = world.outlive(args).stdout;
        let is_harmless = |c: char| c == '\n' || !c.is_control();
        assert!(json.chars().all(is_harmless), "{args:?}: {json:?}");
        assert!(json.contains("\\u009b"), "{args:?}: {json}");
        serde_json::from_str::<Value>(&json).unwrap();
    }
    let log: Value = world.json(&["log", &id, "--raw", "--json"]);
    assert_eq!(log["text"], text);
}

/// What a glance leaves out of a long line and what it shows are the whole line.
#[test]
fn a_glance_counts_all_that_it_leaves_out_of_a_line() {
    let world = World::new();
    for size in [3_000_usize, 300_000, 3_000_000] {
        let id = world.shell(&format!(
            "echo first; head -c {size} /dev/zero | tr '\\0' x; echo; echo last"
        ));
        world.wait(&id);
        let json = world.show(&id)["preview"].as_str().unwrap().to_owned();
        let text = world.outlive(&["show", &id]).stdout;
        assert!(text.ends_with(&json), "{text}");
        let line = json.lines().find(|line| line.contains("left out"));
        let line = line.unwrap_or_else(|| panic!("nothing is said of {size}: {json}"));
        let (_, after) = line.split_once('[').unwrap();
        let (count, _) = after.split_once(' ').unwrap();
        let count: usize = count.replace(',', "").parse().unwrap();
        let shown = line.bytes().filter(|byte| *byte == b'x').count();
        assert_eq!(count + shown, size, "{line}");
        assert!(json.ends_with("xxx\nlast\n"), "{json}");
        assert!(json.len() < 8192, "a glance of {} bytes", json.len());
        let redacted = world.json(&["show", &id, "--redact", "--json"]);
        let redacted = redacted["preview"].as_str().unwrap();
        assert!(redacted.contains(" bytes left out] … "), "{redacted}");
        assert!(redacted.ends_with("last\n"), "{redacted}");
    }
}

/// Of progress that is written over only the last state is shown, however long it has gone on.
#[test]
fn a_glance_at_progress_shows_where_it_is() {
    let world = World::new();
    let id = world.shell("seq -f '%06.0f of it' 200000 | tr '\\n' '\\r'");
    world.wait(&id);
    assert_eq!(world.show(&id)["preview"], "200000 of it");
}
