//! What is typed into jobs, in the order in which it comes. A page that was cut off sends what was not answered again,
//! with the same ids, so that it arrives once.

use super::message::{Answer, Input};
use crate::failure::Refused;
use crate::server::on_a_thread;
use crate::visit::Visit;
use crate::websocket::{Gone, Message, Sender};
use outlive::verbs::resize;
use outlive::verbs::send::{self, Send};
use tokio::sync::mpsc;

/// So much may wait. A page that types faster than a job reads waits then.
const WAITING: usize = 64;

/// The task that writes.
pub struct Typing(mpsc::Sender<Input>);

impl Typing {
    pub fn start(visit: Visit, sender: Sender) -> Typing {
        let (inputs, mut waiting) = mpsc::channel::<Input>(WAITING);
        tokio::spawn(async move {
            while let Some(input) = waiting.recv().await {
                let (visit, id) = (visit.clone(), input.id.clone());
                let answer = match on_a_thread(move || write(&visit, input)).await {
                    Ok(()) => Answer::done(id),
                    Err(refused) => Answer::refused(None, Some(id), refused),
                };
                let Some(text) = answer.text() else {
                    continue;
                };
                if sender.send(Message::Text(text)).await.is_err() {
                    return;
                }
            }
        });
        Typing(inputs)
    }

    pub async fn add(&self, input: Input) -> Result<(), Gone> {
        self.0.send(input).await.map_err(|_| Gone)
    }
}

fn write(visit: &Visit, input: Input) -> Result<(), Refused> {
    visit.must_be_owner()?;
    let id = visit.find(input.job.as_str())?;
    if let Some(size) = input.size {
        resize::resize(&visit.outlive, &id, size)?;
    }
    if !input.text.is_empty() {
        let send = Send {
            text: input.text.as_str().into(),
            write_id: Some(input.id),
            ..Send::default()
        };
        send::send(&visit.outlive, &id, &send)?;
    }
    Ok(())
}
