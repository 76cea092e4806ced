//! Whether an agent may call our tools without asking: only the user decides that. And settings of an agent that
//! switch off what setup writes.

use super::{for_user, setup, tree, user, write};
use outlive_testkit::environment::behind;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

/// The agents that ask, the file with the permission, and what it says.
const ASKING: [(&str, &str, &str); 4] = [
    (
        "codex",
        ".codex/config.toml",
        "default_tools_approval_mode = \"approve\"",
    ),
    ("claude-code", ".claude/settings.json", "\"mcp__outlive\""),
    ("gemini", ".gemini/settings.json", "\"trust\": true"),
    ("qwen", ".qwen/settings.json", "\"trust\": true"),
];

#[test]
fn a_permission_is_written_only_if_the_user_says_so() {
    for (agent, path, permission) in ASKING {
        let world = World::new();
        let file = user(&world).join(path);
        write(&file, "");
        let before = tree(&user(&world));
        let has = || fs::read_to_string(&file).unwrap().contains(permission);
        let cautious = setup(&world, &[agent, "--yes"]);
        assert_eq!((cautious.code, has()), (0, false), "{cautious:?}");
        assert!(
            cautious.stderr.contains("--approve") && cautious.stderr.contains("outside"),
            "{cautious:?}"
        );
        let without = tree(&user(&world));
        let allowed = setup(&world, &[agent, "--approve"]);
        assert_eq!((allowed.code, has()), (0, true), "{allowed:?}");
        assert!(!allowed.stderr.contains("--approve"), "{allowed:?}");
        let with = tree(&user(&world));
        let again = setup(&world, &[agent, "--yes"]);
        assert_eq!((again.code, again.stdout.as_str()), (0, ""), "{again:?}");
        assert_eq!(
            tree(&user(&world)),
            with,
            "an answer holds until there is another one"
        );
        let back = setup(&world, &[agent, "--no-approve"]);
        assert_eq!((back.code, has()), (0, false), "{back:?}");
        assert_eq!(tree(&user(&world)), without, "{agent}");
        assert!(!setup(&world, &[agent]).stderr.contains("--approve"));
        assert_eq!(setup(&world, &[agent, "--approve"]).code, 0);
        assert_eq!(setup(&world, &["--undo"]).code, 0);
        assert_eq!(tree(&user(&world)), before, "{agent}");
        // Undo forgets the answer too.
        assert_eq!(setup(&world, &[agent, "--yes"]).code, 0);
        assert!(!has());
    }
}

#[test]
fn a_person_at_a_terminal_is_asked_once() {
    for (answer, is_allowed) in [("y", true), ("n", false)] {
        let world = World::new();
        let mut inner = world.command(["setup", "codex"]);
        for_user(&mut inner, &world);
        let line = format!("printf '{answer}\\n' | script -qec \"$*\" /dev/null");
        let ask = || {
            let output = behind("sh", ["-c", &line, "sh"], &inner).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let said = ask();
        assert!(
            said.contains("outside Codex's sandbox") && said.contains("without asking? [y/N]"),
            "{said}"
        );
        let text = fs::read_to_string(user(&world).join(".codex/config.toml")).unwrap();
        assert_eq!(text.contains("\"approve\""), is_allowed, "{text}");
        let said = ask();
        assert!(!said.contains("[y/N]"), "{said}");
    }
}

/// The permission would be everyone's who works there.
#[test]
fn nobody_is_asked_for_a_permission_in_a_project() {
    let world = World::new();
    let project = world.path("project");
    write(&project.join("readme"), "");
    let mut inner = world.command(["setup", "codex", "--project", project.to_str().unwrap()]);
    for_user(&mut inner, &world);
    let line = "printf 'y\\ny\\n' | script -qec \"$*\" /dev/null";
    let output = behind("sh", ["-c", line, "sh"], &inner).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        !said.contains("[y/N]") && said.contains("With --approve"),
        "{said}"
    );
    let file = project.join(".codex/config.toml");
    assert!(!fs::read_to_string(&file).unwrap().contains("\"approve\""));
    let root = project.to_str().unwrap();
    assert_eq!(
        setup(&world, &["codex", "--project", root, "--approve"]).code,
        0
    );
    assert!(fs::read_to_string(&file).unwrap().contains("\"approve\""));
}

