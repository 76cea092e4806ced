//! Answering the clients that are connected.

use crate::supervise::clients::{ClientId, ClientRequest};
use crate::supervise::keeper::Keeper;
use crate::tree::members;
use outlive_core::control::{Reply, Request};
use outlive_core::event::{StopCause, StopRequest};
use std::io;

impl Keeper<'_> {
    /// Handles the requests that a client sent.
    pub fn serve(&mut self, id: ClientId) -> io::Result<()> {
        for asked in self.clients.read(id) {
            let answered = self.answer(asked);
            self.unless_failed(id, answered)?;
        }
        // It may have disconnected in the middle of a write.
        self.serve_queue()
    }

    /// Disconnects a client whose request failed, so that it does not wait for an answer that never comes. It asks
    /// again, because every request can be repeated. Only for a signal it reports the failure.
    pub fn unless_failed(&mut self, client: ClientId, answered: io::Result<()>) -> io::Result<()> {
        if answered.is_err() {
            self.clients.let_go(client);
        }
        answered
    }

    fn answer(&mut self, ClientRequest { client, request }: ClientRequest) -> io::Result<()> {
        match request {
            Request::News { seq, output } => self.clients.await_news(client, seq, output),
            Request::Stop {
                grace_ms,
                detail,
                session,
            } => {
                self.clients.await_stopped(client);
                let grace_ms = grace_ms.unwrap_or(self.job.spec().grace_ms);
                self.stop(StopRequest {
                    by: StopCause::Stop,
                    detail,
                    grace_ms,
                    session,
                })?;
            }
            Request::Signal { signal } => {
                let signaled =
                    members::signal(&self.processes.tree.members()?, signal.linux_number())?;
                let (reached, denied) = (signaled.reached, signaled.denied);
                self.clients
                    .reply(client, &Reply::Signaled { reached, denied });
            }
            Request::Look => {
                let processes = self.processes.tree.members()?.len() as u32;
                let awaiting = self.awaiting()?;
                let look = Reply::Look {
                    processes,
                    awaiting,
                    line_mode: self.job.shared.channel.line_mode(),
                };
                self.clients.reply(client, &look);
            }
            Request::Write(write) => self.take_write(client, write)?,
            Request::Resize { size } => self.resize(client, size)?,
            Request::Change(asked) => self.change(client, &asked),
            Request::AwaitInput => {
                self.clients.await_input(client);
                self.look_for_input()?;
            }
        }
        Ok(())
    }
}
