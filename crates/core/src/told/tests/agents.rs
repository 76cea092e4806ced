//! Events that are handed to agents, which may die before their models read them.

use super::*;
use crate::process::ProcRef;
use crate::reader::SETTLED;
use std::collections::BTreeSet;

const EVENT: u64 = 1;

fn agent(pid: i32) -> AgentProcess {
    AgentProcess {
        process: ProcRef { pid, started: 0 },
        pid_namespace: 0,
    }
}

fn line(ms: u64, note: Note) -> Line {
    Line {
        when: at(1, ms),
        of: None,
        seqs: vec![EVENT],
        note,
    }
}

fn claim(by: &str, ms: u64, agent: Option<AgentProcess>) -> Line {
    let note = Note::Claimed {
        by: by.to_owned(),
        length: RULES.claim.into(),
        most: u32::MAX,
        agent,
        instead_of: Vec::new(),
    };
    line(ms, note)
}

fn handed(to: AgentProcess, ms: u64) -> Line {
    let with = HandedWith::ToolResult;
    line(ms, Note::Handed { to, with })
}

fn told(lines: &[Line], gone: &BTreeSet<i32>) -> Told {
    let mut told = Told::default();
    for line in lines {
        told.apply(line, &|agent, _| gone.contains(&agent.process.pid));
    }
    told
}

#[test]
fn an_agent_keeps_what_it_was_handed_until_it_dies() {
    let lines = [claim("hook", 10, Some(agent(7))), handed(agent(7), 20)];
    let due = |gone: &BTreeSet<i32>, lost: Option<AgentProcess>| {
        let has_lost = |handed: &Handed| Some(handed.to) == lost;
        told(&lines, gone).due(EVENT, &at(1, 0), &at(1, 4000), &RULES, &has_lost)
    };
    let all_live = BTreeSet::new();
    assert_eq!(due(&all_live, None), Due::Handed { to: agent(7) });
    assert_eq!(due(&all_live, Some(agent(8))), Due::Handed { to: agent(7) });
    assert_eq!(
        due(&all_live, Some(agent(7))),
        Due::Now,
        "it resumes the conversation"
    );
    assert_eq!(due(&BTreeSet::from([7]), None), Due::Now);
}

#[test]
fn a_claim_ends_with_its_agent() {
    let lines = [
        claim("hook", 10, Some(agent(7))),
        claim("next", 20, Some(agent(8))),
    ];
    let holder = |gone| {
        told(&lines, &gone)
            .holder(EVENT, &at(1, 50))
            .map(str::to_owned)
    };
    assert_eq!(holder(BTreeSet::new()), Some("hook".to_owned()));
    assert_eq!(holder(BTreeSet::from([7])), Some("next".to_owned()));
    assert_eq!(holder(BTreeSet::from([7, 8])), None);
}

#[test]
fn a_claim_does_not_take_an_event_from_the_agent_that_has_it() {
    let lines = [handed(agent(7), 10), claim("other", 20, None)];
    assert_eq!(
        told(&lines, &BTreeSet::new()).holder(EVENT, &at(1, 30)),
        None
    );
    // Another hook of the same agent looked before the event was handed over.
    let own = claim("own", 20, Some(agent(7)));
    let late = [handed(agent(7), 10), own.clone()];
    assert_eq!(
        told(&late, &BTreeSet::new()).holder(EVENT, &at(1, 30)),
        None
    );
    let mut resumed = own;
    if let Note::Claimed { instead_of, .. } = &mut resumed.note {
        instead_of.push(agent(7));
    }
    let resumed = [handed(agent(7), 10), resumed];
    let told = told(&resumed, &BTreeSet::new());
    assert_eq!(told.holder(EVENT, &at(1, 30)), Some("own"));
}

/// What happens to a conversation that one agent after the other continues.
#[derive(Clone, Debug)]
enum Step {
    /// A hook of the current agent prints what is due.
    Hook {
        is_killed: bool,
    },
    /// The current agent calls a tool, and its model has answered before.
    ToolCall,
    /// The agent is killed, and another one resumes the conversation.
    Kill,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<bool>().prop_map(|is_killed| Step::Hook { is_killed }),
        3 => Just(Step::ToolCall),
        2 => Just(Step::Kill),
        3 => (1u64..400).prop_map(Step::Pass),
    ]
}

#[derive(Default)]
struct Conversation {
    lines: Vec<Line>,
    gone: BTreeSet<i32>,
    pid: i32,
    now: u64,
    /// When each agent was handed the event.
    prints: Vec<(i32, u64)>,
    settled_by: Option<(i32, u64)>,
}

impl Conversation {
    fn told(&self) -> Told {
        told(&self.lines, &self.gone)
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Pass(ms) => self.now += ms,
            Step::Kill => {
                self.gone.insert(self.pid);
                self.pid += 1;
            }
            Step::ToolCall => {
                let began = BootTime::from_ms(self.now);
                let sign = Sign::ToolCall {
                    began: Some(began),
                    written: None,
                };
                if self.told().read_by(&agent(self.pid), &sign) == [EVENT] {
                    self.settled_by = Some((self.pid, self.now));
                    self.lines
                        .push(line(self.now, Note::Told { how: ToldBy::Inbox }));
                }
            }
            Step::Hook { is_killed } => {
                let due =
                    self.told()
                        .due(EVENT, &at(1, 0), &at(1, self.now), &RULES, &nobody_has_lost);
                if !matches!(due, Due::Now | Due::GiveUp(_)) {
                    return;
                }
                let own = agent(self.pid);
                self.lines.push(claim("hook", self.now, Some(own)));
                if !is_killed {
                    self.prints.push((self.pid, self.now));
                    self.lines.push(handed(own, self.now));
                }
            }
        }
    }
}

proptest! {
    /// One agent gets an event once. It counts as told only by a sign of the agent that has it, well
    /// after it got it. If that agent dies first, the next one gets it.
    #[test]
    fn an_event_is_told_again_only_after_the_agent_that_had_it_died(
        steps in prop::collection::vec(step(), 0..60)
    ) {
        let mut conversation = Conversation::default();
        for step in &steps {
            let before = conversation.prints.len();
            let was_settled = conversation.told().is_settled(EVENT);
            conversation.apply(step);
            let new = &conversation.prints[before..];
            prop_assert!(new.is_empty() || !was_settled, "told again after a sign of life");
        }
        let mut agents: Vec<i32> = conversation.prints.iter().map(|(pid, _)| *pid).collect();
        agents.dedup();
        prop_assert_eq!(agents.len(), conversation.prints.len(), "one agent got it twice");
        if let Some((pid, ms)) = conversation.settled_by {
            let print = conversation.prints.iter().find(|(to, _)| *to == pid);
            let (_, at) = print.expect("it counts only where it was printed");
            prop_assert!(ms - at >= SETTLED.as_millis() as u64);
        }
        // Whatever happened, an agent that lives on is told.
        conversation.apply(&Step::Pass(1000));
        conversation.apply(&Step::Hook { is_killed: false });
        conversation.apply(&Step::Pass(1000));
        conversation.apply(&Step::ToolCall);
        prop_assert!(conversation.told().is_settled(EVENT));
    }
}
