//! The last lines of an output, as they come. Of an output that grows faster than a page reads, only the last lines are sent.

use super::Cut;
use super::flow::Flow;
use super::message::OfTail;
use crate::failure::Refused;
use crate::server::{Desk, on_a_thread};
use crate::visit::Visit;
use crate::window::{self, Window};
use outlive::api::job::JobState;
use outlive::listening::{self, Wanted};
use outlive::verbs::log::{self, Part};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// The most lines of a part.
const MAX_LINES: u64 = 500;

/// The time between two parts. Nobody reads faster.
const SPACING: Duration = Duration::from_millis(40);

/// New lines. The last one of the part before is in it again, because it may have gone on.
#[derive(Serialize)]
struct NewLines {
    #[serde(flatten)]
    window: Window,
    /// No more will come.
    ended: bool,
}

pub async fn follow(desk: &Arc<Desk>, visit: Visit, asked: OfTail, flow: Flow) -> Result<(), Cut> {
    let mut flow = flow.one_by_one();
    let watcher = desk.hub.watcher();
    let id = visit.find(asked.job.as_str())?;
    let most = asked.lines.clamp(1, MAX_LINES);
    let mut shown: Option<(u64, u64)> = None;
    loop {
        flow.room().await?;
        let (outlive, job) = (visit.outlive.clone(), id.clone());
        let before = shown;
        let (lines, seq) = on_a_thread(move || {
            let (_, state) = listening::meet(&outlive, &job)?;
            let lines = look(&outlive, &job, most, before)?;
            Ok((lines, state.seq))
        })
        .await?;
        let size = lines.window.size();
        let ended = lines.ended;
        if ended || shown.is_none_or(|(_, before)| before != size) {
            shown = Some((lines.window.lines(), size));
            flow.send(&lines).await?;
        }
        if ended {
            return Ok(());
        }
        let wanted = Wanted {
            output: Some(size),
            ..Wanted::events_after(seq)
        };
        watcher.want(&id, wanted);
        watcher.news().await;
        tokio::time::sleep(SPACING).await;
    }
}

/// The lines since the last look, of which `before` says the number of lines and bytes.
fn look(
    outlive: &outlive::Outlive,
    id: &outlive::JobId,
    most: u64,
    before: Option<(u64, u64)>,
) -> Result<NewLines, Refused> {
    let failed = |error: std::io::Error| Refused::io("the output cannot be read", &error);
    let mut log = log::log(outlive, id, &Part::LastLines(most))?;
    if let Some((lines, _)) = before {
        let total = log.total_lines().map_err(failed)?;
        let new = total.saturating_sub(lines) + 1;
        if new < most {
            log = log::log(outlive, id, &Part::LastLines(new))?;
        }
    }
    Ok(NewLines {
        ended: log.state() == JobState::Ended,
        window: window::window(&log).map_err(failed)?,
    })
}
