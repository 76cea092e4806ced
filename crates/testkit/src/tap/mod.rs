//! A place whose wire goes through the test, which sees each frame and can cut, delay or spoil it.
//!
//! ```text
//!  courier ══ connect (a script) ══ FIFOs ══ this process ══ env -i HOME=… sh ──► far end
//! ```
//! The script is what the address of the place runs. It makes two FIFOs, names them at the **door**, and copies between
//! them and the courier. A thread here takes each new connection and starts the real thing behind it.
//!
//! The program and its script are sent before the first frame. These bytes are the **beginning**; they can be cut, too.

mod connection;
mod frames;
mod lies;
mod plan;

pub use frames::{Direction, Part};
pub use lies::{Said, opening};
pub use plan::{Blow, Where};

use crate::gate::make_fifo;
use crate::place::{Local, Place, processes_below};
use crate::places::{CmdSh, far_home};
use crate::processes::Process;
use connection::Connection;
use lies::Lies;
use outlive_core::wire::Frame;
use plan::Plan;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

/// What the script of a connection does. `exec` makes the last `cat` the process that the courier started.
const CONNECT: &str = "\
tap=$1
mkfifo \"$tap/up.$$\" \"$tap/down.$$\"
exec 3<&0
cat <&3 >\"$tap/up.$$\" &
echo \"$$ $!\" >\"$tap/door\"
exec cat <\"$tap/down.$$\" 3<&-
";

/// A place like [`CmdSh`], with the test on its wire. It is for one test.
#[derive(Debug, Default)]
pub struct Tap {
    behind: CmdSh,
    shared: Arc<Shared>,
}

/// What the threads of the connections share with the test.
#[derive(Debug, Default)]
struct Shared {
    plan: Mutex<Plan>,
    lies: Lies,
    connections: Mutex<Vec<Arc<Connection>>>,
}

impl Shared {
    fn lies_for(&self, direction: Direction, part: &Part) -> Option<Vec<Said>> {
        self.lies.for_part(direction, part)
    }
}

impl Tap {
    /// A tap on the way to this place.
    pub fn before(behind: CmdSh) -> Tap {
        Tap {
            behind,
            shared: Arc::default(),
        }
    }

    /// From now on, the `nth` part (from 1) in this direction suffers this blow, once.
    pub fn strike(&self, direction: Direction, nth: usize, blow: Blow) {
        self.shared
            .plan
            .lock()
            .unwrap()
            .strike(direction, nth, blow);
    }

    /// From now on, what this returns passes in place of each frame; `None` lets it pass as it is.
    pub fn lie(&self, liar: impl FnMut(Direction, &Frame) -> Option<Vec<Said>> + Send + 'static) {
        self.shared.lies.set(Some(Box::new(liar)));
    }

    /// The truth again.
    pub fn stop_lying(&self) {
        self.shared.lies.set(None);
    }

    /// Nothing is struck any more. Returns whether the last blow fell.
    pub fn disarm(&self) -> bool {
        self.shared.plan.lock().unwrap().disarm()
    }

    /// Does something that no blow disturbs, and that is not counted.
    pub fn unharmed<T>(&self, act: impl FnOnce() -> T) -> T {
        let aside = self.shared.plan.lock().unwrap().put_aside();
        let done = act();
        self.shared.plan.lock().unwrap().take_up(aside);
        done
    }

    /// Whether the last blow fell.
    pub fn has_struck(&self) -> bool {
        self.shared.plan.lock().unwrap().has_struck()
    }

    /// What has passed since the last call: each part in one line, with its direction.
    pub fn passed(&self) -> Vec<String> {
        self.shared.plan.lock().unwrap().take_passed()
    }

    /// How many connections there have been.
    pub fn connections(&self) -> usize {
        self.shared.connections.lock().unwrap().len()
    }

    /// Cuts every connection now.
    pub fn cut(&self) {
        for connection in self.shared.connections.lock().unwrap().iter() {
            connection.cut();
        }
    }

