//! The far end, driven over pipes as a courier does.

mod files;
mod following;
mod hostile;
mod launching;
mod leaving;
mod telling;

use outlive_core::JobId;

fn id(text: &str) -> JobId {
    JobId::parse(text).unwrap()
}
