//! One connection: two threads that copy, part by part, and can cut it.

use super::Shared;
use super::frames::{Direction, Part, Parts};
use super::lies::Said;
use super::plan::{Blow, Where};
use crate::processes::{KILL, Process};
use crate::waiting::try_until_within;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long the courier may take to read what it was sent before a cut.
const DELIVERY: Duration = Duration::from_secs(2);

/// Who has to end so that the connection is over on both sides.
#[derive(Debug)]
pub struct Connection {
    /// The processes of the script: the one that writes to the courier, and the one that reads from it.
    script: [Process; 2],
    is_cut: AtomicBool,
    has_begun: AtomicBool,
}

impl Connection {
    /// Ends both sides. The far end reads the end of its input, because the threads close their pipes.
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for process in self.script {
            process.signal(KILL);
        }
    }

    /// Ends both sides, but the courier still gets what was written to it.
    fn cut_after_delivery(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        let [main, other] = self.script;
        other.signal(KILL);
        // If the courier does not read, it does not end by itself.
        let _ = try_until_within(DELIVERY, "all is delivered", || !main.is_alive());
        self.cut();
    }

    fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }
}

/// Serves the connection of a script with these processes until it is over.
pub fn serve(
    directory: &Path,
    pids: [i32; 2],
    behind: &str,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    let fifo = |name: &str| directory.join(format!("{name}.{}", pids[0]));
    let (Some(main), Some(other)) = (Process::find(pids[0]), Process::find(pids[1])) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let from_courier = File::open(fifo("up"))?;
    let to_courier = File::options().write(true).open(fifo("down"))?;
    // Those who have them open keep them.
    fs::remove_file(fifo("up"))?;
    fs::remove_file(fifo("down"))?;
    let mut words = behind.split_whitespace();
    let program = words.next().unwrap_or("sh");
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let ends = child.stdin.take().zip(child.stdout.take());
    let (to_far, from_far) = ends.ok_or_else(|| io::Error::other("no pipes"))?;
    // A lie in one direction may be said in the other one, too.
    let to_far = Arc::new(Mutex::new(Some(to_far)));
    let to_courier = Arc::new(Mutex::new(Some(to_courier)));
    let connection = Arc::new(Connection {
        script: [main, other],
        is_cut: AtomicBool::new(false),
        has_begun: AtomicBool::new(false),
    });
    shared.connections.lock().unwrap().push(connection.clone());
    let (other, shared_too) = (connection.clone(), shared.clone());
    let (here, there) = (to_courier.clone(), to_far.clone());
    let back = thread::spawn(move || {
        let said = |lie: Said| match lie {
            Said::Here(bytes) => write(&here, &bytes),
            Said::There(bytes) => write(&there, &bytes),
        };
        copy(Direction::Here, from_far, &here, &said, &other, &shared_too);
        here.lock().unwrap().take();
        other.cut_after_delivery();
    });
    let said = |lie: Said| match lie {
        Said::Here(bytes) => write(&to_courier, &bytes),
        Said::There(bytes) => write(&to_far, &bytes),
    };
    copy(
        Direction::There,
        from_courier,
        &to_far,
        &said,
        &connection,
        shared,
    );
    to_far.lock().unwrap().take();
    if connection.is_cut() {
        connection.cut();
    }
    let _ = back.join();
    child.wait()?;
    Ok(())
}

/// Copies until one side ends or the connection is cut.
fn copy(
    direction: Direction,
    mut from: impl Read,
    to: &Mutex<Option<impl Write>>,
    say: &impl Fn(Said) -> io::Result<()>,
    connection: &Connection,
    shared: &Shared,
) {
    let mut parts = Parts::new(direction, &connection.has_begun);
    let mut buffer = vec![0; 64 * 1024];
    let mut is_silent = false;
    while let Ok(read) = from.read(&mut buffer) {
        if read == 0 || connection.is_cut() {
            return;
        }
        for part in parts.push(&buffer[..read]) {
            if is_silent {
                continue;
            }
            let blow = shared.plan.lock().unwrap().blow_for(direction, &part);
            is_silent = blow == Some(Blow::Silence);
            let lies = shared.lies_for(direction, &part);
            let passed = match lies {
                Some(lies) => lies.into_iter().try_for_each(say),
                None => pass(&part, blow, to),
            };
            if passed.is_err() {
                return connection.is_cut.store(true, Ordering::SeqCst);
            }
        }
    }
}

/// Passes a part on, or does to it what was planned. An error ends the copying.
fn pass(part: &Part, blow: Option<Blow>, to: &Mutex<Option<impl Write>>) -> io::Result<()> {
    let mut bytes = part.bytes();
    match blow {
        None => return write(to, &bytes),
        Some(Blow::Silence) => return Ok(()),
        Some(Blow::Delay(pause)) => {
            thread::sleep(pause);
            return write(to, &bytes);
        }
        Some(Blow::Flip(at)) => {
            let last = bytes.len().saturating_sub(1);
            bytes[at.min(last)] ^= 0x10;
            return write(to, &bytes);
        }
        Some(Blow::Cut(Where::Before)) => {}
        Some(Blow::Cut(Where::After)) => write(to, &bytes)?,
        Some(Blow::Cut(Where::Within(kept))) => {
            let last = bytes.len().saturating_sub(1);
            write(to, &bytes[..kept.min(last)])?;
        }
    }
    Err(io::ErrorKind::ConnectionAborted.into())
}

fn write(to: &Mutex<Option<impl Write>>, bytes: &[u8]) -> io::Result<()> {
    let mut to = to.lock().unwrap();
    let to = to.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    to.write_all(bytes)?;
    to.flush()
}
