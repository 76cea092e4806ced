use super::*;
use crate::signal::Signal;
use serde_json::json;

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
fn the_sentence_about_an_end_names_the_usual_cause() {
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
fn nouns_and_verbs_agree_with_the_number() {
    let counted = [
        (0, "job"),
        (1, "job"),
        (2, "job"),
        (1, "process"),
        (2, "process"),
        (3, "match"),
    ];
    let counted = counted.map(|(number, what)| count(number, what));
    let expected = [
        "0 jobs",
        "1 job",
        "2 jobs",
        "1 process",
        "2 processes",
        "3 matches",
    ];
    assert_eq!(counted, expected);
    assert_eq!(
        [0, 1, 2].map(|n| agree(n, "waits", "wait")),
        ["wait", "waits", "wait"]
    );
    let mut ended = end(Outcome::Exited { code: 0 }, EndedBy::Itself);
    for (lingering, said) in [
        (
            1,
            "1 of its processes still runs; `outlive stop x` ends it.",
        ),
        (
            2,
            "2 of its processes still run; `outlive stop x` ends them.",
        ),
    ] {
        ended.lingering = lingering;
        let text = end_sentence(&spec(), &ended, Reader::Shell);
        assert!(text.contains(said), "{text}");
    }
}
