//! The MCP entry in a TOML file.

use super::json::Bad;
use super::piece::{covers, describe, outdated};
use serde_json::{Map, Value as Json};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

/// The table that contains the servers.
const SERVERS: &str = "mcp_servers";

fn parse(text: &str) -> Result<DocumentMut, Bad> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        Bad {
            line: 1 + text[..at].matches('\n').count(),
            reason: error.message().to_owned(),
        }
    })
}

fn servers(document: &DocumentMut) -> Option<&dyn TableLike> {
    document.get(SERVERS)?.as_table_like()
}

/// The truth value at a path of keys.
pub fn flag(text: &str, path: &[&str]) -> Option<Json> {
    let document = parse(text).ok()?;
    let item = path
        .iter()
        .try_fold(document.as_item(), |item, key| item.get(key))?;
    item.as_bool().map(Json::from)
}

/// The entry of our server, as the values that its file would have in JSON.
fn entry(document: &DocumentMut) -> Option<Json> {
    let item = servers(document)?.get("outlive")?;
    Some(match item.as_table_like() {
        Some(table) => table
            .iter()
            .map(|(key, item)| (key.to_owned(), to_json(item)))
            .collect::<Map<_, _>>()
            .into(),
        None => Json::Null,
    })
}

/// Only what setup writes: words and lists of words. Anything else equals nothing of ours.
fn to_json(item: &Item) -> Json {
    let Some(array) = item.as_array() else {
        return item.as_str().map_or(Json::Null, Json::from);
    };
    let word = |word: &toml_edit::Value| word.as_str().map_or(Json::Null, Json::from);
    array.iter().map(word).collect()
}

fn from_json(json: &Json) -> Item {
    let words = |list: &Vec<Json>| list.iter().filter_map(Json::as_str).collect::<Array>();
    match json {
        Json::Array(list) => value(words(list)),
        other => value(other.as_str().unwrap_or_default()),
    }
}

/// Whether our server is there, as setup wrote it.
pub fn has(text: &str, own: &Json) -> Result<bool, Bad> {
    Ok(entry(&parse(text)?).is_some_and(|entry| covers(&entry, own)))
}

/// What stands in the place of our server, if that is neither what setup wants nor what it wrote.
pub fn foreign(text: &str, own: &Json, old: Option<&Json>) -> Result<Vec<String>, Bad> {
    let Some(found) = entry(&parse(text)?) else {
        return Ok(Vec::new());
    };
    let is_known = covers(&found, own) || old.is_some_and(|old| covers(&found, old));
    let place = format!("{SERVERS}.outlive");
    Ok(match is_known {
        true => Vec::new(),
        false => vec![describe(&place, &found)],
    })
}

