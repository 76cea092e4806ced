//! A keeper of a job on a terminal is killed at each hook.

use outlive_testkit::checks::{assert_nothing_is_left, every, keepings, until_output};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::send_line;
use outlive_testkit::world::World;

/// What the test does with the job.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Course {
    /// Sends a line; the job answers and ends.
    Talk,
    /// Sends a line and stops the job.
    Stop,
}

/// Hooks that only jobs with a watch, a lock, a queue, others to wait for, a limit, split streams, another attempt, a
/// change, a doorbell, an end of input, lingering processes or a lost standby come to.
const ELSEWHERE: [&str; 24] = [
    "Switched",
    "SwitchesRewritten",
    "SwitchesReplaced",
    "ChangeAsked",
    "ChangeWritten",
    "AttemptEnded",
    "AttemptReaped",
    "AttemptDue",
    "GateParked",
    "NewStandby",
    "LingeringEnded",
    "AfterMet",
    "QueueWidened",
    "QueueNumbered",
    "QueueJoined",
    "TurnTaken",
    "TurnCame",
    "TurnPassed",
    "Confined",
    "GroupsMade",
    "InputEnded",
    "Noticed",
    "Ringing",
    "Rang",
];

/// Hooks that are tested only with a stop. The first three need one. At `InputAccepted` the keeper is killed over the
/// input. If the job ends at once, the client cannot learn whether its input arrived.
const STOP_ONLY: [&str; 4] = ["StopAsked", "StopWritten", "Terminated", "InputAccepted"];

/// Every other hook, with both courses.
fn cells() -> Vec<(&'static str, Course)> {
    let source = include_str!("../../../../keeper/src/hooks.rs");
    let (_, after) = source.split_once("pub enum Hook {").unwrap();
    let (body, _) = after.split_once("\n}").unwrap();
    let hooks = body
        .lines()
        .map(|line| line.trim().trim_end_matches(','))
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .filter(|hook| !ELSEWHERE.contains(hook));
    hooks
        .flat_map(|hook| [(hook, Course::Talk), (hook, Course::Stop)])
        .filter(|(hook, course)| *course == Course::Stop || !STOP_ONLY.contains(hook))
        .collect()
}

impl Course {
    fn start(self, world: &World, hooks: &str) -> String {
        let script = match self {
            Course::Talk => "echo up; read -r line; echo \"got $line\"; exit 7",
            Course::Stop => "echo up; read -r line; echo \"got $line\"; exec sleep 100",
        };
        let mut run = world.command(["run", "--pty", "--shell", script]);
        let ran = Ran::of(run.env("OUTLIVE_HOOKS", hooks));
        assert_eq!(ran.code, 0, "run: {ran:?}");
        ran.stdout.trim_end().to_owned()
    }

    /// Talks to the job, and checks that it ends as it must.
    fn drive(self, world: &World, id: &str) {
        until_output(world, id, "up\r\n");
        send_line(world, id, "hello");
        let written = "up\r\nhello\r\ngot hello\r\n";
        let code = match self {
            Course::Talk => 7,
            Course::Stop => {
                until_output(world, id, written);
                world.ok(&["stop", id]);
                143
            }
        };
        let job = world.wait(id);
        assert_eq!(job["exit_code"], code, "{job}");
        assert_eq!(
            String::from_utf8_lossy(&world.output(id)),
            written,
            "{self:?}"
        );
        assert_eq!(world.events(id, "ended").len(), 1);
        assert_nothing_is_left(world, id);
    }
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_job_on_a_terminal() {
    every(
        &cells(),
        |cell| format!("{cell:?}"),
        |(hook, course)| {
            let world = World::new();
            let id = course.start(&world, &format!("keeper:{hook}=kill"));
            course.drive(&world, &id);
            let expected: &[&str] = match *hook {
                "Begun" | "Forked" => &["taken_over"],
                // Whether the keeper comes to this hook depends on what ends first.
                "Closed" => return,
                _ => &["launched", "taken_over"],
            };
            assert_eq!(keepings(&world, &id), expected);
        },
    );
}
