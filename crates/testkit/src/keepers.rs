//! The processes that keep a job: the keeper, and the standby that takes over when the keeper dies.

use crate::processes::{KILL, Process, STOP, until_stopped};
use crate::waiting::until;
use crate::world::World;
use serde_json::Value;

/// The processes that keep a job, as its journal names them.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub keeper: i32,
    pub standby: Option<i32>,
}

impl World {
    /// The keeper and the standby of the job, as its journal says.
    #[track_caller]
    pub fn pair(&self, id: &str) -> Pair {
        let pid = |value: &Value| value["pid"].as_i64().map(|pid| pid as i32);
        let mut pair = None;
        for record in self.journal(id) {
            let event = &record["event"];
            if let Some(kept) = event.get("kept") {
                pair = Some(Pair {
                    keeper: pid(&kept["keeper"]).unwrap(),
                    standby: pid(&kept["standby"]),
                });
            }
            if let (Some(new), Some(pair)) = (event.get("new_standby"), &mut pair) {
                pair.standby = pid(&new["standby"]);
            }
        }
        pair.unwrap()
    }

    /// Waits until the job has a living keeper and a living standby; returns both.
    #[track_caller]
    pub fn settled_pair(&self, id: &str) -> (i32, i32) {
        let (keeper, standby) = self.settled(id);
        (keeper.pid, standby.pid)
    }

    #[track_caller]
    fn settled(&self, id: &str) -> (Process, Process) {
        let mut found = None;
        until("keeper and standby both live", || {
            let pair = self.pair(id);
            let alive = |pid: i32| self.place().process(pid);
            found = alive(pair.keeper).zip(pair.standby.and_then(alive));
            found.is_some()
        });
        found.unwrap()
    }

    /// Waits until the job's keeper is suspended at a hook; returns it.
    #[track_caller]
    pub fn until_keeper_stops(&self, id: &str) -> i32 {
        let keeper = self.pair(id).keeper;
        until_stopped(keeper);
        keeper
    }

    /// Kills the keeper with SIGKILL and waits until it is gone: its standby takes over.
    #[track_caller]
    pub fn kill_keeper(&self, id: &str) {
        self.kill_for_good(self.settled(id).0);
    }

    /// Kills the standby with SIGKILL and waits until it is gone: the keeper starts another.
    #[track_caller]
    pub fn kill_standby(&self, id: &str) {
        self.kill_for_good(self.settled(id).1);
    }

    /// Kills both with SIGKILL. Both are suspended first, so that neither replaces the other.
    #[track_caller]
    pub fn kill_both(&self, id: &str) {
        let (keeper, standby) = self.settled(id);
        self.place().signal(keeper, STOP);
        self.place().signal(standby, STOP);
        self.kill_for_good(standby);
        self.kill_for_good(keeper);
    }

    #[track_caller]
    fn kill_for_good(&self, process: Process) {
        self.place().signal(process, KILL);
        until("a killed process is gone", || {
            self.place().process(process.pid) != Some(process)
        });
    }
}
