//! Every token here is invented, and assembled at run time. No token is in the source as a whole, because scanners of
//! repositories would report it.

use std::borrow::Cow;

use super::rules::{Prefix, Shape};
use super::*;

mod corpus;
mod lines;
mod properties;
mod table;

const ALNUM: &str = "A1b2C3d4E5f6G7h8I9j0KlMnOpQrStUvWxYzaBcDeFgHi";

/// `len` random letters and digits.
fn alnum(len: usize) -> String {
    ALNUM.chars().cycle().take(len).collect()
}

/// `len` random hexadecimal digits.
fn hex(len: usize) -> String {
    "0a1b2c3d4e5f6789".chars().cycle().take(len).collect()
}

/// Replaces the placeholders for invented characters: `{a36}` stands for letters and digits, `{h32}` for hexadecimal
/// digits, `{u16}` for capitals and digits, `{d12}` for digits.
fn expand(text: &str) -> String {
    let stand_in = regex::Regex::new(r"\{([ahud])([0-9]{1,3})\}").expect("a constant expression");
    let made_up = |found: &regex::Captures<'_>| {
        let len = found[2].parse().expect("digits");
        match &found[1] {
            "a" => alnum(len),
            "h" => hex(len),
            "u" => alnum(len).to_uppercase(),
            _ => "1234567890".chars().cycle().take(len).collect(),
        }
    };
    stand_in.replace_all(text, made_up).into_owned()
}

/// For each prefix in the table: the public prefix, the secret and the kind of a token.
fn tokens() -> Vec<(&'static str, String, &'static str)> {
    let mut tokens = Vec::new();
    for rule in &RULES {
        let Shape::Token {
            shown: Prefix::Kept,
            ..
        } = rule.shape
        else {
            continue;
        };
        let starts = rule.keywords.iter().filter_map(|prefix| {
            let (_, body) = rule.example.split_once(prefix)?;
            Some(expand(body))
        });
        let body = starts.min_by_key(String::len).expect("an example");
        let all = rule.keywords.iter();
        tokens.extend(all.map(|prefix| (*prefix, body.clone(), rule.kind)));
    }
    tokens
}

#[test]
fn every_token_is_redacted_wherever_it_stands() {
    for (prefix, secret, kind) in tokens() {
        let token = format!("{prefix}{secret}");
        let gone = format!("{prefix}[redacted:{kind}]");
        for (before, after) in [
            ("", ""),
            ("using ", " now"),
            ("(", ")"),
            ("k=", "\n"),
            ("é\"", "\"é"),
        ] {
            let text = format!("{before}{token}{after}");
            assert_eq!(redact(&text), format!("{before}{gone}{after}"));
        }
        // The shape says more than the name does.
        assert_eq!(
            redact(&format!("MY_TOKEN={token}")),
            format!("MY_TOKEN={gone}")
        );
        assert_eq!(
            redact(&format!("\"token\": \"{token}\"")),
            format!("\"token\": \"{gone}\"")
        );
    }
}

