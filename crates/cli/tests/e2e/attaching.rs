//! `attach`: a person at a terminal, scripted under tmux.

use crate::pair::{
    CONT, STOP, assert_same_bytes, every, go, kill_for_good, numbers, until_output, with_go,
};
use crate::terminal::until_in_front;
use crate::world::{Ran, World, is_alive, kill, until};
use outlive_sys::procfs;
use serde_json::json;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TERM: i32 = 15;
/// What a person waits for should be there within this.
const PATIENCE: Duration = Duration::from_secs(15);
const PROMPT: &str = "person$";

/// Somebody in front of a shell on a terminal of 30 rows and 100 columns. They are gone, and their
/// tmux server with them, once this is dropped.
struct Person {
    server: String,
    /// Where its socket is, gone with the world.
    directory: PathBuf,
}

impl Person {
    fn sits_down(world: &World) -> Person {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let person = Person {
            server: format!("person-{number}"),
            directory: world.path(""),
        };
        let outlive = with_go(world, &[]);
        let mut tmux = person.tmux(&["set", "-g", "status", "off", ";"]);
        tmux.args(["new-session", "-d", "-x", "100", "-y", "30"]);
        tmux.args(["bash", "--norc", "--noprofile", "-i"]);
        for (name, value) in outlive.get_envs() {
            match value {
                Some(value) => tmux.env(name, value),
                None => tmux.env_remove(name),
            };
        }
        let bin = Path::new(env!("CARGO_BIN_EXE_outlive")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        tmux.env("PATH", path).env("PS1", format!("{PROMPT} "));
        tmux.env("LC_ALL", "C.UTF-8").env("HISTFILE", "/dev/null");
        let ran = Ran::of(&mut tmux);
        assert_eq!(ran.code, 0, "{ran:?}");
        person.until_sees(PROMPT);
        person
    }

    /// `tmux` on this person's own server.
    fn tmux(&self, args: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-u", "-L", &self.server, "-f", "/dev/null"]);
        tmux.args(args).env_remove("TMUX");
        tmux.env("TMUX_TMPDIR", &self.directory);
        tmux
    }

    fn asks(&self, args: &[&str]) -> String {
        let ran = Ran::of(&mut self.tmux(args));
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.stdout
    }

    fn types(&self, text: &str) {
        self.asks(&["send-keys", "-l", text]);
    }

    fn presses(&self, key: &str) {
        self.asks(&["send-keys", key]);
    }

    fn enters(&self, line: &str) {
        self.types(line);
        self.presses("Enter");
    }

    /// The rows of the terminal, without the blank ones at the end.
    fn sees(&self) -> String {
        self.asks(&["capture-pane", "-p"]).trim_end().to_owned()
    }

    fn until_sees(&self, text: &str) {
        let start = Instant::now();
        let mut seen = self.sees();
        while !seen.contains(text) {
            assert!(
                start.elapsed() < PATIENCE,
                "never seen: {text:?}; but:\n{seen}"
            );
            thread::sleep(Duration::from_millis(2));
            seen = self.sees();
        }
    }

    /// A word tmux knows about the terminal.
    fn terminal(&self, word: &str) -> String {
        let format = format!("#{{{word}}}");
        self.asks(&["display-message", "-p", &format])
            .trim_end()
            .to_owned()
    }

    /// Attaches to a job, and waits until it shows this.
    fn attaches(&self, options: &str, id: &str, shows: &str) {
        self.enters(&format!(
            "clear; outlive attach {options} {id}; echo code=$?"
        ));
        until("the client runs", || self.client().is_some());
        self.until_sees(shows);
    }

    /// The attached client's process.
    fn client(&self) -> Option<i32> {
        let shell: i32 = self.terminal("pane_pid").parse().unwrap();
        procfs::all().unwrap().into_iter().find(|pid| {
            procfs::stat(*pid).is_some_and(|stat| stat.parent == shell)
                && fs::read_to_string(format!("/proc/{pid}/comm"))
                    .is_ok_and(|name| name.trim() == "outlive")
        })
    }

    /// Leaves, which is said, and has a shell again.
    fn leaves(&self, id: &str) {
        self.presses("C-]");
        self.until_sees(&format!("left {id}"));
        until("the client is gone", || self.client().is_none());
    }

    /// Their terminal is as a shell's is: lines are edited and shown, the cursor is there.
    fn has_a_sane_terminal(&self) {
        let modes = "-e icanon -e echo -e isig -e opost -e icrnl";
        let count = format!("stty -a | tr ' ;' '\\n\\n' | grep -cx {modes}");
        self.enters(&format!("clear; echo modes=$({count})"));
        self.until_sees("modes=5");
        let last_row = self.terminal("pane_height").parse::<u16>().unwrap() - 1;
        for (word, value) in [
            ("cursor_flag", "1"),
            ("alternate_on", "0"),
            ("keypad_cursor_flag", "0"),
            ("keypad_flag", "0"),
            ("mouse_any_flag", "0"),
            ("wrap_flag", "1"),
            ("origin_flag", "0"),
            ("insert_flag", "0"),
            ("scroll_region_upper", "0"),
            ("scroll_region_lower", &last_row.to_string()),
        ] {
            assert_eq!(self.terminal(word), value, "{word}");
        }
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).output();
    }
}

