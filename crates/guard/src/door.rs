//! The connections, and how long they may stay without a token.
//!
//! Anybody on the machine can connect, and each connection takes a file descriptor. So a connection is closed that has
//! not brought a request with the token within [`TIME_TO_ASK`], and if there are more than [`MAX_STRANGERS`] of them,
//! the oldest is closed. A connection that has shown the token stays for as long as its client wants.

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// How long a connection may take to bring the first request with the token. A client sends it at once.
const TIME_TO_ASK: Duration = Duration::from_secs(10);

/// How many connections may be open that have not shown the token. Fewer, if this process may not open four times as
/// many files: the verbs need some too.
const MAX_STRANGERS: usize = 256;

/// How long to wait after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// The connections that have not shown the token, by their number, which grows.
#[derive(Debug, Default)]
struct Strangers {
    open: BTreeMap<u64, CancellationToken>,
    next: u64,
}

type Shared = Arc<Mutex<Strangers>>;

fn lock(strangers: &Shared) -> MutexGuard<'_, Strangers> {
    strangers.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Strangers {
    fn close_oldest(&mut self) {
        if let Some((_, oldest)) = self.open.pop_first() {
            oldest.cancel();
        }
    }
}

/// One connection's place among those that have not shown the token.
#[derive(Clone, Debug)]
pub struct Visitor {
    number: u64,
    strangers: Shared,
}

impl Visitor {
    /// The connection has shown the token: it may stay.
    pub fn may_stay(&self) {
        lock(&self.strangers).open.remove(&self.number);
    }

    /// If it has not shown the token by now, it has to leave.
    fn must_leave(&self) {
        if let Some(closed) = lock(&self.strangers).open.remove(&self.number) {
            closed.cancel();
        }
    }
}

/// Accepts connections.
#[derive(Debug)]
pub struct Door {
    listener: TcpListener,
    /// How many connections may be open that have not shown the token.
    most: usize,
    strangers: Shared,
}

impl Door {
    pub async fn at(address: SocketAddr) -> io::Result<Door> {
        let files = outlive::open_file_limit().unwrap_or(usize::MAX);
        Ok(Door {
            listener: TcpListener::bind(address).await?,
            most: MAX_STRANGERS.min(files / 4),
            strangers: Shared::default(),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn enter(&self, stream: TcpStream) -> (Connection, Visitor) {
        let closed = CancellationToken::new();
        let mut strangers = lock(&self.strangers);
        strangers.next += 1;
        let visitor = Visitor {
            number: strangers.next,
            strangers: self.strangers.clone(),
        };
        strangers.open.insert(visitor.number, closed.clone());
        if strangers.open.len() > self.most {
            strangers.close_oldest();
        }
        drop(strangers);
        let late = visitor.clone();
        tokio::spawn(async move {
            tokio::time::sleep(TIME_TO_ASK).await;
            late.must_leave();
        });
        let connection = Connection {
            stream,
            closed: Box::pin(closed.cancelled_owned()),
            is_closed: false,
            visitor: visitor.clone(),
        };
        (connection, visitor)
    }
}

impl Listener for Door {
    type Io = Connection;
    type Addr = Visitor;

    async fn accept(&mut self) -> (Connection, Visitor) {
        loop {
            // First the connections that were accepted before have their turn.
            tokio::task::yield_now().await;
            match self.listener.accept().await {
                Ok((stream, _)) => return self.enter(stream),
                Err(_) => {
                    // Most often there is no file descriptor left.
                    lock(&self.strangers).close_oldest();
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Visitor> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Connected<IncomingStream<'_, Door>> for Visitor {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Visitor {
        stream.remote_addr().clone()
    }
}

/// A connection, which ends when it has to leave.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
    is_closed: bool,
    visitor: Visitor,
}

impl Connection {
    fn is_closed(&mut self, context: &mut Context<'_>) -> bool {
        self.is_closed = self.is_closed || self.closed.as_mut().poll(context).is_ready();
        self.is_closed
    }

    /// Continues unless the connection has to leave.
    fn open(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        match self.is_closed(context) {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(Pin::new(&mut self.stream)),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Visitor { number, strangers } = &self.visitor;
        lock(strangers).open.remove(number);
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.open(context)?.poll_read(context, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.open(context)?.poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
