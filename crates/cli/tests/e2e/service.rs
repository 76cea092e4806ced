//! A harness inside a systemd unit: stopping the unit does not stop the jobs that it started.
//!
//! Each test boots a real systemd as the first process of a new PID namespace. A unit there starts a job and is
//! then stopped, with everything in its control group. Tests of users, sessions and logouts need a whole machine:
//! `cargo xtask vm`.

use outlive_testkit::checks::{exited, keepings};
use outlive_testkit::programs::copy_program;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SYSTEMD: &str = "/lib/systemd/systemd";

/// A namespace with a systemd, which takes it for a machine of its own.
struct Machine {
    unshare: Child,
    /// The name of its control group, which is different for each test.
    group: String,
}

impl Machine {
    /// Boots systemd with two services, which run these commands.
    fn boot(world: &World, harness: &str, stopper: &str) -> Machine {
        let group = world
            .path("")
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let script = world.path("boot.sh");
        fs::write(&script, boot_script(&group, harness, stopper)).unwrap();
        let unshare = Command::new("sh")
            .args(["-c", ENTER, &group])
            .arg(&script)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Machine { unshare, group }
    }
}

/// Creates a control group named `$0` in every hierarchy where that is possible, enters it, and runs the script `$1`
/// in new namespaces.
const ENTER: &str = "
for procs in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do
    [ -e $procs ] && group=${procs%/cgroup.procs}/$0 && mkdir $group || continue
    echo $$ > $group/cgroup.procs || rmdir $group
done
exec unshare --pid --fork --kill-child --mount --uts --ipc --cgroup env container=docker sh $1
";

fn boot_script(group: &str, harness: &str, stopper: &str) -> String {
    format!(
        "set -e
mount --make-rprivate /
for own in /sys/fs/cgroup/{group} /sys/fs/cgroup/*/{group}; do
    [ ! -d $own ] || mount --bind $own ${{own%/{group}}}
done
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
cd /run/systemd/system
printf '[Unit]\\nDefaultDependencies=no\\n[Service]\\nExecStart={harness}\\n' > harness.service
printf '[Unit]\\nDefaultDependencies=no\\n[Service]\\nExecStart={stopper}\\n' > stopper.service
printf '[Unit]\\nDefaultDependencies=no\\nRequires=harness.service stopper.service\\n' > test.target
exec {SYSTEMD} --system --unit=test.target --log-target=null
"
    )
}

impl Drop for Machine {
    /// Kills the first process, and with it all others, then removes the control groups.
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
        until("its control groups are gone", || {
            let found = Command::new("find")
                .args(["/sys/fs/cgroup", "-depth", "-type", "d"])
                .args(["-path", &format!("*/{}*", self.group)])
                .args(["-print", "-exec", "rmdir", "{}", ";"])
                .stderr(Stdio::null())
                .output()
                .unwrap();
            found.stdout.is_empty()
        });
    }
}

/// Whether a second systemd can be booted here. That needs root, and no systemd that already runs.
fn can_boot() -> bool {
    let root = outlive_sys::process::own::user_id() == 0;
    root && Path::new(SYSTEMD).exists() && !outlive_sys::offers::systemd()
}

/// A world for a test, or `None` if systemd cannot be booted here.
fn world() -> Option<World> {
    if !can_boot() {
        outlive_testkit::needs::not_run(
            "it boots a systemd of its own, which takes root and no other one",
        );
        return None;
    }
    Some(World::new())
}

/// A script that waits for a file, prints `survived` and ends with 7.
fn waits(world: &World) -> String {
    let go = world.path("go");
    format!(
        "until [ -e {} ]; do sleep 0.05; done; echo survived; exit 7",
        go.display()
    )
}

