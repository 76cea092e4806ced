//! `prune`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::prune;
use outlive_api::reply::PruneReply;

pub struct Prune;

impl Verb for Prune {
    type Request = outlive_api::request::Prune;
    type Reply = PruneReply;
    const NAME: &'static str = "prune";
    const ABOUT: &'static str = "Remove ended jobs.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<PruneReply, Refused> {
        Ok(prune::prune(&call.visit.outlive, &asked)?.into())
    }
}
