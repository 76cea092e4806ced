//! The news of an inbox in one short text.

use outlive::inbox::{Event, EventKind};
use outlive_core::Label;
use outlive_core::words::agree;
use std::path::Path;

/// The most characters in a text: agents accept this much from a hook without cutting it.
pub const BUDGET: usize = 10_000;
/// The most characters in a headline: all headlines fit, with room for their ids.
const MAX_HEADLINE_CHARS: usize = 140;
/// The room kept for the sentences around the events.
const AROUND: usize = 300;

/// Each event at least with its headline, as many in full as there is room for, and how to see more.
/// `waiting` is the number of events left for another time; `posts` is the directory of posted work.
pub fn news(events: &[Event], waiting: usize, posts: &Path) -> String {
    let mut text = match events.len() {
        1 => String::new(),
        count => format!("Outlive: {count} news of your jobs.\n\n"),
    };
    let headlines: Vec<String> = events.iter().map(headline).collect();
    // Every event gets its headline before any event gets more.
    let mut left = (BUDGET - AROUND)
        .saturating_sub(headlines.iter().map(|line| line.chars().count() + 2).sum());
    let mut cut = Vec::new();
    for (event, headline) in events.iter().zip(headlines) {
        let whole = format!("[{}] {}", event.event, event.text);
        let more = whole
            .chars()
            .count()
            .saturating_sub(headline.chars().count());
        if more <= left {
            left -= more;
            text.push_str(&whole);
        } else if events.len() == 1 {
            text.extend(whole.chars().take(BUDGET - AROUND));
            text.push('…');
            cut.push(event.kind);
        } else {
            text.push_str(&headline);
            cut.push(event.kind);
        }
        text.push_str("\n\n");
    }
    if cut.iter().any(|kind| *kind != EventKind::Delegation) {
        text.push_str("What is cut here: `outlive show ID`, `outlive log ID`.\n");
    }
    if cut.contains(&EventKind::Delegation) {
        let posts = posts.display();
        text.push_str(&format!(
            "Posted work that is cut here: {posts}/ID/post.json\n"
        ));
    }
    if waiting > 0 {
        text.push_str(&format!(
            "{waiting} more {}: `outlive inbox --ack-all` tells {}.\n",
            agree(waiting as u64, "waits", "wait"),
            agree(waiting as u64, "it", "them")
        ));
    }
    text.trim_end().to_owned()
}

fn headline(event: &Event) -> String {
    let first = event.text.lines().next().unwrap_or_default();
    let mut line = format!("[{}] ", event.event);
    match first.chars().count() > MAX_HEADLINE_CHARS {
        true => {
            line.extend(first.chars().take(MAX_HEADLINE_CHARS - 1));
            line.push('…');
        }
        false => line.push_str(first),
    }
    line
}

/// The sentence for an agent whose shells do not know their session.
pub(crate) fn session_key(session: &Label) -> String {
    let word = shlex::try_quote(session.as_str()).unwrap_or_default();
    format!(
        "Outlive: in this conversation write `OUTLIVE_SESSION={word} outlive …` (run, wait, log, stop), so \
that you are told here, once, when jobs end."
    )
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
mod tests {
    use super::*;
    use outlive::defaults::MAX_EVENTS_HOOK;
    use outlive::inbox::EventId;
    use outlive_core::JobId;
    use serde_json::Value;

    fn event(seq: u64, text: &str) -> Event {
        let job = JobId::parse("1pzrj72dak").unwrap();
        Event {
            event: EventId {
                source: job.clone(),
                seq,
                incarnation: None,
            },
            kind: EventKind::Ended,
            job,
            session: Label::parse("s").ok(),
            task: None,
            labels: outlive::Labels::new(),
            at: outlive::Timestamp::from_unix_ms(0),
            attempt: 1,
            last: None,
            data: Value::Null,
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_single_event_is_told_in_full() {
        let text = news(
            &[event(7, "Job x ended.\nSee more: outlive log x")],
            0,
            Path::new("/p"),
        );
        assert_eq!(text, "[1pzrj72dak:7] Job x ended.\nSee more: outlive log x");
    }

    #[test]
    fn many_events_fit_the_budget_and_each_has_its_line() {
        let long = format!("Job {} ended.\n{}", "ä".repeat(300), "x\n".repeat(1000));
        let events: Vec<Event> = (0..MAX_EVENTS_HOOK as u64)
            .map(|seq| event(seq, &long))
            .collect();
        let text = news(&events, 3, Path::new("/p"));
        assert!(text.chars().count() <= BUDGET, "{}", text.chars().count());
        for seq in 0..MAX_EVENTS_HOOK {
            assert!(
                text.contains(&format!("[1pzrj72dak:{seq}] Job ää")),
                "{seq}"
            );
        }
        assert!(text.contains("outlive log ID"), "{text}");
        assert!(text.ends_with("3 more wait: `outlive inbox --ack-all` tells them."));
    }

    #[test]
    fn a_single_long_event_is_cut() {
        let text = news(&[event(1, &"ß".repeat(3 * BUDGET))], 0, Path::new("/p"));
        assert!(text.chars().count() <= BUDGET);
        assert!(text.contains("What is cut here"));
        let mut posted = event(1, &"ß".repeat(3 * BUDGET));
        posted.kind = EventKind::Delegation;
        let text = news(&[posted], 0, Path::new("/p"));
        assert!(text.ends_with("cut here: /p/ID/post.json"), "{text}");
    }
}
