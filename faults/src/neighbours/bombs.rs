//! Jobs that fork without end. A limit on processes includes their keepers.

use super::{bystander_is_unharmed, is_clear, start_bystander, until_written};
use crate::invariants::nothing_is_left;
use crate::row::{Context, Row, Tried};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// So few that nothing else on the machine is harmed. The job uses all of them.
const MAX_PROCESSES: usize = 64;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "neighbour: forks without end",
        promise: "its keepers still work, and stop ends every process of the job",
        run,
    }]
}

fn run(context: &Context) -> Tried {
    if let Some(not_run) = Tried::unless_root() {
        return not_run;
    }
    let count = if context.is_long { 5 } else { 1 };
    context.try_cases_at_once(1, (1..=count).collect::<Vec<usize>>(), count, |_| {
        check(context)
    })
}

/// A control group that limits its processes to [`MAX_PROCESSES`].
struct Group(PathBuf);

impl Group {
    fn new() -> Result<Group, String> {
        let own = format!("outlive-faults-{}", std::process::id());
        let places = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
        for place in places {
            let path = PathBuf::from(place).join(&own);
            if fs::create_dir(&path).is_ok() {
                let group = Group(path);
                match fs::write(group.0.join("pids.max"), MAX_PROCESSES.to_string()) {
                    Ok(()) => return Ok(group),
                    Err(_) => drop(group),
                }
            }
        }
        Err("no cgroup with a limit of processes can be made here; run as root".to_owned())
    }

    fn count(&self) -> usize {
        let pids = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        pids.lines().count()
    }

    /// The same command, started inside this group.
    fn within(&self, command: &Command) -> Command {
        let mut inside = Command::new("sh");
        let enter = format!(
            "echo $$ > '{}/cgroup.procs' && exec \"$@\"",
            self.0.display()
        );
        inside
            .args(["-c", &enter, "sh"])
            .arg(command.get_program())
            .args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(key, value),
                None => inside.env_remove(key),
            };
        }
        inside
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The group can be removed only after the zombies in it have been reaped.
        let _ = try_until("the group is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

fn check(context: &Context) -> Result<(), String> {
    let group = Group::new()?;
    let world = context.world()?;
    start_bystander(&world)?;
    // Each child leaves its session and its parent, and starts more children at once.
    let script = "echo begun; bomb() { while :; do (setsid sh -c 'sleep 5' &) 2> /dev/null; bomb & \
                  sleep 0.02; done; }; bomb 2> /dev/null";
    let run = world.command(["run", "--id", "job", "--grace", "200ms", "--shell", script]);
    let started = Ran::try_of(&mut group.within(&run))?;
    if started.code != 0 {
        return Err(format!("it could not be started: {started}"));
    }
    until_written(&world, "job", "begun")?;
    try_until("the group is full", || group.count() >= MAX_PROCESSES - 2)?;
    for args in [&["show", "job"][..], &["list"], &["log", "job"]] {
        let ran = world.try_outlive(args)?;
        is_clear(&ran, args[0])?;
        if ran.code != 0 {
            return Err(format!("{args:?} failed beside it: {ran}"));
        }
    }
    // A client inside the full group cannot start processes either. It may fail, but must say why.
    is_clear(
        &Ran::try_of(&mut group.within(&world.command(["show", "job"])))?,
        "show within",
    )?;
    world.try_ok(&["stop", "job"])?;
    let job = world.try_json(&["show", "job", "--json"])?;
    if job["state"] != "ended" || job["ended_by"] != "stop" {
        return Err(format!("it was not stopped: {job}"));
    }
    try_until("none of it is left", || group.count() == 0)?;
    bystander_is_unharmed(&world)?;
    nothing_is_left(&world)
}
