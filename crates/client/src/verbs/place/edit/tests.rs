//! What is changed in the file, and what is not.

use super::*;

fn place() -> AddPlace {
    AddPlace {
        name: "gpu".to_owned(),
        address: "ssh:me@gpu1".to_owned(),
        ..AddPlace::default()
    }
}

fn without(text: &str, name: &str) -> String {
    let mut text = text.to_owned();
    while let Some(lines) = find(&text, name) {
        text.replace_range(lines, "");
    }
    text
}

#[test]
fn a_table_says_what_was_asked_for() {
    let mut asked = place();
    assert_eq!(table(&asked), "[place.gpu]\nat = \"ssh:me@gpu1\"\n");
    asked.name = "my gpu".to_owned();
    asked.cwd = Some("/a \"b\"\\c".to_owned());
    asked.home = Some("~/jobs".to_owned());
    asked.login = true;
    asked.env = [
        ("A".to_owned(), "1\n".to_owned()),
        ("b.c".to_owned(), String::new()),
    ]
    .into();
    asked.reach = Some(Duration::from_secs(90));
    let text = table(&asked);
    let config = Config::parse(Path::new("/c.toml"), &text).expect("a configuration");
    let settings = &config.places["my gpu"].settings;
    assert_eq!(settings.cwd, Some(PathBuf::from("/a \"b\"\\c")));
    assert_eq!(settings.reach, Duration::from_secs(90));
    assert_eq!(settings.env[0], ("A".to_owned(), "1\n".to_owned()));
    assert_eq!(settings.env[1], ("b.c".to_owned(), String::new()));
}

#[test]
fn a_table_is_removed_with_its_lines_and_nothing_else() {
    let before = "# mine\n[inbox]\nattempts = 2 # two\n";
    let after = "\n# the other one\n[place.other]\nat = \"ssh:b\"\n";
    for table in [
        "\n[place.gpu]\nat = \"ssh:a\"\n",
        "\n[place.\"gpu\"] # x\nat = \"ssh:a\"\n# a comment within\ncwd = \"/\"\n",
        "\n[ place . gpu ]\nat = \"ssh:a\"\n\n[place.gpu.env]\nA = \"[place.gpu]\"\n",
        "\n[place.gpu]\nat = \"\"\"\nssh:a\"\"\"\n",
    ] {
        let text = format!("{before}{table}{after}");
        assert_eq!(without(&text, "gpu"), format!("{before}{after}"), "{table}");
        let text = format!("{before}{table}");
        assert_eq!(without(&text, "gpu"), before, "{table}");
    }
    let text = format!("{before}{after}");
    assert_eq!(without(&text, "gpu"), text);
}