/// Starts a shell job with a terminal; returns its id.
fn on_terminal(world: &World, script: &str) -> String {
    start(world, &["run", "--pty", "--shell", script])
}

fn start(world: &World, args: &[&str]) -> String {
    let ran = Ran::of(&mut with_go(world, args));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

/// A job that says the size of its terminal and answers lines.
const ANSWERS: &str =
    "echo up; while read -r line; do echo \"<$line> $(stty size)\"; done; echo over; exit 4";

fn until_wrote(world: &World, id: &str, text: &str) {
    until(&format!("{id} wrote {text:?}"), || {
        String::from_utf8_lossy(&world.output(id)).contains(text)
    });
}

fn is_running(world: &World, id: &str) -> bool {
    world.show(id)["state"] == "running"
}

#[test]
fn what_is_typed_reaches_the_job_and_its_output_shows() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.enters("hello");
    person.until_sees("<hello>");
    assert_eq!(
        world.output(&id),
        b"up\r\nhello\r\n<hello> 30 100\r\n".to_vec()
    );
}

#[test]
fn every_key_goes_through_as_it_is() {
    let world = World::new();
    let script = "stty raw -echo; printf ready; exec cat > \"$GO\"";
    let id = on_terminal(&world, script);
    until_wrote(&world, &id, "ready");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "ready");
    for key in ["C-c", "C-z", "C-d", "C-s", "C-q", "C-\\", "Tab", "Escape"] {
        person.presses(key);
    }
    person.types("é日");
    person.presses("Enter");
    let expected = "\x03\x1a\x04\x13\x11\x1c\t\x1bé日\r".as_bytes();
    until("all arrived", || {
        fs::read(go(&world)).is_ok_and(|got| got.len() >= expected.len())
    });
    assert_same_bytes("keys", &fs::read(go(&world)).unwrap(), expected);
    assert!(person.client().is_some());
}

#[test]
fn control_c_interrupts_the_job_s_program_and_not_the_client() {
    let world = World::new();
    let script = "trap 'echo interrupted' INT; echo up; while :; do sleep 0.02; done";
    let id = on_terminal(&world, script);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.presses("C-c");
    person.until_sees("interrupted");
    assert!(person.client().is_some());
    assert!(is_running(&world, &id));
}

#[test]
fn leaving_is_said_the_job_goes_on_and_the_terminal_is_sane() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.leaves(&id);
    assert!(person.sees().contains("goes on"), "{}", person.sees());
    person.until_sees("code=0");
    person.has_a_sane_terminal();
    assert!(is_running(&world, &id));
    assert_eq!(world.output(&id), b"up\r\n");
    world.ok(&["send", &id, "still there", "--enter"]);
    until_wrote(&world, &id, "<still there>");
}

