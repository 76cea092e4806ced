//! The block of instructions, between two marks, in a file that people edit too.
//!
//! Agents that read the same file share one block. Its first mark names them. When the last agent is
//! removed, so is the block.

use crate::agent::Agent;

/// The skill, which starts with a header that only skills have.
const SKILL: &str = include_str!("../../../../SKILL.md");
const BEGIN: &str = "<!-- outlive:begin";
const END: &str = "<!-- outlive:end -->";

/// The instructions for an agent.
pub fn instructions() -> &'static str {
    SKILL
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map_or(SKILL, |(_, body)| body)
}

/// The block that a file contains.
struct FoundBlock<'t> {
    before: &'t str,
    agents: Vec<Agent>,
    after: &'t str,
}

fn find(text: &str) -> Option<FoundBlock<'_>> {
    let start = text.find(BEGIN)?;
    let end = start + text[start..].find(END)? + END.len();
    let end = end + usize::from(text[end..].starts_with('\n'));
    let mark = text[start + BEGIN.len()..].lines().next()?;
    let agents = mark.trim_end_matches("-->").split_whitespace();
    Some(FoundBlock {
        before: &text[..start],
        agents: agents.filter_map(|name| Agent::parse(name).ok()).collect(),
        after: &text[end..],
    })
}

fn block(agents: &[Agent]) -> String {
    let names: Vec<&str> = agents.iter().map(|agent| agent.name()).collect();
    let body = instructions().trim_end();
    format!("{BEGIN} {} -->\n{body}\n{END}\n", names.join(" "))
}

pub fn has(text: &str) -> bool {
    find(text).is_some()
}

/// Adds the block, or adds the agent to an existing block.
pub fn put(text: &str, agent: Agent) -> String {
    if let Some(found) = find(text) {
        let mut agents = found.agents;
        agents.push(agent);
        agents.sort();
        agents.dedup();
        return format!("{}{}{}", found.before, block(&agents), found.after);
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{gap}{}", block(&[agent]))
}

/// Removes the agent from the block, and the block with its last agent.
pub fn take(text: &str, agent: Agent) -> String {
    let Some(found) = find(text) else {
        return text.to_owned();
    };
    let agents: Vec<Agent> = found
        .agents
        .iter()
        .copied()
        .filter(|other| *other != agent)
        .collect();
    if agents.len() == found.agents.len() && !agents.is_empty() {
        return text.to_owned();
    }
    if !agents.is_empty() {
        let block = block(&agents);
        return format!("{}{block}{}", found.before, found.after);
    }
    // The empty line before the block was added with it.
    let before = match found.before.strip_suffix("\n\n") {
        Some(before) => format!("{before}\n"),
        None => found.before.to_owned(),
    };
    format!("{before}{}", found.after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agent(name: &str) -> Agent {
        Agent::parse(name).expect("the list has it")
    }

    #[test]
    fn the_instructions_are_short_and_teach_what_matters() {
        assert!(SKILL.len() < 1024, "{}", SKILL.len());
        assert!(SKILL.starts_with("---\nname: outlive\n"));
        let text = instructions();
        assert!(text.starts_with("Start anything"), "{text}");
        for word in ["run", "wait", "log", "stop", "inbox", "list"] {
            assert!(text.contains(&format!("`outlive {word}")), "{word}");
        }
        for word in ["`&`", "nohup", "sleep", "polling"] {
            assert!(text.contains(word), "{word}");
        }
    }

    /// A plugin is copied without the rest of the repository.
    #[test]
    fn the_plugin_has_the_same_skill() {
        let plugin = include_str!("../../../../plugins/claude-code/skills/outlive/SKILL.md");
        assert_eq!(plugin, SKILL);
    }

    #[test]
    fn agents_share_the_block_and_the_last_one_removes_it() {
        let one = put("Mine.\n", agent("codex"));
        let two = put(&one, agent("opencode"));
        assert_eq!(two.matches(BEGIN).count(), 1);
        assert!(
            two.contains("<!-- outlive:begin codex opencode -->\n"),
            "{two}"
        );
        assert_eq!(put(&two, agent("codex")), two);
        assert_eq!(take(&two, agent("cursor")), two);
        assert_eq!(take(&two, agent("opencode")), one);
        assert_eq!(
            take(&take(&two, agent("codex")), agent("opencode")),
            "Mine.\n"
        );
    }

    #[test]
    fn text_after_the_block_stays() {
        let text = format!("{}More.\n", put("Mine.\n", agent("codex")));
        assert_eq!(take(&text, agent("codex")), "Mine.\nMore.\n");
    }

    proptest! {
        #[test]
        fn adding_and_removing_the_block_restores_the_text(text in "([a-z<!\\-\u{e4} ]{0,12}\n){0,5}") {
            prop_assert_eq!(take(&put(&text, agent("gemini")), agent("gemini")), text);
        }
    }
}
