//! `run --login`, and the variables of `--plain`.

use super::of_job;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fs;
use std::path::PathBuf;

/// A home directory whose profile sets a variable and puts a program on the path.
fn with_profile(world: &World) -> PathBuf {
    let home = world.path("user");
    let bin = home.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("from-profile");
    fs::write(
        &program,
        "#!/bin/sh\necho \"$0 $FROM_PROFILE $*\"\nexit 7\n",
    )
    .unwrap();
    fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let profile =
        "export FROM_PROFILE=set\nPATH=$HOME/bin:$PATH\nlocal_function() { echo called; }\n";
    for name in [".bash_profile", ".profile"] {
        fs::write(home.join(name), profile).unwrap();
    }
    home
}

fn run(world: &World, shell: &str, args: &[&str]) -> Ran {
    let home = with_profile(world);
    let mut command = world.command([&["run", "--wait"], args].concat());
    Ran::of(command.env("HOME", home).env("SHELL", shell))
}

#[test]
fn a_login_shell_reads_the_profile_before_a_program_or_a_string() {
    let world = World::new();
    let program = world.path("user/bin/from-profile").display().to_string();
    for shell in ["/bin/bash", "/bin/dash", "/bin/sh", "/no/such/shell", ""] {
        let args = ["--login", "--", "from-profile", "a b", "$x", "-c"];
        let ran = run(&world, shell, &args);
        let expected = format!("{program} set a b $x -c\n");
        assert_eq!((ran.code, ran.stdout), (7, expected), "{shell}");
        let script = "local_function; echo $FROM_PROFILE; exit 5";
        let ran = run(&world, shell, &["--login", "--shell", script]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (5, "called\nset\n"),
            "{shell}"
        );
        // As options of the shell, these would do something else.
        let ran = run(&world, shell, &["--login", "--shell=-x; exit 5"]);
        assert_eq!(ran.code, 5, "{shell}: {ran:?}");
    }
}

#[test]
fn without_it_no_profile_is_read() {
    let world = World::new();
    let ran = run(&world, "/bin/bash", &["--", "from-profile"]);
    assert_eq!(ran.code, 127, "{ran:?}");
    let script = "echo ${FROM_PROFILE-unset}";
    let ran = run(&world, "/bin/bash", &["--shell", script]);
    assert_eq!(ran.stdout, "unset\n");
}

#[test]
fn the_command_is_shown_as_it_was_given() {
    let world = World::new();
    let args = ["run", "--login", "--id", "j", "--", "echo", "a b"];
    assert_eq!(world.outlive(&args).code, 0);
    let job = world.wait("j");
    assert_eq!(job["command"], "echo 'a b'");
}

#[test]
fn plain_flushes_the_output_of_python_whatever_the_caller_set() {
    let world = World::new();
    let caller = [("PYTHONUNBUFFERED", ""), ("NO_COLOR", "")];
    let (job, _) = of_job(&world, &["--plain"], &caller);
    assert_eq!((&*job["PYTHONUNBUFFERED"], &*job["NO_COLOR"]), ("1", "1"));
    let given = ["--plain", "--env", "PYTHONUNBUFFERED=0"];
    let (job, _) = of_job(&world, &given, &caller);
    assert_eq!(job["PYTHONUNBUFFERED"], "0");
}
