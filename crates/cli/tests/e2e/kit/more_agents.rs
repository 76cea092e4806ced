//! The files of the agents that were added later: where each finds our entry and our hooks.

use super::{AGENTS, setup, user};
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn value(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap()
}

#[test]
fn each_agent_finds_the_server_where_it_looks() {
    let world = World::new();
    assert_eq!(setup(&world, &AGENTS).code, 0);
    let stdio = json!({"type": "stdio", "command": "outlive", "args": ["mcp"]});
    let plain = json!({"command": "outlive", "args": ["mcp"]});
    for (path, key, entry) in [
        (".qwen/settings.json", "mcpServers", &plain),
        (
            ".copilot/mcp-config.json",
            "mcpServers",
            &json!({"type": "local", "command": "outlive", "args": ["mcp"], "tools": ["*"]}),
        ),
        (".factory/mcp.json", "mcpServers", &stdio),
        (
            ".config/kilo/kilo.json",
            "mcp",
            &json!({"type": "local", "command": ["outlive", "mcp", "--caller-argument"], "enabled": true}),
        ),
        (".augment/settings.json", "mcpServers", &stdio),
        (".config/amp/settings.json", "amp.mcpServers", &plain),
        (".config/crush/crush.json", "mcp", &stdio),
        (
            ".cline/data/settings/cline_mcp_settings.json",
            "mcpServers",
            &stdio,
        ),
    ] {
        let found = value(&user(&world).join(path));
        assert_eq!(found[key]["outlive"], *entry, "{path}");
    }
}

#[test]
fn each_agent_calls_its_hooks() {
    let world = World::new();
    assert_eq!(setup(&world, &AGENTS).code, 0);
    let at = |path: &str| user(&world).join(path);
    let qwen = value(&at(".qwen/settings.json"));
    assert_eq!(
        qwen["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"],
        "outlive hook user-prompt-submit --agent qwen"
    );
    assert_eq!(qwen["hooks"]["Stop"][0]["hooks"][0]["timeout"], 10_000);
    let copilot = value(&at(".copilot/hooks/outlive.json"));
    assert_eq!(copilot["version"], 1);
    assert_eq!(
        copilot["hooks"]["PostToolUse"][0],
        json!({"type": "command", "command": "outlive hook post-tool-use --agent copilot", "timeoutSec": 10})
    );
    let droid = value(&at(".factory/settings.json"));
    assert_eq!(droid["hooks"]["SessionStart"][0]["hooks"][0]["timeout"], 10);
    let auggie = value(&at(".augment/settings.json"));
    assert_eq!(
        auggie["hooks"]["Stop"][0]["hooks"][0]["command"],
        "outlive hook stop --agent auggie"
    );
    assert_eq!(auggie["hooks"]["Stop"][0]["hooks"][0]["timeout"], 10_000);
    for (path, line) in [
        (
            ".config/kilo/plugins/outlive.js",
            "spawn(\"outlive\", [\"hook\", event, \"--agent\", \"kilo\"])",
        ),
        (
            ".config/amp/plugins/outlive.ts",
            "spawn(\"outlive\", [\"hook\", event, \"--agent\", \"amp\"])",
        ),
        (
            ".cline/hooks/PostToolUse.sh",
            "\nexec outlive hook post-tool-use --agent cline\n",
        ),
        (
            ".cline/hooks/TaskComplete.sh",
            "\nexec outlive hook stop --agent cline\n",
        ),
    ] {
        assert!(text(&at(path)).contains(line), "{path}");
    }
}

#[test]
fn each_agent_has_the_instructions_where_it_reads_them() {
    let world = World::new();
    assert_eq!(setup(&world, &AGENTS).code, 0);
    for path in [
        ".qwen/QWEN.md",
        ".copilot/copilot-instructions.md",
        ".factory/AGENTS.md",
        ".config/kilo/AGENTS.md",
        ".augment/rules/outlive.md",
        ".config/amp/AGENTS.md",
        ".config/crush/CRUSH.md",
        ".cline/rules/outlive.md",
    ] {
        assert!(
            text(&user(&world).join(path)).contains("outlive:begin"),
            "{path}"
        );
    }
}

/// A project's MCP servers are in `.mcp.json` for two agents. What one of them no longer needs stays for the
/// other.
#[test]
fn a_shared_file_of_a_project_keeps_the_entry_of_the_other_agent() {
    let world = World::new();
    let project = world.path("project");
    fs::create_dir(&project).unwrap();
    let root = project.to_str().unwrap();
    let both = ["claude-code", "copilot", "--project", root];
    assert_eq!(setup(&world, &both).code, 0);
    let ran = setup(&world, &["copilot", "--undo", "--project", root]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let servers = value(&project.join(".mcp.json"));
    assert_eq!(servers["mcpServers"]["outlive"]["command"], "outlive");
    assert!(!project.join(".github").exists());
}
