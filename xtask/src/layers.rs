//! Checks which crate may depend on which, and which crate may contain `unsafe`.
//!
//! The table is the architecture. `cargo metadata` provides the real dependencies.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What a crate may use, in addition to the standard library.
struct Layer {
    name: &'static str,
    /// Crates of this workspace.
    inside: &'static [&'static str],
    /// External crates; `None` allows all.
    outside: Option<&'static [&'static str]>,
    has_unsafe: bool,
}

const LAYERS: [Layer; 17] = [
    // The contract: serde types and nothing else. `schemars` only with the feature `schema`.
    Layer {
        name: "outlive-api",
        inside: &[],
        outside: Some(&["schemars", "serde", "serde_json", "thiserror"]),
        has_unsafe: false,
    },
    // The model is pure: no system calls, no user interface. From libc it uses the values of two open
    // flags.
    Layer {
        name: "outlive-core",
        inside: &["outlive-api"],
        outside: Some(&["libc", "regex-syntax", "serde", "serde_json", "thiserror"]),
        has_unsafe: false,
    },
    // The system crate knows nothing about jobs.
    Layer {
        name: "outlive-sys",
        inside: &[],
        outside: Some(&["libc", "rustix"]),
        has_unsafe: true,
    },
    // The keeper stays small.
    Layer {
        name: "outlive-keeper",
        inside: &["outlive-api", "outlive-core", "outlive-sys"],
        outside: Some(&[
            "memchr",
            "regex-automata",
            "regex-syntax",
            "serde",
            "serde_json",
        ]),
        has_unsafe: false,
    },
    // The client knows no user interface, and has no async runtime.
    Layer {
        name: "outlive",
        inside: &["outlive-api", "outlive-core", "outlive-sys"],
        outside: Some(&[
            "aho-corasick",
            "etcetera",
            "flate2",
            "http",
            "memchr",
            "regex",
            "regex-automata",
            "regex-syntax",
            "serde",
            "serde_json",
            "sha2",
            "shlex",
            "thiserror",
            "toml",
            "vt100",
        ]),
        has_unsafe: false,
    },
    // TLS is here, so that the client does not need it.
    Layer {
        name: "outlive-doorbell",
        inside: &["outlive", "outlive-core", "outlive-sys"],
        outside: Some(&["ring", "serde", "serde_json", "thiserror", "ureq"]),
        has_unsafe: false,
    },
    // Everything about agents: their files and their hooks.
    Layer {
        name: "outlive-kit",
        inside: &["outlive", "outlive-core", "outlive-sys"],
        outside: Some(&[
            "etcetera",
            "serde",
            "serde_json",
            "shlex",
            "thiserror",
            "toml_edit",
        ]),
        has_unsafe: false,
    },
    // Who may come in over HTTP, for every face that listens.
    Layer {
        name: "outlive-guard",
        inside: &["outlive"],
        outside: Some(&["axum", "tokio", "tokio-util"]),
        has_unsafe: false,
    },
    Layer {
        name: "outlive-http",
        inside: &["outlive", "outlive-api", "outlive-guard"],
        outside: Some(&[
            "axum",
            "http-body",
            "hyper",
            "hyper-util",
            "schemars",
            "serde",
            "serde_json",
            "sha1",
            "tokio",
            "tokio-util",
        ]),
        has_unsafe: false,
    },
    // A user interface calls verbs. It does not access the job directories.
    Layer {
        name: "outlive-mcp",
        inside: &["outlive", "outlive-api", "outlive-guard"],
        outside: Some(&[
            "axum",
            "http-body",
            "regex",
            "rmcp",
            "schemars",
            "serde",
            "serde_json",
            "tokio",
            "tokio-util",
        ]),
        has_unsafe: false,
    },
    // Its messages are a contract that others decode.
    Layer {
        name: "outlive-rpc",
        inside: &["outlive", "outlive-api"],
        outside: Some(&["serde", "serde_json"]),
        has_unsafe: false,
    },
    Layer {
        name: "outlive-cli",
        inside: &[
            "outlive",
            "outlive-doorbell",
            "outlive-http",
            "outlive-keeper",
            "outlive-kit",
            "outlive-mcp",
            "outlive-rpc",
        ],
        outside: None,
        has_unsafe: false,
    },
    // The tests run the programs as a user does. Nothing that ships depends on this. From the model it uses the frames
    // of the wire, which it cuts.
    Layer {
        name: "outlive-testkit",
        inside: &["outlive-core", "outlive-sys"],
        outside: Some(&["serde_json", "tempfile"]),
        has_unsafe: false,
    },
    // The benches know the parts whose speed they measure. Everything else they run as a user would.
    Layer {
        name: "outlive-bench",
        inside: &[
            "outlive",
            "outlive-core",
            "outlive-keeper",
            "outlive-sys",
            "outlive-testkit",
        ],
        outside: Some(&["memchr", "rustix", "serde_json"]),
        has_unsafe: false,
    },
    // The fault tests know only what everybody can: programs, files and the library.
    Layer {
        name: "outlive-faults",
        inside: &["outlive", "outlive-sys", "outlive-testkit"],
        outside: Some(&["libc", "serde_json", "tempfile"]),
        has_unsafe: false,
    },
    // The fuzz targets know every decoder of outside bytes.
    Layer {
        name: "outlive-fuzz",
        inside: &[
            "outlive",
            "outlive-core",
            "outlive-keeper",
            "outlive-kit",
            "outlive-mcp",
            "outlive-rpc",
        ],
        outside: Some(&["arbitrary", "serde", "serde_json"]),
        has_unsafe: false,
    },
    Layer {
        name: "xtask",
        inside: &[],
        outside: Some(&["serde_json"]),
        has_unsafe: false,
    },
];

pub fn check() -> Result<(), String> {
    let packages = packages()?;
    let mut wrong = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().unwrap_or_default();
        match LAYERS.iter().find(|layer| layer.name == name) {
            Some(layer) => wrong.extend(layer.check(package)),
            None => wrong.push(format!(
                "{name} is not in the table of layers (xtask/src/layers.rs)"
            )),
        }
    }
    match wrong.is_empty() {
        true => {
            println!("\nlayers: {} crates, each within its own", packages.len());
            Ok(())
        }
        false => Err(wrong.join("\n")),
    }
}

fn packages() -> Result<Vec<Value>, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--no-deps", "--locked"])
        .output()
        .map_err(|error| error.to_string())?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    metadata["packages"]
        .as_array()
        .cloned()
        .ok_or_else(|| "cargo metadata lists no packages".to_owned())
}

impl Layer {
    fn check(&self, package: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        for dependency in dependencies.filter(|dependency| dependency["kind"].is_null()) {
            let name = dependency["name"].as_str().unwrap_or_default();
            let allowed = match dependency["path"].is_string() {
                true => self.inside.contains(&name),
                false => self.outside.is_none_or(|outside| outside.contains(&name)),
            };
            if !allowed {
                wrong.push(format!("{} must not depend on {name}", self.name));
            }
        }
        let targets = package["targets"].as_array().into_iter().flatten();
        for target in
            targets.filter(|target| target["kind"][0] != "test" && target["kind"][0] != "example")
        {
            let root = target["src_path"].as_str().unwrap_or_default();
            if !self.has_unsafe && !forbids_unsafe(Path::new(root)) {
                wrong.push(format!("{root} must say #![forbid(unsafe_code)]"));
            }
        }
        wrong
    }
}

fn forbids_unsafe(root: &Path) -> bool {
    fs::read_to_string(root).is_ok_and(|text| text.contains("#![forbid(unsafe_code)]"))
}
