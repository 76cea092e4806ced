//! Instances and images of Apptainer, which share the home directory of the user with this machine.

use outlive_testkit::checks::{assert_same_bytes, exited};
use outlive_testkit::couriers::far_ends_at;
use outlive_testkit::places::apptainer::Apptainer;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Apptainer, a home here, and a home directory that both share.
struct Site {
    apptainer: Apptainer,
    world: World,
    /// The names of the instances of this test.
    names: Vec<String>,
}

impl Site {
    /// A site with so many instances.
    fn with(count: usize) -> Site {
        let world = World::new();
        let apptainer = Apptainer::prepare(&world.path("")).unwrap();
        let mark = world
            .path("")
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let site = Site {
            apptainer,
            names: (0..count)
                .map(|number| format!("{mark}-{number}"))
                .collect(),
            world,
        };
        fs::create_dir(site.shared("")).unwrap();
        for name in &site.names {
            site.begin(name);
        }
        site
    }

    fn begin(&self, name: &str) {
        self.apptainer.begin(name, &self.shared("")).unwrap();
    }

    /// A file in the directory that is shared.
    fn shared(&self, name: &str) -> PathBuf {
        self.world.path("there").join(name)
    }

    fn outlive(&self, args: &[&str]) -> Ran {
        let mut command = self.world.command(args);
        self.apptainer.give_environment(&mut command);
        Ran::of(command.env("HOME", self.shared("")))
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let ran = self.outlive(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.text()
    }

    #[track_caller]
    fn show(&self, id: &str) -> Value {
        serde_json::from_str(&self.ok(&["show", id, "--json"])).unwrap()
    }

    fn place(&self, number: usize) -> String {
        format!("apptainer:instance://{}", self.names[number])
    }

    /// Starts a job that prints, waits for a file, prints again, and exits with 7.
    #[track_caller]
    fn start(&self, number: usize, id: &str) {
        let go = self.shared(&format!("go-{id}"));
        let script = format!(
            "seq 1 1000; until [ -e '{}' ]; do sleep 0.05; done; seq 1001 2000; exit 7",
            go.display()
        );
        let place = self.place(number);
        let args = ["run", "--id", id, "--session", "s", "--place", &place];
        self.ok(&[&args[..], &["--shell", &script]].concat());
    }

    fn let_go(&self, id: &str) {
        fs::write(self.shared(&format!("go-{id}")), "").unwrap();
    }

    /// The ends that session `s` has not been told of.
    #[track_caller]
    fn told(&self) -> Vec<String> {
        let inbox = self.ok(&["inbox", "--session", "s", "--json", "--ack-all"]);
        let inbox: Value = serde_json::from_str(&inbox).unwrap();
        let ends = inbox["events"].as_array().unwrap().iter();
        let ends = ends.filter(|event| event["kind"] == "ended");
        ends.map(|event| {
            let outcome = event["data"]["outcome"]["kind"].as_str().unwrap();
            format!("{} {outcome}", event["job"].as_str().unwrap())
        })
        .collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.world.kill_couriers();
        for name in &self.names {
            self.apptainer.stop(name);
        }
    }
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_stopped_instance_takes_its_jobs_with_it() {
    needs!(Apptainer);
    let site = Site::with(1);
    site.start(0, "job");
    site.apptainer.stop(&site.names[0]);
    let waited = site.outlive(&["wait", "job", "--timeout", "30s"]);
    assert_ne!(waited.code, 124, "{waited:?}");
    let job = site.show("job");
    assert_eq!(job["outcome"]["kind"], "lost", "{job}");
    assert_eq!(job["ended_by"], "place", "{job}");
    let reason = job["outcome"]["reason"].as_str().unwrap();
    assert!(reason.contains("has ended"), "{reason}");
    assert_eq!(site.told(), ["job lost"]);
    let refused = site.outlive(&["run", "--place", &site.place(0), "--", "true"]);
    assert_eq!(refused.code, 125, "{refused:?}");
    assert!(refused.stderr.contains("no instance"), "{refused:?}");
}

/// Its journal is on a disk that this machine has.
#[test]
#[ignore = "cargo xtask places runs it"]
fn an_end_that_nobody_heard_is_read_from_the_shared_disk() {
    needs!(Apptainer);
    let site = Site::with(1);
    site.start(0, "job");
    site.world.kill_couriers();
    until("no far end is left", || {
        far_ends_at(&site.shared("")).is_empty()
    });
    site.let_go("job");
    let jobs = site
        .shared(".local/state/outlive-at")
        .join(&site.names[0])
        .join("jobs/job/journal");
    until("it has ended there", || {
        fs::read_to_string(&jobs).unwrap().contains("\"closed\"")
    });
    site.apptainer.stop(&site.names[0]);
    let waited = site.outlive(&["wait", "job", "--timeout", "30s"]);
    assert_eq!(waited.code, 7, "{waited:?}");
    assert_eq!(site.show("job")["outcome"], exited(7));
    assert_eq!(site.told(), ["job exited"]);
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn an_instance_of_the_same_name_settles_the_jobs_before_it() {
    needs!(Apptainer);
    let site = Site::with(1);
    site.start(0, "job");
    site.apptainer.stop(&site.names[0]);
    site.begin(&site.names[0]);
    site.start(0, "next");
    let waited = site.outlive(&["wait", "job", "--timeout", "30s"]);
    assert_ne!(waited.code, 124, "{waited:?}");
    assert_eq!(site.show("job")["outcome"]["kind"], "lost");
    // Its output is still there.
    assert!(site.ok(&["log", "job", "--peek"]).ends_with("1000"));
    assert_eq!(site.told(), ["job lost"]);
    site.let_go("next");
    assert_eq!(site.outlive(&["wait", "next"]).code, 7);
    let log = site.outlive(&["log", "next", "--raw", "--peek", "--bytes", "0:"]);
    assert_same_bytes("next", &log.bytes, &numbers(2000));
}

/// Three hosts of processes share one home directory: this machine and two instances. Pids of one mean others at the
/// next.
#[test]
#[ignore = "cargo xtask places runs it"]
fn a_shared_home_directory_is_not_confused() {
    needs!(Apptainer);
    let site = Site::with(2);
    for (number, id) in [(0, "first"), (1, "second")] {
        site.start(number, id);
    }
    // A user of this machine with the usual home in the same directory.
    let mut local = site
        .world
        .command(["run", "--id", "local", "--", "sleep", "1000"]);
    local
        .env("HOME", site.shared(""))
        .env_remove("OUTLIVE_HOME");
    let ran = Ran::of(local.env_remove("XDG_STATE_HOME"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let homes = site.shared(".local/state/outlive-at");
    for (number, id) in [(0, "first"), (1, "second")] {
        let jobs = homes.join(&site.names[number]).join("jobs");
        let found: Vec<_> = fs::read_dir(jobs).unwrap().flatten().collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].file_name(), *id);
    }
    let mut list = site.world.command(["list", "--json"]);
    let ran = Ran::of(list.env("HOME", site.shared("")).env_remove("OUTLIVE_HOME"));
    assert!(
        ran.stdout.contains("\"local\"") && !ran.stdout.contains("first"),
        "{ran:?}"
    );
    let mut stop = site.world.command(["stop", "local"]);
    let ran = Ran::of(stop.env("HOME", site.shared("")).env_remove("OUTLIVE_HOME"));
    assert_eq!(ran.code, 0, "{ran:?}");
    site.world.kill_couriers();
    for id in ["first", "second"] {
        assert_eq!(site.show(id)["state"], "running");
        site.let_go(id);
        assert_eq!(site.outlive(&["wait", id]).code, 7);
    }
    let mut told = site.told();
    told.sort();
    assert_eq!(told, ["first exited", "second exited"]);
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_job_of_an_image_is_one_of_this_machine() {
    needs!(Apptainer);
    let site = Site::with(0);
    let image = site.apptainer.image().unwrap();
    let place = format!("apptainer:{}", image.display());
    let script = "echo $NAMED; cat /proc/1/comm; ls /.singularity.d >/dev/null && exit 6";
    let args = [
        "run",
        "--place",
        &place,
        "--env",
        "NAMED=yes",
        "--id",
        "job",
    ];
    site.ok(&[&args[..], &["--shell", script]].concat());
    assert_eq!(site.outlive(&["wait", "job"]).code, 6);
    let log = site.ok(&["log", "job", "--peek"]);
    let first = fs::read_to_string("/proc/1/comm").unwrap();
    assert_eq!(
        log,
        format!("yes\n{}", first.trim()),
        "it has no PID namespace of its own"
    );
    // The whole tree is stopped, also after both keepers were killed.
    let args = ["run", "--place", &place, "--id", "tree", "--shell"];
    let tree = "setsid sleep 1000 & (setsid sleep 1000 &); echo up; exec sleep 1000";
    site.ok(&[&args[..], &[tree]].concat());
    until("it is up", || site.ok(&["log", "tree", "--peek"]) == "up");
    site.world.kill_both("tree");
    let job = site.ok(&["stop", "tree", "--json"]);
    assert!(job.contains("\"stop\""), "{job}");
    site.world.until_nothing_runs();
    let refused = site.outlive(&[
        "run",
        "--place",
        "apptainer:/nowhere.sif",
        "--wait",
        "--",
        "true",
    ]);
    assert_ne!(refused.code, 0, "{refused:?}");
    let check = site.outlive(&["place", "check", &place]);
    assert!(check.stdout.contains("container of its own"), "{check:?}");
}
