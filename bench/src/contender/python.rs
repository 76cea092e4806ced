//! A simple job registry in Python with one thread per job that reads its output, like those that
//! agents have built in (`peers/registry.py`). It is controlled over a pipe, so the start of Python is
//! not counted.

use super::{Contender, Entry, Output, Waiting, program};
use crate::BenchError;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

const REGISTRY: &str = include_str!("../../peers/registry.py");

pub const ENTRY: Entry = Entry {
    name: "Python registry",
    make: |_, dir| {
        let mut child = Command::new(program("python3")?)
            .args(["-c", REGISTRY])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".into());
        };
        let from = BufReader::new(from);
        let registry = Registry(Rc::new(RefCell::new(Pipes { to, from })));
        registry.ask(json!({"do": "list"}))?;
        Ok(Box::new(registry))
    },
};

struct Pipes {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

struct Registry(Rc<RefCell<Pipes>>);

impl Pipes {
    fn say(&mut self, request: &Value) -> Result<(), BenchError> {
        let line = format!("{request}\n");
        self.to
            .write_all(line.as_bytes())
            .map_err(|error| error.to_string())
    }

    fn hear(&mut self) -> Result<Value, BenchError> {
        let mut line = String::new();
        self.from
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        serde_json::from_str(&line).map_err(|error| format!("{error}: {line:?}"))
    }
}

impl Registry {
    fn ask(&self, request: Value) -> Result<Value, BenchError> {
        let mut pipes = self.0.borrow_mut();
        pipes.say(&request)?;
        pipes.hear()
    }
}

impl Contender for Registry {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        let id = self.ask(json!({"do": "run", "argv": argv}))?;
        Ok(id.as_str().unwrap_or_default().to_owned())
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::BySupervisor)
    }

    fn wait(&mut self, id: &str) -> Result<Waiting, BenchError> {
        let pipes = Rc::clone(&self.0);
        pipes.borrow_mut().say(&json!({"do": "wait", "id": id}))?;
        Ok(Box::new(move || pipes.borrow_mut().hear().map(drop)))
    }

    fn list(&mut self) -> Result<(), BenchError> {
        self.ask(json!({"do": "list"})).map(drop)
    }

    fn storm(&mut self, jobs: usize, width: usize) -> Result<(), BenchError> {
        self.ask(json!({"do": "storm", "jobs": jobs, "width": width}))
            .map(drop)
    }
}
