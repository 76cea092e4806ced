//! Jobs with a terminal of their own: keys, screens, sizes.

use crate::pair::{
    assert_nothing_is_left, assert_same_bytes, every, go, keepings, kill_for_good, numbers,
    places_in_the_stream, stream_to, until_output, with_go,
};
use crate::world::{Ran, World, is_alive, kill, until};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::Path;
use std::thread;

const KILL: i32 = 9;

/// Runs `outlive` with `$GO` set for the jobs it starts; it must succeed. Returns what it printed.
fn ok(world: &World, args: &[&str]) -> String {
    let ran = Ran::of(&mut with_go(world, args));
    assert_eq!(ran.code, 0, "outlive {args:?}: {ran:?}");
    ran.stdout.trim_end().to_owned()
}

/// Starts a shell job on a terminal of the default size; returns its id.
fn shell(world: &World, script: &str) -> String {
    ok(world, &["run", "--pty", "--shell", script])
}

/// What a shell job on a terminal had written when it ended.
fn written_by(world: &World, args: &[&str]) -> String {
    let id = ok(world, args);
    world.wait(&id);
    String::from_utf8(world.output(&id)).unwrap()
}

fn until_wrote(world: &World, id: &str, text: &str) {
    until(&format!("{id} wrote {text:?}"), || {
        String::from_utf8_lossy(&world.output(id)).contains(text)
    });
}

fn until_file(path: &Path, bytes: &[u8]) {
    until(&format!("{} is long enough", path.display()), || {
        fs::read(path).is_ok_and(|there| there.len() >= bytes.len())
    });
    assert_same_bytes(path.display(), &fs::read(path).unwrap(), bytes);
}

fn screen(world: &World, id: &str) -> Value {
    world.json(&["log", id, "--screen", "--json"])
}

/// Waits until the screen shows a text.
fn until_screen(world: &World, id: &str, text: &str) {
    until(&format!("the screen shows {text:?}"), || {
        world.ok(&["log", id, "--screen"]).contains(text)
    });
}

/// The same with carriage returns, as a terminal writes lines.
fn on_terminal(bytes: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(bytes)
        .replace('\n', "\r\n")
        .into_bytes()
}

fn leader(world: &World, id: &str) -> i32 {
    world.show(id)["pid"].as_i64().unwrap() as i32
}

/// Where a process stands among others and on its terminal.
struct Standing {
    group: i64,
    session: i64,
    terminal: i64,
    foreground: i64,
}

fn standing(pid: i32) -> Option<Standing> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = text.rsplit_once(')')?;
    let numbers: Vec<i64> = after
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    Some(Standing {
        group: numbers[1],
        session: numbers[2],
        terminal: numbers[3],
        foreground: numbers[4],
    })
}

