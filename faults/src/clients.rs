//! SIGKILL at each system call of a client that stops, sends, waits, claims, acks, prunes, or changes a job.
//!
//! A verb that was killed may or may not have had its effect. Repeated, it has its effect, and nothing
//! has happened twice.

use crate::calls::Fault;
use crate::invariants::{self, Allowed, Heard};
use crate::job::{self, ID, Kind, OTHER, SESSION};
use crate::plan::{Launch, Plan, Role};
use crate::power::held::{self, Cleared, Past};
use crate::power::{Interface, Moment};
use crate::row::{Context, Row, Tried};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use std::fmt;
use std::process::Command;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "kill: a client over its verb",
        promise: "repeated, the verb has its effect once; an untold session is told",
        run,
    }]
}

/// What the client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Stop,
    Send,
    /// Sends the end of the input.
    SendEnd,
    /// Waits in another session than the one that gets the event.
    Wait,
    /// Waits in the session that gets the event.
    OwnWait,
    Claim,
    Ack,
    /// Changes the watch and the labels of a running job, through its keeper.
    Watch,
    Label,
    /// Changes the labels of a job that is over, in its journal.
    LabelOver,
    Prune,
}

const VERBS: [Verb; 11] = [
    Verb::Stop,
    Verb::Send,
    Verb::SendEnd,
    Verb::Wait,
    Verb::OwnWait,
    Verb::Claim,
    Verb::Ack,
    Verb::Watch,
    Verb::Label,
    Verb::LabelOver,
    Verb::Prune,
];

struct Case {
    verb: Verb,
    at: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:?}, SIGKILL at call {}", self.verb, self.at)
    }
}

fn run(context: &Context) -> Tried {
    let mut cases = Vec::new();
    for verb in VERBS {
        match count(context, verb) {
            Ok(count) => cases.extend((1..=count).map(|at| Case { verb, at })),
            Err(loss) => return Tried::lost(format!("{verb:?}, only traced: {loss}")),
        }
    }
    let cleared = Cleared::default();
    context.try_cases(cases, 30, |case| {
        let plan = Plan {
            role: Some(Role::Launcher),
            at: case.at,
            fault: Fault::Kill,
        };
        let world = context.world()?;
        let (ran, struck, _) = case.verb.strike(&world, plan)?;
        case.verb
            .check(&world, &ran, case.at, &cleared)
            .map_err(|loss| format!("at {struck}: {loss}\nthe client: {ran}"))
    })
}

/// How many system calls the client makes without a fault. The result must be right in that case too.
fn count(context: &Context, verb: Verb) -> Result<usize, String> {
    let world = context.world()?;
    let (ran, _, count) = verb.strike(&world, Plan::COUNT)?;
    verb.check(&world, &ran, 0, &Cleared::default())?;
    Ok(count)
}

/// The IDs of the events that a consumer claims and does not acknowledge. On a busy machine the short claim may expire
/// before the consumer confirms it. Then the consumer delivers nothing, and this tries again.
fn claimed_ids(world: &World, inbox: &[&str]) -> Result<Vec<String>, String> {
    let mut ids = Vec::new();
    try_until("an event is claimed", || {
        let claimed = world.try_json(&[inbox, &["--claim", "100ms"]].concat());
        let claimed = claimed.unwrap_or_default();
        let events = invariants::ids(&claimed["events"]).into_iter();
        ids = events.map(str::to_owned).collect();
        !ids.is_empty()
    })?;
    Ok(ids)
}

