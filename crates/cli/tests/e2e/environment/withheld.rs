//! Credentials of agents are withheld from jobs where the configuration says so, and that is said.

use super::{begun_with, configure, of_job};
use crate::mcp::client::{Client, text_of};
use outlive::environment::credentials::CREDENTIALS;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const KEYS: [(&str, &str); 4] = [
    ("ANTHROPIC_API_KEY", "s3cr3t-1"),
    ("OPENAI_API_KEY", "s3cr3t-2"),
    ("GITHUB_TOKEN", "users-own"),
    ("AWS_SECRET_ACCESS_KEY", "users-own"),
];

/// A server in whose environment these credentials are.
fn server(world: &World) -> Client {
    let mut command = world.command(["mcp", "--session", "s"]);
    command.envs(KEYS);
    let mut client = Client::to(command);
    client.initialize("2025-06-18");
    client
}

const PRINTS: &str =
    "echo [${ANTHROPIC_API_KEY-none} ${OPENAI_API_KEY-none} $GITHUB_TOKEN $AWS_SECRET_ACCESS_KEY]";

/// What a job over MCP prints, and the reply.
fn printed(client: &mut Client, arguments: Value) -> (String, Value) {
    let mut run = arguments;
    run["command"] = json!(PRINTS);
    run["wait_seconds"] = json!(20);
    let reply = client.tool("run", run);
    let preview = &reply["structuredContent"]["job"]["preview"];
    let preview = preview.as_str().unwrap_or_else(|| panic!("{reply}"));
    let line = preview.lines().find(|line| line.contains('['));
    (line.unwrap_or_default().to_owned(), reply)
}

#[test]
fn jobs_over_mcp_do_not_get_the_credentials_of_agents() {
    let world = World::new();
    let mut client = server(&world);
    let (line, reply) = printed(&mut client, json!({}));
    assert!(line.ends_with("[none none users-own users-own]"), "{line}");
    let notes = reply["structuredContent"]["notes"].to_string();
    for said in [text_of(&reply), &notes] {
        for part in ["ANTHROPIC_API_KEY, OPENAI_API_KEY", "env_pass"] {
            assert!(said.contains(part), "{said}");
        }
        // Tools have arguments, not options.
        assert!(
            !said.contains("--env") && !said.contains("s3cr3t"),
            "{said}"
        );
    }
    let other = client.ok("run", json!({"command": "sleep 60", "id": "j"}));
    assert_eq!(other["job"]["id"], "j");
    let pair = world.pair("j");
    for pid in [pair.keeper, pair.standby.unwrap(), world.leader("j")] {
        let text = begun_with(pid);
        assert!(
            text.contains("users-own") && !text.contains("s3cr3t"),
            "{text}"
        );
    }
    client.ok("stop", json!({"ids": ["j"]}));
}

#[test]
fn a_job_over_mcp_gets_what_is_passed_on() {
    let world = World::new();
    let mut client = server(&world);
    let (line, reply) = printed(&mut client, json!({"env_pass": ["ANTHROPIC_*"]}));
    assert!(
        line.ends_with("[s3cr3t-1 none users-own users-own]"),
        "{line}"
    );
    let notes = reply["structuredContent"]["notes"].to_string();
    assert!(!notes.contains("ANTHROPIC_API_KEY"), "{reply}");
    assert!(notes.contains("OPENAI_API_KEY"), "{reply}");
    let given = json!({"env_pass": "ANTHROPIC_API_KEY", "env": {"OPENAI_API_KEY": "own"}});
    let (line, reply) = printed(&mut client, given);
    assert!(
        line.ends_with("[s3cr3t-1 own users-own users-own]"),
        "{line}"
    );
    assert!(!text_of(&reply).contains("withheld"), "{reply}");
    let (line, reply) = printed(&mut client, json!({"env_clean": true}));
    assert!(line.ends_with("[none none ]"), "{line}");
    assert!(!text_of(&reply).contains("withheld"), "{reply}");
    let wrong = client.tool("run", json!({"command": "true", "env_pass": ["A=b"]}));
    assert_eq!(wrong["isError"], true, "{wrong}");
    assert!(text_of(&wrong).contains("without a value"), "{wrong}");
}

#[test]
fn the_configuration_decides_for_every_caller() {
    let world = World::new();
    let has = |job: &std::collections::BTreeMap<String, String>| {
        ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"].map(|name| job.contains_key(name))
    };
    let (job, ran) = of_job(&world, &[], &KEYS);
    assert_eq!((has(&job), ran.stderr.as_str()), ([true, true], ""));

    configure(
        &world,
        "[environment]\nwithhold = \"always\"\npass = \"OPENAI_*\"\n",
    );
    let (job, ran) = of_job(&world, &[], &KEYS);
    assert_eq!(has(&job), [false, true]);
    assert_eq!(job["GITHUB_TOKEN"], "users-own");
    for part in ["note:", "ANTHROPIC_API_KEY;", "--env-pass NAME"] {
        assert!(ran.stderr.contains(part), "{ran:?}");
    }
    let (job, ran) = of_job(&world, &["--env-pass", "ANTHROPIC_API_KEY"], &KEYS);
    assert_eq!((has(&job), ran.stderr.as_str()), ([true, true], ""));

    configure(&world, "[environment]\nwithhold = \"never\"\n");
    let (line, reply) = printed(&mut server(&world), json!({}));
    assert!(line.contains("[s3cr3t-1 s3cr3t-2"), "{line}");
    assert!(!text_of(&reply).contains("withheld"), "{reply}");
}

#[test]
fn the_documentation_lists_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/configuration.md")).unwrap();
    for name in CREDENTIALS.iter().flat_map(|(_, names)| *names) {
        assert!(text.contains(&format!("`{name}`")), "{name} is not listed");
    }
}
