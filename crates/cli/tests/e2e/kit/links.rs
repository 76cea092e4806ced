//! `setup` and symbolic links.

use super::{setup, user, write};
use outlive_testkit::world::World;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn setup_writes_through_a_link_and_says_so() {
    let world = World::new();
    let real = world.path("dotfiles/settings.json");
    write(&real, "{\"a\": 1}\n");
    let link = user(&world).join(".claude/settings.json");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(&real, &link).unwrap();
    assert_eq!(setup(&world, &["claude-code"]).code, 2);
    let ran = setup(&world, &["claude-code", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let said = format!("{} leads to {}", link.display(), real.display());
    assert!(ran.stderr.contains(&said), "{ran:?}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("outlive hook"));
    assert_eq!(setup(&world, &["claude-code", "--undo"]).code, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\"a\": 1}\n");
}

#[test]
fn setup_reports_a_linked_directory() {
    let world = World::new();
    let real = world.path("dotfiles/codex");
    fs::create_dir_all(&real).unwrap();
    symlink(&real, user(&world).join(".codex")).unwrap();
    let ran = setup(&world, &["codex"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("leads to {}", real.display())),
        "{ran:?}"
    );
    assert!(real.join("config.toml").is_file());
    assert_eq!(setup(&world, &["codex", "--undo"]).code, 0);
    assert_eq!(fs::read_dir(&real).unwrap().count(), 0);
}

#[test]
fn a_link_to_nothing_is_refused() {
    let world = World::new();
    let link = user(&world).join(".claude.json");
    symlink("/nowhere/at/all", &link).unwrap();
    let ran = setup(&world, &["claude-code", "--yes"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("a link to nothing"), "{ran:?}");
}
