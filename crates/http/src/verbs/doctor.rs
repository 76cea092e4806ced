//! `doctor`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::doctor;
use outlive_api::reply::DoctorReply;
use schemars::JsonSchema;
use serde::Deserialize;

pub struct Doctor;

/// A request without options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl Verb for Doctor {
    type Request = Nothing;
    type Reply = DoctorReply;
    const NAME: &'static str = "doctor";
    const ABOUT: &'static str = "Say what this machine lacks for the whole promise.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, _asked: Nothing) -> Result<DoctorReply, Refused> {
        Ok(doctor::doctor(&call.visit.outlive)?)
    }
}
