//! One message per line. Every line that may be a request is answered, whatever is in it.

use crate::malformed::{self, MAX_MESSAGE, Malformed, TooLong};
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// Messages in lines of an input and an output.
pub struct Lines<R, W> {
    input: BufReader<R>,
    /// The line that is being read.
    line: Vec<u8>,
    /// The line is longer than a message may be. It is being skipped.
    too_long: Option<TooLong>,
    /// The replies to what was no message that are being written.
    refusals: JoinSet<()>,
    output: Arc<Mutex<Option<W>>>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    pub fn new(input: R, output: W) -> Lines<R, W> {
        Lines {
            input: BufReader::new(input),
            line: Vec::new(),
            too_long: None,
            refusals: JoinSet::new(),
            output: Arc::new(Mutex::new(Some(output))),
        }
    }

    /// The next line that is not too long; `None` at the end of the input. A last line without an end is none.
    /// The caller may drop this at any await and call it again: what was read is kept.
    async fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(too_long) = &self.too_long {
                let bytes = self.input.fill_buf().await?;
                if bytes.is_empty() {
                    return Ok(None);
                }
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let taken = end.map_or(bytes.len(), |end| end + 1);
                too_long.push(&bytes[..taken]).await;
                self.input.consume(taken);
                if end.is_some()
                    && let Some(too_long) = self.too_long.take()
                {
                    self.refuse(async move { too_long.end().await });
                }
                continue;
            }
            let room = (MAX_MESSAGE + 1).saturating_sub(self.line.len());
            let mut part = (&mut self.input).take(room as u64);
            if part.read_until(b'\n', &mut self.line).await? == 0 {
                return Ok(None);
            }
            match self.line.pop_if(|last| *last == b'\n') {
                Some(_) => return Ok(Some(std::mem::take(&mut self.line))),
                None if self.line.len() > MAX_MESSAGE => {
                    let begin = std::mem::take(&mut self.line);
                    self.too_long = Some(TooLong::begin(begin));
                }
                None => {}
            }
        }
    }

    /// Answers in a task of its own, because [`Transport::receive`] may be dropped in the middle.
    fn refuse(&mut self, malformed: impl Future<Output = Malformed> + Send + 'static) {
        let output = self.output.clone();
        while self.refusals.try_join_next().is_some() {}
        self.refusals.spawn(async move {
            let reply = malformed.await.reply();
            // Once the client has gone, nobody reads this.
            let _ = write(&output, &reply).await;
        });
    }
}

/// Writes a message and its newline.
async fn write<W: AsyncWrite + Unpin>(
    output: &Mutex<Option<W>>,
    message: &impl Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    let Some(output) = output.as_mut() else {
        return Err(io::ErrorKind::NotConnected.into());
    };
    output.write_all(&line).await?;
    output.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let output = self.output.clone();
        async move { write(&output, &item).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        // An input that cannot be read has ended.
        while let Some(line) = self.next_line().await.ok().flatten() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match malformed::read(&line) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(malformed) => self.refuse(std::future::ready(malformed)),
            }
        }
        // The server may end now, but not before it has answered.
        while self.refusals.join_next().await.is_some() {}
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.take();
        Ok(())
    }
}
