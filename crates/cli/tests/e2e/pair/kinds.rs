//! The kinds of jobs whose keeper is killed at each hook.

use outlive_testkit::checks::{
    assert_nothing_is_left, assert_same_bytes, exited, signaled, until_output,
};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{IGNORES, let_go, numbers, with_go};
use outlive_testkit::world::World;
use serde_json::Value;

/// Whether the keeper of a job comes to a hook.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Comes {
    Always,
    /// It depends on which of two things happens first.
    Perhaps,
    Never,
}
use Comes::{Always, Never, Perhaps};

/// Every hook of a keeper, and which of `KINDS` come to it.
pub const HOOKS: [(&str, [Comes; 5]); 46] = [
    ("Begun", [Always; 5]),
    // None of these jobs waits for its turn. `queues/killed.rs`, `after` and `locks/killed.rs` test those that do.
    ("AfterMet", [Never; 5]),
    ("QueueWidened", [Never; 5]),
    ("QueueNumbered", [Never; 5]),
    ("QueueJoined", [Never; 5]),
    ("TurnTaken", [Never; 5]),
    ("TurnCame", [Never; 5]),
    ("Confined", [Never; 5]),
    ("GroupsMade", [Never; 5]),
    ("Forked", [Always; 5]),
    ("PutUnder", [Always; 5]),
    ("Spawned", [Always; 5]),
    ("GateOpened", [Always; 5]),
    ("Executed", [Always; 5]),
    ("Started", [Always; 5]),
    ("Ready", [Always; 5]),
    // These jobs have their first standby until then. `partners.rs` tests new ones.
    ("NewStandby", [Never; 5]),
    ("Captured", [Perhaps, Always, Always, Always, Always]),
    // The streams of these jobs are merged. `split/kills.rs` tests the others.
    ("Switched", [Never; 5]),
    ("SwitchesRewritten", [Never; 5]),
    ("SwitchesReplaced", [Never; 5]),
    // None of these jobs gets input or has a watch.
    ("InputAccepted", [Never; 5]),
    ("InputEnded", [Never; 5]),
    ("Noticed", [Never; 5]),
    // `changing/kills.rs` tests these.
    ("ChangeAsked", [Never; 5]),
    ("ChangeWritten", [Never; 5]),
    ("StopAsked", [Never, Never, Always, Always, Always]),
    ("StopWritten", [Never, Never, Always, Always, Never]),
    ("Terminated", [Never, Never, Always, Always, Always]),
    ("LeaderEnded", [Always; 5]),
    // None of these jobs is restarted. `restarting/kills.rs` tests those that are.
    ("AttemptEnded", [Never; 5]),
    ("AttemptReaped", [Never; 5]),
    ("AttemptDue", [Never; 5]),
    ("GateParked", [Never; 5]),
    ("Drained", [Always; 5]),
    ("OutputSynced", [Always; 5]),
    ("EndedRecorded", [Always; 5]),
    ("TurnPassed", [Never; 5]),
    ("Noted", [Always; 5]),
    ("Told", [Always; 5]),
    ("Reaped", [Always; 5]),
    ("Ringing", [Never; 5]),
    ("Rang", [Never; 5]),
    ("LingeringEnded", [Never, Never, Never, Never, Always]),
    ("Closed", [Perhaps, Perhaps, Perhaps, Perhaps, Always]),
    ("Retired", [Always; 5]),
];

/// A kind of job, and how it must end whatever happens to its keepers.
#[derive(Debug)]
pub struct Kind {
    name: &'static str,
    options: &'static [&'static str],
    script: &'static str,
    course: Course,
    output: fn() -> Vec<u8>,
    exit_code: i32,
    outcome: fn() -> Value,
    ended_by: &'static str,
}

/// What a test does between the start and the end of a job.
#[derive(Clone, Copy, Debug)]
pub enum Course {
    Nothing,
    /// Stops the job once it is up.
    Stop,
    /// Waits for the end, lets the lingering process write more, and stops that.
    StopLeftovers,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "short",
        options: &[],
        script: "echo hello; exit 7",
        course: Course::Nothing,
        output: || b"hello\n".to_vec(),
        exit_code: 7,
        outcome: || exited(7),
        ended_by: "itself",
    },
    Kind {
        name: "chatty",
        options: &[],
        script: "seq 1 200000; exit 3",
        course: Course::Nothing,
        output: || numbers(200_000),
        exit_code: 3,
        outcome: || exited(3),
        ended_by: "itself",
    },
    Kind {
        name: "stubborn",
        options: &["--grace", "100ms"],
        script: IGNORES,
        course: Course::Stop,
        output: || b"up\n".to_vec(),
        exit_code: 137,
        outcome: || signaled("SIGKILL"),
        ended_by: "stop",
    },
    Kind {
        name: "overdue",
        options: &["--timeout", "500ms"],
        script: "echo up; exec sleep 60",
        course: Course::Nothing,
        output: || b"up\n".to_vec(),
        exit_code: 143,
        outcome: || signaled("SIGTERM"),
        ended_by: "timeout",
    },
    Kind {
        name: "lingering",
        options: &[],
        script: "(until [ -e \"$GO\" ]; do sleep 0.02; done; echo late; exec sleep 60) & echo main; exit 5",
        course: Course::StopLeftovers,
        output: || b"main\nlate\n".to_vec(),
        exit_code: 5,
        outcome: || exited(5),
        ended_by: "itself",
    },
];

