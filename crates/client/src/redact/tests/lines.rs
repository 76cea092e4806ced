//! Lines as they come, against the text as a whole.

use proptest::prelude::*;

use super::*;

pub(super) fn lines(text: &str) -> String {
    let mut lines = Lines::default();
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        lines.push((), line, &mut |(), text| shown.push_str(text));
    }
    lines.release(&mut |(), text| shown.push_str(text));
    shown
}

fn body(count: usize) -> String {
    format!("{}\n", alnum(64)).repeat(count)
}

#[test]
fn each_line_keeps_its_tag_and_dropped_lines_give_none() {
    let mut lines = Lines::default();
    let mut given = Vec::new();
    let text = format!(
        "a\n-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----\n{}b c\n",
        body(2),
        body(1)
    );
    for (number, line) in text.split_inclusive('\n').enumerate() {
        lines.push(number, line, &mut |tag, text| {
            given.push((tag, text.to_owned()));
        });
    }
    let key = "[redacted:private-key]\n".to_owned();
    assert_eq!(
        given,
        [
            (0, "a\n".to_owned()),
            (1, key),
            (5, body(1)),
            (6, "b c\n".to_owned())
        ]
    );
}

#[test]
fn held_back_lines_are_bounded() {
    let mut lines = Lines::default();
    let mut given = 0;
    for number in 0..2000 {
        lines.push(number, &body(1), &mut |tag, _| {
            assert_eq!(tag, given);
            given += 1;
        });
    }
    assert!(given > 1400, "{given}");
    lines.push(2000, "-----END PRIVATE KEY-----\n", &mut |tag, text| {
        assert_eq!((tag, text), (2000, "[redacted:private-key]\n"));
    });
    let long = format!("{}\n", alnum(60_000));
    let mut given = 0;
    for _ in 0..10 {
        lines.push(0, &long, &mut |_, _| given += 1);
    }
    assert_eq!(given, 9);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn they_are_as_in_the_whole(pieces in prop::collection::vec(prop::sample::select(vec![
        "some words here\n".to_owned(),
        "\n".to_owned(),
        format!("API_TOKEN = {}\n", alnum(20)),
        format!("commit {}\n", hex(40)),
        body(1),
        body(3),
        format!("{}\n-----END RSA PRIVATE KEY-----\n", alnum(64) + "\n" + &alnum(11)),
        "-----BEGIN RSA PRIVATE KEY-----\n".to_owned(),
        "-----END RSA PRIVATE KEY-----\n".to_owned(),
        format!("key -----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----\n", alnum(64)),
    ]), 0..12)) {
        let text = pieces.concat();
        prop_assert_eq!(lines(&text), redact(&text).into_owned());
    }
}