/// The user had given the permission before setup.
#[test]
fn a_permission_that_the_user_wrote_stays() {
    let world = World::new();
    let file = user(&world).join(".claude/settings.json");
    write(
        &file,
        "{\"permissions\": {\"allow\": [\"mcp__outlive\"]}}\n",
    );
    let before = tree(&user(&world));
    for option in ["--approve", "--no-approve"] {
        assert_eq!(setup(&world, &["claude-code", "--yes", option]).code, 0);
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches("\"mcp__outlive\"").count(), 1, "{text}");
    }
    assert_eq!(setup(&world, &["--undo"]).code, 0);
    assert_eq!(tree(&user(&world)), before);
}

#[test]
fn settings_that_switch_hooks_off_are_noticed() {
    for (agent, path, text, key) in [
        (
            "claude-code",
            ".claude/settings.json",
            "{\"disableAllHooks\": true}",
            "disableAllHooks",
        ),
        (
            "claude-code",
            ".claude/settings.local.json",
            "{\"disableAllHooks\": true}",
            "disableAllHooks",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "{\"hooksConfig\": {\"enabled\": false}}",
            "hooksConfig.enabled",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[features]\nhooks = false\n",
            "features.hooks",
        ),
        (
            "qwen",
            ".qwen/settings.json",
            "{\"disableAllHooks\": true}",
            "disableAllHooks",
        ),
        (
            "copilot",
            ".copilot/settings.json",
            "{\"disableAllHooks\": true}",
            "disableAllHooks",
        ),
        (
            "droid",
            ".factory/settings.json",
            "{\"hooks\": {\"hooksDisabled\": true}}",
            "hooks.hooksDisabled",
        ),
    ] {
        let world = World::new();
        write(&user(&world).join(path), text);
        let said = format!("{path} sets {key} to ");
        let ran = setup(&world, &[agent, "--yes"]);
        assert!(ran.stderr.contains(&said), "{ran:?}");
        let listed = setup(&world, &[]);
        assert!(listed.stdout.contains(&said), "{listed:?}");
        let json: Value =
            serde_json::from_str(&setup(&world, &[agent, "--dry-run", "--json"]).stdout).unwrap();
        assert!(json["notes"].to_string().contains(key), "{json}");
        let quiet = setup(&World::new(), &[agent, "--yes"]);
        assert!(!quiet.stderr.contains(key), "{quiet:?}");
    }
}

/// A project's settings hold for everyone who works there, whoever has set up Outlive.
#[test]
fn settings_of_a_project_that_switch_hooks_off_are_noticed() {
    let world = World::new();
    let project = world.path("project");
    write(
        &project.join(".claude/settings.json"),
        "{\"disableAllHooks\": true}",
    );
    let root = project.to_str().unwrap();
    let ran = setup(&world, &["claude-code", "--yes", "--project", root]);
    assert!(ran.stderr.contains("disableAllHooks"), "{ran:?}");
    let mut command = super::setup_command(&world, &["claude-code"]);
    let ran = outlive_testkit::ran::Ran::of(command.current_dir(&project));
    assert!(ran.stderr.contains("disableAllHooks"), "{ran:?}");
}

/// The directory that setup is called in may be the user's home. Then the project's settings are the user's.
#[test]
fn a_setting_is_noticed_once() {
    let world = World::new();
    write(
        &user(&world).join(".claude/settings.json"),
        "{\"disableAllHooks\": true}",
    );
    let mut command = super::setup_command(&world, &["claude-code", "--yes"]);
    let ran = outlive_testkit::ran::Ran::of(command.current_dir(user(&world)));
    let noticed = ran.stderr.matches("disableAllHooks to true").count();
    assert_eq!(noticed, 1, "{ran:?}");
}
