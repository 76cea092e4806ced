//! What a job was asked for, and whether its session knows of its end, for the [`Job`](outlive_api::job::Job) of
//! the interface.

use crate::agent;
use crate::home::outlive::Outlive;
use crate::redact::redact;
use outlive_api::job::{Details, Told, ToldBy, ToldState};
use outlive_api::labels::LabelValue;
use outlive_core::notice;
use outlive_core::told::{self, Delivery, Settled};
use outlive_core::watch::{Pattern, Watch};
use outlive_core::{Millis, Spec, State};

pub fn of(outlive: &Outlive, spec: &Spec, state: &State) -> Details {
    Details {
        labels: state.labels(spec).clone(),
        timeout_ms: spec.timeout_ms.map(Millis),
        notify: state.notify(spec),
        watch: state.watch(spec).cloned(),
        told: told(outlive, spec, state),
    }
}

/// Whether the session knows of the end. `None` if nobody is to be told, or the record cannot be read.
fn told(outlive: &Outlive, spec: &Spec, state: &State) -> Option<Told> {
    let (end, seq) = (state.end()?, state.end_seq?);
    let is_told = notice::is_end_told(spec, state.notify(spec), end, state.signs.end_promised);
    let told = told::Told::read(
        &outlive.job_dir(&spec.id).told(),
        spec.incarnation.as_ref(),
        &agent::is_gone,
    )
    .ok()?;
    let delivery = told.of(seq).cloned().unwrap_or_default();
    let (now, by) = standing(&delivery, told.is_closed());
    // Somebody may have been told although nobody had to be.
    let is_told = is_told || delivery.settled.is_some();
    (is_told && spec.session.is_some()).then(|| Told {
        state: now,
        at: delivery
            .since
            .filter(|_| now != ToldState::Waiting)
            .map(|at| at.timestamp()),
        by,
        deliveries: delivery.deliveries,
        agent_pid: delivery.handed.as_ref().map(|it| it.to.process.pid),
    })
}

fn standing(delivery: &Delivery, closed: bool) -> (ToldState, Option<ToldBy>) {
    match delivery.settled {
        Some(Settled::Told(by)) => (ToldState::Told, Some(told_by(by))),
        Some(Settled::Dropped(_)) => (ToldState::Dropped, None),
        None if closed => (ToldState::Dropped, None),
        None if delivery.handed.is_some() => (ToldState::Handed, None),
        None if delivery.deliveries > 0 => (ToldState::Delivered, None),
        None if delivery.claim.is_some() => (ToldState::Claimed, None),
        None => (ToldState::Waiting, None),
    }
}

fn told_by(by: told::ToldBy) -> ToldBy {
    match by {
        told::ToldBy::Inbox => ToldBy::Inbox,
        told::ToldBy::Wait => ToldBy::Wait,
        told::ToldBy::Log => ToldBy::Log,
        told::ToldBy::Asked => ToldBy::Asked,
    }
}

/// The same without credentials.
pub fn redacted(details: Details) -> Details {
    let labels = details.labels.into_iter().map(|(key, value)| {
        let shown = LabelValue::parse(&redact(value.as_str())).unwrap_or_default();
        (key, shown)
    });
    Details {
        labels: labels.collect(),
        watch: details.watch.map(|watch| Watch {
            patterns: watch.patterns.into_iter().map(redacted_pattern).collect(),
            ..watch
        }),
        ..details
    }
}

fn redacted_pattern(pattern: Pattern) -> Pattern {
    let shown = |text: String| redact(&text).into_owned();
    match pattern {
        Pattern::Text(text) => Pattern::Text(shown(text)),
        Pattern::Regex(text) => Pattern::Regex(shown(text)),
        Pattern::NotText(text) => Pattern::NotText(shown(text)),
        Pattern::NotRegex(text) => Pattern::NotRegex(shown(text)),
    }
}
