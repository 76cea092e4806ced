//! A harness that starts several jobs for its session and handles each end as it comes, without polling.
//!
//! `cargo run -p outlive --example inbox_loop`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use outlive::api::event::EventKind;
use outlive::inbox::Take;
use outlive::{Error, Outlive, Run};

const SESSION: &str = "conversation-1";
const JOBS: [(&str, &str); 3] = [
    ("quick", "echo quick"),
    ("slow", "sleep 0.2; echo slow"),
    ("wrong", "echo wrong; exit 1"),
];

fn main() -> Result<(), Error> {
    let outlive = Outlive::open()?;
    for (name, script) in JOBS {
        outlive.run(Run::shell(script).name(name).session(SESSION))?;
    }
    let inbox = outlive.inbox(SESSION)?;
    let mut ended = 0;
    while ended < JOBS.len() {
        // Sleeps until something is due. What it gives is claimed: no other consumer gets it meanwhile.
        let delivery = inbox.next(Take::default())?;
        for event in delivery.events() {
            println!("{}\n", event.text);
            ended += usize::from(event.kind == EventKind::Ended);
        }
        // If this program is killed before this line, the events are delivered again when the claim lapses, after five
        // minutes.
        delivery.told()?;
    }
    println!("{} jobs ended", JOBS.len());
    Ok(())
}
