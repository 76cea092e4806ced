//! The last look at a job whose container is gone: its home may be on a disk that this machine has, too, as with Apptainer,
//! which shares the home directory of the user. Then its journal tells what nobody has heard.
//!
//! Nothing is written there, and nothing of what is found there is run.

use super::desk::Courier;
use super::journals::Task;
use super::replicas::{Standing, Taken};
use outlive_core::far::Instance;
use outlive_core::layout;
use outlive_core::{Home, Label, Spec};
use std::io;

/// A journal is a few kilobytes long.
const MAX_JOURNAL: u64 = 64 << 20;

/// Adds to the replica what the journal of the job has, if that is on a disk of this machine.
pub fn read(courier: &Courier, standing: &Standing) -> io::Result<()> {
    let Some(there) = standing.placed.instance().and_then(home) else {
        return Ok(());
    };
    let id = &standing.id;
    let spec = courier.outlive.read_spec(id).map_err(io::Error::other)?;
    let there = there.job(id);
    let found = there.read_spec();
    if !found.is_ok_and(|found| is_ours(courier, &spec, &found)) {
        return Ok(());
    }
    let journal = there.journal();
    if layout::open(&journal)?.metadata()?.len() > MAX_JOURNAL {
        return Ok(());
    }
    let text = layout::read(&journal)?;
    courier.replicas.follow(courier, id)?;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        // Its writer has not finished the last one.
        let Some(line) = line.strip_suffix(b"\n") else {
            break;
        };
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        if courier.replicas.take(courier, id, line)? == Taken::Appended {
            courier.clerk.add(Task::Sync(id.clone()));
        }
    }
    Ok(())
}

/// The home of an instance, if it is on a disk of this machine. Whoever answered there said where it is, so it is
/// believed only if the home there has the right id.
fn home(instance: &Instance) -> Option<Home> {
    let there = Home::at(instance.root.as_path().to_owned());
    let found = layout::read(&there.home_id()).ok()?;
    let is_it = found.strip_suffix(b"\n") == Some(instance.home.as_str().as_bytes());
    is_it.then_some(there)
}

fn is_ours(courier: &Courier, mine: &Spec, found: &Spec) -> bool {
    let session = Label::parse(&format!("near-{}", courier.home)).ok();
    found.session == session && found.incarnation.is_some() && found.incarnation == mine.incarnation
}
