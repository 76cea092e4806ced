//! A `log --follow` in the background.

use outlive_testkit::processes::{begin, until_blocked};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command};

/// `outlive log --follow` or a similar command that runs in the background.
pub struct Follower {
    pub child: Child,
    out: BufReader<ChildStdout>,
}

impl Follower {
    pub fn start(command: Command) -> Follower {
        let mut child = begin(command);
        let out = BufReader::new(child.stdout.take().unwrap());
        Follower { child, out }
    }

    pub fn until_blocked(&self) {
        until_blocked(self.child.id() as i32);
    }

    /// The next line, as soon as it is printed.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    /// The next `count` bytes, as soon as they are printed.
    pub fn bytes(&mut self, count: usize) -> String {
        let mut bytes = vec![0; count];
        self.out.read_exact(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// Everything that it still prints, and its exit code.
    pub fn rest(mut self) -> (Vec<u8>, i32) {
        let mut bytes = Vec::new();
        self.out.read_to_end(&mut bytes).unwrap();
        (bytes, self.child.wait().unwrap().code().unwrap())
    }
}
