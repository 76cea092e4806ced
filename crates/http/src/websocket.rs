//! WebSockets (RFC 6455), as much as a server needs: the handshake, frames in both directions, and an orderly end.
//!
//! A library for this brings fifteen crates, most of them for clients and for random numbers. Messages are bounded, and
//! whatever breaks the rules ends the connection.

mod frame;
mod handshake;

pub use frame::{Closed, Message};
pub use handshake::accept;

use frame::{Frame, Incoming, Opcode};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

type Io = TokioIo<Upgraded>;

/// How many messages may wait to be sent. Whoever makes them waits then.
const MESSAGES: usize = 4;

/// What is sent.
#[derive(Debug)]
enum Outgoing {
    Message(Message),
    Pong(Vec<u8>),
    Close(u16),
}

/// Where messages of the other end come from.
pub struct Receiver {
    io: ReadHalf<Io>,
    incoming: Incoming,
    replies: mpsc::Sender<Outgoing>,
}

/// Sends messages. Copies of it use the same connection.
#[derive(Clone, Debug)]
pub struct Sender(mpsc::Sender<Outgoing>);

/// Both directions of a connection that was upgraded.
pub fn split(upgraded: Upgraded) -> (Sender, Receiver) {
    let (reader, writer) = tokio::io::split(TokioIo::new(upgraded));
    let (sender, outgoing) = mpsc::channel(MESSAGES);
    tokio::spawn(write(writer, outgoing));
    let receiver = Receiver {
        io: reader,
        incoming: Incoming::default(),
        replies: sender.clone(),
    };
    (Sender(sender), receiver)
}

/// The connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl Sender {
    /// Sends a message. Waits while the other end is slow.
    pub async fn send(&self, message: Message) -> Result<(), Gone> {
        self.0
            .send(Outgoing::Message(message))
            .await
            .map_err(|_| Gone)
    }

    /// Ends the connection with this reason.
    pub async fn close(&self, code: u16) {
        let _ = self.0.send(Outgoing::Close(code)).await;
    }
}

impl Receiver {
    /// The next message; `None` when the connection is over.
    pub async fn next(&mut self) -> Option<Message> {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match self.incoming.next() {
                Ok(Some(Frame::Message(message))) => return Some(message),
                Ok(Some(Frame::Ping(payload))) => {
                    self.replies.send(Outgoing::Pong(payload)).await.ok()?;
                    continue;
                }
                Ok(Some(Frame::Close)) => {
                    let _ = self.replies.send(Outgoing::Close(Closed::NORMAL)).await;
                    return None;
                }
                Err(Closed(code)) => {
                    let _ = self.replies.send(Outgoing::Close(code)).await;
                    return None;
                }
                Ok(None) => {}
            }
            match self.io.read(&mut buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.incoming.push(&buffer[..count]),
            }
        }
    }
}

/// Writes until the connection is over or every sender is gone.
async fn write(mut io: WriteHalf<Io>, mut outgoing: mpsc::Receiver<Outgoing>) -> io::Result<()> {
    while let Some(next) = outgoing.recv().await {
        let (opcode, payload) = match next {
            Outgoing::Message(Message::Text(text)) => (Opcode::Text, text.into_bytes()),
            Outgoing::Message(Message::Binary(bytes)) => (Opcode::Binary, bytes),
            Outgoing::Pong(payload) => (Opcode::Pong, payload),
            Outgoing::Close(code) => {
                let frame = frame::encode(Opcode::Close, &code.to_be_bytes());
                io.write_all(&frame).await?;
                break;
            }
        };
        io.write_all(&frame::encode(opcode, &payload)).await?;
    }
    io.shutdown().await
}
