//! Decides when an event that was handed to an agent counts as read.
//!
//! An agent keeps what a hook printed, and sends it with the next request to its model. A while later it
//! also writes it to its transcript, from which a killed agent is resumed. Nobody reports either moment.
//! But an agent calls its hooks again: after a tool call, and when its turn ends. Both show that the
//! model has answered a request. If what such a call reports began at least [`SETTLED`] after the events
//! were handed over, that request contained them.

use crate::clocks::BootTime;
use crate::process::ProcRef;
use crate::told::BootMoment;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long after the events were handed over something must begin to show that they were read. Agents
/// write their transcript in batches (Claude Code: every 100 ms); what they have not written is lost if
/// they are killed. Several tool calls of one answer may end one after the other, too.
pub const SETTLED: Duration = Duration::from_millis(200);

/// A process of an agent. The lines that contain it name the boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AgentProcess {
    #[serde(flatten)]
    pub process: ProcRef,
    /// The number means this process only in this PID namespace.
    pub pid_namespace: u64,
}

/// With what an agent got events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandedWith {
    /// With the result of a tool call. Other tool calls of the same answer of the model may end later.
    ToolResult,
    /// When a conversation or a turn began, or was to end.
    Turn,
}

/// Events that an agent has, from the time when it got them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    pub to: AgentProcess,
    pub with: HandedWith,
    pub when: BootMoment,
}

/// Something that an agent does only after its model has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A tool call of the model has ended. It began then, if the agent tells.
    ToolCall { began: Option<BootTime> },
    /// The turn ended then.
    TurnEnd { at: BootTime },
}

impl Handed {
    /// Whether this sign of life of this agent shows that its model has read the events.
    pub fn is_read(&self, agent: &AgentProcess, sign: &Sign) -> bool {
        let settled = self.when.at.boot + SETTLED;
        self.to == *agent
            && match (sign, self.with) {
                (Sign::TurnEnd { at }, _) => *at >= settled,
                (Sign::ToolCall { began: Some(began) }, _) => *began >= settled,
                // No request to the model lies between two tool results of one answer.
                (Sign::ToolCall { began: None }, HandedWith::ToolResult) => false,
                (Sign::ToolCall { began: None }, HandedWith::Turn) => true,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::WallTime;
    use crate::event::Moment;
    use crate::process::BootId;

    fn agent(pid: i32) -> AgentProcess {
        AgentProcess {
            process: ProcRef { pid, started: 1 },
            pid_namespace: 1,
        }
    }

    #[test]
    fn only_what_began_well_after_the_delivery_shows_that_it_was_read() {
        let ms = BootTime::from_ms;
        let handed = |with| Handed {
            to: agent(7),
            with,
            when: BootMoment {
                boot: BootId(String::new()),
                at: Moment {
                    wall: WallTime::default(),
                    boot: ms(1000),
                },
            },
        };
        let (result, turn) = (HandedWith::ToolResult, HandedWith::Turn);
        for (with, sign, is_read) in [
            (result, Sign::TurnEnd { at: ms(1100) }, false),
            (result, Sign::TurnEnd { at: ms(1200) }, true),
            (turn, Sign::TurnEnd { at: ms(1199) }, false),
            (
                result,
                Sign::ToolCall {
                    began: Some(ms(1199)),
                },
                false,
            ),
            (
                result,
                Sign::ToolCall {
                    began: Some(ms(1200)),
                },
                true,
            ),
            (result, Sign::ToolCall { began: None }, false),
            (
                turn,
                Sign::ToolCall {
                    began: Some(ms(900)),
                },
                false,
            ),
            (turn, Sign::ToolCall { began: None }, true),
        ] {
            let handed = handed(with);
            assert_eq!(
                handed.is_read(&agent(7), &sign),
                is_read,
                "{with:?} {sign:?}"
            );
            assert!(!handed.is_read(&agent(8), &sign), "another agent");
        }
    }
}
