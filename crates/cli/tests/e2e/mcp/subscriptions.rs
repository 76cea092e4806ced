//! Subscriptions to outputs that grow.

use super::client::{Client, stateless};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs::File;

/// Starts a job that writes more once `go` exists, and ends.
fn begin(world: &World, client: &mut Client) -> (String, String) {
    let go = world.path("go");
    let id = client.run(&format!(
        "echo one; until [ -e {} ]; do sleep 0.02; done; echo two",
        go.display()
    ));
    until("it has written", || world.output(&id) == b"one\n");
    (format!("outlive://jobs/{id}/output"), id)
}

/// The URIs in the update notices that came.
fn updates(client: &Client) -> Vec<Value> {
    let updated = |message: &&Value| message["method"] == "notifications/resources/updated";
    let others = client.others.iter().filter(updated);
    others
        .map(|message| message["params"]["uri"].clone())
        .collect()
}

/// Sends other requests until this holds. An answer comes after the notices that were sent before it.
fn until_told(client: &mut Client, what: &str, holds: impl Fn(&Client) -> bool) {
    until(what, || {
        client.request("resources/templates/list", json!({}));
        holds(client)
    });
}

#[test]
fn older_clients_subscribe_to_an_output() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let (uri, id) = begin(&world, &mut client);
    let done = client.request("resources/subscribe", json!({"uri": uri}));
    assert!(done["result"].is_object(), "{done}");
    client.request("resources/templates/list", json!({}));
    assert_eq!(
        updates(&client),
        Vec::<Value>::new(),
        "nothing has come yet"
    );
    File::create(world.path("go")).unwrap();
    until_told(&mut client, "it is told", |client| {
        !updates(client).is_empty()
    });
    assert!(updates(&client).iter().all(|told| *told == json!(uri)));
    world.wait(&id);
    let unknown = client.request(
        "resources/subscribe",
        json!({"uri": "outlive://jobs/none/output"}),
    );
    assert!(unknown["error"].is_object(), "{unknown}");
}

#[test]
fn a_client_that_unsubscribed_is_not_notified() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let (uri, id) = begin(&world, &mut client);
    client.request("resources/subscribe", json!({"uri": uri}));
    client.request("resources/unsubscribe", json!({"uri": uri}));
    File::create(world.path("go")).unwrap();
    world.wait(&id);
    world.until_over(&id);
    client.request("resources/templates/list", json!({}));
    assert_eq!(updates(&client), Vec::<Value>::new());
}

#[test]
fn newer_clients_listen_to_outputs_of_their_own_session() {
    let world = World::new();
    let mut client = Client::silent(&world, &["--session", "s"]);
    client.meta = stateless();
    let (uri, id) = begin(&world, &mut client);
    let filter = json!({"resourceSubscriptions": [uri, "outlive://jobs/none/output", "file:///x"]});
    let listening = client.ask("subscriptions/listen", json!({"notifications": filter}));
    let acknowledged = |client: &Client| {
        let mut others = client.others.iter();
        others.any(|message| message["method"] == "notifications/subscriptions/acknowledged")
    };
    until_told(&mut client, "it is acknowledged", acknowledged);
    File::create(world.path("go")).unwrap();
    until_told(&mut client, "it is told", |client| {
        !updates(client).is_empty()
    });
    assert!(updates(&client).iter().all(|told| *told == json!(uri)));
    world.wait(&id);
    client.notify("notifications/cancelled", json!({"requestId": listening}));
    assert_eq!(client.close(), 0);
}
