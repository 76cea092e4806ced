//! The defaults in the help, the documents and the tool descriptions are those of `outlive::defaults`.

use crate::mcp::client::Client;
use outlive::defaults;
use outlive::{Config, Size};
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;

const DAY: u64 = 24 * 60 * 60;

/// A time as help and documents write it.
fn written(time: Duration) -> String {
    match time.as_secs() {
        days if days % DAY == 0 => format!("{} days", days / DAY),
        minutes if minutes % 60 == 0 => format!("{}m", minutes / 60),
        seconds => format!("{seconds}s"),
    }
}

fn mebibytes(bytes: u64) -> u64 {
    bytes / (1024 * 1024)
}

/// A text in one line: where it is broken depends on its width.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(name)).unwrap()
}

#[test]
fn help_names_the_defaults() {
    let Size { rows, cols } = Size::DEFAULT;
    let world = World::new();
    for (verb, said) in [
        (
            "run",
            format!("is stopped [default: {}]", written(defaults::GRACE)),
        ),
        (
            "run",
            format!("[default: {}M]", mebibytes(defaults::MAX_OUTPUT)),
        ),
        ("run", format!("[default size: {rows}x{cols}]")),
        ("log", format!("[default: {};", defaults::LOG_LINES)),
        ("list", format!("[default: {}]", defaults::LIST_ENDED)),
        (
            "inbox",
            format!("[default: {}]", written(defaults::INBOX_CLAIM)),
        ),
        (
            "prune",
            format!("more than {} ago", written(defaults::PRUNE_AGE)),
        ),
        ("prune", written(defaults::KEEP_UNTOLD)),
        (
            "mcp",
            format!("[default: {}]", written(defaults::MCP_PATIENCE)),
        ),
    ] {
        let help = joined(&world.ok(&[verb, "--help"]));
        assert!(help.contains(&said), "{verb} --help lacks {said:?}: {help}");
    }
}

#[test]
fn the_configuration_in_the_documentation_is_the_default() {
    let text = file("docs/configuration.md");
    let (_, rest) = text.split_once("## All keys and their defaults").unwrap();
    let (_, rest) = rest.split_once("```toml").unwrap();
    let (toml, rest) = rest.split_once("```").unwrap();
    let config = Config::parse(Path::new("docs"), toml).unwrap();
    let default = Config::default();
    assert_eq!(config.inbox, default.inbox);
    assert_eq!(config.watch, default.watch);
    assert_eq!(config.breaker, default.breaker);
    assert_eq!(config.defaults, default.defaults);
    assert_eq!(config.environment, default.environment);
    assert_eq!(config.retention, default.retention);
    for key in [
        "claim", "attempts", "keep", "spacing", "strikes", "still", "most", "window", "silence",
        "timeout", "plain", "notify", "withhold", "pass", "enabled", "age", "jobs", "size",
    ] {
        assert!(toml.contains(&format!("\n{key} = ")), "{key} is missing");
    }
    for timeout in [defaults::WEBHOOK_TIMEOUT, defaults::DOORBELL_TIMEOUT] {
        let said = format!("timeout = \"{}s\"", timeout.as_secs());
        assert!(rest.contains(&said), "{said}");
    }
}

#[test]
fn the_documents_name_the_defaults() {
    let seconds = |time: Duration| format!("{} s", time.as_secs());
    let hours = defaults::INBOX_KEEP.as_secs() / 3600;
    for (name, said) in [
        (
            "README.md",
            format!("{} MiB on disk by default", mebibytes(defaults::MAX_OUTPUT)),
        ),
        (
            "README.md",
            format!("at most once in {}", seconds(defaults::WATCH_SPACING)),
        ),
        (
            "README.md",
            format!("(default {})", seconds(defaults::MCP_PATIENCE)),
        ),
        (
            "README.md",
            format!(
                "more than {} ago, all but the newest {}, and the oldest beyond {} GiB",
                written(defaults::RETAIN_AGE),
                defaults::RETAIN_JOBS,
                defaults::RETAIN_SIZE >> 30
            ),
        ),
        (
            "docs/limits.md",
            format!(
                "After {} deliveries, or {hours} h",
                defaults::INBOX_ATTEMPTS
            ),
        ),
        (
            "docs/limits.md",
            format!("for {}", written(defaults::KEEP_UNTOLD)),
        ),
    ] {
        assert!(joined(&file(name)).contains(&said), "{name} lacks {said:?}");
    }
}

#[test]
fn the_tools_for_models_name_the_defaults() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let tools = client.request("tools/list", json!({})).to_string();
    let kibibytes = defaults::MCP_LOG_BUDGET / 1024;
    assert_eq!(defaults::INBOX_CLAIM, Duration::from_secs(5 * 60));
    for said in [
        format!("(default: {})", defaults::LOG_LINES),
        format!("the last {} lines", defaults::LOG_LINES),
        format!("{kibibytes} KiB"),
        format!("ended jobs (default: {})", defaults::LIST_ENDED),
        format!("usually {})", defaults::GRACE.as_secs()),
        format!("(default: {}M)", mebibytes(defaults::MAX_OUTPUT)),
        format!("usually {})", defaults::MCP_PATIENCE.as_secs()),
        format!("about {} s", defaults::MCP_PATIENCE.as_secs()),
        "after five minutes".to_owned(),
    ] {
        assert!(tools.contains(&said), "no tool says {said:?}: {tools}");
    }
}
