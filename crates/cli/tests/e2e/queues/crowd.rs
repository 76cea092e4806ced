//! Many jobs in one queue.

use super::{assert_queue_is_empty, queued, runner};
use outlive_testkit::processes::kill;
use outlive_testkit::scripts::let_go;
use outlive_testkit::world::World;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const JOBS: usize = 200;
const WIDTH: usize = 3;

/// Where jobs note that they run.
struct Marks {
    running: PathBuf,
    counts: PathBuf,
    ran: PathBuf,
}

impl Marks {
    fn new(world: &World) -> Marks {
        let [running, counts, ran] = ["running", "counts", "ran"].map(|name| world.path(name));
        fs::create_dir(&running).unwrap();
        Marks {
            running,
            counts,
            ran,
        }
    }

    /// A job that notes how many run beside it.
    fn script(&self, number: usize) -> String {
        let [running, counts, ran] =
            [&self.running, &self.counts, &self.ran].map(|path| path.display());
        format!(
            "echo {number} >> {ran}; : > {running}/{number}; set -- {running}/*; echo $# >> {counts}; \
             sleep 0.01; rm {running}/{number}"
        )
    }

    fn numbers(path: &PathBuf) -> Vec<usize> {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    fn assert_never_too_many(&self) {
        let most = Marks::numbers(&self.counts).into_iter().max();
        assert!(most <= Some(WIDTH), "{most:?} ran at once");
    }
}

fn start_all(world: &World, marks: &Marks) -> Vec<String> {
    (0..JOBS)
        .map(|number| queued(world, "q", &marks.script(number)))
        .collect()
}

#[test]
fn a_crowd_runs_in_order_and_never_more_than_the_width() {
    let world = World::new();
    let marks = Marks::new(&world);
    for _ in 0..WIDTH {
        runner(&world, &format!("q:{WIDTH}"));
    }
    let ids = start_all(&world, &marks);
    let_go(&world);
    for id in &ids {
        super::assert_ran_once(&world, id);
    }
    marks.assert_never_too_many();
    // A job whose turn has come may be slow to start, and others that run beside it write first.
    for (place, number) in Marks::numbers(&marks.ran).into_iter().enumerate() {
        assert!(
            place.abs_diff(number) < 10 * WIDTH,
            "job {number} ran as number {place}"
        );
    }
    assert_queue_is_empty(&world);
}

/// While the queue runs, keepers of its jobs are killed at random, sometimes both of one job.
#[test]
fn a_crowd_whose_keepers_are_killed_runs_once_each_and_never_too_many() {
    let world = World::new();
    let marks = Marks::new(&world);
    for _ in 0..WIDTH {
        runner(&world, &format!("q:{WIDTH}"));
    }
    let ids = start_all(&world, &marks);
    let is_over = AtomicBool::new(false);
    let killed = thread::scope(|scope| {
        let killer = scope.spawn(|| kill_at_random(&world, &ids, &marks, &is_over));
        let_go(&world);
        for id in &ids {
            world.outlive(&["wait", id, "--json"]);
        }
        is_over.store(true, Ordering::Relaxed);
        killer.join().unwrap()
    });
    assert!(killed > 20, "only {killed} were killed");
    marks.assert_never_too_many();
    let mut ran = Marks::numbers(&marks.ran);
    let all = ran.len();
    ran.sort_unstable();
    ran.dedup();
    assert_eq!(ran.len(), all, "one ran twice");
    for (number, id) in ids.iter().enumerate() {
        let kind = world.show(id)["outcome"]["kind"].clone();
        // A job that lost both keepers in the line has not run, and says so.
        assert_eq!(
            kind == "not_started",
            ran.binary_search(&number).is_err(),
            "{id}: {kind}"
        );
        assert!(
            ["exited", "lost", "not_started"]
                .iter()
                .any(|known| kind == *known),
            "{id}: {kind}"
        );
    }
    let lost_place = JOBS - ran.len();
    assert!(
        lost_place <= killed / 4,
        "{lost_place} of {killed} did not run"
    );
    world.until_nothing_runs();
}

/// Kills keepers of jobs that run or wait near the front, again and again; returns how often.
fn kill_at_random(world: &World, ids: &[String], marks: &Marks, is_over: &AtomicBool) -> usize {
    let mut killed = 0;
    let mut random: usize = 0x9e37_79b9;
    while !is_over.load(Ordering::Relaxed) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let begun = Marks::numbers(&marks.ran).len();
        let from = begun.saturating_sub(WIDTH);
        let pair = world.pair(&ids[(from + random % 8).min(JOBS - 1)]);
        let whom = match random / 8 % 4 {
            0 => vec![Some(pair.keeper), pair.standby],
            1 => vec![pair.standby],
            _ => vec![Some(pair.keeper)],
        };
        for pid in whom.into_iter().flatten().filter(is_keeper) {
            kill(pid, 9);
            killed += 1;
        }
        thread::sleep(Duration::from_millis(10));
    }
    killed
}

/// The journal may name a process that is gone, and another one may have its number.
fn is_keeper(pid: &i32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("outlive-keeper")
}