#[test]
fn a_terminal_is_sane_after_a_program_that_took_all_of_it() {
    let world = World::new();
    let modes = "\\033[?1049h\\033[?25l\\033[?1h\\033[?2004h\\033[?1000h\\033[?1006h\\033[31m";
    let script = format!("printf '{modes}painted'; exec sleep 100");
    let id = on_terminal(&world, &script);
    until_wrote(&world, &id, "painted");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "painted");
    until("the program has the terminal", || {
        person.terminal("alternate_on") == "1" && person.terminal("cursor_flag") == "0"
    });
    person.leaves(&id);
    person.has_a_sane_terminal();
}

#[test]
fn a_terminal_is_sane_whatever_a_program_did_to_it_meanwhile() {
    let modes = [
        "\\033[?1049h\\033[?25l\\033[?1h\\033[?1003h",
        "\\033[3;9r",
        "\\033=",
        "\\033[?7l",
        "\\033[?6h",
        "\\033[4h",
    ];
    every(
        &modes,
        |modes| (*modes).to_owned(),
        |modes| {
            let world = World::new();
            let script = format!("echo up; read -r x; printf '{modes}painted'; exec sleep 100");
            let id = on_terminal(&world, &script);
            until_output(&world, &id, "up\r\n");
            let person = Person::sits_down(&world);
            person.attaches("", &id, "up");
            person.presses("Enter");
            person.until_sees("painted");
            person.leaves(&id);
            person.has_a_sane_terminal();
        },
    );
}

#[test]
fn what_is_typed_before_leaving_arrives_and_what_comes_after_does_not() {
    let world = World::new();
    let script = "stty raw -echo; printf ready; exec cat > \"$GO\"";
    let id = on_terminal(&world, script);
    until_wrote(&world, &id, "ready");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "ready");
    person.asks(&["send-keys", "a", "b", "C-]", "c", "d"]);
    person.until_sees(&format!("left {id}"));
    world.ok(&["send", &id, "END"]);
    until("the end arrived", || {
        fs::read(go(&world)).is_ok_and(|got| got.ends_with(b"END"))
    });
    assert_eq!(fs::read(go(&world)).unwrap(), b"abEND");
}

/// The screen as `log` shows it.
fn screen(world: &World, id: &str) -> String {
    world.ok(&["log", id, "--screen"])
}

#[test]
fn attaching_to_a_pager_shows_the_page_it_is_on() {
    let world = World::new();
    fs::write(world.path("numbers"), numbers(200)).unwrap();
    let file = world.path("numbers").display().to_string();
    let less = ["--env", "LESS=", "--", "less", &file];
    let id = start(&world, &[&["run", "--pty=30x100"], &less[..]].concat());
    until_wrote(&world, &id, "29");
    world.ok(&["send", &id, "--key", "Space"]);
    until_wrote(&world, &id, "58");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "\n58\n:");
    let expected: Vec<String> = (30..=58).map(|n| n.to_string()).collect();
    assert_eq!(person.sees(), format!("{}\n:", expected.join("\n")));
    assert_eq!(person.sees(), screen(&world, &id));
    assert_eq!(person.terminal("alternate_on"), "1");
    person.presses("Space");
    person.until_sees("\n87\n:");
    assert_eq!(person.sees(), screen(&world, &id));
    person.types("q");
    person.until_sees("exited 0");
    person.has_a_sane_terminal();
}

/// Paints something with everywhere a cursor can go, and leaves the cursor in the middle.
const PAINTING: &str =
    "\\033[2J\\033[5;10H\\033[1;32mgreen\\033[0m\\033[30;96Hright\\033[1;1H日本語\\033[10;20Hhere";

#[test]
fn attaching_repaints_what_is_there() {
    let world = World::new();
    let script = format!("printf '{PAINTING}'; exec sleep 100");
    let id = start(&world, &["run", "--pty=30x100", "--shell", &script]);
    until_wrote(&world, &id, "here");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "here");
    assert_eq!(person.sees(), screen(&world, &id));
    assert!(person.sees().starts_with("日本語\n"), "{}", person.sees());
    let cursor = world.json(&["log", &id, "--screen", "--json"])["cursor"].clone();
    assert_eq!(cursor, json!({ "row": 9, "col": 23, "visible": true }));
    let at = (person.terminal("cursor_y"), person.terminal("cursor_x"));
    assert_eq!(at, ("9".to_owned(), "23".to_owned()));
}

