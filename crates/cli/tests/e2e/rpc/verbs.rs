//! Every verb, once.

use super::client::Rpc;
use outlive_testkit::world::World;
use serde_json::json;

#[test]
fn a_job_is_started_found_shown_changed_and_removed() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let asked = json!({
        "command": {"shell": "echo one; echo two; read line; echo got $line"},
        "name": "reader", "session": "s", "input": "pipe", "labels": {"suite": "unit"},
    });
    let job = rpc.run(asked);
    assert_eq!(rpc.reply("find", json!({"text": &job[..9]}))["job"], *job);
    let named = rpc.reply("find", json!({"text": "reader", "any_session": true}));
    assert_eq!(named["job"], *job);
    let listed = rpc.reply("list", json!({"session": "s"}));
    assert_eq!(listed["jobs"][0]["id"], *job);
    let watched = rpc.reply("watch", json!({"jobs": [job], "add": [{"text": "got"}]}));
    assert_eq!(watched["jobs"][0]["watch"]["patterns"][0]["text"], "got");
    let labelled = rpc.reply("label", json!({"jobs": [job], "set": {"owner": "ci"}}));
    assert_eq!(
        labelled["jobs"][0]["labels"],
        json!({"owner": "ci", "suite": "unit"})
    );
    let sent = rpc.reply("send", json!({"job": job, "text": "x", "enter": true}));
    assert_eq!(sent["sent"], true);
    let ended = rpc.end_of(&job);
    assert_eq!(ended["exit_code"], 0);
    let shown = rpc.reply("show", json!({"job": job, "preview_lines": 1}));
    assert_eq!(shown["preview"], "got x\n");
    let pruned = rpc.reply("prune", json!({"session": "s", "force": true}));
    assert_eq!(pruned["removed"], json!([job]));
    assert_eq!(rpc.refused("show", json!({"job": job})), "no_such_job");
}

#[test]
fn a_log_is_read_in_every_form() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let job = rpc.shell("printf 'a\\nbb\\n\\033[31mccc\\033[0m\\n\\377'");
    rpc.end_of(&job);
    let whole = json!({"bytes": {"from": 0, "to": null}});
    let page = rpc.reply("log", json!({"job": job, "part": {"last_lines": 2}}));
    assert_eq!(page["total_bytes"], 19);
    assert_eq!(page["text"], "ccc\n\u{fffd}");
    let id = rpc.ask(
        "log",
        json!({"job": job, "part": whole, "form": {"lines": {"matching": "^b|c"}}}),
    );
    let part = rpc.of_request(id).json["part"].clone();
    let texts: Vec<&str> = part["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["bb", "ccc"]);
    assert_eq!(rpc.answer(id)["reply"]["state"], "ended");
    let form = json!({"pieces": {"raw": true}});
    let id = rpc.ask(
        "log",
        json!({"job": job, "part": {"bytes": {"from": 2, "to": 19}}, "form": form}),
    );
    let piece = rpc.of_request(id);
    assert_eq!(piece.raw, b"bb\n\x1b[31mccc\x1b[0m\n\xff");
    assert_eq!(piece.json["part"]["at"], 2);
    assert_eq!(rpc.answer(id)["reply"]["at"], 19);
    let id = rpc.ask(
        "log",
        json!({"job": job, "part": whole, "form": {"pieces": {}}}),
    );
    let mut text = String::new();
    loop {
        let message = rpc.of_request(id).json;
        match message["part"]["text"].as_str() {
            Some(piece) => text.push_str(piece),
            None => break,
        }
    }
    assert_eq!(text, "a\nbb\nccc\n\u{fffd}");
}

