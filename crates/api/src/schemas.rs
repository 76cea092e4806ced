//! The JSON Schemas that are checked in as `docs/api`, and the page that lists them.

use crate::event::{Event, EventKind, Events};
use crate::failure::{ErrorCode, ErrorReply};
use crate::job::{Job, JobList, JobView, JobViews};
use crate::log::{LogLine, LogPage, LogPiece, Screen};
use crate::place::{
    PlaceAdded, PlaceChecks, PlaceCleaned, PlaceConnected, PlaceList, PlaceRemoved,
};
use crate::request::{
    Ack, AddPlace, Adopt, Attach, ChangeLabels, ChangeWatch, EndSession, Filter, ForJob, ForJobs,
    ForSession, Log, NewPost, Prune, Run, Send, SendSignal, Show, Stop, Take, Wait,
};
use crate::rpc;
use crate::setup::{SetupList, SetupPlan};
use crate::terminal::Size;
use crate::usage::UsageSample;
use crate::{event_data, reply};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::fmt::Write;

/// One schema.
#[derive(Debug)]
pub struct NamedSchema {
    /// The name of its file, without `.schema.json`.
    pub name: &'static str,
    /// The JSON Schema.
    pub schema: Value,
}

/// The schemas of everything that Outlive answers.
pub fn replies() -> Vec<NamedSchema> {
    vec![
        reply::<Job>("job"),
        reply::<JobView>("job_view"),
        reply::<JobList>("job_list"),
        reply::<JobViews>("job_views"),
        reply::<UsageSample>("usage_sample"),
        reply::<LogPage>("log_page"),
        reply::<LogLine>("log_line"),
        reply::<LogPiece>("log_piece"),
        reply::<Screen>("screen"),
        reply::<reply::WaitReply>("wait_reply"),
        reply::<reply::StopReply>("stop_reply"),
        reply::<reply::WaitTailReply>("wait_tail_reply"),
        reply::<reply::SignalReply>("signal_reply"),
        reply::<reply::SignalsReply>("signals_reply"),
        reply::<reply::SendReply>("send_reply"),
        reply::<reply::ResizeReply>("resize_reply"),
        reply::<reply::PostReply>("post_reply"),
        reply::<reply::PruneReply>("prune_reply"),
        reply::<reply::SessionEndReply>("session_end_reply"),
        reply::<reply::DoctorReply>("doctor_reply"),
        reply::<reply::DoorbellList>("doorbell_list"),
        reply::<reply::DoorbellTestReply>("doorbell_test_reply"),
        reply::<PlaceList>("place_list"),
        reply::<PlaceChecks>("place_checks"),
        reply::<PlaceAdded>("place_added"),
        reply::<PlaceRemoved>("place_removed"),
        reply::<PlaceConnected>("place_connected"),
        reply::<PlaceCleaned>("place_cleaned"),
        reply::<SetupPlan>("setup_plan"),
        reply::<SetupList>("setup_list"),
        reply::<ErrorReply>("error"),
        reply::<rpc::Found>("found"),
        reply::<rpc::Started>("started"),
        reply::<rpc::Acked>("acked"),
        reply::<rpc::OutputPart>("output_part"),
        reply::<rpc::OutputEnd>("output_end"),
        reply::<rpc::LinesPart>("lines_part"),
        reply::<rpc::LogRead>("log_read"),
        reply::<rpc::JobChange>("job_change"),
        reply::<rpc::LendPart>("lend_part"),
    ]
}

/// The schemas of what the verbs take.
pub fn requests() -> Vec<NamedSchema> {
    vec![
        request::<Run, Run>("run_request"),
        request::<Adopt, Adopt>("adopt_request"),
        request::<Filter, Filter>("list_request"),
        request::<ForJob<Show>, Show>("show_request"),
        request::<ForJob<Log>, Log>("log_request"),
        request::<ForJobs<Wait>, Wait>("wait_request"),
        request::<ForJobs<ChangeWatch>, ChangeWatch>("watch_request"),
        request::<ForJobs<ChangeLabels>, ChangeLabels>("label_request"),
        request::<ForJobs<Stop>, Stop>("stop_request"),
        request::<ForJob<SendSignal>, SendSignal>("signal_request"),
        request::<ForJob<Send>, Send>("send_request"),
        request::<ForJob<Size>, Size>("resize_request"),
        request::<ForJob<Attach>, Attach>("attach_request"),
        request::<ForSession<Take>, Take>("inbox_request"),
        request::<ForSession<Ack>, Ack>("ack_request"),
        request::<NewPost, NewPost>("post_request"),
        request::<ForSession<EndSession>, EndSession>("session_end_request"),
        request::<Prune, Prune>("prune_request"),
        request::<AddPlace, AddPlace>("place_add_request"),
        request::<rpc::Find, rpc::Find>("find_request"),
        request::<rpc::AckAny, rpc::AckAny>("ack_any_request"),
        request::<rpc::FollowOutput, rpc::FollowOutput>("follow_output_request"),
        request::<rpc::FollowEvents, rpc::FollowEvents>("follow_events_request"),
        request::<rpc::FollowJobs, rpc::FollowJobs>("follow_jobs_request"),
        request::<rpc::FollowUsage, rpc::FollowUsage>("follow_usage_request"),
        request::<rpc::CheckPlaces, rpc::CheckPlaces>("place_check_request"),
        request::<rpc::RemovePlace, rpc::RemovePlace>("place_remove_request"),
        request::<rpc::OfPlace, rpc::OfPlace>("place_clean_request"),
        request::<rpc::LendPlace, rpc::LendPlace>("place_lend_request"),
    ]
}

