//! A limit on processes, and homes that belong to another user or cannot be written.

use super::{assert_clear_error, assert_whole_or_refused, leaders};
use outlive_sys::tree;
use outlive_testkit::programs::copy_program;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::process::Command;

/// A user who owns nothing outside this world.
struct User<'a> {
    world: &'a World,
    id: u32,
}

impl<'a> User<'a> {
    fn new(world: &'a World) -> User<'a> {
        // A limit on processes counts all processes of a user, so each test has a user of its own.
        let id = 100_000 + std::process::id() % 1_000_000;
        let public = fs::Permissions::from_mode(0o711);
        fs::set_permissions(world.path("."), public).unwrap();
        fs::create_dir(world.path("bin")).unwrap();
        for (name, path) in [
            ("outlive", outlive_testkit::programs::outlive()),
            ("outlive-keeper", outlive_testkit::programs::keeper()),
        ] {
            copy_program(path, &world.path("bin").join(name));
        }
        User { world, id }
    }

    /// A user with a home.
    fn settled(world: &'a World) -> User<'a> {
        let user = User::new(world);
        fs::create_dir(world.home()).unwrap();
        user.owns(&world.home());
        user
    }

    fn owns(&self, path: &Path) {
        chown(path, Some(self.id), Some(self.id)).unwrap();
    }

    /// Runs `outlive` as this user, behind these words (such as `prlimit …`).
    fn command(&self, before: &[&str], args: &[&str]) -> Command {
        let user = [
            format!("--reuid={}", self.id),
            format!("--regid={}", self.id),
        ];
        let mut command = self.world.within("setpriv", user);
        command
            .arg("--clear-groups")
            .args(before)
            .arg(self.world.path("bin/outlive"))
            .args(args)
            .current_dir("/");
        command
    }

    fn outlive(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(&[], args))
    }

    /// How many processes count against this user's limit. Zombies count too.
    fn processes(&self) -> usize {
        let own = |pid: &i32| {
            fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == self.id)
                || fs::read_to_string(format!("/proc/{pid}/status"))
                    .is_ok_and(|status| status.contains(&format!("Uid:\t{}\t", self.id)))
        };
        let all = tree::all().unwrap();
        all.iter().filter(|pid| own(pid)).count()
    }
}

