//! A courier for tests: drives `outlive-far` over pipes, frame by frame.
//!
//! Every frame that comes is kept in order, so a test can say what came before what. The far end is given room for the
//! data of each stream, unless the test holds it back.

use crate::programs;
use crate::waiting::PATIENCE;
use crate::world::World;
use outlive_core::event;
use outlive_core::far::{
    Answer, Call, FarFailure, FarVariables, FromJournals, Greeting, Hello, HomeId, Launch,
    Launched, Opening, StreamEnd, ToJournals, WIRE,
};
use outlive_core::wire::{Decoder, Frame, Kind, WINDOW, parse_room};
use outlive_core::{JobId, Label, Spec, spec};
use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Instant;

/// One wire to a far end, whose home is that of a [`World`].
#[derive(Debug)]
pub struct WireClient {
    child: Child,
    input: Shared<Option<ChildStdin>>,
    came: Arc<(Mutex<Came>, Condvar)>,
    next: u64,
    /// What the far end calls this side's home.
    pub home: HomeId,
    pub epoch: u64,
    pub journals: u64,
    /// Keeps the output open that nobody reads.
    unread: Option<io::PipeReader>,
}

type Shared<T> = Arc<Mutex<T>>;

#[derive(Debug, Default)]
struct Came {
    frames: Vec<Frame>,
    /// Streams that are given no room.
    held: HashSet<u64>,
    /// Nothing more comes, for this reason.
    over: Option<String>,
}

/// How a stream ended.
pub type Ended = Result<(), FarFailure>;

impl WireClient {
    /// Starts a far end and says nothing.
    pub fn start(world: &World) -> WireClient {
        WireClient::start_with(world, |_| {})
    }

    /// Starts a far end whose command is changed first.
    pub fn start_with(world: &World, change: impl FnOnce(&mut Command)) -> WireClient {
        let mut command = world.within(programs::far(), ["--home"]);
        command.arg(world.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let client = WireClient {
            child,
            input: Arc::new(Mutex::new(input)),
            came: Arc::default(),
            next: 1,
            home: HomeId::from_bits(0xfeed),
            epoch: 0,
            journals: 0,
            unread: None,
        };
        let (came, input) = (Arc::clone(&client.came), Arc::clone(&client.input));
        if let Some(output) = output {
            thread::spawn(move || read(output, &came, &input));
        }
        client
    }

    /// Starts a far end whose output nobody reads.
    pub fn deaf(world: &World) -> WireClient {
        let (reader, writer) = io::pipe().unwrap();
        let mut client = WireClient::start_with(world, |command| {
            command.stdout(writer);
        });
        client.unread = Some(reader);
        client
    }

    /// Starts a far end, says hello and opens the stream of journals.
    pub fn greeted(world: &World) -> WireClient {
        WireClient::greeted_with(world, |_| {})
    }

    pub fn greeted_with(world: &World, change: impl FnOnce(&mut Command)) -> WireClient {
        let mut client = WireClient::start_with(world, change);
        client.hello("place").unwrap();
        client.journals = client.open(&Opening::Journals);
        client
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn hello(&mut self, place: &str) -> Result<Greeting, FarFailure> {
        let stream = self.begin_hello(place);
        self.greeting(stream)
    }

    /// Says hello and does not wait for the answer.
    pub fn begin_hello(&mut self, place: &str) -> u64 {
        let hello = Hello {
            wire: WIRE,
            home: self.home.clone(),
            place: place.to_owned(),
            journal_format: event::FORMAT,
            spec_format: spec::FORMAT,
        };
        self.open(&Opening::Call(Box::new(Call::Hello(hello))))
    }

    /// The answer of a hello.
    pub fn greeting(&mut self, stream: u64) -> Result<Greeting, FarFailure> {
        let answer = self.answer(stream)?;
        let Answer::Hello(greeting) = answer else {
            panic!("no greeting: {answer:?}");
        };
        self.epoch = greeting.epoch;
        Ok(*greeting)
    }

    /// Writes bytes as they are. A far end that is gone takes nothing.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        write(&self.input, bytes)
    }

    pub fn send(&self, frame: &Frame) {
        // If it is gone, what comes from it tells.
        let _ = self.write(&frame.encode());
    }

    /// Sends data on a stream as the far end gives room for it.
    pub fn send_within_room<'a>(&self, stream: u64, pieces: impl Iterator<Item = &'a [u8]>) {
        let mut sent = 0;
        for piece in pieces {
            sent += piece.len();
            self.wait("there is room", |frames| {
                let of_stream = frames.iter().filter(|frame| frame.stream == stream);
                let rooms = of_stream.filter(|frame| frame.kind == Kind::Room);
                let given: usize = rooms.filter_map(|room| parse_room(&room.payload)).sum();
                (given + WINDOW >= sent).then_some(())
            });
            self.send(&Frame::new(stream, Kind::Data, piece));
        }
    }

