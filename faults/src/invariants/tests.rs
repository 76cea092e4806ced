//! Shows that each invariant can fail, with homes that are correct except for one thing.

use super::*;
use crate::row::Context;
use serde_json::json;

/// A home as a watched job leaves it.
fn right() -> (World, &'static Kind, Value) {
    let context = Context::of(&["/".to_owned()]).unwrap();
    let world = context.world().unwrap();
    let kind = Kind::called("watched");
    fs::create_dir_all(world.job_dir(ID)).unwrap();
    fs::write(world.job_dir(ID).join("output"), (kind.output)()).unwrap();
    fs::write(world.path("ran"), "ran\n").unwrap();
    journal(&world, &[json!({ "ended": {} })]);
    let ended = json!({
        "outcome": (kind.outcome)(), "ended_by": "itself", "output": { "complete": true }
    });
    (world, kind, ended)
}

fn journal(world: &World, events: &[Value]) {
    let lines: Vec<String> = events
        .iter()
        .map(|event| json!({ "event": event }).to_string())
        .collect();
    fs::write(world.job_dir(ID).join("journal"), lines.join("\n")).unwrap();
}

fn with(ended: &Value, key: &str, value: Value) -> Value {
    let mut changed = ended.clone();
    changed[key] = value;
    changed
}

#[test]
fn an_outcome_is_exact_or_what_the_fault_allows() {
    let (world, kind, ended) = right();
    let holds = |ended: &Value, allowed| outcome(&world, kind, ended, allowed).is_ok();
    assert!(holds(&ended, Allowed::Exact));
    let wrong = with(&ended, "outcome", json!({ "kind": "exited", "code": 1 }));
    for allowed in [Allowed::Exact, Allowed::Gaps, Allowed::Lost] {
        assert!(!holds(&wrong, allowed), "{allowed:?}");
    }
    assert!(!holds(
        &with(&ended, "ended_by", json!("stop")),
        Allowed::Exact
    ));
    let lost = with(&ended, "outcome", json!({ "kind": "lost" }));
    assert!(holds(&lost, Allowed::Lost) && !holds(&lost, Allowed::Gaps));
    // The job says that it was not started, but it ran.
    let not_started = with(&ended, "outcome", json!({ "kind": "not_started" }));
    assert!(!holds(&not_started, Allowed::NotStarted));
}

#[test]
fn a_job_that_ran_twice_is_a_loss() {
    let (world, kind, ended) = right();
    fs::write(world.path("ran"), "ran\nran\n").unwrap();
    assert!(outcome(&world, kind, &ended, Allowed::Exact).is_err());
}

#[test]
fn output_is_exact_or_what_is_missing_is_said() {
    let (world, kind, ended) = right();
    let path = world.job_dir(ID).join("output");
    let holds = |ended: &Value, allowed| output(&world, kind, ended, allowed).is_ok();
    assert!(holds(&ended, Allowed::Exact));
    let part = with(&ended, "output", json!({ "complete": false }));
    assert!(!holds(&part, Allowed::Exact), "all is there");
    fs::write(&path, &(kind.output)()[..9]).unwrap();
    assert!(holds(&part, Allowed::Lost) && !holds(&part, Allowed::Exact));
    assert!(
        !holds(&ended, Allowed::Lost),
        "an incomplete output is reported as complete"
    );
    fs::write(&path, [(kind.output)(), (kind.output)()].concat()).unwrap();
    assert!(!holds(&ended, Allowed::Lost), "it is doubled");
}

#[test]
fn a_gap_is_where_and_as_large_as_it_is_said_to_be() {
    let (world, kind, ended) = right();
    let path = world.job_dir(ID).join("output");
    let mut bytes = (kind.output)();
    bytes[3..5].fill(0);
    fs::write(&path, &bytes).unwrap();
    let said = with(&ended, "output", json!({ "dropped_bytes": 2 }));
    let holds = |gap: Value| {
        journal(&world, &[json!({ "gap": gap }), json!({ "ended": {} })]);
        output(&world, kind, &said, Allowed::Gaps).is_ok()
    };
    assert!(holds(json!({ "from": 3, "to": 5 })));
    assert!(!holds(json!({ "from": 4, "to": 6 })), "elsewhere");
    assert!(!holds(json!({ "from": 3, "to": 6 })), "not so large");
}

#[test]
fn two_ends_or_none_are_losses() {
    let (world, ..) = right();
    assert!(one_end(&world).is_ok());
    journal(&world, &[json!({ "ended": {} }), json!({ "ended": {} })]);
    assert!(one_end(&world).is_err());
    journal(&world, &[json!("started")]);
    assert!(one_end(&world).is_err());
}

#[test]
fn only_a_whole_line_that_says_so_is_an_ack() {
    let (world, ..) = right();
    let told = world.job_dir(ID).join("told");
    assert!(!is_acked(&world));
    fs::write(&told, r#"{"seqs":[1],"note":{"claimed":{}}}"#).unwrap();
    assert!(!is_acked(&world));
    fs::write(&told, r#"{"seqs":[1],"note":{"told":{"how":"inb"#).unwrap();
    assert!(!is_acked(&world));
    fs::write(&told, r#"{"seqs":[1],"note":{"told":{"how":"inbox"}}}"#).unwrap();
    assert!(is_acked(&world));
}

#[test]
fn what_a_prune_must_remove_is_known() {
    let (world, ..) = right();
    let count = || left_after_pruning(&world).len();
    assert_eq!(count(), 2);
    fs::remove_dir_all(world.home().join("jobs")).unwrap();
    fs::create_dir_all(world.home().join("ended")).unwrap();
    fs::write(world.home().join("ended/1"), "").unwrap();
    assert_eq!(count(), 0);
}
