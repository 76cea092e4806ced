//! Agents of which each needs little: `xtask/agents/NAME.py` describes it.

use super::package::Package;
use super::stories::Agent;

pub const MORE: [Agent; 5] = [
    Agent {
        name: "qwen",
        title: "Qwen Code",
        package: Package::Qwen,
        program: |sandbox| {
            let script = "@qwen-code/qwen-code/cli-entry.js";
            sandbox.with_node(Package::Qwen, script).to_vec()
        },
        headless: &["turn", "shell", "stop", "wait", "killed", "result"],
        interactive: &["turn"],
    },
    Agent {
        name: "copilot",
        title: "Copilot CLI",
        package: Package::Copilot,
        program: |sandbox| {
            vec![sandbox.module(Package::Copilot, "@github/copilot-linux-x64/copilot")]
        },
        headless: &["turn", "shell", "stop", "wait", "killed", "result"],
        interactive: &["turn"],
    },
    Agent {
        name: "droid",
        title: "Droid",
        package: Package::Droid,
        program: |sandbox| vec![sandbox.module(Package::Droid, "@factory/cli-linux-x64/bin/droid")],
        headless: &["shell", "stop", "result"],
        interactive: &[],
    },
    Agent {
        name: "kilo",
        title: "Kilo",
        package: Package::Kilo,
        program: |sandbox| vec![sandbox.module(Package::Kilo, "@kilocode/cli-linux-x64/bin/kilo")],
        headless: &["turn", "shell", "wait", "killed", "result"],
        interactive: &["turn"],
    },
    Agent {
        name: "cline",
        title: "Cline",
        package: Package::Cline,
        program: |sandbox| vec![sandbox.module(Package::Cline, "@cline/cli-linux-x64/bin/cline")],
        headless: &["shell", "result"],
        interactive: &[],
    },
];
