//! What a file means, and the errors for wrong ones.

use super::*;
use outlive_core::doorbell::RingsOn;
use proptest::prelude::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

fn parse(text: &str) -> Result<Config, BadConfig> {
    Config::parse(Path::new("/c.toml"), text)
}

fn refusal(text: &str) -> String {
    match parse(text) {
        Ok(config) => panic!("{text:?} was accepted: {config:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_empty_file_means_the_defaults() {
    let config = parse("").expect("is right");
    assert_eq!(config.inbox, Inbox::default());
    assert_eq!(config.watch, Watch::default());
    assert_eq!(config.breaker, Breaker::default());
    assert_eq!(config.defaults, Defaults::default());
    assert_eq!(config.environment, Inheritance::default());
    assert_eq!(config.retention, Retention::default());
    assert_eq!(config.doorbells, []);
    let some = parse("[inbox]\nattempts = 2").expect("is right");
    assert_eq!(some.inbox.attempts, 2);
    assert_eq!(some.inbox.claim, Inbox::default().claim);
}

#[test]
fn every_key_can_be_set() {
    let config = parse(
        r#"
        watch = { spacing = 20, strikes = 5, still = "0" }
        [inbox]
        claim = "1m"
        attempts = 0x10
        keep = "7d"
        [breaker]
        most = 3
        window = "1s"
        silence = "1.5m"
        [defaults]
        timeout = "2h"
        plain = true
        notify = "never"
        [environment]
        withhold = "always"
        pass = ["OPENAI_*", "X"]
        [retention]
        enabled = false
        age = "7d"
        jobs = 0
        size = "1G"
        [[doorbell]]
        name = "ops"
        kind = "webhook"
        url = "https://user:pass@hooks.example:8443/T0/secret"
        secret_env = "OPS_SECRET"
        on = "failure"
        timeout = "3s"
        [[doorbell]]
        name = "me"
        kind = "desktop"
        [[doorbell]]
        name = "Ärger?"
        kind = "command"
        command = "notify-me"
        "#,
    )
    .expect("is right");
    let s = Duration::from_secs;
    assert_eq!((config.inbox.claim, config.inbox.attempts), (s(60), 16));
    assert_eq!((config.watch.spacing, config.watch.still), (s(20), s(0)));
    assert_eq!((config.breaker.most, config.breaker.silence), (3, s(90)));
    let defaults = &config.defaults;
    assert_eq!((defaults.timeout, defaults.plain), (s(7200), true));
    assert_eq!(defaults.notify, outlive_core::Notify::Never);
    assert_eq!(config.environment.withhold, Withhold::Always);
    let passed: Vec<&str> = config
        .environment
        .pass
        .iter()
        .map(|it| it.as_str())
        .collect();
    assert_eq!(passed, ["OPENAI_*", "X"]);
    let retention = Retention {
        enabled: false,
        age: s(7 * 86_400),
        jobs: 0,
        size: 1 << 30,
    };
    assert_eq!(config.retention, retention);
    let [ops, me, other] = config.doorbells.as_slice() else {
        panic!("{config:?}")
    };
    assert_eq!(ops.on, RingsOn::Failure);
    let Kind::Webhook(webhook) = &ops.kind else {
        panic!("{ops:?}")
    };
    assert_eq!(webhook.timeout, s(3));
    let variable = Secret::Variable("OPS_SECRET".to_owned());
    assert_eq!(webhook.secret, Some(variable));
    // The address after the host may be a secret.
    assert_eq!(webhook.url.to_string(), "https://hooks.example:8443");
    assert!(!format!("{config:?}").contains("T0"));
    assert_eq!((me.on, &me.kind), (RingsOn::End, &Kind::Desktop));
    assert_eq!(other.kind, Kind::Command("notify-me".to_owned()));
}

/// A file, and what its error must contain: line, key, and what to write.
const WRONG: &[(&str, &[&str])] = &[
    ("[inbox", &["/c.toml:1:", "not valid TOML"]),
    ("[inbox]\nclaim = 5m", &["/c.toml:2:", "not valid TOML"]),
    (
        "a = 1",
        &[
            "/c.toml:1:",
            "no key \"a\"",
            "inbox, watch, breaker, limits, defaults, environment, retention, doorbell",
        ],
    ),
    ("\n[inbx]", &["/c.toml:2:", "no key \"inbx\""]),
    (
        "[inbox]\n\nclaims = \"5m\"",
        &["/c.toml:3:", "\"inbox.claims\"", "claim, attempts, keep"],
    ),
    (
        "inbox = 3",
        &["/c.toml:1:", "inbox: expected a table", "[inbox]"],
    ),
    ("[[inbox]]", &["/c.toml:1:", "inbox:", "a list"]),
    (
        "[inbox]\nclaim = \"5 parsecs\"",
        &["/c.toml:2:", "inbox.claim:", "5 parsecs", "30s, 5m"],
    ),
    (
        "[inbox]\nclaim = true",
        &["/c.toml:2:", "inbox.claim:", "true or false"],
    ),
    (
        "[inbox]\nclaim = \"0s\"",
        &["/c.toml:2:", "inbox.claim:", "longer than 0"],
    ),
    ("[inbox]\nclaim = -5", &["/c.toml:2:", "inbox.claim:", "-5"]),
    (
        "[inbox]\nattempts = \"8\"",
        &["/c.toml:2:", "inbox.attempts:", "without quotes"],
    ),
    (
        "[inbox]\nattempts = 0",
        &["/c.toml:2:", "inbox.attempts:", "from 1"],
    ),
    (
        "[watch]\nstrikes = 4294967296",
        &["/c.toml:2:", "watch.strikes:", "4294967295"],
    ),
    (
        "[watch]\nstill = \"1s\"\nstill = \"2s\"",
        &["/c.toml:3:", "not valid TOML"],
    ),
    ("[breaker]\nmost = 1.5", &["/c.toml:2:", "breaker.most:"]),
    (
        "[retention]\njobs = -1",
        &["/c.toml:2:", "retention.jobs:", "from 0"],
    ),
    (
        "[retention]\nsize = \"big\"",
        &["/c.toml:2:", "retention.size:", "1G"],
    ),
    (
        "[environment]\npass = [1]",
        &["/c.toml:2:", "environment.pass:", "a number"],
    ),
    (
        "[doorbell]\nname = \"x\"",
        &["/c.toml:1:", "doorbell:", "[[doorbell]]"],
    ),
    ("doorbell = [1]", &["/c.toml:1:", "doorbell:", "a number"]),
    (
        "[[doorbell]]\nkind = \"desktop\"",
        &["/c.toml:1:", "doorbell.name:", "name = \"ops\""],
    ),
    (
        "[[doorbell]]\nname = \"x\"",
        &["/c.toml:1:", "doorbell.kind:", "webhook"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"pigeon\"",
        &[
            "/c.toml:3:",
            "doorbell.kind:",
            "pigeon",
            "webhook, desktop, command",
        ],
    ),
    (
        "[[doorbell]]\nname = \"\"\nkind = \"desktop\"",
        &["/c.toml:2:", "doorbell.name:", "empty"],
    ),
    (
        "[[doorbell]]\nname = \"on-end\"\nkind = \"desktop\"",
        &["/c.toml:2:", "doorbell.name:", "runs at its end"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"desktop\"\n[[doorbell]]\nname = \"x\"\nkind = \"desktop\"",
        &["/c.toml:5:", "doorbell.name:", "a name of its own"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"desktop\"\non = \"start\"",
        &["/c.toml:4:", "doorbell.on:", "end, failure"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"desktop\"\nurl = \"http://a\"",
        &["/c.toml:4:", "\"doorbell.url\"", "name, kind, on"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"command\"",
        &["/c.toml:1:", "doorbell.command:", "missing"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"command\"\ncommand = \" \"",
        &["/c.toml:4:", "doorbell.command:", "empty"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"webhook\"",
        &["/c.toml:1:", "doorbell.url:", "url = \"https://host/path\""],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"webhook\"\nurl = \"ftp://a/b\"",
        &["/c.toml:4:", "doorbell.url:", "https://host/path"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"webhook\"\nurl = \"http://a\"\nsecret = \"s\"",
        &[
            "/c.toml:5:",
            "\"doorbell.secret\"",
            "secret_env, secret_file",
        ],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"webhook\"\nurl = \"http://a\"\nsecret_env = \"s!\"",
        &["/c.toml:5:", "doorbell.secret_env:", "holds the secret"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"webhook\"\nurl = \"http://a\"\nsecret_file = \"s\"",
        &["/c.toml:5:", "doorbell.secret_file:", "begin with /"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"webhook\"\nurl = \"http://a\"\nsecret_env = \"S\"\nsecret_file = \"/s\"",
        &["/c.toml:6:", "doorbell.secret_file:", "one of the two"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"webhook\"\nurl = \"http://a\"\ntimeout = 0",
        &["/c.toml:5:", "doorbell.timeout:", "longer than 0"],
    ),
    (
        "[[doorbell]]\nname = \"x\"\nkind = \"desktop\"\ntimeout = \"11m\"",
        &["/c.toml:4:", "doorbell.timeout:", "longer than 10m"],
    ),
];

#[test]
fn an_error_names_line_and_key() {
    for (text, said) in WRONG {
        let refusal = refusal(text);
        for part in *said {
            assert!(
                refusal.contains(part),
                "{text:?}: {refusal:?} lacks {part:?}"
            );
        }
        assert!(!refusal.contains('\n'), "{text:?}: {refusal:?}");
    }
}

/// A value in the wrong key may be a secret.
#[test]
fn errors_never_repeat_secrets() {
    let webhook = "[[doorbell]]\nname = \"x\"\nkind = \"webhook\"\n";
    for rest in [
        "url = \"s3cret\"",
        "url = \"http://a\"\nsecret_env = \"s3-cret\"",
    ] {
        let refusal = refusal(&format!("{webhook}{rest}"));
        assert!(
            !refusal.contains("cret\"") && !refusal.contains("s3"),
            "{refusal}"
        );
    }
}

#[test]
fn the_file_in_the_home_applies() {
    let directory = tempfile::tempdir().expect("a directory");
    let outlive = Outlive::open_at(directory.path()).expect("opens");
    let file = directory.path().join(FILE);
    fs::write(&file, "[inbox]\nattempts = 2\n").expect("is written");
    let config = Config::load(&outlive).expect("is right");
    assert_eq!(
        (config.inbox.attempts, config.file),
        (2, Some(file.clone()))
    );
    fs::set_permissions(&file, Permissions::from_mode(0o602)).expect("is changed");
    let refusal = Config::load(&outlive).expect_err("is exposed").to_string();
    assert!(refusal.contains("chmod o-w"), "{refusal}");
}

/// Nobody writes to it, so reading it would wait for ever.
#[test]
fn a_fifo_in_the_place_of_the_file_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let outlive = Outlive::open_at(directory.path()).expect("opens");
    outlive_sys::capture::make_fifo(&directory.path().join(FILE)).expect("is made");
    let refusal = Config::load(&outlive).expect_err("is no file").to_string();
    assert!(refusal.contains("not a regular file"), "{refusal}");
}

proptest! {
    #[test]
    fn parsing_arbitrary_text_never_panics(text in "(\\[{0,2}(inbox|watch|doorbell)\\]{0,2}|(name|kind|url|claim) = |\"x\"|1|\\n|\\PC){0,20}") {
        let _ = parse(&text);
    }
}

#[test]
fn a_limit_of_jobs_is_a_number_above_zero() {
    let limits = parse("[limits]\njobs_per_session = 7\n")
        .expect("is right")
        .limits;
    assert_eq!(limits.jobs_per_session, Some(7));
    assert_eq!(parse("").expect("is right").limits.jobs_per_session, None);
    let zero = refusal("[limits]\njobs_per_session = 0\n");
    assert!(zero.contains("limits.jobs_per_session"), "{zero}");
}
