//! Reaching the place: the thread that opens each wire, greets, and reads until the wire is lost.

use super::ask::{self, Said};
use super::containers;
use super::desk::Courier;
use super::journals::JournalStream;
use super::owed;
use super::replicas::{self, Standing};
use super::settling;
use super::thread;
use super::wire::{Fault, Reading, Wire};
use crate::clock;
use crate::hooks::{self, CourierHook};
use crate::places::Unreached;
use crate::places::records::{self, Start};
use crate::places::transport::{self, WireEnds};
use outlive_core::far::{Answer, Call, Greeting, Hello, WIRE};
use outlive_core::place::ContainerRef;
use outlive_core::{BootTime, event, layout, spec};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Reaches the place whenever somebody wants it, until the courier leaves.
pub fn work(courier: &Arc<Courier>) {
    while let Some(number) = courier.wait_until_wanted() {
        let why = attempt(courier);
        courier.unreached(number, &why);
    }
}

/// Reaches the place and serves the wire. Returns why that is over.
fn attempt(courier: &Arc<Courier>) -> Unreached {
    let by = clock::boot() + courier.place.settings.reach;
    let ends = match transport::open(&courier.outlive, &courier.place, by) {
        Ok(ends) => ends,
        Err(why) => {
            if matches!(why, Unreached::NoSuchInstance(_)) {
                let known = records::read_known(&courier.outlive, &courier.place);
                containers::settle_gone(courier, known.as_ref(), None, by);
            }
            return why;
        }
    };
    let mut was_reached = false;
    let served = begin(&ends.input, ends.carrier.is_tunnel()).and_then(|wire| {
        let served = serve(courier, &wire, &ends.output, ends.container.as_ref(), by);
        was_reached = wire.greeting().is_some();
        served
    });
    let WireEnds {
        input,
        output,
        carrier,
        ..
    } = ends;
    let why = match &served {
        Ok(()) | Err(Fault::Ended) => Unreached::Refused("the connection was closed".to_owned()),
        Err(Fault::Broken(why)) => why.clone(),
    };
    let end = move || match served {
        Ok(()) | Err(Fault::Ended) => {
            drop((input, output));
            carrier.why_ended("")
        }
        Err(Fault::Broken(why)) => {
            transport::end(carrier, (input, output));
            why
        }
    };
    if !was_reached {
        return end();
    }
    // Somebody may wait for the next wire, and a transport may take a second to end.
    let mine = Arc::clone(courier);
    let ending = thread("carrier", move || {
        mine.log.note(&format!("the connection is over: {}", end()));
    });
    drop(ending);
    why
}

fn begin(input: &File, is_tunnel: bool) -> Result<Arc<Wire>, Fault> {
    let begin = || -> io::Result<Arc<Wire>> {
        let wire = match is_tunnel {
            true => Wire::of_tunnel(),
            false => Wire::new(),
        };
        let wire = Arc::new(wire?);
        let (mine, input) = (Arc::clone(&wire), input.try_clone()?);
        thread("wire", move || mine.write_to(input))?;
        Ok(wire)
    };
    begin().map_err(|error| Fault::Broken(Unreached::NoCourier(format!("its courier: {error}"))))
}

fn serve(
    courier: &Arc<Courier>,
    wire: &Arc<Wire>,
    output: &File,
    container: Option<&ContainerRef>,
    by: BootTime,
) -> Result<(), Fault> {
    let mut reading = Reading::of(wire, output);
    let met = meet(courier, wire, &mut reading, container, by);
    let served = met.and_then(|()| {
        courier.reached(wire);
        let (mine, over) = (Arc::clone(courier), Arc::clone(wire));
        // It asks, so another thread must read.
        let _ = thread("settle", move || {
            settling::settle(&mine, &over, None);
            owed::pay(&mine, &over);
        });
        loop {
            reading.step(None)?;
            courier.note_heard(wire);
        }
    });
    let why = match &served {
        Err(Fault::Broken(why)) => why.clone(),
        _ => Unreached::Refused("the connection was closed".to_owned()),
    };
    courier.lose(wire);
    wire.close(&why);
    served
}