    fn serve(&self, directory: &Path, scratch: &Path) -> io::Result<()> {
        let door = directory.join("door");
        make_fifo(&door);
        // Open for writing, too: it must not end when a script closes it.
        let door = File::options().read(true).write(true).open(door)?;
        let (shared, directory) = (self.shared.clone(), directory.to_owned());
        let address = self.behind.address(scratch);
        let behind = address.strip_prefix("cmd:").unwrap_or(&address).to_owned();
        thread::spawn(move || {
            for line in BufReader::new(door).lines().map_while(Result::ok) {
                let pids: Vec<i32> = line.split(' ').filter_map(|it| it.parse().ok()).collect();
                let [main, other] = pids[..] else { return };
                let (directory, behind, shared) =
                    (directory.clone(), behind.clone(), shared.clone());
                thread::spawn(move || {
                    // A script that was killed before it opened its FIFOs has no connection.
                    let _ = connection::serve(&directory, [main, other], &behind, &shared);
                });
            }
        });
        Ok(())
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Place for Tap {
    fn name(&self) -> &str {
        "tap"
    }

    fn direct(&self, command: &mut Command, scratch: &Path) {
        let tap = tap_of(scratch);
        let place = format!("cmd:sh {0}/connect {0}", tap.display());
        command.env("OUTLIVE_PLACE", place);
    }

    fn scratch(&self, here: &Path) -> io::Result<PathBuf> {
        let scratch = self.behind.scratch(here)?;
        let tap = tap_of(&scratch);
        fs::create_dir(&tap)?;
        fs::write(tap.join("connect"), CONNECT)?;
        self.serve(&tap, &scratch)?;
        Ok(scratch)
    }

    /// Cuts what is left. The thread at the door ends when it is written to once more.
    fn remove_scratch(&self, scratch: &Path) {
        self.cut();
        let _ = fs::write(tap_of(scratch).join("door"), "close\n");
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Local.read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Local.write(path, bytes)
    }

    fn process(&self, pid: i32) -> Option<Process> {
        Local.process(pid)
    }

    fn signal(&self, process: Process, signal: i32) {
        Local.signal(process, signal);
    }

    fn processes(&self, scratch: &Path) -> Vec<Process> {
        processes_below(&far_home(scratch))
    }
}

fn tap_of(scratch: &Path) -> PathBuf {
    scratch.with_file_name("tap")
}

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_core::wire::{Frame, Kind};
    use std::io::{Read, Write};
    use std::process::{Child, Stdio};

    /// A connection through the tap to a shell that has become `cat`.
    fn connect(scratch: &Path) -> Child {
        let tap = tap_of(scratch);
        let mut child = Command::new("sh")
            .args([&tap.join("connect"), &tap])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.as_ref().unwrap();
        input.write_all(b"echo up; exec cat\n").unwrap();
        let mut up = [0; 3];
        child.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
        assert_eq!(&up, b"up\n");
        child
    }

    /// Sends the frames; returns what comes back until the connection is over.
    fn send_and_read(mut child: Child, frames: &[Frame]) -> Vec<u8> {
        let mut input = child.stdin.take().unwrap();
        for frame in frames {
            // It may be cut by now.
            let _ = input.write_all(&frame.encode());
        }
        drop(input);
        let mut read = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut read).unwrap();
        child.wait().unwrap();
        read
    }

    #[test]
    fn a_wire_is_cut_where_it_was_planned() {
        let directory = tempfile::tempdir().unwrap();
        let tap = Tap::default();
        let scratch = tap.scratch(directory.path()).unwrap();
        let frames = [
            Frame::new(1, Kind::Open, b"{}".as_slice()),
            Frame::new(1, Kind::Data, b"abc".as_slice()),
        ];
        let [first, second] = [frames[0].encode(), frames[1].encode()];
        let whole = [&first[..], &second].concat();
        assert_eq!(send_and_read(connect(&scratch), &frames), whole);
        let seen = tap.passed();
        assert!(seen.iter().any(|it| it == "> 1 data 3 abc"), "{seen:?}");
        for (at, expected) in [
            (Where::Before, first.clone()),
            (Where::Within(4), [&first[..], &second[..4]].concat()),
            (Where::After, whole),
        ] {
            let child = connect(&scratch);
            tap.strike(Direction::Here, 2, Blow::Cut(at));
            let read = send_and_read(child, &frames);
            // The cut also ends the transport, which may still have some of it.
            assert!(expected.starts_with(&read), "{at:?}: {read:?}");
            assert!(tap.disarm());
        }
        tap.remove_scratch(&scratch);
    }
}