#[test]
fn a_scrolling_region_is_there_for_a_viewer_who_comes_later() {
    let world = World::new();
    let paint = "printf '\\033[2J\\033[Htop\\033[5;1Hbottom\\033[2;4r\\033[4;1Hready'";
    let scroll = "printf '\\na\\nb\\nc\\nd'";
    let script = format!("{paint}; stty -echo; read -r x; {scroll}; exec sleep 100");
    let id = start(&world, &["run", "--pty=30x100", "--shell", &script]);
    until_wrote(&world, &id, "ready");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "ready");
    person.presses("Enter");
    person.until_sees("\nd");
    assert_eq!(screen(&world, &id), "top\nb\nc\nd\nbottom");
    assert_eq!(person.sees(), "top\nb\nc\nd\nbottom");
}

#[test]
fn a_wrapped_line_looks_the_same_to_a_viewer() {
    let world = World::new();
    let line: String = numbers(60).iter().map(|byte| *byte as char).collect();
    let line = line.replace('\n', "");
    let script = format!("echo {line}{line}; echo after; exec sleep 100");
    let id = start(&world, &["run", "--pty=30x100", "--shell", &script]);
    until_wrote(&world, &id, "after");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "after");
    let double = format!("{line}{line}");
    let rows: Vec<&str> = [&double[..100], &double[100..200], &double[200..], "after"].into();
    assert_eq!(person.sees(), rows.join("\n"));
    assert_eq!(screen(&world, &id), rows.join("\n"));
}

#[test]
fn the_job_s_terminal_follows_the_size_of_the_viewer_s() {
    let world = World::new();
    let script = "trap 'stty size' WINCH; echo up; while :; do sleep 0.02; done";
    let id = on_terminal(&world, script);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "30 100");
    // While bash is in a trap it forgets the same signal.
    until_in_front(&world, "sleep");
    person.asks(&["resize-window", "-x", "70", "-y", "20"]);
    person.until_sees("20 70");
    until_in_front(&world, "sleep");
    person.asks(&["resize-window", "-x", "130", "-y", "40"]);
    person.until_sees("40 130");
    assert_eq!(
        world.output(&id),
        b"up\r\n30 100\r\n20 70\r\n40 130\r\n".to_vec()
    );
    let seen = world.json(&["log", &id, "--screen", "--json"]);
    assert_eq!((&seen["rows"], &seen["cols"]), (&json!(40), &json!(130)));
}

#[test]
fn several_viewers_see_the_same_and_may_all_type() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let people = [Person::sits_down(&world), Person::sits_down(&world)];
    for person in &people {
        person.attaches("", &id, "up");
    }
    people[0].enters("one");
    people.iter().for_each(|person| person.until_sees("<one>"));
    people[1].enters("two");
    people.iter().for_each(|person| person.until_sees("<two>"));
    assert_eq!(people[0].sees(), people[1].sees());
    people[0].leaves(&id);
    people[1].enters("three");
    people[1].until_sees("<three>");
    assert!(is_running(&world, &id));
}

#[test]
fn who_only_looks_changes_nothing() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("--read-only", &id, "up");
    person.enters("nothing");
    person.presses("C-c");
    person.asks(&["resize-window", "-x", "70", "-y", "20"]);
    world.ok(&["send", &id, "heard", "--enter"]);
    person.until_sees("<heard> 30 120");
    assert_eq!(
        world.output(&id),
        b"up\r\nheard\r\n<heard> 30 120\r\n".to_vec()
    );
    person.leaves(&id);
    person.has_a_sane_terminal();
    assert!(is_running(&world, &id));
}

#[test]
fn closing_the_window_does_not_harm_the_job() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    let client = person.client().unwrap();
    person.asks(&["kill-session"]);
    until("the client is gone", || !is_alive(client));
    world.ok(&["send", &id, "after", "--enter"]);
    until_wrote(&world, &id, "<after> 30 100");
    assert_eq!(world.output(&id), b"up\r\nafter\r\n<after> 30 100\r\n");
    world.ok(&["send", &id, "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 4);
}

#[test]
fn killing_the_client_does_not_harm_the_job() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    kill_for_good(person.client().unwrap());
    world.ok(&["send", &id, "after", "--enter"]);
    until_wrote(&world, &id, "<after> 30 100");
    let again = Person::sits_down(&world);
    again.attaches("", &id, "<after>");
    again.enters("again");
    again.until_sees("<again>");
}

