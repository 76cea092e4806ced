//! `setup` and `setup --undo` for each agent.

use super::{AGENTS, setup, tree, user, write};
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What a user may already have: every file that the setup of some agent changes.
const THEIRS: [(&str, &str); 20] = [
    (
        ".claude.json",
        "{\"numStartups\":5,\n \"mcpServers\":{\"x\":{\"command\":\"x\"}} }",
    ),
    (
        ".claude/settings.json",
        "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}\n        ]\n    }\n}\n",
    ),
    (".claude/CLAUDE.md", "# Mine\n\nBe kind."),
    (
        ".codex/config.toml",
        "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = 'o'\n",
    ),
    (".codex/hooks.json", "{\"hooks\":{}}"),
    (
        ".gemini/settings.json",
        "{\n  // comments are fine here\n  \"theme\": \"x\",\n}\n",
    ),
    (".gemini/GEMINI.md", ""),
    (
        ".config/opencode/opencode.json",
        "{\r\n\t\"$schema\": \"https://opencode.ai/config.json\"\r\n}\r\n",
    ),
    (".cursor/mcp.json", "{}"),
    (
        ".cursor/hooks.json",
        "{\"version\": 1, \"hooks\": {\"stop\": []}}\n",
    ),
    (
        ".qwen/settings.json",
        "{\n  // mine\n  \"hooks\": {\"Stop\": [{\"hooks\": []}]}\n}\n",
    ),
    (".copilot/mcp-config.json", "{\"mcpServers\":{}}"),
    (".copilot/copilot-instructions.md", "Be brief.\n"),
    (".factory/mcp.json", "{\n  \"mcpServers\": {}\n}"),
    (".factory/settings.json", "{ \"model\": \"x\" }"),
    (
        ".config/kilo/kilo.jsonc",
        "{\n  // mine\n  \"mcp\": {},\n}\n",
    ),
    (".augment/settings.json", "{\"model\":\"x\"}\n"),
    (
        ".config/amp/settings.json",
        "{\n\t\"amp.mcpServers\": {\"x\": {\"command\": \"x\"}}\n}\n",
    ),
    (".config/crush/crush.json", "{}\n"),
    (
        ".cline/data/settings/cline_mcp_settings.json",
        "{\"mcpServers\": {\"x\": {\"url\": \"http://x\"}}}",
    ),
];

fn give(root: &Path) {
    for (path, text) in THEIRS {
        write(&root.join(path), text);
    }
}

