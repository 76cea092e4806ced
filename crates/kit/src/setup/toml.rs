//! The MCP entry in a TOML file.

use super::json::Bad;
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

fn is_ours(server: &Item, name: &str, program: &str) -> bool {
    let args = server.get("args").and_then(Item::as_array);
    let args = args.is_some_and(|args| {
        args.len() == 1 && args.get(0).and_then(toml_edit::Value::as_str) == Some(name)
    });
    args && server.get("command").and_then(Item::as_str) == Some(program)
}

pub fn has(text: &str) -> Result<bool, Bad> {
    let document = parse(text)?;
    Ok(servers(&document).is_some_and(|servers| servers.contains_key("outlive")))
}

/// Sets what starts the server.
pub fn put(text: &str, program: &str) -> Result<String, Bad> {
    let mut document = parse(text)?;
    let there = servers(&document).and_then(|servers| servers.get("outlive"));
    if there.is_some_and(|server| is_ours(server, "mcp", program)) {
        return Ok(text.to_owned());
    }
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
    // What else somebody has set for it stays.
    let server = servers
        .entry("outlive")
        .or_insert_with(|| Item::Table(Table::new()));
    let Some(server) = server.as_table_like_mut() else {
        return Err(Bad {
            line: 1,
            reason: format!("{SERVERS}.outlive should be a table"),
        });
    };
    server.insert("command", value(program));
    server.insert("args", value(Array::from_iter(["mcp"])));
    Ok(document.to_string())
}

/// Takes the server out, and the table that has no other.
pub fn take(text: &str) -> Result<String, Bad> {
    let mut document = parse(text)?;
    let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if servers.remove("outlive").is_none() {
        return Ok(text.to_owned());
    }
    let is_empty = servers.is_empty();
    let is_implicit = document[SERVERS].as_table().is_some_and(Table::is_implicit);
    if is_empty && is_implicit {
        document.remove(SERVERS);
    }
    Ok(document.to_string())
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_order_stay() {
        for text in [
            "",
            "# mine\nmodel = \"x\" # why\n\n[features]\nhooks = true\n",
            "[mcp_servers.other] # theirs\ncommand = 'o'\n\n[tail]\n# last\na=1\n",
            "[mcp_servers]\n",
        ] {
            let put = put(text, "outlive").unwrap();
            assert!(
                put.contains("[mcp_servers.outlive]\ncommand = \"outlive\"\nargs = [\"mcp\"]\n"),
                "{put}"
            );
            assert_eq!(super::put(&put, "outlive").unwrap(), put);
            assert!(has(&put).unwrap());
            assert_eq!(take(&put).unwrap(), text, "by way of {put}");
        }
    }

    #[test]
    fn another_program_is_taken_over_and_other_keys_stay() {
        let text = "[mcp_servers.outlive]\ncommand = \"/old/outlive\"\nargs = [\"mcp\"]\nstartup_timeout_sec = 5\n";
        let put = put(text, "outlive").unwrap();
        assert!(put.contains("command = \"outlive\"\n"), "{put}");
        assert!(put.contains("startup_timeout_sec = 5\n"), "{put}");
    }

    #[test]
    fn an_inline_table_is_one_too() {
        let text = "mcp_servers = { a = { command = \"a\" } }\n";
        let put = put(text, "outlive").unwrap();
        assert!(has(&put).unwrap(), "{put}");
        assert_eq!(take(&put).unwrap(), text);
    }

    #[test]
    fn what_does_not_parse_is_refused_with_its_line() {
        let bad = put("a = 1\nb = \n", "outlive").unwrap_err();
        assert_eq!(bad.line, 2, "{bad:?}");
        assert!(put("mcp_servers = 3\n", "outlive").is_err());
    }
}
