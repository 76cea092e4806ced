//! `[defaults]` and `[environment]`: what a job gets that its request does not say.

use super::error::{BadConfig, ValueError};
use super::section::Section;
use outlive_api::request::VariablePattern;
use outlive_core::Notify;
use std::time::Duration;

/// What a job gets if its request does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// Stop it after this long; zero means never.
    pub timeout: Duration,
    /// Set the variables that switch off colours, pagers and questions.
    pub plain: bool,
    /// For which ends its session is told.
    pub notify: Notify,
    /// How much memory it may use; zero for no limit.
    pub memory: u64,
}

/// What jobs inherit of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inheritance {
    /// From which jobs the credentials of agents are withheld.
    pub withhold: Withhold,
    /// Variables that every job inherits, although they would be withheld or left out.
    pub pass: Vec<VariablePattern>,
}

/// From which jobs the credentials of agents are withheld.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Withhold {
    /// From those that an agent's harness starts, which is what the MCP server does.
    #[default]
    FromHarness,
    /// From all.
    Always,
    /// From none.
    Never,
}

pub fn defaults(top: &mut Section<'_>) -> Result<Defaults, BadConfig> {
    let mut defaults = Defaults::default();
    if let Some(mut section) = top.section("defaults")? {
        section.duration("timeout", &mut defaults.timeout)?;
        defaults.plain = section.flag("plain")?.unwrap_or_default();
        let notify = section.text("notify", |text| match text {
            "end" => Ok(Notify::End),
            "failure" => Ok(Notify::Failure),
            "never" => Ok(Notify::Never),
            _ => Err(ValueError::NoChoice {
                found: text.to_owned(),
                choices: "end, failure, never",
            }),
        })?;
        defaults.notify = notify.unwrap_or_default();
        section.size("memory", &mut defaults.memory)?;
        section.finish()?;
    }
    Ok(defaults)
}

pub fn environment(top: &mut Section<'_>) -> Result<Inheritance, BadConfig> {
    let mut environment = Inheritance::default();
    if let Some(mut section) = top.section("environment")? {
        let withhold = section.text("withhold", |text| match text {
            "mcp" => Ok(Withhold::FromHarness),
            "always" => Ok(Withhold::Always),
            "never" => Ok(Withhold::Never),
            _ => Err(ValueError::NoChoice {
                found: text.to_owned(),
                choices: "mcp, always, never",
            }),
        })?;
        environment.withhold = withhold.unwrap_or_default();
        environment.pass = section.texts("pass", |text| Ok(VariablePattern::parse(text)?))?;
        section.finish()?;
    }
    Ok(environment)
}
