//! Becoming the courier of a place.

use super::desk::Courier;
use super::{clients, contact, thread};
use crate::error::Error;
use crate::home::identity;
use crate::home::outlive::Outlive;
use crate::hooks::{self, CourierHook};
use crate::places::Place;
use crate::places::dial::LISTENS;
use crate::places::records::{self, SOCKET};
use outlive_core::layout::{self, PRIVATE};
use outlive_sys::child::{self, Forked};
use outlive_sys::control::{Listener, Stream};
use outlive_sys::lock::{self, Lock, LockResult};
use outlive_sys::process::own;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Is the courier of this place until nobody needs it. Returns at once if there is one already.
///
/// When a courier listens, this or the other one, a byte is written to standard output, which is then closed. What fails
/// before that is written there in words.
pub fn run(outlive: &Outlive, place: &Place) -> Result<(), Error> {
    let handed = own::take_handed_down().map_err(Error::io("cannot begin", "a courier"))?;
    if let Ok(Forked::Parent(_)) = child::fork_here() {
        return Ok(());
    }
    // It leads a session already if it was started by hand.
    let _ = own::new_session();
    let mut ready = handed.output;
    match enter(outlive, place) {
        Ok(Some((courier, listener, _lock))) => {
            say(ready, &[LISTENS]);
            serve(&courier, listener);
            Ok(())
        }
        Ok(None) => {
            say(ready, &[LISTENS]);
            Ok(())
        }
        Err(error) => {
            let _ = ready.write_all(error.to_string().as_bytes());
            Err(error)
        }
    }
}

fn say(mut ready: File, word: &[u8]) {
    let _ = ready.write_all(word);
}

/// `None` if another courier listens.
fn enter(
    outlive: &Outlive,
    place: &Place,
) -> Result<Option<(Arc<Courier>, Listener, Lock)>, Error> {
    let directory = records::make_directory(outlive, place)?;
    let Some(lock) = take_lock(&directory)? else {
        return Ok(None);
    };
    hooks::reach_courier(CourierHook::Locked);
    let home = identity::home_id(outlive)?;
    let courier = Arc::new(Courier::new(outlive.clone(), place.clone(), home));
    let mine = Arc::clone(&courier);
    // Nobody reads its standard error.
    std::panic::set_hook(Box::new(move |panic| {
        mine.log.note(&format!("panic: {panic}"))
    }));
    let listener = Listener::bind(&directory, SOCKET)
        .map_err(Error::io("cannot listen at", directory.join(SOCKET)))?;
    let socket = directory.join(SOCKET);
    fs::set_permissions(&socket, Permissions::from_mode(PRIVATE))
        .map_err(Error::io("cannot make private", socket))?;
    hooks::reach_courier(CourierHook::Listening);
    Ok(Some((courier, listener, lock)))
}

/// The lock of the place. `None` if another courier has it and listens.
fn take_lock(directory: &Path) -> Result<Option<Lock>, Error> {
    /// A courier that has the lock and does not listen begins or leaves, and sends no notification of it.
    const PAUSE: Duration = Duration::from_millis(2);
    const TRIES: u32 = 4000;
    let path = directory.join("lock");
    let failed = || Error::io("cannot take the lock", &path);
    for _ in 0..TRIES {
        let file = layout::open_or_make(&path).map_err(failed())?;
        if let LockResult::Acquired(lock) = lock::take(file).map_err(failed())? {
            return Ok(Some(lock));
        }
        if let Ok(Some(_)) = Stream::connect(directory, SOCKET, Duration::from_secs(1)) {
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
    let busy = std::io::Error::from(std::io::ErrorKind::WouldBlock);
    Err(failed()(busy))
}

fn serve(courier: &Arc<Courier>, listener: Listener) {
    let listener = Arc::new(listener);
    let begun = thread("contact", {
        let courier = Arc::clone(courier);
        move || contact::work(&courier)
    })
    .and_then(|()| {
        let courier = Arc::clone(courier);
        thread("clerk", move || courier.clerk.work(&courier))
    })
    .and_then(|()| {
        let (courier, listener) = (Arc::clone(courier), Arc::clone(&listener));
        thread("accept", move || {
            if let Err(error) = clients::accept(&courier, &listener) {
                courier.log.note(&format!("cannot accept clients: {error}"));
                courier.leave();
            }
        })
    });
    match begun {
        Ok(()) => {
            courier.look_at_bells();
            courier.wait_until_unneeded();
        }
        Err(error) => courier.log.note(&format!("cannot begin: {error}")),
    }
    // Those who wait to be accepted see their connections close, and start the next courier.
    listener.close();
}