#[test]
fn a_client_that_is_asked_to_end_restores_the_terminal() {
    for signal in [TERM, 1, 2] {
        let world = World::new();
        let id = on_terminal(&world, "printf '\\033[?1049h\\033[?25lup'; exec sleep 100");
        until_wrote(&world, &id, "up");
        let person = Person::sits_down(&world);
        person.attaches("", &id, "up");
        until("the screen is taken", || {
            person.terminal("alternate_on") == "1"
        });
        kill(person.client().unwrap(), signal);
        until("the client is gone", || person.client().is_none());
        person.has_a_sane_terminal();
        assert!(is_running(&world, &id));
    }
}

#[test]
fn the_end_of_the_job_ends_attach_and_is_said() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.presses("C-d");
    person.until_sees("exited 4");
    let seen = person.sees();
    let order = [seen.find("over"), seen.find(&format!("{id} exited 4"))];
    assert!(order[0].is_some() && order[0] < order[1], "{seen}");
    person.has_a_sane_terminal();
}

/// Has a job end while the client stands still and the person does something.
fn meanwhile_the_job_ends(something: impl Fn(&Person)) {
    let world = World::new();
    let id = on_terminal(&world, "echo up; read -r x; exit 6");
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    // Else the shell would notice that its program stands still.
    person.enters("set +m");
    person.attaches("", &id, "up");
    let client = person.client().unwrap();
    halt(client);
    world.ok(&["send", &id, "--enter"]);
    world.wait(&id);
    something(&person);
    kill(client, CONT);
    person.until_sees("code=");
    let seen = person.sees();
    assert!(seen.contains(&format!("{id} exited 6")), "{seen}");
    assert!(seen.contains("code=0"), "{seen}");
    person.has_a_sane_terminal();
}

#[test]
fn typing_into_a_job_that_ends_meanwhile_is_no_failure() {
    meanwhile_the_job_ends(|person| person.types("too late"));
}

#[test]
fn changing_the_window_of_a_job_that_ends_meanwhile_is_no_failure() {
    meanwhile_the_job_ends(|person| {
        person.asks(&["resize-window", "-x", "70", "-y", "20"]);
    });
}

/// What a flood writes, which is more than a viewer is shown in a moment.
const FLOOD: u64 = 10_100_000;

/// Stops a process until it is continued.
fn halt(pid: i32) {
    kill(pid, STOP);
    until("it stands still", || {
        procfs::stat(pid).is_some_and(|stat| stat.state == b'T')
    });
}

/// Attaches somebody to a job that writes `FLOOD` bytes, and has them press a key while most of it is
/// still to be shown. Names the job and the client.
fn press_in_a_flood(world: &World, person: &Person, key: &str) -> (String, i32) {
    let script = "echo up; read -r x; yes $(printf %099d 0) | head -c 10000000; exec sleep 100";
    let id = on_terminal(world, script);
    until_output(world, &id, "up\r\n");
    // Else the shell would notice that its program stands still.
    person.enters("set +m");
    person.attaches("", &id, "up");
    let client = person.client().unwrap();
    halt(client);
    world.ok(&["send", &id, "--enter"]);
    until("there is much to show", || {
        let output = fs::metadata(world.job_dir(&id).join("output"));
        output.is_ok_and(|output| output.len() > FLOOD)
    });
    kill(client, CONT);
    until("it is being shown", || {
        written_by(client).is_some_and(|written| written > FLOOD / 100)
    });
    person.presses(key);
    (id, client)
}

/// How much a process has written, as long as it is there.
fn written_by(pid: i32) -> Option<u64> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "))?;
    line.parse().ok().filter(|_| is_alive(pid))
}