    /// Opens a stream; returns its number.
    pub fn open(&mut self, opening: &Opening) -> u64 {
        let number = self.next;
        self.next += 1;
        self.send(&open_frame(number, opening));
        number
    }

    /// Opens a stream with these bytes as its opening; returns its number.
    pub fn open_raw(&mut self, opening: &[u8]) -> u64 {
        let number = self.next;
        self.next += 1;
        self.send(&Frame::new(number, Kind::Open, opening));
        number
    }

    /// Opens a stream and gives it no room beyond what it begins with.
    pub fn open_held(&mut self, opening: &Opening) -> u64 {
        self.lock().held.insert(self.next);
        self.open(opening)
    }

    pub fn call(&mut self, call: Call) -> Result<Answer, FarFailure> {
        let stream = self.open(&Opening::Call(Box::new(call)));
        self.answer(stream)
    }

    /// The answer of a call that was opened before.
    pub fn answer(&self, stream: u64) -> Result<Answer, FarFailure> {
        self.ended(stream)?;
        match serde_json::from_slice(&self.data(stream)).unwrap() {
            Answer::Failed(failure) => Err(failure),
            answer => Ok(answer),
        }
    }

    /// Waits until a stream has ended.
    pub fn ended(&self, stream: u64) -> Ended {
        let end = self.wait("the stream ends", |frames| {
            let mut ends = frames.iter().filter(|frame| frame.stream == stream);
            ends.find(|frame| frame.kind == Kind::End).cloned()
        });
        match end.payload.is_empty() {
            true => Ok(()),
            false => Err(serde_json::from_slice::<StreamEnd>(&end.payload)
                .unwrap()
                .error),
        }
    }

    /// The data of a stream so far.
    pub fn data(&self, stream: u64) -> Vec<u8> {
        data_of(&self.lock().frames, stream)
    }

    /// Waits until the data of a stream is so.
    pub fn until_data(&self, stream: u64, what: &str, is_so: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        self.wait(what, |frames| {
            Some(data_of(frames, stream)).filter(|data| is_so(data))
        })
    }

    /// All frames so far.
    pub fn frames(&self) -> Vec<Frame> {
        self.lock().frames.clone()
    }

    /// Asks something of the stream of journals.
    pub fn ask_journals(&self, asked: &ToJournals) {
        let mut line = serde_json::to_vec(asked).unwrap();
        line.push(b'\n');
        self.send(&Frame::new(self.journals, Kind::Data, line));
    }

    pub fn follow(&self, job: &str, after: u64) {
        let job = JobId::parse(job).unwrap();
        self.ask_journals(&ToJournals::Follow {
            job,
            after,
            stopped: false,
        });
    }

    pub fn ack(&self, job: &str, seq: u64) {
        let job = JobId::parse(job).unwrap();
        self.ask_journals(&ToJournals::Ack { job, seq });
    }

    /// Says that everything of a job is here.
    pub fn finish(&self, job: &str, seq: u64) {
        let job = JobId::parse(job).unwrap();
        self.ask_journals(&ToJournals::Finish { job, seq });
    }

    /// Waits until that is recorded there.
    pub fn until_finished(&self, job: &str) {
        let finished = FromJournals::Finished {
            job: JobId::parse(job).unwrap(),
        };
        let journals = self.journals;
        self.wait("it is finished", |frames| {
            messages(&data_of(frames, journals))
                .contains(&finished)
                .then_some(())
        });
    }

    /// What came on the stream of journals.
    pub fn told(&self) -> Vec<FromJournals> {
        messages(&self.data(self.journals))
    }

    /// The records of a job, in the order in which they came.
    pub fn records(&self, job: &str) -> Vec<String> {
        records_of(&self.told(), job)
    }

    /// Waits until the journal of a job is so.
    pub fn until_records(&self, job: &str, is_so: impl Fn(&[String]) -> bool) -> Vec<String> {
        let journals = self.journals;
        self.wait("the records come", |frames| {
            let records = records_of(&messages(&data_of(frames, journals)), job);
            Some(records).filter(|records| is_so(records))
        })
    }

    /// Waits until the end of a job is among its records.
    pub fn until_over(&self, job: &str) -> Vec<String> {
        self.until_records(job, |records| {
            records
                .last()
                .is_some_and(|last| last.contains("\"closed\""))
        })
    }

