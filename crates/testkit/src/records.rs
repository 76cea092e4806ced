//! What jobs leave in a home: their journals, outputs and files.

use crate::waiting::until;
use crate::world::World;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

impl World {
    pub fn job_dir(&self, id: &str) -> PathBuf {
        self.home().join("jobs").join(id)
    }

    /// The path of a link that exists as long as a process of the job runs.
    pub fn live(&self, id: &str) -> PathBuf {
        self.home().join("live").join(id)
    }

    /// Waits until nothing is left of the job except its record.
    #[track_caller]
    pub fn until_over(&self, id: &str) {
        until("it is over", || self.live(id).symlink_metadata().is_err());
    }

    /// The output file, byte for byte; empty if there is none.
    pub fn output(&self, id: &str) -> Vec<u8> {
        fs::read(self.job_dir(id).join("output")).unwrap_or_default()
    }

    /// The lines of a job's journal, which must exist.
    #[track_caller]
    pub fn journal(&self, id: &str) -> Vec<Value> {
        let text = fs::read(self.job_dir(id).join("journal")).unwrap();
        json_lines(&text)
    }

    /// Every event in the job's journal, with its kind. Empty if there is no journal.
    pub fn all_events(&self, id: &str) -> Vec<(String, Value)> {
        let text = fs::read(self.job_dir(id).join("journal")).unwrap_or_default();
        json_lines(&text).iter().filter_map(event_of).collect()
    }

    /// The data of every event of this kind (`null` for one without data). The journal must exist.
    #[track_caller]
    pub fn events(&self, id: &str, kind: &str) -> Vec<Value> {
        let journal = self.journal(id);
        let events = journal.iter().filter_map(event_of);
        let of_kind = events.filter(|(name, _)| name == kind);
        of_kind.map(|(_, data)| data).collect()
    }

    /// When the first event of this kind happened, in milliseconds since boot.
    #[track_caller]
    pub fn boot_ms(&self, id: &str, kind: &str) -> u64 {
        let journal = self.journal(id);
        let is_of_kind =
            |record: &&Value| event_of(record).is_some_and(|(name, _)| name.as_str() == kind);
        let record = journal.iter().find(is_of_kind).unwrap();
        record["at"]["boot_ms"].as_u64().unwrap()
    }

    /// The ID of an event of a job or post, as the inbox prints it.
    #[track_caller]
    pub fn event_id(&self, id: &str, seq: &Value) -> String {
        let job = fs::read_to_string(self.job_dir(id).join("spec.json"));
        let asked = job.or_else(|_| {
            let posts = self.home().join("posts");
            fs::read_to_string(posts.join(id).join("post.json"))
        });
        let asked: Value = serde_json::from_str(&asked.unwrap()).unwrap();
        format!("{id}:{seq}.{}", asked["incarnation"].as_str().unwrap())
    }

    /// The pid of the job's first process, as `show` prints it.
    #[track_caller]
    pub fn leader(&self, id: &str) -> i32 {
        self.show(id)["pid"].as_i64().unwrap() as i32
    }

    /// Everything below the home, as paths relative to it, sorted.
    pub fn everything(&self) -> Vec<PathBuf> {
        let (home, mut found) = (self.home(), Vec::new());
        let mut directories = vec![home.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    directories.push(entry.path());
                }
                found.extend(entry.path().strip_prefix(&home).map(Path::to_owned));
            }
        }
        found.sort();
        found
    }

    /// Like [`World::everything`], without directories.
    pub fn files(&self) -> Vec<PathBuf> {
        let home = self.home();
        let is_directory = |path: &PathBuf| {
            let path = home.join(path);
            path.symlink_metadata().is_ok_and(|it| it.is_dir())
        };
        let mut found = self.everything();
        found.retain(|path| !is_directory(path));
        found
    }
}

/// The lines that are valid JSON. The last line may be incomplete while it is written.
fn json_lines(text: &[u8]) -> Vec<Value> {
    let lines = text.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

/// The kind and the data of a record's event.
fn event_of(record: &Value) -> Option<(String, Value)> {
    match &record["event"] {
        Value::String(kind) => Some((kind.clone(), Value::Null)),
        Value::Object(event) => {
            let (kind, data) = event.iter().next()?;
            Some((kind.clone(), data.clone()))
        }
        _ => None,
    }
}

/// The names in a directory, sorted.
pub fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