#[test]
fn a_viewer_can_leave_in_the_middle_of_a_flood() {
    let world = World::new();
    let person = Person::sits_down(&world);
    let (id, client) = press_in_a_flood(&world, &person, "C-]");
    let mut written = 0;
    until("the client is gone", || {
        let now = written_by(client);
        written = now.unwrap_or(written);
        now.is_none() || written > FLOOD / 2
    });
    assert!(written <= FLOOD / 2, "still there after {written} bytes");
    person.until_sees(&format!("left {id}"));
    assert!(is_running(&world, &id));
}

#[test]
fn a_viewer_can_interrupt_in_the_middle_of_a_flood() {
    let world = World::new();
    let person = Person::sits_down(&world);
    let (id, client) = press_in_a_flood(&world, &person, "C-c");
    assert_eq!(world.wait(&id)["exit_code"], 130);
    let written = written_by(client).unwrap_or(FLOOD);
    assert!(written <= FLOOD / 2, "heard after {written} bytes");
}

#[test]
fn a_viewer_s_keys_have_the_form_that_the_program_asked_for_before() {
    let world = World::new();
    let script =
        "stty raw -echo; printf '\\033[?1h\\033[?1002h\\033[?2004hready'; exec cat > \"$GO\"";
    let id = on_terminal(&world, script);
    until_wrote(&world, &id, "ready");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "ready");
    assert_eq!(person.terminal("keypad_cursor_flag"), "1");
    assert_eq!(person.terminal("mouse_button_flag"), "1");
    person.presses("Up");
    person.asks(&["set-buffer", "pasted"]);
    person.asks(&["paste-buffer", "-p"]);
    let expected = b"\x1bOA\x1b[200~pasted\x1b[201~";
    until("all arrived", || {
        fs::read(go(&world)).is_ok_and(|got| got.len() >= expected.len())
    });
    assert_same_bytes("keys", &fs::read(go(&world)).unwrap(), expected);
}

#[test]
fn colours_are_repainted() {
    let world = World::new();
    let script = "printf '\\033[1;32mgreen\\033[0m plain \\033[7mturned\\033[0m'; exec sleep 100";
    let id = on_terminal(&world, script);
    until_wrote(&world, &id, "turned");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "turned");
    let seen = person.asks(&["capture-pane", "-p", "-e"]);
    for part in ["\x1b[1m\x1b[32mgreen\x1b[0m", "\x1b[7mturned"] {
        assert!(seen.contains(part), "{seen:?}");
    }
}

#[test]
fn a_long_line_pasted_by_a_viewer_arrives_whole() {
    let world = World::new();
    let id = on_terminal(&world, "stty -echo; echo up; exec cat > \"$GO\"");
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    let mut line = numbers(5000);
    line.retain(|byte| *byte != b'\n');
    fs::write(world.path("line"), &line).unwrap();
    person.asks(&["load-buffer", &world.path("line").display().to_string()]);
    person.asks(&["paste-buffer"]);
    person.presses("Enter");
    line.push(b'\n');
    until("all arrived", || {
        fs::read(go(&world)).is_ok_and(|got| got.len() >= line.len())
    });
    assert_same_bytes("line", &fs::read(go(&world)).unwrap(), &line);
}