/// Boots systemd with two scripts, and returns once the service of the harness is stopped. In the harness's script,
/// `$outlive` is the program. In the script that stops it, `until_started ID` waits for a job.
fn boot_and_stop(world: &World, around: &str, harness: &str, stop: &str) -> Machine {
    let home = world.home();
    let write = |name: &str, text: String| {
        let path = world.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let harness = write(
        "harness.sh",
        format!(
            "export OUTLIVE_HOME={home}\noutlive={outlive}\n{harness}\nexec sleep 300\n",
            home = home.display(),
            outlive = outlive_testkit::programs::outlive(),
        ),
    );
    let stopped = world.path("stopped");
    let stopper = write(
        "stopper.sh",
        format!(
            "until_started() {{ until grep -q started {jobs}/$1/journal; do sleep 0.05; done; }}
{stop}
echo done > {stopped}
exec sleep 300
",
            jobs = home.join("jobs").display(),
            stopped = stopped.display()
        ),
    );
    let machine = Machine::boot(
        world,
        &format!("{around} /bin/sh {harness}"),
        &format!("/bin/sh {stopper}"),
    );
    until("the unit is stopped", || stopped.exists());
    machine
}

/// Lets the job end. The keeper is in another PID namespace, where verbs of this one look only now and then, so this
/// reads the job's record.
fn assert_ends_with_7(world: &World, id: &str) {
    fs::write(world.path("go"), "").unwrap();
    until("it ends", || !world.events(id, "ended").is_empty());
    assert_eq!(world.wait(id)["outcome"], exited(7));
}

/// Lets the job end, and checks that it had survived and was started only once.
fn assert_survived(world: &World, id: &str) {
    assert_ends_with_7(world, id);
    assert_eq!(world.output(id), b"survived\n");
    assert_eq!(keepings(world, id), ["launched"]);
}

const SCOPE: &str = "/usr/bin/systemd-run --scope --unit=harness";

#[test]
fn a_job_outlives_the_service_that_started_it() {
    let Some(world) = world() else { return };
    let harness = format!("$outlive run --id inner --shell '{}'", waits(&world));
    let stop = "until_started inner; systemctl stop harness.service";
    let _machine = boot_and_stop(&world, "", &harness, stop);
    assert_survived(&world, "inner");
}

#[test]
fn a_job_outlives_the_scope_that_started_it() {
    let Some(world) = world() else { return };
    let doctor = world.path("doctor");
    let harness = format!(
        "$outlive doctor > {}; $outlive run --id inner --shell '{}'",
        doctor.display(),
        waits(&world)
    );
    let stop = "until_started inner; systemctl stop harness.scope";
    let _machine = boot_and_stop(&world, SCOPE, &harness, stop);
    assert_survived(&world, "inner");
    let said = fs::read_to_string(doctor).unwrap();
    assert!(said.contains("/harness.scope, systemd yes"), "{said}");
    assert!(said.contains("a scope of the system's"), "{said}");
}

/// Each job gets a scope of its own, named after it.
#[test]
fn a_job_outlives_the_scope_of_the_job_that_started_it() {
    let Some(world) = world() else { return };
    let inner = world.path("inner.sh");
    fs::write(
        &inner,
        format!(
            "{} run --id inner --shell '{}'; exec sleep 300",
            outlive_testkit::programs::outlive(),
            waits(&world)
        ),
    )
    .unwrap();
    let harness = format!("$outlive run --id outer sh {}", inner.display());
    let stop = "until_started inner; systemctl stop 'outlive-outer-*.scope'";
    let _machine = boot_and_stop(&world, "", &harness, stop);
    assert_survived(&world, "inner");
    until("the outer job is gone", || {
        world.show("outer")["state"] == "ended"
    });
}

/// A program without a keeper beside it runs itself as the keeper, under the keeper's name.
#[test]
fn a_program_that_is_its_own_keeper_leaves_too() {
    let Some(world) = world() else { return };
    let alone = world.path("alone");
    fs::create_dir(&alone).unwrap();
    copy_program(outlive_testkit::programs::outlive(), &alone.join("outlive"));
    let harness = format!(
        "{}/outlive run --id inner --shell '{}'",
        alone.display(),
        waits(&world)
    );
    let stop = "until_started inner; systemctl stop harness.service";
    let _machine = boot_and_stop(&world, "", &harness, stop);
    assert_survived(&world, "inner");
    let link = world.job_dir("inner").join("outlive-keeper");
    assert!(link.symlink_metadata().is_err(), "a link is left");
}

/// If systemd refuses a scope, the job starts in the control group of its launcher, and only once.
#[test]
fn a_job_runs_though_systemd_refuses_a_scope() {
    let Some(world) = world() else { return };
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let asked = world.path("asked");
    let refusing = bin.join("systemd-run");
    fs::write(
        &refusing,
        format!("#!/bin/sh\necho asked >> {}; exit 1\n", asked.display()),
    )
    .unwrap();
    fs::set_permissions(&refusing, fs::Permissions::from_mode(0o755)).unwrap();
    let harness = format!(
        "PATH={}:$PATH $outlive run --id inner --shell '{}'",
        bin.display(),
        waits(&world)
    );
    let _machine = boot_and_stop(&world, "", &harness, "until_started inner");
    assert_survived(&world, "inner");
    assert_eq!(fs::read_to_string(&asked).unwrap(), "asked\n");
}

/// What `doctor` prints about the control group, in a service where this script replaces `systemd-run`.
fn doctor_with(world: &World, systemd_run: &str) -> String {
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("systemd-run");
    fs::write(&program, format!("#!/bin/sh\n{systemd_run}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let said = world.path("doctor");
    let harness = format!(
        "PATH={}:$PATH $outlive doctor > {said}.new; mv {said}.new {said}",
        bin.display(),
        said = said.display()
    );
    let stop = format!("until [ -e {} ]; do sleep 0.05; done", said.display());
    let _machine = boot_and_stop(world, "", &harness, &stop);
    let said = fs::read_to_string(said).unwrap();
    let at = said.find("control group").unwrap();
    said[at - 7..].to_owned()
}

/// `doctor` tries to get a scope before it reports that jobs get one.
#[test]
fn doctor_says_that_systemd_refuses_a_scope() {
    let Some(world) = world() else { return };
    let said = doctor_with(&world, "echo 'Failed to start: not today' >&2; exit 1");
    assert!(said.starts_with("LESS "), "{said}");
    let reason =
        "systemd refuses a scope: Failed to start: not today; jobs stay in harness.service";
    assert!(said.contains(reason), "{said}");
    assert!(
        said.contains("a stop of this unit kills its jobs"),
        "{said}"
    );
}

/// `doctor` stops waiting after a time limit.
#[test]
fn doctor_says_that_systemd_does_not_answer() {
    let Some(world) = world() else { return };
    let said = doctor_with(&world, "exec sleep 100");
    assert!(said.starts_with("LESS "), "{said}");
    let reason = "systemd refuses a scope: no answer within 5 s; jobs stay in harness.service";
    assert!(said.contains(reason), "{said}");
}

/// Here the real systemd-run refuses, and prints its own reason.
#[test]
fn doctor_repeats_the_reason_of_systemd() {
    let Some(world) = world() else { return };
    let said = doctor_with(
        &world,
        "exec /usr/bin/systemd-run --property=NoSuchProperty=1 \"$@\"",
    );
    assert!(said.starts_with("LESS "), "{said}");
    assert!(said.contains("systemd refuses a scope: "), "{said}");
    assert!(said.contains("NoSuchProperty"), "{said}");
}

/// If keepers die in their scope, no second pair is started outside. The next verb finds them dead and adopts the job.
#[test]
fn keepers_that_die_in_their_scope_are_not_started_again_outside() {
    let Some(world) = world() else { return };
    let harness = format!(
        "$outlive run --id inner --env OUTLIVE_HOOKS=keeper:Started=kill-both --shell '{}'
until grep -q adopted $OUTLIVE_HOME/jobs/inner/journal; do $outlive show inner; done",
        waits(&world),
    );
    let stop = format!(
        "until grep -q adopted {}; do sleep 0.05; done",
        world.job_dir("inner").join("journal").display()
    );
    let _machine = boot_and_stop(&world, "", &harness, &stop);
    assert_ends_with_7(&world, "inner");
    assert_eq!(keepings(&world, "inner"), ["launched", "adopted"]);
}
