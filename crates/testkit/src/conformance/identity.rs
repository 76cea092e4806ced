//! What a job is called, what it gets from its caller, and when its record is removed.

use super::Case;
use super::steps::{assert_output, file, let_go, run, start, wait_for_go};
use crate::ran::Ran;
use crate::world::World;

pub const CASES: &[Case] = &[
    Case {
        name: "a_name_belongs_to_one_running_job",
        promise: "a name finds its job; it is refused while that runs, and free afterwards",
        check: |world| {
            let first = start(world, &["--name", "web"], &wait_for_go(world));
            assert_eq!(world.show("web")["id"], *first);
            let second = world.outlive(&["run", "--name", "web", "--", "true"]);
            assert_eq!(second.code, 125, "{second:?}");
            assert!(second.stderr.contains(&first), "{second:?}");
            assert_eq!(world.listed(&["--state", "all"]), [first.as_str()]);
            let_go(world);
            world.wait("web");
            let third = start(world, &["--name", "web"], "exit 4");
            assert_eq!(world.outlive(&["wait", &third]).code, 4);
            assert_eq!(world.show("web")["id"], *third, "the newest");
        },
    },
    Case {
        name: "a_start_with_an_id_can_be_repeated",
        promise: "two starts with one id run the command once",
        check: |world| {
            let script = format!("echo ran >> {}; exit 5", file(world, "ran"));
            let args = ["run", "--id", "build", "--shell", &script];
            assert_eq!(world.ok(&args), "build");
            for _ in 0..2 {
                let again = world.outlive(&args);
                assert_eq!(again.code, 125, "{again:?}");
                assert!(again.stderr.contains("build"), "{again:?}");
            }
            assert_eq!(world.outlive(&["wait", "build"]).code, 5);
            let ran = world.place().read(&world.path_there("ran")).unwrap();
            assert_eq!(ran, b"ran\n");
        },
    },
    Case {
        name: "the_beginning_of_an_id_is_enough",
        promise: "a unique beginning of an id finds the job; one that fits several is refused",
        check: |world| {
            for id in ["alpha-one", "alpha-two", "beta"] {
                world.ok(&["run", "--id", id, "--", "true"]);
            }
            assert_eq!(world.show("be")["id"], "beta");
            assert_eq!(world.show("alpha-o")["id"], "alpha-one");
            assert_eq!(world.outlive(&["show", "alpha"]).code, 3);
            assert_eq!(world.outlive(&["show", "gamma"]).code, 3);
        },
    },
    Case {
        name: "a_job_gets_the_environment_that_was_asked_for",
        promise: "--env adds a variable, whatever its value, and the job knows its own id",
        check: |world| {
            let script = "printf '%s\\n' \"$ODD\" \"$EMPTY\" \"$OUTLIVE_JOB\"";
            let odd = "ODD=a b\t$HOME 'quoted' \"twice\" é";
            let options = ["--id", "job", "--env", odd, "--env", "EMPTY="];
            let (id, _) = run(world, &options, script);
            let expected = "a b\t$HOME 'quoted' \"twice\" é\n\njob\n";
            assert_output(world, &id, expected.as_bytes());
        },
    },
    Case {
        name: "arguments_arrive_unchanged",
        promise: "no shell reads the arguments of a command",
        check: |world| {
            let words = ["two words", "$HOME", "", "*", "a'b\"c", "--json", "é\n"];
            let args = [&["run", "--id", "job", "--", "printf", "<%s>"], &words[..]].concat();
            world.ok(&args);
            world.wait("job");
            let expected: String = words.map(|word| format!("<{word}>")).concat();
            assert_output(world, "job", expected.as_bytes());
        },
    },
    Case {
        name: "a_job_runs_in_the_directory_that_was_asked_for",
        promise: "--cwd is the directory in which the command starts, and is recorded",
        check: |world| {
            let directory = world.path_there("");
            let directory = directory.to_str().unwrap().trim_end_matches('/');
            let (id, job) = run(world, &["--cwd", directory], "pwd -P");
            assert_eq!(job["cwd"], directory, "{job}");
            assert_output(world, &id, format!("{directory}\n").as_bytes());
        },
    },
    Case {
        name: "a_lock_is_held_by_one_job_at_a_time",
        promise: "a job with --lock waits until no other job has the lock",
        check: |world| {
            let first = start(world, &["--lock", "db"], &wait_for_go(world));
            let second = start(world, &["--lock", "db"], "exit 9");
            assert_eq!(world.show(&second)["state"], "waiting");
            let_go(world);
            assert_eq!(world.outlive(&["wait", &first]).code, 0);
            assert_eq!(world.outlive(&["wait", &second]).code, 9);
        },
    },
    Case {
        name: "list_tells_running_jobs_from_ended_ones",
        promise: "list --state shows each job under the state that it has",
        check: |world| {
            let running = start(world, &[], "exec sleep 60");
            let (ended, _) = run(world, &[], "exit 1");
            assert_eq!(world.listed(&["--state", "running"]), [running.as_str()]);
            assert_eq!(world.listed(&["--state", "ended"]), [ended.as_str()]);
            assert_eq!(world.listed(&["--state", "all"]), [running, ended]);
        },
    },
    Case {
        name: "prune_removes_ended_jobs_and_no_other",
        promise: "prune keeps jobs that run and ends that a session was not told of, unless forced",
        check: prune,
    },
];

fn prune(world: &World) {
    let running = start(world, &[], "exec sleep 60");
    let (ended, _) = run(world, &[], "echo something");
    let untold = world.ok(&["run", "--session", "s", "--", "true"]);
    world.wait(&untold);
    world.until_over(&ended);
    world.until_over(&untold);
    world.ok(&["prune", "--all"]);
    assert_eq!(world.outlive(&["show", &ended]).code, 3);
    let mut left = world.listed(&["--state", "all"]);
    left.sort();
    let mut expected = [running.clone(), untold];
    expected.sort();
    assert_eq!(left, expected);
    world.ok(&["prune", "--all", "--force"]);
    assert_eq!(world.listed(&["--state", "all"]), [running.as_str()]);
    let stopped: Ran = world.outlive(&["stop", &running]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
}
