//! What a page shows of an output: any lines with their colours, and a search through all of them.

use super::client::Server;
use outlive_testkit::world::World;
use serde_json::{Value, json};

fn lines(server: &Server, id: &str, query: &str) -> Value {
    let answer = server.get(&format!("/v1/jobs/{id}/lines?{query}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn numbers(window: &Value) -> Vec<u64> {
    let lines = window["lines"].as_array().unwrap().iter();
    lines.map(|line| line["line"].as_u64().unwrap()).collect()
}

/// The parts of the answer to a search.
fn searched(server: &Server, request: &Value, query: &str) -> Vec<Value> {
    let path = format!("/v1/search{query}");
    let answer = server.ask("POST", &path, &server.owner(), &request.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let text = answer.text();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn any_lines_are_shown_with_their_numbers_and_colours() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.shell("printf '\\033[31mred\\033[0m one\\n'; seq 2 100000");
    world.until_over(&id);
    let first = lines(&server, &id, "from=1&count=3");
    assert_eq!(first["total_lines"], 100_000);
    assert_eq!(numbers(&first), [1, 2, 3]);
    assert_eq!(
        first["lines"][0]["parts"],
        json!([{"t": "red", "f": 1}, {"t": " one"}])
    );
    let middle = lines(&server, &id, "from=54321&count=2");
    assert_eq!(middle["lines"][0]["parts"], json!([{"t": "54321"}]));
    assert_eq!(numbers(&lines(&server, &id, "count=2")), [99_999, 100_000]);
    assert_eq!(numbers(&lines(&server, &id, "from=100001&count=2")), [0; 0]);
}

#[test]
fn lines_that_were_not_kept_are_left_out_with_their_numbers() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.ok(&["run", "--max-output", "1M", "--shell", "seq 1 1000000"]);
    world.until_over(&id);
    let window = lines(&server, &id, "from=500000&count=5");
    assert_eq!(window["total_lines"], 1_000_000);
    assert!(window["dropped_bytes"].as_u64().unwrap() > 0);
    let gap: Vec<u64> = window["gaps"][0]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .collect();
    let around = format!("from={}&count=2", gap[0] - 1);
    assert_eq!(
        numbers(&lines(&server, &id, &around)),
        [gap[0] - 1],
        "then lines are missing"
    );
    assert_eq!(
        numbers(&lines(
            &server,
            &id,
            &format!("from={}&count=1", gap[1] + 1)
        )),
        [gap[1] + 1]
    );
    for line in window["lines"].as_array().unwrap() {
        assert_eq!(line["parts"][0]["t"], line["line"].to_string(), "{line}");
        assert!(line["line"].as_u64().unwrap() > 500_000);
    }
}

#[test]
fn a_search_counts_all_and_hides_what_is_secret() {
    let world = World::new();
    let server = Server::start(&world);
    let secret = "ghp_0123456789abcdefghijKLMNOPQRSTUVWXYZ";
    let script = format!("seq 1 400000; echo key {secret}; echo '[x] a.b'");
    let id = world.shell(&script);
    world.until_over(&id);
    let found = |pattern: &str, more: Value, query: &str| {
        let mut request = json!({"job": id, "pattern": pattern});
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let parts = searched(&server, &request, query);
        let last = parts.last().unwrap().clone();
        assert_eq!(
            (&last["done"], &last["searched"]),
            (&json!(true), &last["of"])
        );
        let hits = parts.iter().filter_map(|part| part["lines"].as_array());
        let hits: Vec<u64> = hits
            .flatten()
            .map(|hit| hit["line"].as_u64().unwrap())
            .collect();
        (last["found"].as_u64().unwrap(), hits)
    };
    assert_eq!(found("399999", json!({}), ""), (1, vec![399_999]));
    // More matches than are listed, through secrets that are hidden and through those that are not.
    let all_nines = (1..=400_000)
        .filter(|n: &u64| n.to_string().contains("99"))
        .count() as u64;
    for query in ["", "?secrets=show"] {
        let (count, hits) = found("99", json!({"limit": 3}), query);
        assert_eq!((count, hits), (all_nines, vec![99, 199, 299]), "{query}");
    }
    assert_eq!(found("a.b", json!({}), ""), (1, vec![400_002]));
    assert_eq!(found("A.B", json!({"ignore_case": true}), "").0, 1);
    assert_eq!(
        found("^1?23456$", json!({"regex": true}), ""),
        (2, vec![23_456, 123_456])
    );
    assert_eq!(found("KLMNOP", json!({}), "").0, 0, "it is hidden");
    assert_eq!(
        found("KLMNOP", json!({}), "?secrets=show"),
        (1, vec![400_001])
    );
    assert_eq!(
        found("^key", json!({"regex": true}), ""),
        (1, vec![400_001])
    );
}
