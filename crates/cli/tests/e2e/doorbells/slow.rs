//! A slow doorbell delays nothing else.

use super::{command_bell, configure, standing, until_stands};
use outlive_testkit::gate::make_fifo;
use outlive_testkit::processes::{begin, is_alive, pid_in};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::path::PathBuf;

/// A doorbell that does not return until the test writes to its pipe.
struct Slow {
    fifo: PathBuf,
    pid: PathBuf,
}

impl Slow {
    fn new(world: &World) -> Slow {
        let (fifo, pid) = (world.path("fifo"), world.path("pid"));
        make_fifo(&fifo);
        Slow { fifo, pid }
    }

    fn command(&self) -> String {
        let (pid, fifo) = (self.pid.display(), self.fifo.display());
        format!("echo $$ > {pid}.new; mv {pid}.new {pid}; read -r line < {fifo}")
    }

    fn until_rings(&self) -> i32 {
        until("it rings", || self.pid.exists());
        pid_in(&self.pid)
    }

    fn let_go(&self) {
        fs::write(&self.fifo, "go\n").unwrap();
    }
}

#[test]
fn the_end_is_known_while_a_doorbell_rings() {
    let world = World::new();
    let slow = Slow::new(&world);
    let bell = slow.command();
    let run = ["run", "--id", "job", "--on-end", &bell, "--wait"];
    let ran = Ran::of(world.command(run).args(["--shell", "echo hi; exit 3"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "hi\n"), "{ran:?}");
    let ringing = slow.until_rings();
    let job = world.wait("job");
    assert_eq!(
        (&job["state"], &job["exit_code"]),
        (&json!("ended"), &json!(3))
    );
    assert_eq!(job["lingering"], 0, "{job}");
    assert_eq!(world.ok(&["log", "job", "--follow"]), "hi");
    let waiting = json!({ "name": "on-end", "state": "waiting", "attempts": 0 });
    assert_eq!(standing(&world, "job"), waiting);
    let shown = world.ok(&["show", "job"]);
    assert!(shown.contains("doorbell  on-end being rung\n"), "{shown}");
    // The command of the doorbell is no process of the job: these verbs do not end it, and it protects the job's
    // record.
    world.ok(&["stop", "job"]);
    world.ok(&["signal", "job", "KILL"]);
    world.ok(&["prune", "--all", "--force"]);
    assert!(is_alive(ringing));
    assert_eq!(world.listed(&[]), ["job"]);
    slow.let_go();
    until_stands(&world, "job", "rung", 1);
    world.until_over("job");
    world.ok(&["prune", "--all", "--force"]);
    assert_eq!(world.listed(&[]), [""; 0]);
}

/// The end is in the journal before the doorbell rings.
#[test]
fn a_doorbell_rings_after_the_end_is_recorded() {
    let world = World::new();
    let said = world.path("said");
    let journal = world.job_dir("job").join("journal");
    let bell = format!(
        "grep -c '\"ended\"' {} > {}",
        journal.display(),
        said.display()
    );
    world.ok(&["run", "--id", "job", "--on-end", &bell, "--", "true"]);
    world.until_over("job");
    assert_eq!(fs::read_to_string(said).unwrap(), "1\n");
}

#[test]
fn the_inbox_does_not_wait_for_a_doorbell() {
    let world = World::new();
    let slow = Slow::new(&world);
    let bell = slow.command();
    let session = ["--session", "s"];
    let args = [&["run", "--on-end", &bell], &session[..], &["--", "true"]];
    let id = world.ok(&args.concat());
    slow.until_rings();
    let inbox = ["inbox", "--session", "s", "--wait=30s", "--format", "json"];
    let told = Ran::end_of(begin(world.command(inbox)));
    assert!(told.stdout.contains(&format!("\"{id}:")), "{told:?}");
    slow.let_go();
    world.until_over(&id);
}

/// A doorbell command that hangs is killed with its process group, and counts as failed.
#[test]
fn a_doorbell_that_hangs_is_killed_with_its_group() {
    let world = World::new();
    let pids = world.path("pids");
    let command = format!("sleep 60 & echo $$ $! > {}; wait", pids.display());
    configure(&world, &command_bell(&command, "timeout = \"300ms\""));
    let id = world.ok(&["run", "--", "true"]);
    until("it has failed", || standing(&world, &id)["attempts"] == 1);
    let bell = standing(&world, &id);
    assert_eq!(bell["state"], "waiting", "{bell}");
    let failure = bell["failure"].as_str().unwrap();
    assert_eq!(failure, "took longer than 300ms, and was killed");
    let text = fs::read_to_string(pids).unwrap();
    for pid in text.split_whitespace() {
        let pid = pid.parse().unwrap();
        until("it is gone", || !is_alive(pid));
    }
}

/// A process that `stop` cannot reach holds the output open. The job does not wait for it, neither before nor after
/// the doorbell.
#[test]
fn a_stopped_job_is_over_once_it_has_rung_though_its_output_is_held_open() {
    let world = World::new();
    let slow = Slow::new(&world);
    let id = world.ok(&["run", "--on-end", &slow.command(), "--", "sleep", "60"]);
    let output = format!("/proc/{}/fd/1", world.leader(&id));
    let held = OpenOptions::new().write(true).open(output).unwrap();
    world.ok(&["stop", &id]);
    slow.until_rings();
    slow.let_go();
    world.until_over(&id);
    assert_eq!(standing(&world, &id)["state"], "rung");
    drop(held);
}
