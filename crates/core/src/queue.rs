//! The directory of a queue: which jobs are in it, and in which order.
//!
//! ```text
//! queues/<name>/
//!   counter          one byte for each job that ever joined: its size gives the next number
//!   width            how many jobs of the queue may run at once
//!   turns            locked by whoever decides whose turn it is
//!   .new-<key>       the ticket of a job that has not joined yet
//!   <number>-<key>   the ticket of a job; locked by its keepers from before it joins until it has ended
//!   line-<key>       locked by the same keepers while the job waits. To release it is to take the turn
//!   bell-<key>       FIFO that wakes the job if it is the first of those that wait
//! ```
//! The key is `<incarnation>-<id>`. Locks are taken and asked for elsewhere: this module calls no system function.

use crate::id::JobId;
use crate::label::Label;
use crate::layout::Home;
use crate::spec::Spec;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The width of a queue that nobody gave a width.
const FIRST_WIDTH: u32 = 1;

/// The directory of one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueDir {
    path: PathBuf,
}

/// What tells a job in a queue from all others, also from other jobs with the same id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    incarnation: String,
    pub job: JobId,
}

/// A job's place in the order of a queue. Tickets sort as jobs joined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    number: u64,
    pub key: Key,
}

impl Home {
    /// The directory of a queue.
    pub fn queue(&self, name: &Label) -> QueueDir {
        QueueDir {
            path: self.root().join("queues").join(name.file_name()),
        }
    }
}

impl QueueDir {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn counter(&self) -> PathBuf {
        self.path.join("counter")
    }

    pub fn turns(&self) -> PathBuf {
        self.path.join("turns")
    }

    pub fn width_file(&self) -> PathBuf {
        self.path.join("width")
    }

    pub fn new_ticket(&self, key: &Key) -> PathBuf {
        self.path.join(format!(".new-{key}"))
    }

    pub fn ticket(&self, ticket: &Ticket) -> PathBuf {
        self.path.join(ticket.to_string())
    }

    pub fn line(&self, key: &Key) -> PathBuf {
        self.path.join(format!("line-{key}"))
    }

    pub fn bell(&self, key: &Key) -> PathBuf {
        self.path.join(format!("bell-{key}"))
    }

    /// The tickets of all jobs that have joined, in order. Some may be of jobs that are gone.
    pub fn tickets(&self) -> io::Result<Vec<Ticket>> {
        let mut tickets = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            tickets.extend(entry?.file_name().to_str().and_then(Ticket::parse));
        }
        tickets.sort();
        Ok(tickets)
    }

    /// Files of jobs without a ticket: they have not joined yet, are leaving, or were killed before they joined.
    pub fn without_ticket(&self) -> io::Result<Vec<(PathBuf, JobId)>> {
        let tickets = self.tickets()?;
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let key = entry.file_name().to_str().and_then(Key::of_file);
            let is_lone = |key: &Key| tickets.iter().all(|ticket| ticket.key != *key);
            files.extend(key.filter(is_lone).map(|key| (entry.path(), key.job)));
        }
        Ok(files)
    }

    /// The ticket of this job, if it has joined.
    pub fn find(&self, key: &Key) -> io::Result<Option<Ticket>> {
        let mut tickets = self.tickets()?.into_iter();
        Ok(tickets.find(|ticket| ticket.key == *key))
    }

    /// How many jobs of the queue may run at once.
    pub fn width(&self) -> u32 {
        let text = fs::read_to_string(self.width_file()).unwrap_or_default();
        let width = text.trim().parse().unwrap_or(FIRST_WIDTH);
        width.max(FIRST_WIDTH)
    }
}

/// The content of the file with the width. It always has the same length, so one write replaces it as a whole.
pub fn width_text(width: u32) -> String {
    format!("{width:>10}\n")
}

impl Key {
    pub fn of(spec: &Spec) -> Key {
        let incarnation = spec.incarnation.as_ref();
        Key {
            // Every program that knows queues gives each job an incarnation.
            incarnation: incarnation.map_or("0", |text| text.as_str()).to_owned(),
            job: spec.id.clone(),
        }
    }
}

impl Key {
    /// The key in the name of a file that is not a ticket.
    fn of_file(name: &str) -> Option<Key> {
        let prefixes = [".new-", "line-", "bell-"];
        let text = prefixes
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))?;
        let (incarnation, job) = text.split_once('-')?;
        Some(Key {
            incarnation: incarnation.to_owned(),
            job: JobId::parse(job).ok()?,
        })
    }
}

impl Ticket {
    pub fn new(number: u64, key: Key) -> Ticket {
        Ticket { number, key }
    }

    fn parse(name: &str) -> Option<Ticket> {
        let mut parts = name.splitn(3, '-');
        let number = parts.next()?;
        let number = number.parse().ok().filter(|_| number.len() == 20)?;
        let incarnation = parts.next()?.to_owned();
        let job = JobId::parse(parts.next()?).ok()?;
        Some(Ticket {
            number,
            key: Key { incarnation, job },
        })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.incarnation, self.job)
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}-{}", self.number, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(number: u64, id: &str) -> Ticket {
        let key = Key {
            incarnation: "a1".to_owned(),
            job: JobId::parse(id).expect("an id"),
        };
        Ticket::new(number, key)
    }

    #[test]
    fn a_ticket_is_read_back_from_its_file_name() {
        for id in ["x", "a-b.c_d", "9"] {
            let made = ticket(12, id);
            assert_eq!(Ticket::parse(&made.to_string()), Some(made));
        }
        let others = [
            "line-a1-x",
            "bell-a1-x",
            ".new-a1-x",
            "counter",
            "width",
            "turns",
            "12-a1-x",
        ];
        for other in others {
            assert_eq!(Ticket::parse(other), None, "{other}");
        }
    }

    #[test]
    fn files_without_a_ticket_are_found() {
        let world = tempfile::tempdir().expect("a directory");
        let name = Label::parse("q").expect("a label");
        let queue = Home::at(world.path().to_owned()).queue(&name);
        fs::create_dir_all(queue.path()).expect("made");
        let (with, without) = (ticket(1, "with"), ticket(2, "with-out"));
        let alone = [
            queue.line(&without.key),
            queue.bell(&without.key),
            queue.new_ticket(&without.key),
        ];
        let others = [
            queue.ticket(&with),
            queue.line(&with.key),
            queue.counter(),
            queue.turns(),
        ];
        for path in alone.iter().chain(&others) {
            fs::write(path, "").expect("written");
        }
        let mut found = queue.without_ticket().expect("read");
        found.sort();
        let mut expected = alone.map(|path| (path, without.key.job.clone()));
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn tickets_sort_by_number() {
        let mut tickets = [ticket(100, "a"), ticket(9, "z"), ticket(11, "m")];
        tickets.sort();
        assert_eq!(tickets, [ticket(9, "z"), ticket(11, "m"), ticket(100, "a")]);
    }

    #[test]
    fn a_width_is_read_as_written_and_a_damaged_one_is_the_first() {
        let world = tempfile::tempdir().expect("a directory");
        let name = Label::parse("q").expect("a label");
        let queue = Home::at(world.path().to_owned()).queue(&name);
        assert_eq!(queue.width(), 1);
        fs::create_dir_all(queue.path()).expect("made");
        for (text, width) in [
            (width_text(37), 37),
            ("x".to_owned(), 1),
            ("0".to_owned(), 1),
        ] {
            fs::write(queue.width_file(), text).expect("written");
            assert_eq!(queue.width(), width);
        }
        assert_eq!(width_text(1).len(), width_text(1000).len());
    }
}