/// Waits until a program of this name has the terminal, and names its process.
pub fn until_in_front(world: &World, name: &str) -> i32 {
    let mut found = None;
    until(&format!("{name} is in front"), || {
        found = world.processes().into_iter().find(|pid| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
                && standing(*pid).is_some_and(|at| at.group == at.foreground)
        });
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_terminal_has_the_asked_size_and_a_default_one() {
    for (pty, size) in [
        ("--pty", "30 120"),
        ("--pty=24x80", "24 80"),
        ("--pty=1x1", "1 1"),
    ] {
        let world = World::new();
        let wrote = written_by(&world, &["run", pty, "--shell", "stty size"]);
        assert_eq!(wrote, format!("{size}\r\n"), "{pty}");
    }
}

#[test]
fn bad_sizes_are_refused_and_nothing_starts() {
    let world = World::new();
    for size in ["0x5", "24", "axb", "99999x1", "-1x4", "24x", "24x80x1"] {
        let ran = world.outlive(&["run", &format!("--pty={size}"), "--", "true"]);
        assert_eq!(ran.code, 2, "{size}: {ran:?}");
    }
    let both = world.outlive(&["run", "--pty", "--stdin", "pipe", "--", "true"]);
    assert_eq!(both.code, 2, "{both:?}");
    let list = world.json(&["list", "--state", "all", "--json"]);
    assert_eq!(list["jobs"], json!([]));
}

#[test]
fn all_three_streams_are_one_controlling_terminal() {
    let world = World::new();
    let script = "tty; tty 0<&1; tty 0<&2; echo seen > /dev/tty; echo err >&2";
    let wrote = written_by(&world, &["run", "--pty", "--shell", script]);
    let lines: Vec<&str> = wrote.split("\r\n").collect();
    assert!(lines[0].starts_with("/dev/pts/"), "{lines:?}");
    assert_eq!(lines[1..], [lines[0], lines[0], "seen", "err", ""]);
}

#[test]
fn the_job_leads_its_session_on_the_terminal() {
    let world = World::new();
    let id = shell(&world, "echo up; exec sleep 100");
    until_output(&world, &id, "up\r\n");
    let pid = leader(&world, &id);
    let at = standing(pid).unwrap();
    assert_eq!(
        (at.group, at.session, at.foreground),
        (i64::from(pid), i64::from(pid), i64::from(pid))
    );
    // Major 136 to 143 are the Unix98 terminals.
    assert_eq!(at.terminal >> 8, 136);
    assert_eq!(world.show(&id)["pty"], true);
    let open: Vec<_> = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().collect();
    assert_eq!(open.len(), 3);
}

#[test]
fn term_is_set_unless_it_is_given() {
    let world = World::new();
    let term = |more: &[&str]| {
        let args = [&["run", "--pty"], more, &["--", "printenv", "TERM"]].concat();
        written_by(&world, &args)
    };
    assert_eq!(term(&[]), "xterm-256color\r\n");
    assert_eq!(term(&["--env", "TERM=vt100"]), "vt100\r\n");
    assert_eq!(term(&["--plain"]), "dumb\r\n");
    assert_eq!(term(&["--plain", "--env", "TERM=vt220"]), "vt220\r\n");
}

const PLAIN: [&str; 6] = [
    "NO_COLOR",
    "PAGER",
    "GIT_PAGER",
    "GIT_TERMINAL_PROMPT",
    "GIT_EDITOR",
    "TERM",
];

/// The values of `PLAIN` in a job.
fn plain_values(world: &World, more: &[&str]) -> String {
    let script = PLAIN
        .map(|name| format!("echo {name}=${{{name}-unset}};"))
        .concat();
    let args = [&["run"], more, &["--shell", &script]].concat();
    let mut command = world.command(args);
    PLAIN.iter().for_each(|name| {
        command.env_remove(name);
    });
    let id = Ran::of(command.env("TERM", "mine"))
        .stdout
        .trim_end()
        .to_owned();
    world.wait(&id);
    String::from_utf8(world.output(&id)).unwrap()
}

#[test]
fn plain_makes_programs_talk_plainly() {
    let world = World::new();
    assert_eq!(
        plain_values(&world, &["--plain"]),
        "NO_COLOR=1\nPAGER=cat\nGIT_PAGER=cat\nGIT_TERMINAL_PROMPT=0\nGIT_EDITOR=true\nTERM=dumb\n"
    );
}

#[test]
fn plain_gives_way_to_what_is_asked_and_is_never_forced() {
    let world = World::new();
    let more = ["--plain", "--env", "PAGER=less", "--env", "GIT_EDITOR=vi"];
    assert_eq!(
        plain_values(&world, &more),
        "NO_COLOR=1\nPAGER=less\nGIT_PAGER=cat\nGIT_TERMINAL_PROMPT=0\nGIT_EDITOR=vi\nTERM=dumb\n"
    );
    assert_eq!(
        plain_values(&world, &[]),
        "NO_COLOR=unset\nPAGER=unset\nGIT_PAGER=unset\nGIT_TERMINAL_PROMPT=unset\nGIT_EDITOR=unset\nTERM=mine\n"
    );
}

/// Starts an interactive shell whose prompt is `ready> `.
fn bash(world: &World) -> String {
    let args = ["run", "--pty", "--env", "PS1=ready> ", "--", "bash"];
    let id = ok(
        world,
        &[&args[..], &["--norc", "--noprofile", "-i"]].concat(),
    );
    until_wrote(world, &id, "ready> ");
    id
}

fn type_line(world: &World, id: &str, line: &str) {
    world.ok(&["send", id, line, "--enter"]);
}

#[test]
fn control_c_interrupts_what_a_shell_runs_and_not_the_shell() {
    let world = World::new();
    let id = bash(&world);
    type_line(&world, &id, "sleep 100");
    let sleep = until_in_front(&world, "sleep");
    world.ok(&["send", &id, "--key", "C-c"]);
    until("sleep is gone", || !is_alive(sleep));
    type_line(&world, &id, "echo code=$?");
    until_wrote(&world, &id, "code=130\r\n");
    type_line(&world, &id, "exit 3");
    assert_eq!(world.wait(&id)["exit_code"], 3);
}

#[test]
fn a_shell_has_job_control() {
    let world = World::new();
    let id = bash(&world);
    type_line(&world, &id, "sleep 100");
    until_in_front(&world, "sleep");
    world.ok(&["send", &id, "--key", "C-z"]);
    until_wrote(&world, &id, "Stopped");
    type_line(&world, &id, "bg");
    type_line(&world, &id, "jobs -r");
    until_wrote(&world, &id, "Running");
    type_line(&world, &id, "fg");
    until_in_front(&world, "sleep");
    world.ok(&["send", &id, "--key", "C-c"]);
    type_line(&world, &id, "echo code=$?");
    until_wrote(&world, &id, "code=130\r\n");
}

#[test]
fn control_d_ends_what_reads_the_terminal() {
    let world = World::new();
    let id = ok(&world, &["run", "--pty", "--", "cat"]);
    type_line(&world, &id, "hello");
    until_output(&world, &id, "hello\r\nhello\r\n");
    world.ok(&["send", &id, "--key", "C-d"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    let id = ok(&world, &["run", "--pty", "--", "cat"]);
    world.ok(&["send", &id, "half a line", "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"half a linehalf a line");
}

#[test]
fn exit_codes_are_exact() {
    let world = World::new();
    for code in [0, 1, 3, 255] {
        let args = [
            "run",
            "--pty",
            "--wait",
            "--shell",
            &format!("echo out; exit {code}"),
        ];
        let ran = world.outlive(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, "out\r\n"));
    }
    let id = shell(&world, "kill -USR1 $$");
    assert_eq!(
        world.wait(&id)["outcome"],
        json!({ "kind": "signaled", "signal": "SIGUSR1", "core_dumped": false })
    );
}

#[test]
fn two_megabytes_written_just_before_the_end_are_all_there() {
    let world = World::new();
    let id = shell(&world, "seq 1 300000; exit 3");
    assert_eq!(world.wait(&id)["exit_code"], 3);
    let expected = on_terminal(&numbers(300_000));
    assert_same_bytes("output", &world.output(&id), &expected);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn no_short_job_loses_its_last_line() {
    let rounds: Vec<u32> = (0..50).collect();
    let world = World::new();
    every(&rounds, u32::to_string, |_| {
        let id = ok(&world, &["run", "--pty", "--", "echo", "last"]);
        assert_eq!(world.wait(&id)["exit_code"], 0);
        assert_eq!(world.output(&id), b"last\r\n");
    });
}

/// Starts a job that takes every byte typed into the file `$GO`, after it wrote `before`.
fn raw_reader(world: &World, before: &str) -> String {
    let script = format!("stty raw -echo; printf '{before}ready'; exec cat > \"$GO\"");
    let id = shell(world, &script);
    until_wrote(world, &id, "ready");
    id
}

const KEYS: [(&str, &str); 40] = [
    ("C-c", "\x03"),
    ("C-d", "\x04"),
    ("C-z", "\x1a"),
    ("C-]", "\x1d"),
    ("C-a", "\x01"),
    ("C-Space", "\0"),
    ("C-\\", "\x1c"),
    ("Tab", "\t"),
    ("S-Tab", "\x1b[Z"),
    ("Esc", "\x1b"),
    ("Enter", "\r"),
    ("Backspace", "\x7f"),
    ("Delete", "\x1b[3~"),
    ("Insert", "\x1b[2~"),
    ("PageUp", "\x1b[5~"),
    ("PageDown", "\x1b[6~"),
    ("Space", " "),
    ("M-x", "\x1bx"),
    ("q", "q"),
    ("é", "é"),
    ("Up", "\x1b[A"),
    ("Down", "\x1b[B"),
    ("Right", "\x1b[C"),
    ("Left", "\x1b[D"),
    ("Home", "\x1b[H"),
    ("End", "\x1b[F"),
    ("F1", "\x1bOP"),
    ("F2", "\x1bOQ"),
    ("F3", "\x1bOR"),
    ("F4", "\x1bOS"),
    ("F5", "\x1b[15~"),
    ("F6", "\x1b[17~"),
    ("F7", "\x1b[18~"),
    ("F8", "\x1b[19~"),
    ("F9", "\x1b[20~"),
    ("F10", "\x1b[21~"),
    ("F11", "\x1b[23~"),
    ("F12", "\x1b[24~"),
    ("C-?", "\x7f"),
    ("M-Enter", "\x1b\r"),
];

#[test]
fn every_key_sends_what_a_keyboard_does_in_order() {
    let world = World::new();
    let id = raw_reader(&world, "");
    let names = KEYS.iter().flat_map(|(name, _)| ["--key", *name]);
    let args: Vec<&str> = ["send", &id].into_iter().chain(names).collect();
    world.ok(&args);
    let bytes: String = KEYS.iter().map(|(_, bytes)| *bytes).collect();
    until_file(&go(&world), bytes.as_bytes());
}

#[test]
fn arrows_take_their_other_form_when_the_program_asks() {
    let world = World::new();
    let id = raw_reader(&world, "\\033[?1h");
    world.ok(&["send", &id, "--key", "Up", "Down", "Right", "Left", "F5"]);
    until_file(&go(&world), b"\x1bOA\x1bOB\x1bOC\x1bOD\x1b[15~");
}

#[test]
fn arrows_take_their_usual_form_again_when_the_program_asks() {
    let world = World::new();
    let id = raw_reader(&world, "\\033[?1h\\033[?1l");
    world.ok(&["send", &id, "--key", "Up"]);
    until_file(&go(&world), b"\x1b[A");
}

#[test]
fn a_paste_is_bracketed_only_when_the_program_asked() {
    for (before, pasted) in [
        ("\\033[?2004h", "\x1b[200~two\nlines\x1b[201~\r"),
        ("\\033[?2004h\\033[?2004l", "two\nlines\r"),
        ("", "two\nlines\r"),
    ] {
        let world = World::new();
        let id = raw_reader(&world, before);
        world.ok(&["send", &id, "two\nlines", "--paste", "--enter"]);
        until_file(&go(&world), pasted.as_bytes());
    }
}

#[test]
fn a_paste_cannot_end_itself() {
    let world = World::new();
    let id = raw_reader(&world, "\\033[?2004h");
    world.ok(&["send", &id, "a\x1b[201~rm -rf", "--paste"]);
    world.ok(&["send", &id, "END"]);
    until("it arrived", || {
        fs::read(go(&world)).is_ok_and(|bytes| bytes.ends_with(b"END"))
    });
    let got = fs::read(go(&world)).unwrap();
    let ends = got.windows(6).filter(|part| part == b"\x1b[201~").count();
    assert_eq!(ends, 1, "{:?}", String::from_utf8_lossy(&got));
}

#[test]
fn unknown_keys_are_refused_with_a_hint_and_nothing_is_sent() {
    let world = World::new();
    let id = raw_reader(&world, "");
    for key in ["Nope", "C-cc", "F13", "F0", "C-", "M-", ""] {
        let ran = world.outlive(&["send", &id, "text", "--key", key]);
        assert_eq!(ran.code, 2, "{key:?}: {ran:?}");
        assert!(ran.stderr.contains("C-c, M-x, Enter"), "{}", ran.stderr);
    }
    world.ok(&["send", &id, "x"]);
    until_file(&go(&world), b"x");
}

/// Sends a file's bytes and Enter to a job.
fn send_line(world: &World, id: &str, line: &[u8]) {
    let path = world.path("line");
    fs::write(&path, [line, b"\n"].concat()).unwrap();
    let mut send = world.command(["send", id]);
    let ran = Ran::of(send.stdin(File::open(path).unwrap()));
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// A line without repetitions that could hide a cut.
fn long_line(length: usize) -> Vec<u8> {
    let mut line = numbers(length as u32);
    line.retain(|byte| *byte != b'\n');
    line.truncate(length);
    line
}

#[test]
fn long_lines_are_not_cut() {
    for length in [4000, 4094, 4095, 4096, 20_000, 100_000] {
        let world = World::new();
        let id = shell(&world, "echo up; exec cat > \"$GO\"");
        until_output(&world, &id, "up\r\n");
        let line = long_line(length);
        send_line(&world, &id, &line);
        let line = [line, b"\n".to_vec()].concat();
        until_file(&go(&world), &line);
    }
}

#[test]
fn whatever_reads_it_a_long_line_is_whole() {
    let python = "/usr/bin/python3 -c \"print('len', len(input()))\"";
    for reader in [
        python,
        "read -r line; echo len ${#line}",
        "head -n 1 | { tr -d '\\n'; } | { echo len $(wc -c); }",
        "dash -c 'read -r line; echo len ${#line}'",
        "dd bs=1 2>/dev/null | head -n 1 | tr -d '\\n' | { echo len $(wc -c); }",
        "dd bs=1000 2>/dev/null | head -n 1 | tr -d '\\n' | { echo len $(wc -c); }",
    ] {
        let world = World::new();
        let id = shell(&world, &format!("echo up; {reader}"));
        until_output(&world, &id, "up\r\n");
        send_line(&world, &id, &long_line(20_000));
        until(&format!("{reader} has read"), || {
            String::from_utf8_lossy(&world.output(&id)).contains("len ")
        });
        until_wrote(&world, &id, "len 20000\r\n");
    }
}

#[test]
fn a_long_line_in_two_sends_is_whole_though_the_keeper_dies_between() {
    let world = World::new();
    let id = shell(&world, "echo up; exec cat > \"$GO\"");
    until_output(&world, &id, "up\r\n");
    let line = long_line(6000);
    let (first, second) = line.split_at(3000);
    world.ok(&["send", &id, std::str::from_utf8(first).unwrap()]);
    kill_for_good(world.pair(&id).keeper);
    send_line(&world, &id, second);
    until_file(&go(&world), &[line, b"\n".to_vec()].concat());
}

#[test]
fn a_resize_reaches_the_program() {
    let world = World::new();
    let script = "trap 'stty size' WINCH; echo up; while :; do sleep 0.02; done";
    let id = shell(&world, script);
    until_output(&world, &id, "up\r\n");
    world.ok(&["resize", &id, "40x90"]);
    until_output(&world, &id, "up\r\n40 90\r\n");
    // While bash is in a trap it forgets the same signal.
    until_in_front(&world, "sleep");
    let said = world.json(&["resize", &id, "10x20", "--json"]);
    assert_eq!(said, json!({ "id": id, "rows": 10, "cols": 20 }));
    until_output(&world, &id, "up\r\n40 90\r\n10 20\r\n");
    let seen = screen(&world, &id);
    assert_eq!((&seen["rows"], &seen["cols"]), (&json!(10), &json!(20)));
}

#[test]
fn a_resize_outlives_the_keeper_and_works_after_it() {
    let world = World::new();
    let id = shell(&world, "echo up; while read -r line; do stty size; done");
    until_output(&world, &id, "up\r\n");
    world.ok(&["resize", &id, "11x22"]);
    kill_for_good(world.pair(&id).keeper);
    type_line(&world, &id, "a");
    until_wrote(&world, &id, "\r\n11 22\r\n");
    world.ok(&["resize", &id, "33x44"]);
    type_line(&world, &id, "b");
    until_wrote(&world, &id, "\r\n33 44\r\n");
    let seen = screen(&world, &id);
    assert_eq!((&seen["rows"], &seen["cols"]), (&json!(33), &json!(44)));
}

#[test]
fn a_resize_that_cannot_be_is_refused_clearly() {
    let world = World::new();
    let plain = world.ok(&["run", "--", "sleep", "100"]);
    let ended = ok(&world, &["run", "--pty", "--", "true"]);
    world.wait(&ended);
    for size in ["0x5", "24", "axb", "99999x1", "24x", ""] {
        let ran = world.outlive(&["resize", &plain, size]);
        assert_eq!(ran.code, 2, "{size}: {ran:?}");
    }
    for (id, reason) in [(&plain, "no terminal"), (&ended, "ended")] {
        let ran = world.outlive(&["resize", id, "24x80"]);
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
    assert_eq!(world.outlive(&["resize", "nobody", "24x80"]).code, 3);
}

#[test]
fn a_send_that_cannot_be_is_refused_clearly() {
    let world = World::new();
    let ended = ok(&world, &["run", "--pty", "--", "true"]);
    world.wait(&ended);
    let ran = world.outlive(&["send", &ended, "--key", "C-c"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("ended"), "{}", ran.stderr);
}

/// What a terminal shows after a job wrote this: the text, the cursor's row and column.
fn shown_after(size: &str, format: &str) -> (String, i64, i64) {
    let world = World::new();
    let id = ok(
        &world,
        &["run", &format!("--pty={size}"), "--", "printf", format],
    );
    world.wait(&id);
    let seen = screen(&world, &id);
    (
        seen["text"].as_str().unwrap().to_owned(),
        seen["cursor"]["row"].as_i64().unwrap(),
        seen["cursor"]["col"].as_i64().unwrap(),
    )
}

#[test]
fn the_screen_shows_what_a_person_would_see() {
    let table = [
        ("5x20", "one\\ntwo", "one\ntwo", 1, 3),
        ("5x20", "old\\033[2J\\033[Hnew", "new", 0, 3),
        ("5x20", "10%%\\r50%%\\r100%%\\n", "100%", 1, 0),
        ("5x20", "a\\rlonger\\rb", "bonger", 0, 1),
        ("5x20", "sh\\033[?1049h\\033[Hed", "ed", 0, 2),
        ("5x20", "sh\\033[?1049h\\033[Hed\\033[?1049l", "sh", 0, 2),
        ("5x20", "日本", "日本", 0, 4),
        ("5x20", "日本\\b\\bx", "日x", 0, 3),
        ("3x20", "1\\n2\\n3\\n4\\n5", "3\n4\n5", 2, 1),
        ("5x20", "\\033[31mred\\033[0m", "red", 0, 3),
        ("5x20", "\\033[3;5Hhere", "\n\n    here", 2, 8),
        ("5x20", "abcdef\\033[3D\\033[K", "abc", 0, 3),
        ("5x20", "e\\xcc\\x81", "e\u{301}", 0, 1),
        ("5x20", "a\\tb", "a       b", 0, 9),
        (
            "5x20",
            "1\\n2\\n3\\n4\\n\\033[2;3r\\033[3;1H\\nx",
            "1\n3\nx\n4",
            2,
            1,
        ),
    ];
    every(
        &table,
        |row| row.1.to_owned(),
        |(size, format, text, row, col)| {
            assert_eq!(shown_after(size, format), ((*text).to_owned(), *row, *col));
        },
    );
}

#[test]
fn rows_of_the_screen_are_rows_also_where_a_line_is_wrapped() {
    assert_eq!(
        shown_after("3x10", "0123456789abc"),
        ("0123456789\nabc".to_owned(), 1, 3)
    );
    assert_eq!(shown_after("3x5", "abcd日"), ("abcd\n日".to_owned(), 1, 2));
}

#[test]
fn a_full_row_leaves_the_cursor_on_it() {
    let (text, row, _) = shown_after("3x10", "0123456789");
    assert_eq!((text.as_str(), row), ("0123456789", 0));
    let (text, row, _) = shown_after("3x10", "0123456789\\nx");
    assert_eq!((text.as_str(), row), ("0123456789\nx", 1));
}

#[test]
fn the_screen_says_whether_the_cursor_is_hidden_and_who_has_the_screen() {
    let world = World::new();
    let script = "printf '\\033[?25l\\033[?1049hx'; read -r x; printf '\\033[?1049l\\033[?25hy'";
    let id = shell(&world, script);
    until_wrote(&world, &id, "x");
    let seen = screen(&world, &id);
    assert_eq!(seen["cursor"]["visible"], false);
    assert_eq!(seen["alternate"], true);
    assert_eq!(seen["id"], json!(id));
    type_line(&world, &id, "");
    world.wait(&id);
    let seen = screen(&world, &id);
    assert_eq!(seen["cursor"]["visible"], true);
    assert_eq!(seen["alternate"], false);
}

#[test]
fn a_screen_made_smaller_still_shows_where_the_cursor_is() {
    let world = World::new();
    let id = shell(&world, "seq 1 29; printf last; exec sleep 100");
    until_wrote(&world, &id, "last");
    world.ok(&["resize", &id, "10x40"]);
    let seen = screen(&world, &id);
    let text = seen["text"].as_str().unwrap();
    assert_eq!(
        text, "21\n22\n23\n24\n25\n26\n27\n28\n29\nlast",
        "cursor {}",
        seen["cursor"]
    );
    assert_eq!(
        seen["cursor"],
        json!({ "row": 9, "col": 4, "visible": true })
    );
}

#[test]
fn what_is_written_after_a_resize_is_laid_out_for_the_new_size() {
    let world = World::new();
    let args = ["run", "--pty=5x10", "--shell"];
    let script = "echo up; read -r x; stty size; printf 0123456789ab";
    let id = ok(&world, &[&args[..], &[script]].concat());
    until_output(&world, &id, "up\r\n");
    world.ok(&["resize", &id, "5x12"]);
    type_line(&world, &id, "");
    world.wait(&id);
    let seen = screen(&world, &id);
    assert_eq!(seen["text"], "up\n\n5 12\n0123456789ab");
    assert_eq!(seen["cols"], 12);
}

#[test]
fn a_job_without_a_terminal_has_no_screen() {
    let world = World::new();
    let id = world.shell("echo hello");
    world.wait(&id);
    let ran = world.outlive(&["log", &id, "--screen"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("--pty"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn less_pages_and_quits() {
    let world = World::new();
    fs::write(world.path("numbers"), numbers(200)).unwrap();
    let file = world.path("numbers").display().to_string();
    let args = ["run", "--pty=10x80", "--env", "LESS=", "--", "less", &file];
    let id = ok(&world, &args);
    until_screen(&world, &id, "\n9\n");
    let top = |id: &str| {
        let text = screen(&world, id)["text"].as_str().unwrap().to_owned();
        text.lines().take(9).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(top(&id), "1 2 3 4 5 6 7 8 9");
    world.ok(&["send", &id, "--key", "Space"]);
    until_screen(&world, &id, "\n18\n");
    assert_eq!(top(&id), "10 11 12 13 14 15 16 17 18");
    world.ok(&["send", &id, "--key", "Down"]);
    until_screen(&world, &id, "\n19\n");
    assert_eq!(top(&id), "11 12 13 14 15 16 17 18 19");
    assert_eq!(screen(&world, &id)["alternate"], true);
    world.ok(&["send", &id, "q"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
}

#[test]
fn vim_edits_and_writes_a_file() {
    let world = World::new();
    let file = world.path("text").display().to_string();
    let id = ok(
        &world,
        &["run", "--pty=24x80", "--", "vim", "-u", "NONE", "-N", &file],
    );
    until_screen(&world, &id, "~");
    world.ok(&["send", &id, "ihello", "--key", "Esc"]);
    until_screen(&world, &id, "hello");
    world.ok(&["send", &id, ":wq", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(fs::read(world.path("text")).unwrap(), b"hello\n");
}

#[test]
fn top_shows_its_table_and_quits() {
    let world = World::new();
    let id = ok(
        &world,
        &["run", "--pty=24x100", "--", "top", "-d", "100", "-n", "9"],
    );
    until_screen(&world, &id, "PID");
    until_screen(&world, &id, "load average");
    world.ok(&["send", &id, "q"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
}

#[test]
fn python_answers() {
    let world = World::new();
    let id = ok(&world, &["run", "--pty", "--", "/usr/bin/python3", "-i"]);
    until_wrote(&world, &id, ">>> ");
    type_line(&world, &id, "6*7");
    until_wrote(&world, &id, "\n42\r\n");
    type_line(&world, &id, "exit(4)");
    assert_eq!(world.wait(&id)["exit_code"], 4);
}

/// Every file below a directory that holds these bytes.
fn files_with(directory: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&entry.path(), bytes));
        } else if kind.is_file() {
            let there = fs::read(entry.path()).unwrap();
            if there.windows(bytes.len()).any(|part| part == bytes) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_password_is_not_shown_and_is_in_no_file() {
    let world = World::new();
    let id = shell(
        &world,
        "read -rsp 'Password: ' x; echo; echo ${#x}; read -r y",
    );
    until_wrote(&world, &id, "Password: ");
    world.ok(&["wait", &id, "--for", "input", "--timeout", "30s"]);
    type_line(&world, &id, "hunter2-xyzzy");
    until_output(&world, &id, "Password: \r\n13\r\n");
    assert_eq!(files_with(&world.home(), b"hunter2"), Vec::<String>::new());
    kill_for_good(world.pair(&id).keeper);
    type_line(&world, &id, "go on");
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(files_with(&world.home(), b"hunter2"), Vec::<String>::new());
    assert_eq!(files_with(&world.home(), b"go on").len(), 1);
}

#[test]
fn a_stop_ends_everything_on_and_off_the_terminal() {
    let world = World::new();
    let script =
        "trap '' HUP TERM; setsid sleep 100 & sleep 100 & echo up; while :; do sleep 100; done";
    let id = shell(&world, script);
    until_output(&world, &id, "up\r\n");
    let job = world.json(&["stop", &id, "--grace", "100ms", "--json"]);
    assert_eq!(job["exit_code"], 137, "{job}");
    assert_eq!(job["ended_by"], "stop");
    assert_nothing_is_left(&world, &id);
}

/// How a job on a terminal is driven through the kill matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Course {
    /// It is told something, answers and ends.
    Talk,
    /// It is stopped.
    Stop,
}

/// Every hook there is, for both courses.
fn cells() -> Vec<(&'static str, Course)> {
    let source = include_str!("../../../keeper/src/hooks.rs");
    let (_, after) = source.split_once("pub enum Hook {").unwrap();
    let (body, _) = after.split_once("\n}").unwrap();
    let hooks = body
        .lines()
        .map(|line| line.trim().trim_end_matches(','))
        .filter(|line| !line.is_empty() && !line.starts_with("//"));
    hooks
        .flat_map(|hook| [(hook, Course::Talk), (hook, Course::Stop)])
        .filter(|(hook, course)| {
            *course == Course::Stop || !["StopAsked", "StopWritten", "Terminated"].contains(hook)
        })
        .collect()
}

impl Course {
    fn start(self, world: &World, hooks: &str) -> String {
        let script = match self {
            Course::Talk => "echo up; read -r line; echo \"got $line\"; exit 7",
            Course::Stop => "echo up; read -r line; echo \"got $line\"; exec sleep 100",
        };
        let mut run = world.command(["run", "--pty", "--shell", script]);
        let ran = Ran::of(run.env("OUTLIVE_HOOKS", hooks));
        assert_eq!(ran.code, 0, "run: {ran:?}");
        ran.stdout.trim_end().to_owned()
    }

    /// Talks to the job, and sees it end as it must.
    fn drive(self, world: &World, id: &str) {
        until_output(world, id, "up\r\n");
        type_line(world, id, "hello");
        let written = "up\r\nhello\r\ngot hello\r\n";
        let code = match self {
            Course::Talk => 7,
            Course::Stop => {
                until_output(world, id, written);
                world.ok(&["stop", id]);
                143
            }
        };
        let job = world.wait(id);
        assert_eq!(job["exit_code"], code, "{job}");
        assert_eq!(
            String::from_utf8_lossy(&world.output(id)),
            written,
            "{self:?}"
        );
        assert_eq!(world.events(id, "ended").len(), 1);
        assert_nothing_is_left(world, id);
    }
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_job_on_a_terminal() {
    every(
        &cells(),
        |cell| format!("{cell:?}"),
        |(hook, course)| {
            let world = World::new();
            let id = course.start(&world, &format!("keeper:{hook}=kill"));
            course.drive(&world, &id);
            let expected: &[&str] = match *hook {
                "Begun" => &["taken_over"],
                // Whether something is left to close is decided by what ends first.
                "Closed" => return,
                _ => &["launched", "taken_over"],
            };
            assert_eq!(keepings(&world, &id), expected);
        },
    );
}

/// Starts a job that writes `numbers(100_000)` once `$GO` is there, and ends once `$GO.end` is.
fn start_stream(world: &World) -> String {
    let wait_for = |file: &str| format!("until [ -e \"{file}\" ]; do sleep 0.02; done");
    let (begin, end) = (wait_for("$GO"), wait_for("$GO.end"));
    shell(world, &format!("{begin}; seq 1 100000; {end}; exit 7"))
}

fn places(count: usize) -> Vec<u64> {
    const LENGTH: u64 = 688_895;
    let places = places_in_the_stream(count).into_iter();
    places.map(|place| place % LENGTH).collect()
}

fn assert_whole_stream(world: &World, id: &str) {
    fs::write(go(world).with_extension("end"), "").unwrap();
    assert_eq!(world.wait(id)["exit_code"], 7);
    let expected = on_terminal(&numbers(100_000));
    assert_same_bytes("output", &world.output(id), &expected);
    assert_nothing_is_left(world, id);
}

#[test]
fn a_keeper_killed_at_any_moment_of_a_fast_stream_on_a_terminal_loses_nothing() {
    every(
        &places(15),
        |at| format!("killed at byte {at}"),
        |at| {
            let world = World::new();
            let id = start_stream(&world);
            let keeper = world.pair(&id).keeper;
            stream_to(&world, &id, *at);
            kill(keeper, KILL);
            assert_whole_stream(&world, &id);
            assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
        },
    );
}

#[test]
fn a_standby_killed_in_a_fast_stream_on_a_terminal_changes_nothing() {
    every(
        &places(4),
        |at| format!("killed at byte {at}"),
        |at| {
            let world = World::new();
            let id = start_stream(&world);
            stream_to(&world, &id, *at);
            kill(world.pair(&id).standby.unwrap(), KILL);
            assert_whole_stream(&world, &id);
            assert_eq!(keepings(&world, &id), ["launched"]);
        },
    );
}

/// Starts a job that writes each line it reads to `$GO`.
fn line_keeper(world: &World) -> String {
    let script = "echo up; while IFS= read -r line; do echo \"$line\" >> \"$GO\"; done; exit 5";
    let id = shell(world, script);
    until_output(world, &id, "up\r\n");
    id
}

/// Sends lines one after the other while something is killed; all must arrive, each once, in order.
fn lines_arrive_once_though_killed(victim: impl Fn(&World, &str) -> i32 + Sync) {
    let rounds: Vec<u32> = (0..20).collect();
    every(&rounds, u32::to_string, |round| {
        let world = World::new();
        let id = line_keeper(&world);
        let victim = victim(&world, &id);
        let lines = 1..=8;
        thread::scope(|scope| {
            let sender = scope.spawn(|| {
                for line in lines.clone() {
                    type_line(&world, &id, &format!("line {line}"));
                }
            });
            // Somewhere before, during or after the sends, another place each round.
            let arrived = u64::from(round % 8);
            until("so many arrived", || {
                fs::read(go(&world)).is_ok_and(|got| got.len() as u64 / 7 >= arrived)
                    || arrived == 0
            });
            kill_for_good(victim);
            sender.join().unwrap();
        });
        world.ok(&["send", &id, "--eof"]);
        assert_eq!(world.wait(&id)["exit_code"], 5);
        let expected: String = lines.map(|line| format!("line {line}\n")).collect();
        assert_eq!(fs::read_to_string(go(&world)).unwrap(), expected);
    });
}

#[test]
fn lines_sent_around_a_keeper_s_death_arrive_exactly_once() {
    lines_arrive_once_though_killed(|world, id| world.pair(id).keeper);
}

#[test]
fn lines_sent_around_a_standby_s_death_arrive_exactly_once() {
    lines_arrive_once_though_killed(|world, id| world.pair(id).standby.unwrap());
}

#[test]
fn one_long_write_around_a_keeper_s_death_arrives_exactly_once() {
    let rounds: Vec<u64> = (0..10).collect();
    let lines = on_terminal(&numbers(40_000));
    every(&rounds, u64::to_string, |round| {
        let world = World::new();
        let id = shell(&world, "stty -echo; echo up; exec cat > \"$GO\"");
        until_output(&world, &id, "up\r\n");
        fs::write(world.path("all"), numbers(40_000)).unwrap();
        let mut send = world
            .command(["send", &id])
            .stdin(File::open(world.path("all")).unwrap())
            .spawn()
            .unwrap();
        let at = round * lines.len() as u64 / 11;
        until("so much arrived", || {
            fs::metadata(go(&world)).is_ok_and(|file| file.len() >= at)
        });
        kill_for_good(world.pair(&id).keeper);
        assert!(send.wait().unwrap().success());
        until_file(&go(&world), &numbers(40_000));
        world.ok(&["send", &id, "--eof"]);
        assert_eq!(world.wait(&id)["exit_code"], 0);
        assert_same_bytes("all", &fs::read(go(&world)).unwrap(), &numbers(40_000));
    });
}

#[test]
fn a_write_repeated_under_its_id_is_typed_once_also_after_a_keeper_s_death() {
    let world = World::new();
    let id = line_keeper(&world);
    let write = || world.ok(&["send", &id, "once", "--enter", "--write-id", "w1"]);
    write();
    write();
    kill_for_good(world.pair(&id).keeper);
    write();
    world.ok(&["send", &id, "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 5);
    assert_eq!(fs::read_to_string(go(&world)).unwrap(), "once\n");
}

#[test]
fn lines_of_several_senders_are_whole() {
    let world = World::new();
    let id = line_keeper(&world);
    let filler = "x".repeat(500);
    thread::scope(|scope| {
        for sender in 0..4 {
            let (world, id, filler) = (&world, &id, &filler);
            scope.spawn(move || {
                for line in 0..5 {
                    type_line(world, id, &format!("{sender} {line} {filler}"));
                }
            });
        }
    });
    world.ok(&["send", &id, "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 5);
    let got = fs::read_to_string(go(&world)).unwrap();
    for sender in 0..4 {
        let mine: Vec<&str> = got
            .lines()
            .filter(|line| line.starts_with(&format!("{sender} ")))
            .collect();
        let expected: Vec<String> = (0..5)
            .map(|line| format!("{sender} {line} {filler}"))
            .collect();
        assert_eq!(mine, expected);
    }
    assert_eq!(got.lines().count(), 20);
}

/// How long a process has been computing, in hundredths of a second.
fn computed(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, after) = text.rsplit_once(')').unwrap();
    let fields: Vec<&str> = after.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_job_that_does_not_read_what_is_typed_keeps_its_keeper_asleep() {
    for mode in ["raw", "-raw"] {
        let world = World::new();
        let id = shell(
            &world,
            &format!("stty {mode} -echo; echo up; exec sleep 100"),
        );
        until_wrote(&world, &id, "up");
        fs::write(world.path("much"), numbers(50_000)).unwrap();
        let mut send = world.command(["send", &id]);
        let ran = Ran::of(send.stdin(File::open(world.path("much")).unwrap()));
        assert_eq!(ran.code, 0, "{mode}: {ran:?}");
        let keeper = world.pair(&id).keeper;
        let before = computed(keeper);
        // Not to wait for something, but to see that nothing happens.
        thread::sleep(std::time::Duration::from_millis(400));
        let spent = computed(keeper) - before;
        assert!(spent <= 3, "{mode}: {spent} hundredths of a second");
        assert_eq!(world.json(&["stop", &id, "--json"])["exit_code"], 143);
        assert_nothing_is_left(&world, &id);
    }
}

#[test]
fn what_outlives_the_job_on_its_terminal_lingers_and_can_be_stopped() {
    let world = World::new();
    let script = "trap '' HUP; sleep 100 & echo main; exit 5";
    let id = shell(&world, script);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 5);
    assert_eq!(job["lingering"], 1, "{job}");
    assert_eq!(world.output(&id), b"main\r\n");
    world.ok(&["stop", &id]);
    assert_nothing_is_left(&world, &id);
    assert_eq!(world.show(&id)["exit_code"], 5);
}

#[test]
fn a_timeout_ends_a_job_on_a_terminal() {
    let world = World::new();
    let args = ["run", "--pty", "--timeout", "200ms", "--shell"];
    let id = ok(&world, &[&args[..], &["echo up; exec sleep 100"]].concat());
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 143);
    assert_eq!(job["ended_by"], "timeout");
    assert_eq!(world.output(&id), b"up\r\n");
}

fn kill_both(world: &World, id: &str) {
    let pair = world.pair(id);
    kill(pair.standby.unwrap(), KILL);
    kill_for_good(pair.keeper);
}

#[test]
fn a_job_whose_keepers_are_both_killed_is_hung_up_and_has_an_end() {
    let world = World::new();
    let script = "trap 'echo hup > \"$GO\"; exit 9' HUP; echo up; while :; do sleep 0.02; done";
    let id = shell(&world, script);
    until_output(&world, &id, "up\r\n");
    let pid = leader(&world, &id);
    kill_both(&world, &id);
    until_file(&go(&world), b"hup\n");
    until("the leader is gone", || !is_alive(pid));
    let job = world.wait(&id);
    assert_eq!(job["state"], "ended", "{job}");
    let honest = job["exit_code"] == 9 || job["outcome"]["kind"] == "lost";
    assert!(honest, "{job}");
    let ran = world.outlive(&["send", &id, "x"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("ended"), "{}", ran.stderr);
    assert_eq!(world.ok(&["log", &id, "--screen"]), "up");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_job_that_ignores_the_hangup_goes_on_without_a_terminal() {
    let world = World::new();
    let script = "trap '' HUP; echo up; until [ -e \"$GO\" ]; do sleep 0.02; done; exit 6";
    let id = shell(&world, script);
    until_output(&world, &id, "up\r\n");
    kill_both(&world, &id);
    assert_eq!(world.show(&id)["state"], "running");
    for verb in [["send", &id, "x"], ["resize", &id, "24x80"]] {
        let ran = world.outlive(&verb);
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(
            ran.stderr.contains("terminal went"),
            "{verb:?}: {}",
            ran.stderr
        );
    }
    assert_eq!(world.ok(&["log", &id, "--screen"]), "up");
    fs::write(go(&world), "").unwrap();
    assert_eq!(world.wait(&id)["exit_code"], 6);
    assert_nothing_is_left(&world, &id);
}
