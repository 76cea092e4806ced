//! `docs/features.md` claims no feature without naming the test that shows it.

use std::fs;
use std::path::{Path, PathBuf};

/// A row of the page: the feature, what Outlive has of it, and the tests that show it.
struct Row {
    feature: String,
    ours: String,
    tests: Vec<String>,
}

fn rows() -> Vec<Row> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/features.md")).unwrap();
    page.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
    let ours = cells.get(1)?.strip_prefix("**")?.strip_suffix("**")?;
    // Other quoted words are verbs and options.
    let quoted = cells.get(cells.len() - 2)?.split('`').skip(1).step_by(2);
    let tests = quoted.filter(|word| word.contains("::"));
    Some(Row {
        feature: cells[0].to_owned(),
        ours: ours.to_owned(),
        tests: tests.map(str::to_owned).collect(),
    })
}

/// Whether the module of this name has this test, and the suite runs it.
fn is_run(test: &str) -> bool {
    let (module, name) = test.rsplit_once("::").unwrap();
    let path = module.replace("::", "/");
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/e2e");
    let files = [format!("{path}.rs"), format!("{path}/mod.rs")];
    let text = files
        .iter()
        .find_map(|file| fs::read_to_string(directory.join(file)).ok());
    let text = text.unwrap_or_default();
    let Some((before, _)) = text.split_once(&format!("\nfn {name}()")) else {
        return false;
    };
    // The attributes of a function are the lines right before it.
    let attributes: Vec<&str> = before
        .lines()
        .rev()
        .take_while(|line| line.starts_with('#'))
        .collect();
    attributes.contains(&"#[test]") && !attributes.iter().any(|line| line.starts_with("#[ignore"))
}

#[test]
fn every_feature_names_a_test_that_is_run() {
    let rows = rows();
    assert!(rows.len() > 80, "{} rows were found", rows.len());
    for Row {
        feature,
        ours,
        tests,
    } in &rows
    {
        match ours.as_str() {
            "Y" | "p" => assert!(!tests.is_empty(), "{feature}: no test"),
            "n" => assert!(tests.is_empty(), "{feature}: a test, but no feature"),
            other => panic!("{feature}: {other:?} is not an answer"),
        }
        for test in tests {
            assert!(is_run(test), "{feature}: there is no test {test}");
        }
    }
    assert!(!is_run("basics::no_such_test"));
    let ignored = "mcp::codex::a_killed_codexs_job_is_told_once_to_the_next_one_of_its_thread";
    assert!(!is_run(ignored), "it is run only on request");
}
