//! Decides when an event that was handed to an agent counts as read.
//!
//! An agent keeps what a hook printed, and sends it with the next request to its model. A while later it
//! also writes it to its transcript, from which a killed agent is resumed. Nobody reports either moment.
//! But an agent calls its hooks again: before and after a tool call, and when its turn ends. All of these
//! show that the model has answered a request. If what such a call reports began at least [`SETTLED`]
//! after the events were handed over, that request contained them.
//!
//! One exception: an answer of the model may ask for several tool calls, and one of them may begin long
//! after another has ended, because a person had to allow it. No request lies between them. Gemini CLI and
//! Qwen Code write the results into their transcript only when all of them are there. So if the agent has a
//! transcript, a tool call counts only if the agent has written to it since the events were handed over.

use crate::clocks::{BootTime, WallTime};
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
    /// With a prompt. The person or another hook may take the prompt back before the model is asked.
    Prompt,
    /// When a conversation began, or a turn was to end.
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
    /// A tool call of the model begins or has ended.
    ToolCall {
        /// When it began, if the agent tells.
        began: Option<BootTime>,
        /// When the agent last wrote its transcript, if it has one.
        written: Option<WallTime>,
    },
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
                // No request to the model lies between two tool results of one answer.
                (Sign::ToolCall { began: None, .. }, HandedWith::ToolResult) => false,
                (Sign::ToolCall { began: None, .. }, HandedWith::Prompt | HandedWith::Turn) => true,
                (
                    Sign::ToolCall {
                        began: Some(began),
                        written,
                    },
                    with,
                ) => {
                    let is_written = written.is_none_or(|written| written >= self.when.at.wall);
                    *began >= settled && (is_written || with != HandedWith::ToolResult)
                }
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

    const WALL: WallTime = WallTime::from_ms(50_000);

    fn handed(with: HandedWith) -> Handed {
        Handed {
            to: agent(7),
            with,
            when: BootMoment {
                boot: BootId(String::new()),
                at: Moment {
                    wall: WALL,
                    boot: BootTime::from_ms(1000),
                },
            },
        }
    }

    fn call(began: Option<u64>) -> Sign {
        Sign::ToolCall {
            began: began.map(BootTime::from_ms),
            written: None,
        }
    }

    #[test]
    fn only_what_began_well_after_the_delivery_shows_that_it_was_read() {
        let end = |ms| Sign::TurnEnd {
            at: BootTime::from_ms(ms),
        };
        let (result, prompt, turn) = (HandedWith::ToolResult, HandedWith::Prompt, HandedWith::Turn);
        for (with, sign, is_read) in [
            (result, end(1100), false),
            (result, end(1200), true),
            (turn, end(1199), false),
            (result, call(Some(1199)), false),
            (result, call(Some(1200)), true),
            (result, call(None), false),
            (turn, call(Some(900)), false),
            (turn, call(None), true),
            (prompt, call(None), true),
        ] {
            let handed = handed(with);
            let read = handed.is_read(&agent(7), &sign);
            assert_eq!(read, is_read, "{with:?} {sign:?}");
            assert!(!handed.is_read(&agent(8), &sign), "another agent");
        }
    }

    #[test]
    fn a_later_call_of_the_same_answer_does_not_show_that_the_result_of_an_earlier_one_was_read() {
        let call = |written_ms| Sign::ToolCall {
            began: Some(BootTime::from_ms(9000)),
            written: Some(WallTime::from_ms(written_ms)),
        };
        for (with, sign, is_read) in [
            (HandedWith::ToolResult, call(49_999), false),
            (HandedWith::ToolResult, call(50_000), true),
            (HandedWith::Prompt, call(49_999), true),
        ] {
            assert_eq!(handed(with).is_read(&agent(7), &sign), is_read, "{sign:?}");
        }
    }
}
