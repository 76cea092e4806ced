//! The screen of a terminal, and then what changes on it.

use super::Cut;
use super::flow::Flow;
use super::message::OfJob;
use crate::server::{Desk, on_a_thread};
use crate::visit::Visit;
use crate::window::Shown;
use outlive::api::log::CursorPosition;
use outlive::live::{LiveScreen, ScreenUpdate};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// The time between two updates. A screen is not drawn more often.
const SPACING: Duration = Duration::from_millis(15);

/// How the screen differs from the update before.
#[derive(Serialize)]
struct Update {
    rows: u16,
    cols: u16,
    cursor: CursorPosition,
    alternate: bool,
    application_cursor: bool,
    bracketed_paste: bool,
    mouse: u8,
    sgr_mouse: bool,
    /// The rows that changed, with their numbers from 0.
    lines: Vec<(u16, Vec<Cells>)>,
}

/// Text of one look, and how many cells it takes.
#[derive(Serialize)]
struct Cells {
    w: u16,
    #[serde(flatten)]
    shown: Shown,
}

impl From<ScreenUpdate> for Update {
    fn from(update: ScreenUpdate) -> Update {
        let rows = update.rows.into_iter().map(|(number, spans)| {
            let cells = spans.into_iter().map(|span| Cells {
                w: span.cells,
                shown: Shown::new(&span.text, span.style),
            });
            (number, cells.collect())
        });
        Update {
            rows: update.size.rows,
            cols: update.size.cols,
            cursor: update.cursor,
            alternate: update.alternate,
            application_cursor: update.modes.application_cursor,
            bracketed_paste: update.modes.bracketed_paste,
            mouse: update.modes.mouse,
            sgr_mouse: update.modes.sgr_mouse,
            lines: rows.collect(),
        }
    }
}

pub async fn follow(desk: &Arc<Desk>, visit: Visit, asked: OfJob, flow: Flow) -> Result<(), Cut> {
    let mut flow = flow.one_by_one();
    let watcher = desk.hub.watcher();
    let id = visit.find(asked.job.as_str())?;
    let mut screen = LiveScreen::open(&visit.outlive, &id)?;
    loop {
        flow.room().await?;
        let (rest, progress, update) = on_a_thread(move || {
            let mut progress = screen.advance()?;
            // What a person sees is the last state, so a long output is read before the first update.
            while progress.has_more && screen.is_new() {
                progress = screen.advance()?;
            }
            let update = screen.update();
            Ok((screen, progress, update))
        })
        .await?;
        screen = rest;
        let is_new = update.is_some();
        if let Some(update) = update {
            flow.send(&Update::from(update)).await?;
        }
        if progress.has_ended {
            return Ok(());
        }
        if !progress.has_more {
            watcher.want(&id, progress.wanted);
            let news = watcher.news();
            match is_new {
                // The pause begins with the update, so that a key after a silence is shown at once.
                true => drop(tokio::join!(news, tokio::time::sleep(SPACING))),
                false => drop(news.await),
            }
        }
    }
}
