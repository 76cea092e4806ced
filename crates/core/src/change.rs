//! What was asked for after the start: other watches, another `notify`, other labels.
//!
//! The spec never changes. Each change is an event of the journal with the whole new value, so a keeper that
//! takes over goes on with it. Releases before this one skip the event: to them the job is as it was started,
//! and a keeper of such a release that adopts the job goes on with the watch of the spec.

use crate::label::Label;
use crate::labels::Labels;
use crate::spec::{Notify, Spec};
use crate::state::State;
use crate::watch::{Pattern, Watch};
pub use outlive_api::request::{ChangeLabels, ChangeWatch};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What holds from now on. What is left out stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The whole watch. One without patterns looks for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Notify>,
    /// All labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    /// The session that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Label>,
    /// From where a keeper goes on with the new watch, in a format only keepers read.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub resume: Value,
}

impl Changed {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.watch.is_none() && self.notify.is_none() && self.labels.is_none()
    }

    /// Takes over what a later change says.
    pub(crate) fn merge(&mut self, later: &Changed) {
        let newer = later.clone();
        self.watch = newer.watch.or(self.watch.take());
        self.notify = newer.notify.or(self.notify);
        self.labels = newer.labels.or(self.labels.take());
    }
}

/// The state of a job with regard to what was asked for last.
impl State {
    /// What the output is watched for now.
    pub fn watch<'a>(&'a self, spec: &'a Spec) -> Option<&'a Watch> {
        let changed = self.changed.as_ref().and_then(|now| now.watch.as_ref());
        let watch = changed.or(spec.watch.as_ref());
        watch.filter(|watch| !watch.patterns.is_empty())
    }

    /// Of which ends the session is told now.
    pub fn notify(&self, spec: &Spec) -> Notify {
        let changed = self.changed.as_ref().and_then(|now| now.notify);
        changed.unwrap_or(spec.notify)
    }

    /// The labels of the job now.
    pub fn labels<'a>(&'a self, spec: &'a Spec) -> &'a Labels {
        let changed = self.changed.as_ref().and_then(|now| now.labels.as_ref());
        changed.unwrap_or(&spec.labels)
    }
}

/// The watch that a request asks for, and the patterns that are new in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWatch {
    pub watch: Watch,
    pub added: Vec<Pattern>,
}

/// What becomes of a watch. `now` is the present one, and `usual` has the rules for one that begins.
pub fn rewatched(now: Option<&Watch>, usual: &Watch, asked: &ChangeWatch) -> NewWatch {
    let mut watch = now.unwrap_or(usual).clone();
    let mut patterns = match now {
        Some(now) if !asked.drop_all => now.patterns.clone(),
        _ => Vec::new(),
    };
    patterns.retain(|pattern| !asked.drop.iter().any(|text| text == pattern.source()));
    let mut added = Vec::new();
    for pattern in &asked.add {
        if !patterns.contains(pattern) {
            patterns.push(pattern.clone());
        }
        let is_known = now.is_some_and(|now| now.patterns.contains(pattern));
        if !is_known && !added.contains(pattern) {
            added.push(pattern.clone());
        }
    }
    watch.patterns = patterns;
    watch.limit = match asked.limit {
        None => watch.limit,
        Some(0) => None,
        limit => limit,
    };
    NewWatch { watch, added }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Pattern {
        Pattern::Text(text.to_owned())
    }

    fn watch(texts: &[&str]) -> Watch {
        Watch::for_patterns(texts.iter().map(|it| text(it)).collect())
    }

    fn after(now: Option<&Watch>, asked: &ChangeWatch) -> (Vec<String>, Vec<String>) {
        let NewWatch { watch, added } = rewatched(now, &Watch::for_patterns(Vec::new()), asked);
        let sources = |patterns: &[Pattern]| {
            let sources = patterns.iter().map(|pattern| pattern.source().to_owned());
            sources.collect()
        };
        (sources(&watch.patterns), sources(&added))
    }

    #[test]
    fn patterns_are_added_once_and_dropped_by_their_text() {
        let now = watch(&["a", "b"]);
        let asked = ChangeWatch {
            add: vec![text("b"), text("c"), text("c")],
            drop: vec!["a".to_owned(), "z".to_owned()],
            ..ChangeWatch::default()
        };
        let (patterns, added) = after(Some(&now), &asked);
        assert_eq!(
            (patterns, added),
            (vec!["b".into(), "c".into()], vec!["c".into()])
        );
        assert_eq!(after(None, &asked).0, ["b", "c"]);
    }

    #[test]
    fn a_request_that_is_repeated_changes_nothing() {
        let now = watch(&["a"]);
        for asked in [
            ChangeWatch {
                add: vec![text("b")],
                drop: vec!["a".to_owned()],
                limit: Some(3),
                ..ChangeWatch::default()
            },
            ChangeWatch {
                add: vec![text("c"), text("a")],
                drop_all: true,
                ..ChangeWatch::default()
            },
            ChangeWatch {
                drop_all: true,
                ..ChangeWatch::default()
            },
        ] {
            let once = rewatched(Some(&now), &now, &asked);
            let again = rewatched(Some(&once.watch), &now, &asked);
            assert_eq!(again.watch, once.watch, "{asked:?}");
            assert_eq!(again.added, [], "{asked:?}");
        }
    }

    #[test]
    fn what_is_left_out_of_a_change_stays() {
        let notify = Changed {
            notify: Some(Notify::Never),
            ..Changed::default()
        };
        let mut now = Changed {
            watch: Some(watch(&["a"])),
            notify: Some(Notify::Failure),
            ..Changed::default()
        };
        now.merge(&notify);
        assert_eq!(now.watch, Some(watch(&["a"])));
        assert_eq!(now.notify, Some(Notify::Never));
    }

    /// What a program of the first release makes of the line, which has no such event.
    #[test]
    fn the_event_is_a_line_that_older_programs_skip() {
        let event = crate::Event::Changed(Box::default());
        let line = serde_json::to_string(&event).expect("JSON");
        assert_eq!(line, r#"{"changed":{}}"#);
    }
}
