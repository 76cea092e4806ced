//! The connections to the keeper of one job, and what was asked on them.

use super::super::Wanted;
use crate::clock;
use crate::error::Error;
use crate::jobs::connection::{Answer, Connection};
use outlive_core::control::Reply;
use outlive_core::{BootTime, JobId};
use std::time::Duration;

/// The first pause before a job is read again whose keeper does not listen yet. It doubles each time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How news of one job come.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub news: Post,
    /// Here the keeper answers when a process waits for input.
    pub input: Option<Connection>,
    /// The courier of this place tells of new records.
    pub place: Option<String>,
    /// The job is read then.
    pub look_at: Option<BootTime>,
    pause: Duration,
}

/// The connection on which a keeper is asked for news.
#[derive(Debug, Default)]
pub(super) enum Post {
    #[default]
    None,
    /// It was asked for this, and has not answered.
    Asked(Connection, Wanted),
    /// It has answered, and can be asked again.
    Answered(Connection),
}

/// What a connection tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Records,
    Input,
}

impl Line {
    pub fn connections(&self) -> usize {
        usize::from(self.news.is_open()) + usize::from(self.input.is_some())
    }

    /// The connections on which an answer may come.
    pub fn asked(&self) -> impl Iterator<Item = (News, &Connection)> {
        let news = match &self.news {
            Post::Asked(connection, _) => Some((News::Records, connection)),
            Post::None | Post::Answered(_) => None,
        };
        let input = self.input.as_ref();
        news.into_iter()
            .chain(input.map(|connection| (News::Input, connection)))
    }

    /// Asks the keeper, to which there is a connection.
    pub fn ask(&mut self, wanted: Wanted) -> Result<(), Error> {
        self.look_at = None;
        self.pause = Duration::ZERO;
        self.news.ask(wanted)
    }

    pub fn look_soon(&mut self) {
        self.pause = (self.pause * 2).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        self.look_at = Some(clock::boot() + self.pause);
    }

    /// Reads the answer about input. `Some(false)` if the keeper is gone or refuses, `None` if nothing came yet.
    pub fn input_awaited(&mut self, id: &JobId) -> Option<bool> {
        let connection = self.input.as_mut()?;
        let answer = connection.receive_until(id, clock::boot()).transpose()?;
        self.input = None;
        Some(matches!(
            answer,
            Ok(Answer::Reply(Reply::InputAwaited { .. }))
        ))
    }
}

impl Post {
    pub fn is_open(&self) -> bool {
        !matches!(self, Post::None)
    }

    /// Uses this connection from now on. Returns whether there is one.
    pub fn open(&mut self, connection: Option<Connection>) -> bool {
        if let Some(connection) = connection {
            *self = Post::Answered(connection);
        }
        self.is_open()
    }

    /// Whether all that is wanted was asked for, and not answered yet.
    pub fn is_asked(&self, wanted: Wanted) -> bool {
        match self {
            Post::Asked(_, asked) => {
                asked.and(Wanted {
                    input: asked.input,
                    ..wanted
                }) == *asked
            }
            Post::None | Post::Answered(_) => false,
        }
    }

    /// Asks for news, in place of what was asked before.
    pub fn ask(&mut self, wanted: Wanted) -> Result<(), Error> {
        if let Post::Asked(connection, _) | Post::Answered(connection) = std::mem::take(self) {
            connection.send(&wanted.news())?;
            *self = Post::Asked(connection, wanted);
        }
        Ok(())
    }

    /// Reads the answer. Returns whether something is new: it answered, or is gone.
    pub fn has_answered(&mut self, id: &JobId) -> bool {
        let Post::Asked(mut connection, wanted) = std::mem::take(self) else {
            return false;
        };
        match connection.receive_until(id, clock::boot()) {
            Ok(None) => {
                *self = Post::Asked(connection, wanted);
                false
            }
            Ok(Some(Answer::Reply(_))) => {
                *self = Post::Answered(connection);
                true
            }
            // What the answer says is read from the job's files, which are met again.
            Ok(Some(Answer::KeeperGone)) | Err(_) => true,
        }
    }
}