/// The schemas of the messages of `outlive rpc`, which carry requests and replies.
pub fn messages() -> Vec<NamedSchema> {
    vec![
        request::<rpc::Message, rpc::Message>("rpc_message"),
        reply::<rpc::Hello>("rpc_hello"),
        reply::<rpc::Answer>("rpc_answer"),
        reply::<rpc::Refusal>("rpc_refusal"),
        reply::<rpc::Part>("rpc_part"),
    ]
}

/// The schema of a request, described as the part of it that has no ids.
fn request<T: JsonSchema, R: JsonSchema>(name: &'static str) -> NamedSchema {
    let settings = || SchemaSettings::draft2020_12().for_deserialize();
    let mut named = schema_of::<T>(name, settings());
    let described = schema_of::<R>(name, settings()).schema;
    named.schema["title"] = name.into();
    named.schema["description"] = described["description"].clone();
    named
}

/// The schemas of events, and of the data of each kind of event.
pub fn events() -> Vec<NamedSchema> {
    vec![
        reply::<Event>("event"),
        reply::<Events>("events"),
        data::<event_data::Ended>("event_data_ended", EventKind::Ended),
        data::<event_data::LingeringEnded>("event_data_lingering_ended", EventKind::LingeringEnded),
        data::<event_data::Restarted>("event_data_restarted", EventKind::Restarted),
        data::<event_data::Matched>("event_data_matched", EventKind::Matched),
        data::<event_data::WatchDisabled>("event_data_watch_disabled", EventKind::WatchDisabled),
        data::<event_data::WatchOverflow>("event_data_watch_overflow", EventKind::WatchOverflow),
        data::<event_data::WatchResumed>("event_data_watch_resumed", EventKind::WatchResumed),
        data::<event_data::Quiet>("event_data_quiet", EventKind::Quiet),
        data::<event_data::AwaitingInput>("event_data_awaiting_input", EventKind::AwaitingInput),
        data::<event_data::Ready>("event_data_ready", EventKind::Ready),
        of_place::<event_data::Unreachable>("event_data_unreachable", EventKind::Unreachable),
        of_place::<event_data::Reached>("event_data_reached", EventKind::Reached),
    ]
}

/// The data of a job's event of this kind.
fn data<D: JsonSchema>(name: &'static str, kind: EventKind) -> NamedSchema {
    of_place::<event_data::OfJob<D>>(name, kind)
}

/// The data of an event that is not about one job.
fn of_place<D: JsonSchema>(name: &'static str, kind: EventKind) -> NamedSchema {
    let mut named = reply::<D>(name);
    let kind = serde_json::to_value(kind).unwrap_or_default();
    let kind = kind.as_str().unwrap_or_default();
    named.schema["title"] = name.into();
    named.schema["description"] = format!("The data of an event of the kind `{kind}`.").into();
    named
}

fn reply<T: JsonSchema>(name: &'static str) -> NamedSchema {
    schema_of::<T>(name, SchemaSettings::draft2020_12().for_serialize())
}

fn schema_of<T: JsonSchema>(name: &'static str, settings: SchemaSettings) -> NamedSchema {
    let generator = settings.into_generator();
    NamedSchema {
        name,
        schema: generator.into_root_schema_for::<T>().to_value(),
    }
}

/// The page that lists the schemas, the kinds of events and the codes of errors.
pub fn readme() -> String {
    let mut page = String::from(
        "# The contract\n\n\
         These files are generated from the types in `crates/api`. A test compares them with the types.\n\
         Rewrite them with `UPDATE_SCHEMAS=1 cargo test -p outlive-api --test schemas`.\n\n\
         Models get a brief form over MCP, without nulls and default values. It leaves out a field that is marked \
         with `x-programs-only`; one with `x-in-detail`, unless the reply is about one job; and one whose value is \
         listed in `x-usual`. An ended job without `outcome` has exited or was ended by a signal, as its \
         `exit_code` and `ended_by` say.\n",
    );
    files(&mut page, "Requests", &requests());
    files(&mut page, "Replies", &replies());
    files(&mut page, "Messages of `outlive rpc`", &messages());
    files(&mut page, "Events", &events());
    variants::<EventKind>(&mut page, "Kinds of events", "kind");
    variants::<ErrorCode>(&mut page, "Codes of errors", "code");
    page
}

fn files(page: &mut String, title: &str, schemas: &[NamedSchema]) {
    table(page, title, "file");
    for NamedSchema { name, schema } in schemas {
        let what = description(schema);
        row(page, &format!("[{name}]({name}.schema.json)"), &what);
    }
}

/// The variants of an enum, with their documentation.
fn variants<T: JsonSchema>(page: &mut String, title: &str, column: &str) {
    table(page, title, column);
    let NamedSchema { schema, .. } = reply::<T>("");
    for variant in schema["oneOf"].as_array().into_iter().flatten() {
        let name = variant["const"].as_str().unwrap_or_default();
        row(page, &format!("`{name}`"), &description(variant));
    }
}

fn table(page: &mut String, title: &str, column: &str) {
    write!(page, "\n## {title}\n\n| {column} | meaning |\n|---|---|\n")
        .expect("a string takes what is written");
}

fn row(page: &mut String, name: &str, meaning: &str) {
    writeln!(page, "| {name} | {meaning} |").expect("a string takes what is written");
}

/// The first paragraph of the documentation, on one line.
fn description(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    first.replace('\n', " ")
}