/// Says hello, checks who answers, and asks for the journals of the jobs there.
fn meet(
    courier: &Arc<Courier>,
    wire: &Arc<Wire>,
    reading: &mut Reading<'_>,
    container: Option<&ContainerRef>,
    by: BootTime,
) -> Result<(), Fault> {
    let mut greeting = greet(courier, wire, reading, by)?;
    greeting.instance.container = container.cloned();
    hooks::reach_courier(CourierHook::Greeted);
    let earlier = containers::check_instance(courier, &greeting.instance, by);
    let earlier = earlier.map_err(Fault::Broken)?;
    courier.note_contact(&greeting.instance);
    let home = greeting.instance.home.clone();
    wire.set_greeting(greeting);
    let journals = JournalStream::open(courier, wire).map_err(Fault::Broken)?;
    wire.set_journals(Arc::clone(&journals));
    for standing in replicas::live(courier) {
        let id = &standing.id;
        let done = match standing.placed.start() {
            // Whoever noted that was killed before it recorded the end.
            Start::NotStarted(_) | Start::Lost(_) => super::journals::finish(courier, id),
            // Whoever recorded the end was killed before the place was told.
            Start::Answered if standing.is_final => ack_all(courier, &standing),
            Start::Answered if standing.is_at(&home) => {
                journals.follow(wire, id, containers::was_stopped(&standing, container))
            }
            Start::Answered | Start::Asked => Ok(()),
        };
        if let Err(error) = done {
            courier.log.note(&format!("cannot follow {id}: {error}"));
        }
    }
    containers::settle_gone(courier, earlier.as_ref(), Some(wire), by);
    courier.look_at_bells();
    Ok(())
}

/// Takes a job whose replica has all from the running ones. The place is told with everything else that is owed.
fn ack_all(courier: &Courier, standing: &Standing) -> io::Result<()> {
    // The place may remove what was acked, and whoever appended the end may have been killed before it synced.
    let journal = courier.outlive.job_dir(&standing.id).journal();
    layout::sync(&layout::open(&journal)?)?;
    owed::note(courier, &standing.id)?;
    replicas::retire(&courier.outlive, &standing.id)
}

fn greet(
    courier: &Courier,
    wire: &Wire,
    reading: &mut Reading<'_>,
    by: BootTime,
) -> Result<Greeting, Fault> {
    let broken = |why: String| Fault::Broken(Unreached::NotUnderstood(why));
    let hello = Call::Hello(Hello {
        wire: WIRE,
        home: courier.home.clone(),
        place: courier.place.key(),
        journal_format: event::FORMAT,
        spec_format: spec::FORMAT,
    });
    let asked = ask::send(wire, &hello).map_err(Fault::Broken)?;
    loop {
        let now = clock::boot();
        match asked.wait(Some(now)) {
            None if now >= by => return Err(Fault::Broken(Unreached::TimedOut)),
            None => reading.step(Some(by))?,
            Some(Said::Answer(Answer::Hello(greeting))) if greeting.wire == WIRE => {
                return Ok(*greeting);
            }
            Some(Said::Answer(Answer::Hello(greeting))) => {
                let theirs = greeting.wire;
                return Err(broken(format!(
                    "the program there speaks version {theirs} of the wire, and this one version {WIRE}"
                )));
            }
            Some(Said::Answer(Answer::Failed(failure))) => {
                return Err(Fault::Broken(Unreached::Refused(failure.message)));
            }
            Some(Said::Answer(_)) => {
                return Err(broken("it gave an answer to another question".to_owned()));
            }
            Some(Said::Lost(why) | Said::Unreadable(why)) => return Err(Fault::Broken(why)),
        }
    }
}

#[cfg(test)]
mod tests;