#[test]
fn a_terminal_is_typed_into_resized_and_read() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let pty = json!({"pty": {"rows": 10, "cols": 40}});
    let job = rpc.run(json!({"command": {"shell": "stty -echo; echo ready; read x; stty size; sleep 60"}, "input": pty}));
    let output = rpc.ask("follow_output", json!({"job": job}));
    assert_eq!(rpc.of_request(output).raw, b"ready\r\n");
    let resized = rpc.reply("resize", json!({"job": job, "rows": 20, "cols": 70}));
    assert_eq!(resized["rows"], 20);
    rpc.reply("send", json!({"job": job, "keys": ["enter"]}));
    assert_eq!(rpc.of_request(output).raw, b"20 70\r\n");
    let screen = rpc.reply("log", json!({"job": job, "form": "screen"}));
    assert_eq!(screen["text"], "ready\n20 70");
    let signalled = rpc.reply("signal", json!({"job": job, "signal": "USR1"}));
    assert!(signalled["reached"].as_u64().unwrap() >= 1, "{signalled}");
    let stopped = rpc.reply("stop", json!({"jobs": [job], "detail": "the test"}));
    assert_eq!(stopped["jobs"][0]["id"], *job);
    assert_eq!(rpc.answer(output)["reply"]["job"]["state"], "ended");
}

#[test]
fn who_asked_for_a_stop_is_recorded() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let job = rpc.shell("sleep 60");
    let stopped = rpc.reply("stop", json!({"jobs": [job], "detail": "the test"}));
    let job = &stopped["jobs"][0];
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(job["ended_by_detail"], "the test");
    let other = rpc.shell("sleep 60");
    let wrong = json!({"jobs": [other, "not-there"]});
    assert_eq!(rpc.refused("stop", wrong), "no_such_job");
    let shown = rpc.reply("show", json!({"job": other}));
    assert_eq!(shown["state"], "running", "nothing was stopped");
}

#[test]
fn a_process_is_adopted_and_its_usage_followed() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let mut sleeper = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let job = rpc.reply("adopt", json!({"pid": sleeper.id()}))["id"].clone();
    let usage = rpc.ask("follow_usage", json!({"job": job, "every_ms": 50}));
    assert_eq!(rpc.of_request(usage).json["part"]["state"], "running");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert_eq!(rpc.answer(usage)["reply"]["state"], "ended");
}

#[test]
fn inboxes_posts_and_sessions_are_served() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let empty = rpc.reply("inbox", json!({"session": "s", "timeout_ms": 0}));
    assert_eq!(empty["events"], json!([]));
    let soon = rpc.reply("inbox", json!({"session": "s", "timeout_ms": 50}));
    assert_eq!(soon["events"], json!([]));
    let waits = rpc.ask("inbox", json!({"session": "s"}));
    let post = json!({"session": "s", "data": {"goal": "look"}, "id": "post-1"});
    let posted = rpc.reply("post", post.clone());
    assert_eq!(posted["posted"], true);
    assert_eq!(rpc.reply("post", post)["posted"], false);
    let told = rpc.answer(waits)["reply"]["events"].clone();
    assert_eq!(told[0]["event"], posted["event"]);
    let acked = rpc.reply("ack", json!({"session": "s", "events": [posted["event"]]}));
    assert_eq!(acked["acked"], true);
    let job = rpc.run(json!({"command": {"shell": "sleep 60"}, "session": "s"}));
    let ended = rpc.reply(
        "session_end",
        json!({"session": "s", "running": {"stop": {}}}),
    );
    assert_eq!(ended["stopped"], json!([job]));
}

#[test]
fn the_machine_and_its_places_are_served() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let checks = rpc.reply("doctor", json!(null));
    assert!(!checks["checks"].as_array().unwrap().is_empty());
    let added = rpc.reply("place_add", json!({"name": "here", "address": "cmd:sh"}));
    assert_eq!(added["name"], "here");
    let listed = rpc.reply("place_list", json!({}));
    assert_eq!(listed["places"][0]["name"], "here");
    let checked = rpc.reply("place_check", json!({"places": ["here"]}));
    assert!(checked["places"][0]["answer"].is_object(), "{checked}");
    rpc.reply("place_clean", json!({"place": "here"}));
    let removed = rpc.reply("place_remove", json!({"place": "here"}));
    assert_eq!(removed["name"], "here");
}

#[test]
fn the_greeting_names_the_verbs_and_the_home() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    assert_eq!(rpc.hello["protocol"], 1);
    assert_eq!(rpc.hello["pid"], rpc.pid());
    assert_eq!(rpc.hello["home"], world.home().to_str().unwrap());
    assert!(
        rpc.hello["verbs"]
            .as_array()
            .unwrap()
            .contains(&json!("run"))
    );
    assert!(rpc.left().success());
}