#[test]
fn without_a_terminal_attach_follows_and_changes_no_size() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let mut attach = world.command(["attach", &id]);
    let mut attach = attach.stdout(Stdio::piped()).spawn().unwrap();
    world.ok(&["send", &id, "hello", "--enter"]);
    until_wrote(&world, &id, "<hello> 30 120");
    world.ok(&["send", &id, "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 4);
    let mut shown = String::new();
    let mut stdout = attach.stdout.take().unwrap();
    stdout.read_to_string(&mut shown).unwrap();
    assert!(attach.wait().unwrap().success());
    assert!(shown.contains("<hello> 30 120"), "{shown:?}");
    assert!(shown.contains("over"), "{shown:?}");
}

#[test]
fn attaching_to_an_ended_job_shows_its_end_and_returns() {
    for pty in [true, false] {
        let world = World::new();
        let script = "echo last words; exit 3";
        let mut args = vec!["run", "--shell", script];
        args.extend(pty.then_some("--pty"));
        let id = start(&world, &args);
        world.wait(&id);
        let person = Person::sits_down(&world);
        person.enters(&format!("clear; outlive attach {id}; echo code=$?"));
        person.until_sees("code=0");
        let seen = person.sees();
        let order = [
            seen.find("last words"),
            seen.find(&format!("{id} exited 3")),
        ];
        assert!(order[0].is_some() && order[0] < order[1], "{pty} {seen}");
        person.has_a_sane_terminal();
    }
}

#[test]
fn attaching_to_nobody_says_so() {
    let world = World::new();
    let ran = world.outlive(&["attach", "nobody"]);
    assert_eq!(ran.code, 3, "{ran:?}");
}

#[test]
fn a_viewer_goes_on_when_the_keeper_is_killed() {
    for read_only in ["", "--read-only"] {
        let world = World::new();
        let id = on_terminal(&world, ANSWERS);
        until_output(&world, &id, "up\r\n");
        let person = Person::sits_down(&world);
        person.attaches(read_only, &id, "up");
        person.types("bef");
        kill_for_good(world.pair(&id).keeper);
        person.enters("ore");
        if read_only.is_empty() {
            person.until_sees("<before> 30 100");
            person.asks(&["resize-window", "-x", "90", "-y", "25"]);
        }
        world.ok(&["send", &id, "sent", "--enter"]);
        person.until_sees("<sent>");
        let expected = match read_only {
            "" => "up\r\nbefore\r\n<before> 30 100\r\nsent\r\n<sent>",
            _ => "up\r\nsent\r\n<sent>",
        };
        let wrote = String::from_utf8(world.output(&id)).unwrap();
        assert!(wrote.starts_with(expected), "{wrote:?}");
        person.leaves(&id);
        person.has_a_sane_terminal();
    }
}

#[test]
fn on_a_pipe_job_attach_shows_output_and_sends_lines() {
    let world = World::new();
    let script = "echo up; while read -r line; do echo \"<$line>\"; done";
    let id = start(&world, &["run", "--stdin", "pipe", "--shell", script]);
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.enters("hello");
    person.until_sees("<hello>");
    kill_for_good(world.pair(&id).keeper);
    person.enters("again");
    person.until_sees("<again>");
    assert_eq!(world.output(&id), b"up\n<hello>\n<again>\n");
    assert!(person.client().is_some());
}

#[test]
fn control_bracket_leaves_a_pipe_job_too() {
    let world = World::new();
    let id = start(
        &world,
        &["run", "--stdin", "pipe", "--shell", "echo up; cat"],
    );
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.presses("C-]");
    person.until_sees(&format!("left {id}"));
    assert_eq!(world.output(&id), b"up\n");
    person.has_a_sane_terminal();
    assert!(is_running(&world, &id));
}

#[test]
fn control_c_leaves_a_pipe_job_running() {
    let world = World::new();
    let id = start(
        &world,
        &["run", "--stdin", "pipe", "--shell", "echo up; cat"],
    );
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.presses("C-c");
    person.until_sees(&format!("left {id}"));
    world.ok(&["send", &id, "still", "--enter", "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"up\nstill\n");
}

#[test]
fn a_job_that_closed_its_input_can_still_be_watched() {
    let world = World::new();
    let script = "exec < /dev/null; echo up; until [ -e \"$GO\" ]; do sleep 0.02; done; echo more; exec sleep 100";
    let id = start(&world, &["run", "--stdin", "pipe", "--shell", script]);
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.enters("typed");
    person.until_sees("typed");
    fs::write(go(&world), "").unwrap();
    person.until_sees("more");
    assert!(person.client().is_some());
}

#[test]
fn on_a_job_without_input_attach_shows_output_and_typing_is_ignored() {
    let world = World::new();
    let script = "echo up; until [ -e \"$GO\" ]; do sleep 0.02; done; echo more; exit 2";
    let id = start(&world, &["run", "--shell", script]);
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.enters("typed");
    person.until_sees("typed");
    fs::write(go(&world), "").unwrap();
    person.until_sees("exited 2");
    let seen = person.sees();
    assert!(seen.contains("up\ntyped\nmore\n"), "{seen}");
    assert_eq!(world.output(&id), b"up\nmore\n");
    person.has_a_sane_terminal();
}