impl Kind {
    /// Runs a job of this kind to its end.
    pub fn drive(&self, world: &World, hooks: &str) -> String {
        let mut args = vec!["run"];
        args.extend(self.options);
        args.extend(["--shell", self.script]);
        let ran = Ran::of(with_go(world, &args).env("OUTLIVE_HOOKS", hooks));
        assert_eq!(ran.code, 0, "run: {ran:?}");
        let id = ran.stdout.trim_end().to_owned();
        match self.course {
            Course::Nothing => {}
            Course::Stop => {
                until_output(world, &id, "up\n");
                world.ok(&["stop", &id]);
            }
            Course::StopLeftovers => {
                world.wait(&id);
                let_go(world);
                until_output(world, &id, "main\nlate\n");
                assert_eq!(world.show(&id)["lingering"], 1);
                world.ok(&["stop", &id]);
            }
        }
        self.assert_ended(world, &id, &world.wait(&id));
        id
    }

    fn assert_ended(&self, world: &World, id: &str, job: &Value) {
        assert_eq!(job["state"], "ended", "{job}");
        assert_eq!(job["outcome"], (self.outcome)(), "{job}");
        assert_eq!(job["exit_code"], self.exit_code, "{job}");
        assert_eq!(job["ended_by"], self.ended_by, "{job}");
        assert_same_bytes("output", &world.output(id), &(self.output)());
    }

    /// Checks the record of the ended job, and what later verbs print.
    pub fn assert_settled(&self, world: &World, id: &str) {
        assert_nothing_is_left(world, id);
        for (kind, count) in [("ended", 1), ("spawned", 1), ("started", 1), ("closed", 1)] {
            assert_eq!(world.events(id, kind).len(), count, "{kind} events");
        }
        let output = (self.output)();
        assert_eq!(
            world.events(id, "closed")[0]["output_bytes"].as_u64(),
            Some(output.len() as u64)
        );
        self.assert_ended(world, id, &world.show(id));
        assert_eq!(world.outlive(&["wait", id]).code, self.exit_code);
        assert_eq!(world.show(id)["lingering"], 0);
        assert_same_bytes(
            "log",
            world
                .outlive(&["log", id, "--bytes", "0"])
                .stdout
                .as_bytes(),
            &output,
        );
        let list = world.json(&["list", "--state", "all", "--json"]);
        let jobs = list["jobs"].as_array().unwrap();
        assert_eq!(jobs.len(), 1, "{list}");
        self.assert_ended(world, id, &jobs[0]);
        self.assert_ended(world, id, &world.job(&["stop", id, "--json"]));
        assert_nothing_is_left(world, id);
    }
}

/// One kind of job at one hook.
#[derive(Debug)]
pub struct Cell {
    pub hook: &'static str,
    comes: Comes,
    pub kind: &'static Kind,
}

impl Cell {
    pub fn name(&self) -> String {
        format!("{} job at {}", self.kind.name, self.hook)
    }

    /// Checks that the keeper came to the hook if it must, and did not if it must not.
    pub fn assert_happened(&self, what: &str, happened: bool) {
        match self.comes {
            Always => assert!(happened, "{what}: the keeper never came to the hook"),
            Never => assert!(!happened, "{what}: the keeper came to the hook"),
            Perhaps => {}
        }
    }
}

/// The hooks that the keeper of this kind of job can come to.
pub fn cells(kind: &str) -> Vec<Cell> {
    static TABLE: [Kind; 5] = KINDS;
    let place = TABLE.iter().position(|row| row.name == kind).unwrap();
    HOOKS
        .iter()
        .filter(|(_, comes)| comes[place] != Never)
        .map(|(hook, comes)| Cell {
            hook,
            comes: comes[place],
            kind: &TABLE[place],
        })
        .collect()
}