#[test]
fn places_that_hold_secrets_are_redacted() {
    let table = [
        ("Authorization: Bearer @", "authorization"),
        ("authorization: basic @", "authorization"),
        ("curl -H 'Authorization: token @' host", "authorization"),
        (r#"{"Authorization": "Bearer @"}"#, "authorization"),
        ("sent Bearer @ to it", "authorization"),
        ("git clone https://bob:@@example.org/x.git", "url-password"),
        (
            "https://example.org:8080/a https://bob:@@h/x",
            "url-password",
        ),
        ("DSN postgres://app:@@db:5432/main", "database-password"),
        ("mongodb+srv://app:@@cluster0/x", "database-password"),
        ("redis://:@@cache:6379", "database-password"),
        ("mysqldump --password @ main", "password"),
        ("tool --token=@ run", "token"),
        ("tool --client-secret '@' run", "secret"),
        ("tool --api-key @", "api-key"),
        ("tool --access-key=@ x", "access-key"),
        ("AWS_SECRET_ACCESS_KEY=@", "secret"),
        ("aws_secret_access_key = @", "secret"),
        ("export DB_PASSWORD=@", "password"),
        ("declare -x PGPASSWORD=\"@\"", "password"),
        ("API_KEY=@ ./run --fast", "api-key"),
        ("  password: @", "password"),
        ("{\"dbPassword\":\"@\",\"x\":1}", "password"),
        (r#"body="{\"client_secret\":\"@\",\"x\":1}""#, "secret"),
        ("GET /cb?access_token=@&x=1", "token"),
        ("SESSION_KEY=@", "session-key"),
        ("MY_CREDENTIALS=@", "credential"),
        ("NPM_AUTH=@", "auth"),
        ("X-Api-Key: @", "api-key"),
        ("os.environ[\"API_TOKEN\"] = \"@\"", "token"),
        ("user=bob passwd='@' host=x", "password"),
        ("'password' => '@',", "password"),
    ];
    for (text, kind) in table {
        // The last of two `@` belongs to the URL.
        let secret = alnum(44);
        let expected = text.replacen('@', &format!("[redacted:{kind}]"), 1);
        assert_eq!(redact(&text.replacen('@', &secret, 1)), expected);
    }
}

#[test]
fn a_telling_name_is_enough_to_redact_its_value() {
    let table = [
        ("PASSWORD=hunter", "PASSWORD=[redacted:password]"),
        ("PASSWORD=a,b;c&d", "PASSWORD=[redacted:password]"),
        ("DB_PASS=hunter", "DB_PASS=[redacted:password]"),
        (
            "PASSPHRASE=correct horse battery",
            "PASSPHRASE=[redacted:passphrase]",
        ),
        (
            "password: hunter\r\nx",
            "password: [redacted:password]\r\nx",
        ),
        (
            "x={password: 'hunter'}",
            "x={password: '[redacted:password]'}",
        ),
        ("TOKEN=\"a \\\" b\" x", "TOKEN=\"[redacted:token]\" x"),
        ("PASSWORD=12345678", "PASSWORD=[redacted:password]"),
        ("SECRET=päßwörd", "SECRET=[redacted:secret]"),
        (
            "postgres://u:p/w@d@h/x",
            "postgres://u:[redacted:database-password]@h/x",
        ),
        (
            "A=1\nTOKEN=abcd\nB=2\n",
            "A=1\nTOKEN=[redacted:token]\nB=2\n",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(redact(text), expected);
    }
}

#[test]
fn text_that_is_no_secret_stays() {
    let table = [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "/home/me/.config/token/file.txt: ok",
        "tokens: 1234, token count=12, token: 77",
        "usage: prompt_tokens=12 completion_tokens=34 token=56ms",
        "data aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd29ybGQ=",
        "PASSWORD_FILE=/run/secrets/x",
        "GOOGLE_APPLICATION_CREDENTIALS=/home/me/key.json",
        "SSH_AUTH_SOCK=/tmp/ssh-x/agent.1",
        "MAX_TOKENS=4096",
        "AUTHOR=somebody GIT_AUTHOR_NAME=somebody",
        "PWD=/home/me/secret OLDPWD=/home/me",
        "TOKEN=$OTHER SECRET=${OTHER} PASSWORD=$(pass show x)",
        "password=**** token=<your-token> secret=xxxxxxxx api_key=null auth=true",
        "error: unexpected token: identifier in line 3",
        "let token = lexer.next_token();",
        "    token: String,",
        "    pub password: Option<String>,",
        "if token == expected_token {",
        "use crate::auth::token::Kind;",
        "tool --password-stdin --token-file /x --token <TOKEN> --secret id=npm,src=x",
        "pam_unix(sshd:auth): authentication failure; logname= uid=0",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "https://example.org:8080/a@b git@github.com:a/b.git ssh://git@host:22/x",
        "postgres://app:$PASSWORD@db/x https://u:***@h",
        "task-abcdefghijklmnopqrstuvwxyz0 sk-learn-some-long-branch-name",
        "npm_config_user_agent npm_package_dependencies_something_long_here",
        "assert!(text.contains(\"-----BEGIN PRIVATE KEY-----\"));",
        "-----BEGIN PUBLIC KEY-----",
        "primary_key: user_id foreign_key=orders hotkey=ctrl-k",
        "Token: expired at 10:30, password: incorrect",
    ];
    for text in table {
        assert!(
            matches!(redact(text), Cow::Borrowed(_)),
            "{} <- {text}",
            redact(text)
        );
    }
}

/// A key in PEM with `lines` lines of body.
fn pem(label: &str, lines: usize) -> String {
    let body = format!("{}\n", alnum(64)).repeat(lines);
    let dashes = "-".repeat(5);
    format!(
        "{dashes}BEGIN {label}{dashes}\n{body}{}\n{dashes}END {label}{dashes}\n",
        alnum(9)
    )
}

#[test]
fn private_keys_are_redacted_over_lines() {
    for label in [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let key = pem(label, 5);
        let gone = "before\n[redacted:private-key]\nafter\n";
        assert_eq!(redact(&format!("before\n{key}after\n")), gone);
        let lines = format!("before\n{key}after\n");
        let mut redactor = Redactor::default();
        let streamed: String = lines
            .split_inclusive('\n')
            .map(|l| redactor.redact(l))
            .collect();
        assert_eq!(streamed, gone);
        let (cut, _) = key.split_at(key.len() - 40);
        assert_eq!(redact(cut), "[redacted:private-key]\n");
        let (_, cut) = key.split_once('\n').unwrap_or_default();
        assert_eq!(
            redact(&format!("x\n{cut}y\n")),
            "x\n[redacted:private-key]\ny\n"
        );
        let json = format!(
            "{{\"private_key\": \"{}\", \"x\": 1}}",
            key.replace('\n', "\\n")
        );
        assert_eq!(
            redact(&json),
            "{\"private_key\": \"[redacted:private-key]\", \"x\": 1}"
        );
        let indented = key.replace('\n', "\n    ");
        assert!(!redact(&indented).contains(&alnum(64)));
    }
}

#[test]
fn a_key_that_does_not_end_hides_nothing_else() {
    let text = pem("PRIVATE KEY", 3);
    let (cut, _) = text.split_at(150);
    let text = format!("{cut}\nand then it failed\nTOKEN=abcd\n");
    assert_eq!(
        redact(&text),
        "[redacted:private-key]\nand then it failed\nTOKEN=[redacted:token]\n"
    );
}

#[test]
fn long_lines_take_linear_time() {
    let few = [
        "token=",
        "token_file=/etc/",
        "\"secret\":\"",
        "://a:",
        "TOKEN=$(",
        "sk-",
        "sk-proj-",
        "eyJ.",
        "auth\\\"",
        "$6$",
        "mysql -",
    ];
    // One secret each, so that there is more to do.
    let many = [
        "token = a(",
        "password=\"\"&",
        "password=x&",
        "curl -u a:",
        "cookie: a=",
        "login a password ",
    ];
    let few = few.iter().map(|piece| piece.repeat(200_000));
    for line in few.chain(many.iter().map(|piece| piece.repeat(40_000))) {
        let started = std::time::Instant::now();
        let _ = redact(&line);
        assert!(started.elapsed().as_secs() < 20, "{}", &line[..20]);
    }
}

#[test]
fn an_option_says_that_the_next_argument_is_a_secret() {
    let argv = |words: &[&str]| -> Vec<String> { words.iter().map(|&w| w.to_owned()).collect() };
    for (words, expected) in [
        (
            &["login", "--password", "correct horse"][..],
            "[redacted:password]",
        ),
        (
            &["login", "--password", "it's \"quoted\""],
            "[redacted:password]",
        ),
        (
            &["login", "--api-key", "s3cretvalue99"],
            "[redacted:api-key]",
        ),
        (
            &["env", "DB_PASSWORD=s3cretvalue99"],
            "DB_PASSWORD=[redacted:password]",
        ),
        (
            &["curl", "-s", "-u", "bob:hunter2"],
            "bob:[redacted:password]",
        ),
        (
            &["curl", "--user", "bob:correct horse"],
            "bob:[redacted:password]",
        ),
        (&["sshpass", "-p", "correct horse"], "[redacted:password]"),
        (
            &["docker", "login", "-u", "bob", "-p", "hunter2"],
            "[redacted:password]",
        ),
        (&["docker", "run", "-u", "bob:users"], "bob:users"),
        (&["ssh", "-p", "2222"], "2222"),
        (&["login", "--password", "--verbose"], "--verbose"),
        (&["ls", "--color", "correct horse"], "correct horse"),
        (&["--", "correct horse"], "correct horse"),
    ] {
        let redacted = redact_argv(&argv(words));
        assert_eq!(redacted.len(), words.len());
        assert_eq!(redacted[words.len() - 1], expected, "{words:?}");
    }
}

/// The kind in a marker must not be taken for the name of a value.
#[test]
fn text_after_a_marker_is_not_taken_for_its_value() {
    let once = redact("ACCESS_KEY=exlJrXUtnFGho :B2eaexxGho :B2eaexxGho").into_owned();
    assert_eq!(
        once,
        "ACCESS_KEY=[redacted:access-key] :B2eaexxGho :B2eaexxGho"
    );
    assert_eq!(redact(&once), once);
}
