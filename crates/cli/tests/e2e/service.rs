//! A harness that runs as a systemd service: stopping the service does not stop its jobs.
//!
//! A real systemd is the first process of a pid namespace of its own here; its service starts a job
//! and is then stopped with everything in its control group.

use crate::world::{World, until};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SYSTEMD: &str = "/lib/systemd/systemd";

/// A machine of its own, as far as systemd can tell.
struct Machine {
    unshare: Child,
}

impl Machine {
    fn boot(world: &World, service: &str, stopper: &str) -> Machine {
        let script = world.path("boot.sh");
        fs::write(&script, boot_script(service, stopper)).unwrap();
        let unshare = Command::new("unshare")
            .args([
                "--pid",
                "--fork",
                "--kill-child",
                "--mount",
                "--uts",
                "--ipc",
                "--cgroup",
            ])
            .args(["env", "container=docker", "sh"])
            .arg(&script)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Machine { unshare }
    }
}

fn boot_script(service: &str, stopper: &str) -> String {
    format!(
        "set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
cd /run/systemd/system
printf '[Unit]\\nDefaultDependencies=no\\n[Service]\\nExecStart=/bin/sh {service}\\n' > harness.service
printf '[Unit]\\nDefaultDependencies=no\\n[Service]\\nExecStart=/bin/sh {stopper}\\n' > stopper.service
printf '[Unit]\\nDefaultDependencies=no\\nRequires=harness.service stopper.service\\n' > test.target
exec {SYSTEMD} --system --unit=test.target --log-target=null
"
    )
}

impl Drop for Machine {
    /// Its first process goes, and everything in it; then the control groups it made.
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
        until("systemd's control groups are gone", || {
            let _ = Command::new("find")
                .args(["/sys/fs/cgroup", "-depth", "-type", "d"])
                .args([
                    "(",
                    "-path",
                    "*/system.slice*",
                    "-o",
                    "-path",
                    "*/init.scope*",
                    ")",
                ])
                .args(["-exec", "rmdir", "{}", ";"])
                .stderr(Stdio::null())
                .status();
            !Path::new("/sys/fs/cgroup/systemd/system.slice").exists()
                && !Path::new("/sys/fs/cgroup/unified/system.slice").exists()
        });
    }
}

/// Whether a second systemd can be booted here: needs root, and no first one.
fn can_boot() -> bool {
    let root = outlive_sys::own::user_id() == 0;
    root && Path::new(SYSTEMD).exists() && !outlive_sys::probe::systemd()
}

#[test]
fn a_job_outlives_the_service_that_started_it() {
    if !can_boot() {
        crate::needs::not_run("it boots a systemd of its own, which takes root and no other one");
        return;
    }
    let world = World::new();
    let outlive = env!("CARGO_BIN_EXE_outlive");
    let home = world.home();
    let stopped = world.path("stopped");
    let go = world.path("go");
    let harness = world.path("harness.sh");
    fs::write(
        &harness,
        format!(
            "export OUTLIVE_HOME={home}
{outlive} run --id inner --shell 'until [ -e {go} ]; do sleep 0.05; done; echo survived; exit 7'
exec sleep 300
",
            home = home.display(),
            go = go.display()
        ),
    )
    .unwrap();
    let stopper = world.path("stopper.sh");
    fs::write(
        &stopper,
        format!(
            "until [ -p {feed} ] && grep -q started {journal}; do sleep 0.05; done
systemctl stop harness.service
echo done > {stopped}
exec sleep 300
",
            feed = home.join("jobs/inner/feed").display(),
            journal = home.join("jobs/inner/journal").display(),
            stopped = stopped.display()
        ),
    )
    .unwrap();

    let machine = Machine::boot(&world, harness.to_str().unwrap(), stopper.to_str().unwrap());
    until("the service is stopped", || stopped.exists());
    fs::write(&go, "").unwrap();
    let job = world.wait("inner");
    assert_eq!(
        job["outcome"],
        serde_json::json!({ "kind": "exited", "code": 7 })
    );
    assert_eq!(world.output("inner"), b"survived\n");
    drop(machine);
}
