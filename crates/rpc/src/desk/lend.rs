//! `place_lend`: a sandbox of the harness is a place, until the request is cancelled.

use super::stream::{Continues, Stream, Turn};
use crate::calls::{Call, Refused};
use crate::under_way::Request;
use outlive::api::rpc::{LendPart, LendPlace};
use outlive::listening::{State, Wanted};
use outlive::places::lend::protocol::{Asked, Offer, VERSION};
use outlive::places::lend::{Lending, lend};
use outlive::{Error, JobId};
use std::sync::Arc;

/// What is lent, as long as this is there.
#[derive(Debug)]
struct Lent {
    _lending: Arc<Lending>,
}

pub fn place_lend(call: &Arc<Call>) -> Result<Stream, Refused> {
    let LendPlace {
        name,
        input,
        serial,
    } = call.read()?;
    let offer = Offer {
        version: VERSION,
        input,
        serial,
    };
    let (request, pool) = (call.request.clone(), call.pool.clone());
    let lending = call.lends.lend(call.request.id(), || {
        lend(&call.outlive, &name, offer, move |asked| {
            // It must not wait for the harness to read.
            let request = request.clone();
            pool.run(move || {
                let _ = request.part_in_time(part(asked), None);
            });
        })
    })?;
    let place = format!("caller:{name}");
    call.request.part(LendPart::Lent { place }, None)?;
    Ok(Stream::new(&call.request, Lent { _lending: lending }))
}

fn part(asked: Asked) -> LendPart {
    match asked {
        Asked::Execute(command) => LendPart::Execute {
            id: command.id,
            command: command.command,
            input: command.input,
            timeout_ms: command.timeout_ms,
        },
        Asked::Cancel { id } => LendPart::Cancel { id },
    }
}

impl Continues for Lent {
    fn heard(&mut self, _: &JobId, _: Result<&State, &Error>) {}

    fn new_jobs(&mut self) -> Vec<JobId> {
        Vec::new()
    }

    fn wants(&self, _: &JobId) -> Option<Wanted> {
        None
    }

    fn turn(&mut self, _: &Request) -> Turn {
        Turn::Sleeps
    }
}