    /// A launch of this home that can be changed before it is sent.
    pub fn launch_of(&self, id: &str, argv: &[&str]) -> Launch {
        let spec = serde_json::json!({
            "format": spec::FORMAT, "id": id, "incarnation": "0badcafe",
            "session": session_of(&self.home), "place": "local", "command": argv.join(" "), "argv": argv, "cwd": "",
            "grace_ms": 1000, "notify": "end", "leftovers": "keep",
        });
        Launch {
            spec: serde_json::from_value::<Spec>(spec).unwrap(),
            variables: FarVariables::default(),
            login: false,
            epoch: self.epoch,
        }
    }

    /// Starts a job, which must be there then.
    #[track_caller]
    pub fn launch(&mut self, id: &str, argv: &[&str]) {
        let launch = self.launch_of(id, argv);
        assert_eq!(self.try_launch(launch), Launched::There);
    }

    pub fn try_launch(&mut self, launch: Launch) -> Launched {
        match self.call(Call::Launch(Box::new(launch))) {
            Ok(Answer::Launch(launched)) => launched,
            other => panic!("{other:?}"),
        }
    }

    /// Closes its input and waits for its end.
    pub fn leave(mut self) -> ExitStatus {
        self.input.lock().unwrap().take();
        self.until_gone()
    }

    /// Waits until the far end has ended.
    pub fn until_gone(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the far end stays");
            thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// Kills the far end with SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.until_gone();
    }

    fn wait<T>(&self, what: &str, mut find: impl FnMut(&[Frame]) -> Option<T>) -> T {
        let begun = Instant::now();
        let mut came = self.lock();
        loop {
            if let Some(found) = find(&came.frames) {
                return found;
            }
            if let Some(why) = &came.over {
                panic!("the wire is over ({why}) before this was true: {what}");
            }
            let left = PATIENCE.saturating_sub(begun.elapsed());
            assert!(
                !left.is_zero(),
                "waited, and still not true: {what}; {:?}",
                came.frames
            );
            came = self.came.1.wait_timeout(came, left).unwrap().0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Came> {
        self.came.0.lock().unwrap()
    }
}

impl Drop for WireClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The session of the jobs of a home.
pub fn session_of(home: &HomeId) -> Label {
    Label::parse(&format!("near-{home}")).unwrap()
}

pub fn open_frame(number: u64, opening: &Opening) -> Frame {
    Frame::new(number, Kind::Open, serde_json::to_vec(opening).unwrap())
}

fn data_of(frames: &[Frame], stream: u64) -> Vec<u8> {
    let of_stream = frames.iter().filter(|frame| frame.stream == stream);
    let data = of_stream.filter(|frame| frame.kind == Kind::Data);
    data.flat_map(|frame| frame.payload.clone()).collect()
}

/// The whole messages in the data of the stream of journals.
fn messages(data: &[u8]) -> Vec<FromJournals> {
    let lines = data.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.filter(|line| line.ends_with(b"\n"));
    whole
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

fn records_of(messages: &[FromJournals], id: &str) -> Vec<String> {
    let records = messages.iter().filter_map(|message| match message {
        FromJournals::Record { job, line } if job.as_str() == id => Some(line.clone()),
        _ => None,
    });
    records.collect()
}

fn write(input: &Mutex<Option<ChildStdin>>, bytes: &[u8]) -> io::Result<()> {
    match &mut *input.lock().unwrap() {
        Some(input) => input.write_all(bytes),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Keeps every frame, and gives room for the data of streams that are not held back.
fn read(mut output: ChildStdout, came: &(Mutex<Came>, Condvar), input: &Mutex<Option<ChildStdin>>) {
    let (mut decoder, mut buffer) = (Decoder::default(), vec![0; 64 * 1024]);
    let why = loop {
        match output.read(&mut buffer) {
            Ok(0) => break "its output has ended".to_owned(),
            Ok(count) => decoder.push(&buffer[..count]),
            Err(error) => break error.to_string(),
        }
        loop {
            let frame = match decoder.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => panic!("a far end sent {error}"),
            };
            let (stream, kind, size) = (frame.stream, frame.kind, frame.payload.len());
            let is_held = {
                let mut came = came.0.lock().unwrap();
                came.frames.push(frame);
                came.held.contains(&stream)
            };
            came.1.notify_all();
            if kind == Kind::Data && !is_held {
                let room = Frame::new(stream, Kind::Room, size.to_string());
                let _ = write(input, &room.encode());
            }
        }
    };
    came.0.lock().unwrap().over = Some(why);
    came.1.notify_all();
}
