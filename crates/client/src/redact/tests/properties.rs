//! What holds for every text, tried on random ones.

use proptest::prelude::*;

use super::*;

/// Text made of the pieces the rules are about, so that chance meets them.
fn pieces() -> impl Strategy<Value = String> {
    let tokens = RULES.iter().map(|rule| expand(rule.example));
    let fixed = [
        "TOKEN",
        "password",
        "_key",
        "api",
        "--secret",
        "auth",
        "Authorization",
        "Bearer",
        "://",
        "u:p",
        "@",
        "=",
        ":",
        " ",
        "\n",
        "\"",
        "'",
        "\\",
        "$",
        "{",
        "}",
        "[",
        "]",
        ",",
        "-",
        "é",
        "abcd",
        "1234",
        "[redacted:token]",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "postgres",
        "curl -u ",
        "Cookie: ",
        "&",
        "password ",
    ];
    let all: Vec<String> = fixed.into_iter().map(str::to_owned).chain(tokens).collect();
    let piece = prop_oneof![4 => prop::sample::select(all), 1 => ".{0,8}"];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn redacting_twice_changes_nothing_more(text in pieces()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once).into_owned(), once);
    }

    #[test]
    fn any_text_is_survived(text in "(?s).{0,200}") {
        let _ = redact(&text);
    }

    #[test]
    fn no_token_survives(
        shape in prop::sample::select(tokens()),
        before in "(?s)(.{0,40}[ =:\"'(,\n])?",
        after in "(?s)([ \"'),;\n].{0,40})?",
    ) {
        let (prefix, secret, _) = shape;
        let text = format!("{before}{prefix}{secret}{after}");
        prop_assert!(!redact(&text).contains(&secret), "{}", text);
    }

    #[test]
    fn no_named_value_survives(
        name in prop::sample::select(vec!["TOKEN", "db_password", "clientSecret", "API_KEY", "npm-auth"]),
        value in "[A-Za-z0-9][A-Za-z0-9+/_.!%^-]{7}[0-9][A-Za-z][A-Za-z0-9+/_.!%^-]{8}",
        form in prop::sample::select(vec!["N=V", "N: V", "\"N\": \"V\"", "export N=V", "N = 'V'", "x N=V y"]),
    ) {
        let text = form.replace('N', name).replace('V', &value);
        prop_assert!(!redact(&text).contains(&value), "{}", text);
    }

    #[test]
    fn text_without_keywords_is_borrowed(text in "[b-d0-9 /\n]{0,200}") {
        prop_assert!(matches!(redact(&text), Cow::Borrowed(_)));
    }
}
