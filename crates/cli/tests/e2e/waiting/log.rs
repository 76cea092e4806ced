//! `log --raw`: exactly the bytes or lines that were asked for.

use outlive_testkit::checks::assert_same_bytes;
use outlive_testkit::world::World;

#[test]
fn log_gives_exactly_the_bytes_or_lines_asked_for() {
    let world = World::new();
    let id = world.shell("seq 1 1000; printf tail");
    world.wait(&id);
    let all = world.output(&id);
    let log = |args: &[&str]| {
        let ran = world.outlive(&[&["log", &id], args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    };
    assert_eq!(log(&["--bytes", "0:4"]), "1\n2\n");
    assert_eq!(log(&["--bytes", "3:3"]), "");
    assert_eq!(log(&["--bytes", "3:6"]), "\n3\n");
    assert_same_bytes("all", log(&["--bytes", "0"]).as_bytes(), &all);
    assert_same_bytes("all", log(&["--bytes", "0:999999"]).as_bytes(), &all);
    assert_eq!(log(&["--bytes", "999999:9999999"]), "");
    assert_eq!(log(&["--lines", "1"]), "tail");
    assert_eq!(log(&["--lines", "3"]), "999\n1000\ntail");
    assert_eq!(log(&["--lines", "0"]), "");
    assert_same_bytes("all", log(&["--lines", "5000"]).as_bytes(), &all);
    let last: String = (802..=1000).map(|n| format!("{n}\n")).collect();
    assert_eq!(log(&[]), last + "tail");
    assert_eq!(world.outlive(&["log", &id, "--bytes", "5:3"]).code, 2);
}

#[test]
fn raw_log_prints_bytes_that_are_no_text_unchanged() {
    let world = World::new();
    let id = world.shell(r"printf '\377\000\001\n\033[0m\r\n'");
    world.wait(&id);
    let output = world
        .command(["log", &id, "--bytes", "0"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"\xff\x00\x01\n\x1b[0m\r\n");
}
