use super::*;
use outlive_core::post::Post;
use outlive_core::signal::Signal;
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_last_lines_are_whole_and_fit(text in "[aö\n]{0,80}", most in 1usize..40) {
        let shown = last_lines(&text, most);
        prop_assert!(text.ends_with(shown));
        prop_assert!(shown.chars().count() <= most);
        let before = &text[..text.len() - shown.len()];
        let begins_line = before.is_empty() || before.ends_with('\n');
        prop_assert!(begins_line || !shown.contains('\n'), "{shown:?} begins in a line");
        if !before.is_empty() && begins_line {
            let line = before[..before.len() - 1].rfind('\n').map_or(0, |end| end + 1);
            prop_assert!(text[line..].chars().count() > most, "one more line would have fitted");
        }
    }
}

fn end(outcome: Outcome, ended_by: EndedBy) -> End {
    End {
        ended_by,
        ..End::unseen(outcome, 0, 0)
    }
}

fn spec() -> Spec {
    serde_json::from_value(json!({
        "format": 1, "id": "x", "name": "build", "place": "local", "command": "make", "argv": ["make"],
        "cwd": "/", "grace_ms": 1, "notify": "end", "leftovers": "keep", "timeout_ms": 90_000,
    }))
    .expect("a spec")
}

#[test]
fn an_end_is_told_with_its_usual_cause() {
    let killed = Outcome::Signaled {
        signal: Signal::KILL,
        core_dumped: false,
    };
    let cases = [
        (
            end(Outcome::Exited { code: 0 }, EndedBy::Itself),
            "succeeded (exit code 0)",
            None,
        ),
        (
            end(Outcome::Exited { code: 3 }, EndedBy::Itself),
            "failed with exit code 3",
            None,
        ),
        (
            end(Outcome::Exited { code: 137 }, EndedBy::Itself),
            "failed with exit code 137",
            Some("out of memory"),
        ),
        (
            end(killed.clone(), EndedBy::Signal),
            "was ended by SIGKILL",
            Some("out of memory"),
        ),
        (
            end(killed, EndedBy::Timeout),
            "was ended by SIGKILL (stopped: its time of 1m30s was up)",
            None,
        ),
        (
            end(
                Outcome::Lost {
                    reason: "both keepers died".into(),
                },
                EndedBy::Unknown,
            ),
            "ended, and nobody knows how: both keepers died",
            Some("Do not take it for a success"),
        ),
    ];
    for (end, expected, why) in cases {
        assert_eq!(how(&end, &spec()), expected);
        match why {
            None => assert_eq!(cause(&end), None, "{expected}"),
            Some(part) => assert!(
                cause(&end).is_some_and(|text| text.contains(part)),
                "{expected}: {:?}",
                cause(&end)
            ),
        }
    }
}

#[test]
fn a_delegation_stands_alone() {
    let post: Post = serde_json::from_value(json!({
        "format": 1, "id": "d1", "session": "s", "kind": "delegation", "boot": "b",
        "at": {"wall_ms": 1, "boot_ms": 1},
        "data": {
            "goal": "find the bug\nin parse()", "role": "reviewer", "context": "branch x", "tokens": 12,
            "results": [{"goal": "a", "status": "done", "summary": "it was y"}, "just text"],
        },
    }))
    .expect("a post");
    assert_eq!(
        delegation(&post),
        "Delegated work d1 is done.\nRole: reviewer\nGoal: find the bug\n  in parse()\nContext: branch x\ntokens: 12\nResult 1:\n  Goal: a\n  Status: done\n  Summary: it was y\nResult 2:\n  just text"
    );
}
