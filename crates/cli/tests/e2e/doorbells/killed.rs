//! Keepers are killed while a doorbell rings. It rings at least once, and that is recorded.

use super::{Heard, standing, until_stands};
use outlive_testkit::checks::{every, keepings};
use outlive_testkit::gate::make_fifo;
use outlive_testkit::processes::{is_alive, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const STEPS: [&str; 4] = ["EndedRecorded", "Reaped", "Ringing", "Rang"];

#[test]
fn the_keeper_that_takes_over_rings() {
    let cells: Vec<(&str, &str)> = STEPS
        .iter()
        .flat_map(|step| [(*step, "kill"), (*step, "kill-both")])
        .collect();
    let name = |(step, how): &(&str, &str)| format!("{step}={how}");
    every(&cells, name, |(step, how)| {
        let world = World::new();
        let heard = Heard::new(&world);
        let args = ["run", "--id", "job", "--on-end", &heard.command()];
        let mut command = with_go(&world, &args);
        command.env("OUTLIVE_HOOKS", format!("keeper:{step}={how}"));
        let ran = Ran::of(command.args(["--shell", &format!("{WAITS}exit 3")]));
        assert_eq!(ran.code, 0, "{ran:?}");
        let keeper = world.pair("job").keeper;
        let_go(&world);
        until("it is killed", || !is_alive(keeper));
        // If both keepers were killed, a later verb is enough to get the doorbell rung.
        until_stands(&world, "job", "rung", 1);
        world.until_over("job");
        assert_eq!(world.show("job")["exit_code"], 3);
        assert_eq!(world.events("job", "ended").len(), 1);
        let events = heard.events();
        assert!((1..=2).contains(&events.len()), "{events:?}");
        assert!(events.iter().all(|event| *event == events[0]), "{events:?}");
        assert_eq!(keepings(&world, "job").len(), 2);
        world.until_nothing_runs();
    });
}

/// The pids that doorbell commands wrote to a file.
fn rung_by(path: &Path) -> Vec<i32> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// The new keeper ends its predecessor's doorbell command.
#[test]
fn two_keepers_never_ring_at_once() {
    for both in [false, true] {
        let world = World::new();
        let (pids, fifo) = (world.path("pids"), world.path("fifo"));
        make_fifo(&fifo);
        // Held open, so that opening it does not block when the other end is missing.
        let held = File::options().read(true).write(true).open(&fifo).unwrap();
        let bell = format!(
            "echo $$ >> {}; read -r line < {}",
            pids.display(),
            fifo.display()
        );
        let id = world.ok(&["run", "--on-end", &bell, "--", "true"]);
        until("it rings", || rung_by(&pids).len() == 1);
        match both {
            true => world.kill_both(&id),
            false => kill_for_good(world.pair(&id).keeper),
        }
        world.show(&id);
        until("it rings again", || rung_by(&pids).len() == 2);
        if !both {
            until("the first is gone", || !is_alive(rung_by(&pids)[0]));
        }
        (&held).write_all(b"go\ngo\n").unwrap();
        until_stands(&world, &id, "rung", 1);
        world.until_over(&id);
    }
}

/// A keeper without a standby rings too.
#[test]
fn a_keeper_alone_rings() {
    let world = World::new();
    let heard = Heard::new(&world);
    let script = outlive_testkit::scripts::loop_until(&world.path("go"));
    let args = ["run", "--on-end", &heard.command(), "--shell", &script];
    let id = world.ok(&args);
    kill_for_good(world.pair(&id).standby.unwrap());
    fs::write(world.path("go"), "").unwrap();
    world.until_over(&id);
    assert_eq!(heard.events().len(), 1);
    assert_eq!(standing(&world, &id)["state"], "rung");
}
