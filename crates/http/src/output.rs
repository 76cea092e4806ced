//! `GET /v1/jobs/{job}/output`: output as it is, or as text, now or as it comes.
//!
//! The exact bytes may contain secrets, so they are for the owner who asks for them, and only they have offsets: `Range`
//! counts bytes of the output. Without them, the same address answers with text from which secrets are left out.

mod copying;
mod following;
mod range;

use crate::body::streamed;
use crate::failure::Refused;
use crate::server::{Desk, on_a_thread};
use crate::visit::{Query, Visit};
use axum::extract::{Path, State};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
pub use copying::{Copy, Cut, Form};
pub use following::follow;
use outlive::verbs::log::{self, Log, Part};
use outlive_guard::Rights;
use range::Asked;
use std::ops::Range;
use std::sync::Arc;

/// Which bytes were not kept, as `FROM-TO` with the offset after the last one, separated by commas.
const DROPPED: HeaderName = HeaderName::from_static("outlive-dropped");

pub async fn output(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(job): Path<String>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let shows_secrets = query.value("secrets") == Some("show");
    debug_assert!(!shows_secrets || visit.pass.rights == Rights::Owner);
    let range = headers.get(RANGE).and_then(|range| range.to_str().ok());
    let asked = range.and_then(range::parse).filter(|_| shows_secrets);
    let from = query.number("from")?.unwrap_or(0);
    let follows = query.has("follow");
    let turn = desk.streams.clone().acquire_owned().await.ok();
    let (writer, body) = streamed();
    let is_download = query.has("download");
    let asking = visit.clone();
    let (log, answer) = on_a_thread(move || {
        let id = asking.find(&job)?;
        let part = Part::Bytes { from, to: None };
        let log = log::log(&asking.outlive, &id, &part)?;
        let mut answer = Answer::new(&log, asked, follows, shows_secrets)?;
        if is_download {
            answer.name(&format!("{id}.log"));
        }
        Ok((log, answer))
    })
    .await?;
    let form = match shows_secrets {
        true => Form::Exact,
        false => {
            let live = log.live(usize::MAX);
            Form::text(live.map_err(|error| Refused::io("the output cannot be read", &error))?)
        }
    };
    let copy = Copy::new(form, writer);
    match follows {
        true => drop(tokio::spawn(follow(desk, visit, log, copy))),
        false => {
            let range = answer.range.clone();
            let work = move || {
                let _turn = turn;
                copy_once(copy, &log, range);
            };
            drop(tokio::task::spawn_blocking(work));
        }
    }
    Ok((answer.status, answer.headers, body).into_response())
}

fn copy_once(mut copy: Copy, log: &Log, range: Option<Range<u64>>) {
    let copied = match range {
        Some(range) => copy.range(log, range),
        None => copy.part(log).and_then(|()| copy.finish()),
    };
    if copied.is_err() {
        copy.cut();
    }
}

/// The head of the answer, and which bytes follow. Without a range they are all that are kept.
#[derive(Clone, Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    range: Option<Range<u64>>,
}

impl Answer {
    fn new(
        log: &Log,
        asked: Option<Asked>,
        follows: bool,
        shows_secrets: bool,
    ) -> Result<Answer, Refused> {
        let mut headers = HeaderMap::new();
        let kind = match shows_secrets {
            true => "application/octet-stream",
            false => "text/plain; charset=utf-8",
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        let dropped = log.dropped();
        if !dropped.is_empty() {
            let each = dropped
                .iter()
                .map(|range| format!("{}-{}", range.start, range.end));
            let text = each.collect::<Vec<_>>().join(",");
            headers.insert(DROPPED, number(text));
        }
        let mut answer = Answer {
            status: StatusCode::OK,
            headers,
            range: None,
        };
        if !shows_secrets {
            return Ok(answer);
        }
        answer
            .headers
            .insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        let size = log.size();
        match asked {
            Some(asked) if !follows => answer.cut(asked, size, &dropped)?,
            _ if follows => {}
            _ => {
                let from = log.range().start;
                let missing = dropped
                    .iter()
                    .map(|gap| gap.end.saturating_sub(gap.start.max(from)));
                answer.length(size - from - missing.sum::<u64>());
            }
        }
        Ok(answer)
    }

    /// Answers with a range, up to the next byte that was not kept.
    fn cut(&mut self, asked: Asked, size: u64, dropped: &[Range<u64>]) -> Result<(), Refused> {
        let found = asked.within(size).filter(|range| {
            let mut gaps = dropped.iter();
            !gaps.any(|gap| gap.contains(&range.start))
        });
        let Some(mut range) = found else {
            let text = format!(
                "the output has {size} bytes, and that range is not among those that are kept"
            );
            let refused = Refused::bad_input(text);
            return Err(refused.with_status(StatusCode::RANGE_NOT_SATISFIABLE));
        };
        let next = dropped.iter().find(|gap| gap.start > range.start);
        range.end = next.map_or(range.end, |gap| gap.start.min(range.end));
        let text = format!("bytes {}-{}/{size}", range.start, range.end - 1);
        self.headers.insert(CONTENT_RANGE, number(text));
        self.length(range.end - range.start);
        self.status = StatusCode::PARTIAL_CONTENT;
        self.range = Some(range);
        Ok(())
    }

    fn length(&mut self, bytes: u64) {
        self.headers
            .insert(CONTENT_LENGTH, number(bytes.to_string()));
    }

    fn name(&mut self, file: &str) {
        let text = format!("attachment; filename=\"{file}\"");
        self.headers.insert(CONTENT_DISPOSITION, number(text));
    }
}

/// A header that consists of digits and the like.
fn number(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}
