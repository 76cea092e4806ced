//! Copies an output while the job writes it, without a thread while nothing comes.

use super::{Copy, Cut};
use crate::server::{Desk, on_a_thread};
use crate::visit::Visit;
use outlive::Outlive;
use outlive::listening::{self, Following, Wanted};
use outlive::verbs::log::Log;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Copies the part, and then what the job writes until it ends.
pub async fn follow(desk: Arc<Desk>, visit: Visit, log: Log, mut copy: Copy) {
    let begun = {
        let outlive = visit.outlive.clone();
        on_a_thread(move || {
            let following = copy
                .part(&log)
                .and_then(|()| copy.following(&outlive, &log));
            Ok((copy, following))
        })
    };
    let Ok((rest, following)) = begun.await else {
        return;
    };
    copy = rest;
    match following {
        Ok(following) => go_on(&desk, &visit, copy, following).await,
        Err(Cut) => cut(copy).await,
    }
}

/// What came of one look.
enum Looked {
    More,
    Nothing {
        wanted: Wanted,
        patience: Option<Duration>,
    },
    Over,
    Cut,
}

async fn go_on(desk: &Desk, visit: &Visit, mut copy: Copy, mut following: Following) {
    let watcher = desk.hub.watcher();
    loop {
        let outlive = visit.outlive.clone();
        let looked = on_a_thread(move || {
            let looked = look(&outlive, &mut copy, &mut following);
            Ok((copy, following, looked))
        });
        // It fails only if the thread panicked.
        let Ok((rest, followed, looked)) = looked.await else {
            return;
        };
        (copy, following) = (rest, followed);
        match looked {
            Looked::More => {}
            Looked::Over => return,
            Looked::Cut => return cut(copy).await,
            Looked::Nothing { wanted, patience } => {
                watcher.want(following.id(), wanted);
                tokio::select! {
                    _ = watcher.news() => {}
                    () = copy.gone() => return,
                    () = pause(patience) => {
                        let shown = on_a_thread(move || {
                            let shown = copy.still();
                            Ok((copy, shown))
                        });
                        match shown.await {
                            Ok((rest, Ok(()))) => copy = rest,
                            _ => return,
                        }
                    }
                }
            }
        }
    }
}

fn look(outlive: &Outlive, copy: &mut Copy, following: &mut Following) -> Looked {
    // Read the state before the output: once it shows the end, all output is in the file.
    let Ok((_, state)) = listening::meet(outlive, following.id()) else {
        return Looked::Cut;
    };
    let wanted = following.wanted(&state);
    match following.read(outlive, &state) {
        Ok(Some(chunk)) => match copy.chunk(chunk) {
            Ok(true) => Looked::More,
            Ok(false) => Looked::Over,
            Err(Cut) => Looked::Cut,
        },
        Ok(None) => Looked::Nothing {
            wanted,
            patience: copy.patience(),
        },
        Err(_) => Looked::Cut,
    }
}

/// For ever, if there is nothing to show after a pause.
async fn pause(patience: Option<Duration>) {
    match patience {
        Some(patience) => sleep(patience).await,
        None => std::future::pending().await,
    }
}

async fn cut(copy: Copy) {
    let _ = on_a_thread(move || {
        copy.cut();
        Ok(())
    })
    .await;
}
