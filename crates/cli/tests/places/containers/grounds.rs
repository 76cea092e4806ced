//! What a container is like: read-only, without a shell, without a user, with few processes.

use super::{BOX, Site, rows};
use outlive_testkit::checks::exited;
use outlive_testkit::places::engine::Kind;
use outlive_testkit::places::image::Image;
use outlive_testkit::processes::state_of;
use outlive_testkit::waiting::until;
use std::fs;
use std::path::Path;

rows! {
    quick: an_image_without_a_shell_has_jobs, a_read_only_container_and_a_user_without_a_home;
    long: an_image_without_gzip_and_head, where_nothing_can_be_executed_the_fix_is_named,
        a_limit_on_processes_refuses_jobs_and_harms_none, a_first_process_that_does_not_reap_is_named,
        no_shell_and_no_disk_is_refused, secrets_are_in_no_file_and_no_argument,
}

/// Checks that a job runs and ends as it should.
#[track_caller]
fn assert_runs(site: &Site, script: &[&str], output: &str) {
    let id = site
        .world
        .ok(&[&["run", "--session", "s", "--"], script].concat());
    let job = site.world.wait(&id);
    assert_eq!(job["outcome"], exited(0), "{job}");
    assert_eq!(site.world.ok(&["log", &id]), output);
}

fn an_image_without_a_shell_has_jobs(kind: Kind) {
    let site = Site::empty(kind);
    let sleep = ["/sleep", "1000000"];
    site.engine.run(BOX, &[], Image::NoShell, &sleep).unwrap();
    assert_runs(&site, &["/sleep", "0.1"], "");
    // The program is there by now.
    site.world.kill_couriers();
    let id = site.world.ok(&["run", "--", "/sleep", "1000"]);
    let job = site.world.job(&["stop", &id, "--json"]);
    assert_eq!(job["ended_by"], "stop", "{job}");
    let shell = site.world.outlive(&["run", "--shell", "true"]);
    assert_ne!(shell.code, 0, "there is no shell for the job: {shell:?}");
}

fn no_shell_and_no_disk_is_refused(kind: Kind) {
    let site = Site::empty(kind);
    let options: &[&str] = match kind {
        Kind::Podman => &["--read-only", "--read-only-tmpfs=false"],
        Kind::Docker => &["--read-only"],
    };
    let sleep = ["/sleep", "1000000"];
    site.engine
        .run(BOX, options, Image::NoShell, &sleep)
        .unwrap();
    let refusal = site.refusal();
    assert!(refusal.contains("there is no shell in it"), "{refusal}");
    assert!(refusal.contains("far_dir"), "{refusal}");
}

fn an_image_without_gzip_and_head(kind: Kind) {
    let site = Site::empty(kind);
    let sleep = ["sleep", "1000000"];
    site.engine.run(BOX, &[], Image::Bare, &sleep).unwrap();
    assert_runs(&site, &["echo", "here"], "here");
}

fn a_read_only_container_and_a_user_without_a_home(kind: Kind) {
    let options: &[&str] = match kind {
        Kind::Podman => &["--read-only", "--user", "65534:65534"],
        Kind::Docker => &[
            "--read-only",
            "--user",
            "65534:65534",
            "--tmpfs",
            "/tmp:exec,mode=1777",
        ],
    };
    let site = Site::without_program(kind, options);
    assert_runs(&site, &["id", "-u"], "65534");
    let check = site
        .world
        .json(&["place", "check", &place(&site, ""), "--json"]);
    let answer = &check["places"][0]["answer"];
    let home = answer["home"].as_str().unwrap();
    assert!(home.contains("tmp/outlive-65534/home"), "{check}");
    // Another user of the same container has another home.
    let root = place(&site, "?user=0");
    let id = site.world.ok(&["run", "--place", &root, "--", "id", "-u"]);
    site.world.wait(&id);
    assert_eq!(site.world.ok(&["log", &id]), "0");
}

fn place(site: &Site, more: &str) -> String {
    format!("{}:{BOX}{more}", site.engine.kind.as_str())
}