/// Sets the keys of our server. What else the user has set for it stays.
pub fn put(text: &str, own: &Json, old: Option<&Json>) -> Result<String, Bad> {
    let mut document = parse(text)?;
    let found = entry(&document);
    let gone = found.as_ref().map(|found| outdated(found, own, old));
    let gone = gone.unwrap_or_default();
    if gone.is_empty() && found.as_ref().is_some_and(|found| covers(found, own)) {
        return Ok(text.to_owned());
    }
    let is_ours = found
        .as_ref()
        .is_none_or(|found| covers(found, own) || old.is_some_and(|old| covers(found, old)));
    let outer = document.entry(SERVERS).or_insert_with(|| {
        let mut table = Table::new();
        // It has no line of its own.
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(servers) = outer.as_table_like_mut() else {
        return Err(Bad {
            line: 1,
            reason: format!("{SERVERS} should be a table"),
        });
    };
    let item = servers
        .entry("outlive")
        .or_insert_with(|| Item::Table(Table::new()));
    if item.as_table_like().is_none() {
        *item = Item::Table(Table::new());
    }
    let Some(server) = item.as_table_like_mut() else {
        return Ok(text.to_owned());
    };
    if !is_ours {
        server.clear();
    }
    for key in gone {
        server.remove(&key);
    }
    let mut keys: Vec<(&String, &Json)> = own.as_object().into_iter().flatten().collect();
    // As people write it.
    keys.sort_by_key(|(key, _)| (*key != "command", *key != "args"));
    for (key, own) in keys {
        let one = |value: &Json| Json::from_iter([(key.clone(), value.clone())]);
        let found = server.get(key).map(to_json);
        if !found.is_some_and(|found| covers(&one(&found), &one(own))) {
            server.insert(key, from_json(own));
        }
    }
    Ok(document.to_string())
}

/// Removes the server, or restores the one that it replaced; and the table, if that has no other.
pub fn take(text: &str, own: &Json, original: Option<&str>) -> Result<(String, Vec<String>), Bad> {
    let mut document = parse(text)?;
    let Some(found) = entry(&document) else {
        return Ok((text.to_owned(), Vec::new()));
    };
    let original = original.and_then(|text| parse(text).ok());
    let before = original.as_ref().and_then(entry);
    // If the user had such a server before, setup did not write it.
    if before.is_some_and(|before| before == found || covers(&before, own)) {
        return Ok((text.to_owned(), Vec::new()));
    }
    if !covers(&found, own) {
        let stays = format!("the entry {SERVERS}.outlive");
        return Ok((text.to_owned(), vec![stays]));
    }
    let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) else {
        return Ok((text.to_owned(), Vec::new()));
    };
    let replaced = original.as_ref().and_then(self::servers);
    match replaced.and_then(|servers| servers.get("outlive")) {
        Some(replaced) => {
            servers.insert("outlive", replaced.clone());
        }
        None => {
            servers.remove("outlive");
        }
    }
    let is_empty = servers.is_empty();
    let is_implicit = document[SERVERS].as_table().is_some_and(Table::is_implicit);
    if is_empty && is_implicit {
        document.remove(SERVERS);
    }
    Ok((document.to_string(), Vec::new()))
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
mod tests {
    use super::*;
    use serde_json::json;

    fn own() -> Json {
        json!({"command": "outlive", "args": ["mcp"]})
    }

    fn put(text: &str) -> Result<String, Bad> {
        super::put(text, &own(), None)
    }

    fn take(text: &str, original: Option<&str>) -> String {
        let (left, stays) = super::take(text, &own(), original).unwrap();
        assert_eq!(stays, Vec::<String>::new());
        left
    }

    #[test]
    fn comments_and_order_stay() {
        for text in [
            "",
            "# mine\nmodel = \"x\" # why\n\n[features]\nhooks = true\n",
            "[mcp_servers.other] # theirs\ncommand = 'o'\n\n[tail]\n# last\na=1\n",
            "[mcp_servers]\n",
        ] {
            let put = put(text).unwrap();
            assert!(
                put.contains("[mcp_servers.outlive]\ncommand = \"outlive\"\nargs = [\"mcp\"]\n"),
                "{put}"
            );
            assert_eq!(self::put(&put).unwrap(), put);
            assert!(has(&put, &own()).unwrap());
            assert_eq!(take(&put, Some(text)), text, "by way of {put}");
        }
    }

    #[test]
    fn an_update_keeps_the_keys_of_the_user() {
        let old =
            json!({"command": "/old/outlive", "args": ["mcp"], "env_vars": ["A"], "gone": "x"});
        let new = json!({"command": "outlive", "args": ["mcp"], "env_vars": ["A"]});
        let text = "[mcp_servers.outlive]\ncommand = \"/old/outlive\"\nargs = [\"mcp\"]\ngone = \"x\"\n\
            env_vars = [\"A\", \"MINE\"] # why\nstartup_timeout_sec = 5\n";
        assert_eq!(
            foreign(text, &new, Some(&old)).unwrap(),
            Vec::<String>::new()
        );
        let put = super::put(text, &new, Some(&old)).unwrap();
        let expected = text.replace("/old/", "").replace("gone = \"x\"\n", "");
        assert_eq!(put, expected);
        let (left, _) = super::take(&put, &new, None).unwrap();
        assert_eq!(left, "");
    }

    #[test]
    fn an_entry_of_somebody_else_is_named_and_restored() {
        for text in [
            "[mcp_servers.outlive]\ncommand = \"mine\" # really\n",
            "mcp_servers = { outlive = { command = \"mine\" } }\n",
        ] {
            let named = foreign(text, &own(), None).unwrap();
            assert_eq!(named.len(), 1, "{named:?}");
            assert!(named[0].contains("\"mine\""), "{named:?}");
            let (left, stays) = super::take(text, &own(), None).unwrap();
            assert_eq!((left.as_str(), stays.len()), (text, 1));
            let put = put(text).unwrap();
            assert!(has(&put, &own()).unwrap(), "{put}");
            assert_eq!(
                take(&format!("{put}# more\n"), Some(text)),
                format!("{text}# more\n")
            );
        }
    }

    #[test]
    fn an_inline_table_is_one_too() {
        let text = "mcp_servers = { a = { command = \"a\" } }\n";
        let put = put(text).unwrap();
        assert!(has(&put, &own()).unwrap(), "{put}");
        assert_eq!(take(&put, Some(text)), text);
    }

    #[test]
    fn what_does_not_parse_is_refused_with_its_line() {
        let bad = put("a = 1\nb = \n").unwrap_err();
        assert_eq!(bad.line, 2, "{bad:?}");
        assert!(put("mcp_servers = 3\n").is_err());
    }
}