fn json(path: PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn setup_and_undo_leave_a_new_user_as_before() {
    for agent in AGENTS {
        let world = World::new();
        let before = tree(&user(&world));
        let ran = setup(&world, &[agent]);
        assert_eq!(ran.code, 0, "{agent}: {ran:?}");
        assert!(ran.stdout.contains("created "), "{ran:?}");
        let after = tree(&user(&world));
        assert!(after.len() > before.len());
        let again = setup(&world, &[agent]);
        assert_eq!((again.code, again.stdout.as_str()), (0, ""), "{again:?}");
        assert_eq!(tree(&user(&world)), after);
        let undone = setup(&world, &[agent, "--undo"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        assert_eq!(tree(&user(&world)), before, "{agent}");
    }
}

#[test]
fn setup_and_undo_keep_the_files_of_a_user_byte_for_byte() {
    for agent in AGENTS {
        let world = World::new();
        give(&user(&world));
        let secret = user(&world).join(".claude.json");
        fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
        let before = tree(&user(&world));
        let ran = setup(&world, &[agent, "--yes"]);
        assert_eq!(ran.code, 0, "{agent}: {ran:?}");
        assert!(ran.stdout.contains("changed "), "{ran:?}");
        let after = tree(&user(&world));
        assert!(before.keys().all(|path| after.contains_key(path)));
        assert_ne!(after, before);
        let mode = fs::metadata(&secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // The second time `setup` does not ask, because it has written to these files before.
        let again = setup(&world, &[agent]);
        assert_eq!((again.code, again.stdout.as_str()), (0, ""), "{again:?}");
        assert_eq!(tree(&user(&world)), after);
        let undone = setup(&world, &[agent, "--undo"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        assert_eq!(tree(&user(&world)), before, "{agent}");
    }
}

#[test]
fn all_agents_can_be_set_up_in_one_project() {
    let world = World::new();
    let project = world.path("project");
    write(&project.join("AGENTS.md"), "Mine.\n");
    let before = tree(&project);
    let root = project.to_str().unwrap();
    let all = [&AGENTS[..], &["--project", root, "--yes"]].concat();
    let ran = setup(&world, &all);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(tree(&user(&world)).len(), 0, "the user is left alone");
    let text = fs::read_to_string(project.join("AGENTS.md")).unwrap();
    assert!(
        text.starts_with("Mine.\n\n<!-- outlive:begin codex opencode cursor copilot droid kilo auggie amp crush cline -->\n"),
        "{text}"
    );
    let mcp = json(project.join(".mcp.json"));
    assert_eq!(mcp["mcpServers"]["outlive"]["command"], "outlive");
    let undone = setup(&world, &["--undo", "--project", root]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(tree(&project), before);
}

#[test]
fn each_agent_has_its_entry_and_its_hooks() {
    let world = World::new();
    assert_eq!(setup(&world, &AGENTS).code, 0);
    let at = |path: &str| user(&world).join(path);
    assert_eq!(
        json(at(".claude.json"))["mcpServers"]["outlive"]["args"][0],
        "mcp"
    );
    let hooks = json(at(".claude/settings.json"));
    let stop = &hooks["hooks"]["Stop"][0]["hooks"];
    assert_eq!(stop[0]["command"], "outlive hook stop --agent claude-code");
    assert_eq!(stop[1]["asyncRewake"], true);
    let config = fs::read_to_string(at(".codex/config.toml")).unwrap();
    assert!(
        config.starts_with("[mcp_servers.outlive]\ncommand = \"outlive\"\nargs = [\"mcp\"]\n"),
        "{config}"
    );
    // Codex passes these on to the server only if the entry names them.
    for variable in [
        "OUTLIVE_HOME",
        "OUTLIVE_SESSION",
        "XDG_STATE_HOME",
        "VIRTUAL_ENV",
    ] {
        assert!(config.contains(&format!("\"{variable}\"")), "{config}");
    }
    let gemini = json(at(".gemini/settings.json"));
    assert_eq!(gemini["mcpServers"]["outlive"]["command"], "outlive");
    assert_eq!(
        gemini["hooks"]["AfterAgent"][0]["hooks"][0]["timeout"],
        10_000
    );
    let opencode = json(at(".config/opencode/opencode.json"));
    assert_eq!(opencode["mcp"]["outlive"]["command"][1], "mcp");
    let plugin = fs::read_to_string(at(".config/opencode/plugins/outlive.js")).unwrap();
    assert!(
        plugin.contains("spawn(\"outlive\", [\"hook\", event"),
        "{plugin}"
    );
    let cursor = json(at(".cursor/hooks.json"));
    assert_eq!(cursor["version"], 1);
    assert_eq!(
        cursor["hooks"]["stop"][0]["command"],
        "outlive hook stop --agent cursor"
    );
    for path in [".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md"] {
        let text = fs::read_to_string(at(path)).unwrap();
        assert!(text.contains("outlive run --name"), "{text}");
        assert!(!text.contains("description:"), "{text}");
    }
}

/// Somebody edits the files between setup and undo.
#[test]
fn undo_keeps_what_was_written_after_setup() {
    let world = World::new();
    give(&user(&world));
    setup(&world, &["claude-code", "--yes"]);
    let settings = user(&world).join(".claude/settings.json");
    let text = fs::read_to_string(&settings)
        .unwrap()
        .replace("opus", "sonnet");
    fs::write(&settings, text).unwrap();
    assert_eq!(setup(&world, &["claude-code", "--undo"]).code, 0);
    let text = fs::read_to_string(&settings).unwrap();
    assert_eq!(text, THEIRS[1].1.replace("opus", "sonnet"));
}

#[test]
fn undo_without_setup_is_no_error() {
    let world = World::new();
    give(&user(&world));
    let before = tree(&user(&world));
    let ran = setup(&world, &["--undo"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert_eq!(tree(&user(&world)), before);
}

#[test]
fn a_dry_run_shows_and_writes_nothing() {
    for agent in AGENTS {
        let world = World::new();
        give(&user(&world));
        let before = tree(&user(&world));
        let ran = setup(&world, &[agent, "--dry-run"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(
            ran.stdout.lines().any(|line| line.starts_with("+ ")),
            "{ran:?}"
        );
        assert!(ran.stdout.contains("outlive"), "{ran:?}");
        assert_eq!(tree(&user(&world)), before);
    }
}

#[test]
fn setup_without_an_agent_lists_the_agents() {
    let world = World::new();
    write(&user(&world).join(".codex/config.toml"), "");
    let before = tree(&user(&world));
    let ran = setup(&world, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout
            .contains("codex        found; `outlive setup codex` would:"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("  change ") && ran.stdout.contains("gemini       not found"),
        "{ran:?}"
    );
    assert_eq!(tree(&user(&world)), before);
    setup(&world, &["codex", "--yes"]);
    let listed: Value = serde_json::from_str(&setup(&world, &["--json"]).stdout).unwrap();
    assert_eq!(listed["agents"][1]["agent"], "codex");
    assert_eq!(
        listed["agents"][1]["plan"]["changes"],
        serde_json::json!([])
    );
}
