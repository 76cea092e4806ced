//! Typed text arrives once, whole and in order.

use super::as_shown;
use outlive_testkit::checks::{
    assert_nothing_is_left, assert_same_bytes, every, until_file, until_output, until_wrote,
};
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{go, numbers, on_terminal, send_line};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::thread;
use std::time::Duration;

/// Starts a job that writes each line it reads to `$GO`.
fn line_keeper(world: &World) -> String {
    let script = "echo up; while IFS= read -r line; do echo \"$line\" >> \"$GO\"; done; exit 5";
    let id = on_terminal(world, script);
    until_output(world, &id, "up\r\n");
    id
}

/// Sends lines one after the other while a process is killed. Each line must arrive once, in order.
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
                    send_line(&world, &id, &format!("line {line}"));
                }
            });
            // The kill comes after a different number of lines in each round.
            let arrived = u64::from(round % 8);
            until("the lines before the kill arrived", || {
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
    let lines = as_shown(&numbers(40_000));
    every(&rounds, u64::to_string, |round| {
        let world = World::new();
        let id = on_terminal(&world, "stty -echo; echo up; exec cat > \"$GO\"");
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
                    send_line(world, id, &format!("{sender} {line} {filler}"));
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

/// The processor time that a process has used, in hundredths of a second.
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
        let id = on_terminal(
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
        // Not a wait: nothing should happen in this time.
        thread::sleep(Duration::from_millis(400));
        let spent = computed(keeper) - before;
        assert!(spent <= 3, "{mode}: {spent} hundredths of a second");
        assert_eq!(world.job(&["stop", &id, "--json"])["exit_code"], 143);
        assert_nothing_is_left(&world, &id);
    }
}