#[test]
fn a_launch_with_few_processes_is_whole_or_refused() {
    needs!(Root);
    let world = World::new();
    let user = User::settled(&world);
    let ran = user.outlive(&["run", "--id", "other", "--", "sleep", "60"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let others = world.processes();
    assert_eq!(others.len(), 3);
    let mut codes = Vec::new();
    for more in 1..=5 {
        let id = format!("n{more}");
        let limit = format!("--nproc={0}:{0}", user.processes() + more);
        let args = ["run", "--id", &id, "--", "sh", "-c", "exit 5"];
        let ran = Ran::of(&mut user.command(&["prlimit", &limit], &args));
        assert_whole_or_refused(&ran, &id, |args| user.outlive(args), &limit);
        codes.push(ran.code);
        until(&format!("only the other job is left, {limit}"), || {
            world.processes().len() == others.len()
        });
    }
    // Launcher, standby, keeper and leader are four processes. Zombies that are not reaped yet may count as well.
    assert_eq!((codes[0], codes[4]), (125, 0), "{codes:?}");
    assert_eq!(world.processes(), others);
    let shown = user.outlive(&["show", "other", "--json"]);
    assert!(shown.stdout.contains("\"state\":\"running\""), "{shown:?}");
}

#[test]
fn an_adoption_without_processes_left_is_an_error_and_harms_nothing() {
    needs!(Root);
    let world = World::new();
    let user = User::settled(&world);
    let script = format!("{}; exit 5", loop_until(&world.path("go")));
    let ran = user.outlive(&["run", "--id", "x", "--shell", &script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    world.kill_both("x");
    let show = ["show", "x", "--json"];
    let ran = Ran::of(&mut user.command(&["prlimit", "--nproc=1:1"], &show));
    assert_clear_error(&ran);
    assert_eq!(ran.code, 125);
    let ran = user.outlive(&show);
    assert!(ran.stdout.contains("\"state\":\"running\""), "{ran:?}");
    File::create(world.path("go")).unwrap();
    assert_eq!(user.outlive(&["wait", "x"]).code, 5);
}

#[test]
fn an_unwritable_home_is_a_clear_error() {
    needs!(Root);
    let world = World::new();
    let user = User::new(&world);
    // The directory of the home belongs to another user.
    let ran = user.outlive(&["run", "--", "true"]);
    assert_clear_error(&ran);
    assert_eq!(ran.code, 125);
    assert!(
        ran.stderr.contains(world.home().to_str().unwrap()),
        "{ran:?}"
    );
    assert!(!world.home().exists());

    fs::create_dir(world.home()).unwrap();
    user.owns(&world.home());
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o500)).unwrap();
    let ran = user.outlive(&["run", "--", "true"]);
    assert_clear_error(&ran);
    assert_eq!(ran.code, 125);
    assert!(ran.stderr.contains("ermission denied"), "{ran:?}");
    assert_eq!(user.outlive(&["list"]).code, 0);
    assert_eq!(user.outlive(&["show", "x"]).code, 3);
}

#[test]
fn a_home_whose_parts_became_unwritable_is_a_clear_error_and_the_jobs_in_it_live() {
    needs!(Root);
    let world = World::new();
    let user = User::settled(&world);
    let script = format!("{}; exit 5", loop_until(&world.path("go")));
    assert_eq!(
        user.outlive(&["run", "--id", "x", "--shell", &script]).code,
        0
    );
    for part in ["jobs", "live"] {
        let path = world.home().join(part);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o500)).unwrap();
        let ran = user.outlive(&["run", "--id", "y", "--", "sleep", "60"]);
        assert_clear_error(&ran);
        assert!(ran.stderr.contains(path.to_str().unwrap()), "{ran:?}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        until("only the first job runs", || leaders(&world) == ["x"]);
        let shown = user.outlive(&["show", "y", "--json"]);
        assert!(
            shown.code == 3 || shown.stdout.contains("not_started"),
            "{shown:?}"
        );
    }
    File::create(world.path("go")).unwrap();
    assert_eq!(user.outlive(&["wait", "x"]).code, 5);
}

#[test]
fn a_home_that_is_no_directory_is_a_clear_error() {
    let world = World::new();
    fs::write(world.home(), "a file").unwrap();
    for args in [&["run", "--", "true"][..], &["list"]] {
        let ran = world.outlive(args);
        assert_clear_error(&ran);
        assert_eq!(ran.code, 125, "{args:?}");
    }
    assert_eq!(fs::read(world.home()).unwrap(), b"a file");
}

#[test]
fn a_home_of_another_user_is_refused_by_every_verb() {
    needs!(Root);
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let user = User::new(&world);
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o777)).unwrap();
    for args in [
        &["run", "--", "true"][..],
        &["list"],
        &["show", &id],
        &["log", &id],
        &["wait", &id],
        &["stop", &id],
        &["signal", &id, "KILL"],
        &["prune"],
        &["detach", "/dev/null", "--", "true"],
    ] {
        let ran = user.outlive(args);
        assert_clear_error(&ran);
        assert_eq!(ran.code, 125, "{args:?}");
        assert!(ran.stderr.contains("another user"), "{ran:?}");
    }
    // The owner cannot use the home either, as long as others may write to it.
    let ran = world.outlive(&["show", &id]);
    assert_clear_error(&ran);
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(world.show(&id)["state"], "running");
    // The mode is private again.
    let mode = fs::metadata(world.home()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Otherwise another user, who may write beside the home, could make us create a home in any of our directories.
#[test]
fn a_link_that_another_user_put_in_the_place_of_the_home_is_refused() {
    needs!(Root);
    let world = World::new();
    let own = world.path("own");
    fs::create_dir(&own).unwrap();
    symlink(&own, world.home()).unwrap();
    // A link that the user made is followed.
    assert_eq!(world.outlive(&["run", "--", "true"]).code, 0);
    lchown(world.home(), Some(65_534), Some(65_534)).unwrap();
    for args in [&["run", "--", "true"][..], &["list"], &["prune", "--all"]] {
        let ran = world.outlive(args);
        assert_clear_error(&ran);
        assert_eq!(ran.code, 125, "{args:?}");
        assert!(ran.stderr.contains("another user"), "{ran:?}");
    }
}

/// A directory may be impossible to empty, for example.
#[test]
fn a_job_that_cannot_be_removed_is_reported_and_blocks_no_other() {
    needs!(Root);
    let world = World::new();
    let user = User::settled(&world);
    for id in ["a", "b", "c"] {
        assert_eq!(
            user.outlive(&["run", "--id", id, "--wait", "--", "true"])
                .code,
            0
        );
        world.until_over(id);
    }
    let path = world.job_dir("b");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o500)).unwrap();
    let ran = user.outlive(&["prune", "--all", "--json"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    // The job no longer exists, so it does not count as kept. Only its files are left.
    assert_eq!(answer["removed"], serde_json::json!(["a", "b", "c"]));
    assert_eq!(user.outlive(&["show", "b"]).code, 3);
    let left = answer["left_behind"].as_array().unwrap();
    let [left] = left.as_slice() else {
        panic!("{answer}")
    };
    let left = left.as_str().unwrap();
    assert!(
        Path::new(left).is_dir() && ran.stderr.contains(left),
        "{ran:?}"
    );
    fs::set_permissions(left, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(user.outlive(&["prune", "--all"]).code, 0);
    assert!(!Path::new(left).exists());
}

#[test]
fn one_post_that_cannot_be_removed_hides_nothing_of_what_a_prune_did() {
    needs!(Root);
    let world = World::new();
    let user = User::settled(&world);
    let run = ["run", "--session", "me", "--id", "a", "--", "true"];
    assert_eq!(user.outlive(&run).code, 0);
    world.until_over("a");
    for id in ["p", "q"] {
        let path = world.path(id);
        fs::write(&path, r#"{"summary":"done"}"#).unwrap();
        let path = path.to_str().unwrap();
        let ran = user.outlive(&["post", "--session", "me", "--id", id, path]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    // This post can neither be read nor removed.
    let path = world.home().join("posts/p");
    fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    let ran = user.outlive(&["prune", "--all", "--force", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["removed"], serde_json::json!(["a"]), "{ran:?}");
    let posts = answer["removed_posts"].as_array().unwrap();
    assert!(posts.contains(&serde_json::json!("q")), "{ran:?}");
    // The answer lists what nobody will be told of any more: the end of the job, and the post.
    assert!(answer["dropped"].as_array().unwrap().len() >= 2, "{ran:?}");
    assert_eq!(ran.code, 125, "{ran:?}");
    assert_eq!(answer["failed"], serde_json::json!(["p"]), "{ran:?}");
}

/// As in shells: a directory of the PATH that may not be searched does not count as having the program.
#[test]
fn a_program_is_not_said_to_be_in_a_directory_of_path_that_may_not_be_searched() {
    needs!(Root);
    let world = World::new();
    let user = User::settled(&world);
    let closed = world.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let run = |program: &str| {
        let path = format!("{}:/usr/bin:/bin", closed.display());
        Ran::of(
            user.command(&[], &["run", "--wait", "--", program])
                .env("PATH", path),
        )
    };
    assert_eq!(run("no-such-program-anywhere").code, 127);
    assert_eq!(run("true").code, 0);
    let inside = closed.join("it");
    assert_eq!(run(inside.to_str().unwrap()).code, 126);
}
