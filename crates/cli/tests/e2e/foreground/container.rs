//! `run --foreground` as the first process of a PID namespace, as a container starts it. Needs root.

use super::{SAVES, TERM, by_place, command, until_up};
use outlive_sys::tree;
use outlive_testkit::gate::Gate;
use outlive_testkit::namespaces::in_pid_namespace;
use outlive_testkit::processes::{begin, kill, kill_for_good, state_of};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::process::{Child, Command, Stdio};

/// The process `unshare`, and the first process of its namespace.
struct Container {
    child: Child,
    first: i32,
}

impl Container {
    fn start(world: &World, options: &[&str], script: &str) -> Container {
        let inner = command(world, options, script);
        let child = begin(in_pid_namespace(&inner));
        until_up(world);
        let first = only_child(child.id() as i32);
        Container { child, first }
    }

    /// The pid of the keeper, seen from outside: the child of the first process that has children of its own.
    fn keeper(&self) -> i32 {
        let children = tree::children(self.first).unwrap();
        let mut keepers = children
            .into_iter()
            .filter(|pid| !tree::children(*pid).unwrap().is_empty());
        keepers.next().unwrap()
    }

    fn ended(self) -> Ran {
        Ran::end_of(self.child)
    }
}

fn only_child(parent: i32) -> i32 {
    let children = tree::children(parent).unwrap();
    assert_eq!(children.len(), 1, "{children:?}");
    children[0]
}

#[test]
fn as_the_first_process_it_exits_with_the_code_of_the_job() {
    needs!(Root);
    let world = World::new();
    let inner = command(&world, &[], "echo out; exit 3");
    let ran = Ran::of(&mut in_pid_namespace(&inner));
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "out\n"), "{ran:?}");
}

/// The kernel does not deliver a signal to the first process of a namespace unless that process handles it.
#[test]
fn as_the_first_process_it_stops_the_job_on_term() {
    needs!(Root);
    let world = World::new();
    let container = Container::start(&world, &[], SAVES);
    kill(container.first, TERM);
    let ran = container.ended();
    assert_eq!(ran.code, 9, "{ran:?}");
    assert!(ran.stdout.ends_with("saved\n"), "{ran:?}");
    assert_eq!(super::ended(&world), by_place("SIGTERM", 9));
}

#[test]
fn as_the_first_process_it_stops_the_job_on_term_after_a_takeover() {
    needs!(Root);
    let world = World::new();
    let container = Container::start(&world, &[], SAVES);
    kill_for_good(container.keeper());
    until("it has taken over", || {
        world.events("job", "kept").len() == 2
    });
    kill(container.first, TERM);
    let ran = container.ended();
    assert_eq!(ran.code, 9, "{ran:?}");
    assert!(ran.stdout.ends_with("saved\n"), "{ran:?}");
}

/// A process that comes in from outside, as with `docker exec`, leaves its orphans to the first process.
#[test]
fn as_the_first_process_it_reaps_orphans() {
    needs!(Root);
    let world = World::new();
    let container = Container::start(&world, &[], SAVES);
    let target = container.first.to_string();
    let gate = Gate::new(&world);
    let script = format!("({}) & exit 0", gate.then("exit 0"));
    let entered = Command::new("nsenter")
        .args(["--target", &target, "--pid", "--mount"])
        .args(["sh", "-c", &script])
        .stdout(Stdio::null())
        .status();
    assert!(entered.unwrap().success());
    let is_shell = |pid: &i32| {
        let name = fs::read(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name == b"sh\n")
    };
    let children = tree::children(container.first).unwrap();
    let orphan = children.into_iter().find(is_shell).unwrap();
    gate.open();
    until("it is gone, and no zombie", || state_of(orphan).is_none());
    kill(container.first, TERM);
    assert_eq!(container.ended().code, 9);
}