impl Verb {
    fn kind(self) -> &'static Kind {
        Kind::called(match self {
            Verb::Stop | Verb::Watch | Verb::Label => "stopped",
            Verb::Send | Verb::SendEnd => "stdin",
            Verb::Wait | Verb::OwnWait => "timing out",
            Verb::Claim | Verb::Ack => "watched",
            Verb::Prune | Verb::LabelOver => "short",
        })
    }

    /// Prepares a job for the verb, then runs the verb under a plan. Returns the result of the verb, the call that the
    /// fault hit, and the number of calls.
    fn strike(self, world: &World, plan: Plan) -> Result<(Ran, String, usize), String> {
        let kind = self.kind();
        let started = Ran::try_of(&mut kind.start(world))?;
        if started.code != 0 {
            return Err(format!("the job could not be started: {started}"));
        }
        let command = self.command(world)?;
        let mut launch = Launch::start(world, &command, plan)?;
        let ran = launch.launched(world)?;
        let traced = launch.end()?;
        let count = traced.count(Role::Launcher, Fault::Kill);
        Ok((ran, launch.struck.clone(), count))
    }

    fn command(self, world: &World) -> Result<Command, String> {
        let inbox = ["inbox", "--session", SESSION, "--json"];
        let mut command = match self {
            Verb::Stop => {
                job::until_up(world)?;
                world.command(["stop", ID])
            }
            Verb::Send => world.command(["send", ID, "one", "--enter", "--write-id", "one"]),
            Verb::SendEnd => {
                job::say_lines(world)?;
                world.command(["send", ID, "--eof"])
            }
            Verb::Wait | Verb::OwnWait => world.command(["wait", ID, "--json"]),
            Verb::Claim => {
                job::wait(world)?;
                let mut command = world.command(inbox);
                command.args(["--claim", "100ms"]);
                command
            }
            Verb::Ack => {
                job::wait(world)?;
                let mut command = world.command(["inbox", "--session", SESSION, "--ack"]);
                command.args(claimed_ids(world, &inbox)?);
                command
            }
            Verb::Watch | Verb::Label => {
                job::until_up(world)?;
                world.command(self.change())
            }
            Verb::LabelOver => {
                job::wait(world)?;
                invariants::nothing_is_left(world)?;
                world.command(self.change())
            }
            Verb::Prune => {
                self.kind().go_on(world)?;
                invariants::nothing_is_left(world)?;
                world.command(["prune", "--all", "--force"])
            }
        };
        let session = match self {
            Verb::OwnWait => SESSION,
            _ => OTHER,
        };
        command.env("OUTLIVE_SESSION", session);
        Ok(command)
    }

    /// The arguments of a change.
    fn change(self) -> &'static [&'static str] {
        match self {
            Verb::Watch => &["watch", ID, "nothing like it"],
            _ => &["label", ID, "k=v"],
        }
    }

    /// Repeated, a change that was killed is made once.
    fn check_change(self, world: &World) -> Result<(), String> {
        world.try_ok(self.change())?;
        let changes = world.all_events(ID).into_iter();
        let changes = changes.filter(|(kind, _)| kind == "changed").count();
        invariants::same("the number of changes", changes, 1)?;
        let job = world.try_json(&["show", ID, "--json"])?;
        match self {
            Verb::Watch => {
                let text = job["watch"]["patterns"][0]["text"].as_str();
                invariants::same("the watch", text, Some("nothing like it"))
            }
            _ => invariants::same("the label", job["labels"]["k"].as_str(), Some("v")),
        }
    }

    fn check(self, world: &World, ran: &Ran, at: usize, cleared: &Cleared) -> Result<(), String> {
        let kind = self.kind();
        if !matches!(ran.code, 0 | 137 | 143) {
            return Err("the verb failed".to_owned());
        }
        if self == Verb::Prune {
            let past = Past {
                moment: Moment::Prune,
                is_told: true,
                has_run: true,
            };
            return held::check(world, kind, &past, Interface::Programs, at, cleared);
        }
        if matches!(self, Verb::Watch | Verb::Label | Verb::LabelOver) {
            self.check_change(world)?;
        }
        let ended = match self {
            // `go_on` would send more lines, but an ended job takes no input.
            Verb::SendEnd => {
                world.try_outlive(&["send", ID, "--eof"])?;
                job::wait(world)?
            }
            _ => kind.go_on(world)?,
        };
        let heard = match invariants::is_acked(world) {
            true => Heard::All,
            false => Heard::Nothing,
        };
        match (self, heard) {
            (Verb::OwnWait, Heard::All) if ran.bytes.is_empty() => {
                return Err("its session counts as told, but was told nothing".to_owned());
            }
            (Verb::Ack, Heard::Nothing) if ran.code == 0 => {
                return Err("the ack was confirmed but is not recorded".to_owned());
            }
            (Verb::OwnWait | Verb::Ack, _) | (_, Heard::Nothing) => {}
            (_, Heard::All) => return Err("it counts as acked, but nobody acked it".to_owned()),
        }
        if heard == Heard::Nothing {
            // The consumer that claimed the events is dead, so its claim expires.
            let peek = ["inbox", "--session", SESSION, "--json", "--peek"];
            try_until("all is there to be told", || {
                let told = world.try_json(&peek).unwrap_or_default();
                invariants::kinds(&told["events"]) == kind.told
            })?;
        }
        invariants::check_heard(world, kind, &ended, Allowed::Exact, heard)
    }
}