fn where_nothing_can_be_executed_the_fix_is_named(kind: Kind) {
    let mut options = vec!["--read-only"];
    if kind == Kind::Podman {
        options.push("--read-only-tmpfs=false");
    }
    for directory in [
        "/tmp:noexec",
        "/var/tmp:noexec",
        "/root:noexec",
        "/programs:exec,mode=0755",
    ] {
        options.extend(["--tmpfs", directory]);
    }
    let mut site = Site::without_program(kind, &options);
    let refusal = site.refusal();
    assert!(refusal.contains("allows no programs (noexec)"), "{refusal}");
    assert!(refusal.contains("far_dir"), "{refusal}");
    site.configure("far_dir = \"/programs\"");
    assert_runs(&site, &["echo", "here"], "here");
}

fn a_limit_on_processes_refuses_jobs_and_harms_none(kind: Kind) {
    let site = Site::with(kind, &["--pids-limit", "40"]);
    site.start("first", &[]);
    let mut jobs = Vec::new();
    let refusal = loop {
        let id = format!("more-{}", jobs.len());
        let ran = site
            .world
            .outlive(&["run", "--id", &id, "--", "sleep", "1000"]);
        if ran.code != 0 {
            break ran;
        }
        let job = site.world.show(&id);
        if job["state"] != "running" {
            assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
            break ran;
        }
        jobs.push(id);
        assert!(jobs.len() < 40, "there is a limit");
    };
    assert!(jobs.len() > 2, "{refusal:?}");
    for id in &jobs {
        let stopped = site.world.outlive(&["stop", id, "--json"]);
        assert_eq!(stopped.code, 0, "{stopped:?}");
    }
    site.let_go("first");
    site.assert_exact("first");
}

fn a_first_process_that_does_not_reap_is_named(kind: Kind) {
    for (options, is_advised) in [(&[][..], true), (&["--init"], false)] {
        let site = Site::with(kind, options);
        let check = site.world.outlive(&["place", "check", &place(&site, "")]);
        assert_eq!(check.code, 0, "{check:?}");
        assert_eq!(check.stdout.contains("--init"), is_advised, "{check:?}");
        for number in 0..5 {
            let id = format!("job-{number}");
            site.world.ok(&["run", "--id", &id, "--", "true"]);
            site.world.wait(&id);
        }
        // The far end waits for the keepers that it started.
        let inside = site.inside();
        let zombies = || {
            let all = outlive_sys::tree::all().unwrap();
            let namespace = |pid: i32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
            let here = namespace(site.engine.first(BOX).unwrap());
            all.into_iter()
                .filter(|pid| namespace(*pid) == here && state_of(*pid) == Some(b'Z'))
                .count()
        };
        until("at most a zombie for each job is left", || zombies() <= 5);
        drop(inside);
        engine_is_empty(site);
    }
}

/// Two containers of this name cannot exist at the same time.
fn engine_is_empty(site: Site) {
    site.engine.remove(BOX);
}

fn secrets_are_in_no_file_and_no_argument(kind: Kind) {
    const SECRET: &str = "s3cr3t-0xdeadbeef-Zq9";
    let site = Site::with(kind, &[]);
    let script = "echo ${#TOKEN}; until [ -e /tmp/go-job ]; do sleep 0.05; done; exit 7";
    let mut run = site
        .world
        .command(["run", "--id", "job", "--session", "s", "--env", "TOKEN"]);
    run.args(["--shell", script]).env("TOKEN", SECRET);
    let ran = outlive_testkit::ran::Ran::of(&mut run);
    assert_eq!(ran.code, 0, "{ran:?}");
    until("it has started", || {
        site.world.ok(&["log", "job", "--peek"]) == SECRET.len().to_string()
    });
    let assert_nowhere = || {
        let roots = [site.world.path(""), site.inside().path(Path::new("/root"))];
        let temporary = site.inside().path(Path::new("/tmp"));
        for root in roots.iter().chain([&temporary]) {
            let found = outlive_testkit::ran::Ran::of(
                std::process::Command::new("grep")
                    .args(["-rlaF", SECRET, "--"])
                    .arg(root),
            );
            assert_eq!(found.stdout, "", "below {root:?}");
        }
        for pid in outlive_sys::tree::all().unwrap() {
            for word in outlive_sys::process::arguments(pid) {
                let has_it = String::from_utf8_lossy(&word).contains(SECRET);
                assert!(!has_it, "argument of {pid}");
            }
        }
    };
    assert_nowhere();
    site.world.kill_couriers();
    assert_eq!(site.world.show("job")["state"], "running");
    assert_nowhere();
    site.let_go("job");
    site.world.wait("job");
    assert_nowhere();
}
