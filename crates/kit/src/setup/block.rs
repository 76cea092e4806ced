//! The block of instructions, between two marks, in a file that people edit too.
//!
//! Agents that read the same file share one block. Its first mark names them. When the last agent is
//! removed, so is the block.

use super::older;
use super::piece::Instructions;
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
    /// The agents that share it. An agent that is unknown here was added by a newer version.
    agents: Vec<&'t str>,
    body: &'t str,
    after: &'t str,
}

fn find(text: &str) -> Option<FoundBlock<'_>> {
    let start = text.find(BEGIN)?;
    let inner = start + text[start..].find(END)?;
    let end = inner + END.len();
    let end = end + usize::from(text[end..].starts_with('\n'));
    let (mark, body) = text[start + BEGIN.len()..inner]
        .split_once('\n')
        .unwrap_or_default();
    let agents = mark.trim_end().trim_end_matches("-->").split_whitespace();
    Some(FoundBlock {
        before: &text[..start],
        agents: agents.collect(),
        body,
        after: &text[end..],
    })
}

impl FoundBlock<'_> {
    /// Whether setup wrote these words, in this version or in another one.
    fn is_ours(&self, own: &str, old: Option<&str>) -> bool {
        let body = self.body.trim_end();
        let is = |text: &str| text.trim_end() == body;
        is(own) || old.is_some_and(is) || older::are_instructions(body)
    }

    fn with(&self, agents: &[&str], body: &str) -> String {
        format!("{}{}{}", self.before, block(agents, body), self.after)
    }
}

fn block(agents: &[&str], body: &str) -> String {
    let body = body.trim_end();
    format!("{BEGIN} {} -->\n{body}\n{END}\n", agents.join(" "))
}

/// Whether the text has the block with these instructions for this agent.
pub fn has(text: &str, own: &Instructions) -> bool {
    find(text).is_some_and(|found| {
        found.agents.contains(&own.agent.name()) && found.body.trim_end() == own.text.trim_end()
    })
}

/// What stands in the block, if setup did not write it.
pub fn foreign(text: &str, own: &Instructions, old: Option<&str>) -> Vec<String> {
    let is_foreign = find(text).is_some_and(|found| !found.is_ours(&own.text, old));
    let what = "instructions between the marks of outlive that somebody has changed";
    is_foreign.then(|| what.to_owned()).into_iter().collect()
}

/// Adds the block, or adds the agent to an existing block.
pub fn put(text: &str, own: &Instructions) -> String {
    if let Some(found) = find(text) {
        let mut agents = found.agents.clone();
        if !agents.contains(&own.agent.name()) {
            agents.push(own.agent.name());
        }
        agents.sort_by_key(|name| Agent::parse(name).map_or(usize::MAX, Agent::position));
        return found.with(&agents, &own.text);
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{gap}{}", block(&[own.agent.name()], &own.text))
}

/// Removes the agent from the block, and the block with its last agent. A block that somebody has changed stays.
pub fn take(text: &str, own: &Instructions) -> (String, Vec<String>) {
    let Some(found) = find(text).filter(|found| found.agents.contains(&own.agent.name())) else {
        return (text.to_owned(), Vec::new());
    };
    if !found.is_ours(&own.text, None) {
        let stays = "the instructions between the marks of outlive".to_owned();
        return (text.to_owned(), vec![stays]);
    }
    let mut agents = found.agents.clone();
    agents.retain(|name| *name != own.agent.name());
    if !agents.is_empty() {
        return (found.with(&agents, found.body), Vec::new());
    }
    // The empty line before the block was added with it.
    let before = match found.before.strip_suffix("\n\n") {
        Some(before) => format!("{before}\n"),
        None => found.before.to_owned(),
    };
    (format!("{before}{}", found.after), Vec::new())
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
        assert!(
            text.starts_with("Start anything that may take longer than a minute"),
            "{text}"
        );
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

    fn put(text: &str, name: &str) -> String {
        super::put(text, &Instructions::of(agent(name)))
    }

    fn take(text: &str, name: &str) -> String {
        super::take(text, &Instructions::of(agent(name))).0
    }

    #[test]
    fn agents_share_the_block_and_the_last_one_removes_it() {
        let one = put("Mine.\n", "codex");
        let two = put(&one, "opencode");
        assert_eq!(two.matches(BEGIN).count(), 1);
        assert!(
            two.contains("<!-- outlive:begin codex opencode -->\n"),
            "{two}"
        );
        assert_eq!(put(&two, "codex"), two);
        assert_eq!(take(&two, "cursor"), two);
        assert_eq!(take(&two, "opencode"), one);
        assert_eq!(take(&take(&two, "codex"), "opencode"), "Mine.\n");
    }

    #[test]
    fn an_agent_of_a_newer_version_keeps_its_place() {
        let newer = put("", "codex").replace("codex", "codex fairy");
        let two = put(&newer, "cursor");
        assert!(two.contains("begin codex cursor fairy -->"), "{two}");
        assert_eq!(take(&two, "cursor"), newer);
    }

    #[test]
    fn text_after_the_block_stays() {
        let text = format!("{}More.\n", put("Mine.\n", "codex"));
        assert_eq!(take(&text, "codex"), "Mine.\nMore.\n");
    }

    /// Somebody has written between the marks. That is neither overwritten unasked nor removed.
    #[test]
    fn a_changed_block_stays() {
        let own = Instructions::of(agent("codex"));
        let text = put("Mine.\n", "codex").replace(END, "- my own line\n<!-- outlive:end -->");
        assert_eq!(foreign(&text, &own, None).len(), 1);
        let (left, stays) = super::take(&text, &own);
        assert_eq!((left, stays.len()), (text, 1));
        let known = put("", "codex");
        assert_eq!(foreign(&known, &own, None), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn adding_and_removing_the_block_restores_the_text(text in "([a-z<!\\-\u{e4} ]{0,12}\n){0,5}") {
            prop_assert_eq!(take(&put(&text, "gemini"), "gemini"), text);
        }
    }
}
