//! What the live view prints while output comes.

use super::*;
use crate::view::{Live, ShownText};
use std::time::Duration;

const LIMIT: usize = 300;

/// An event of an output.
#[derive(Clone, Copy)]
enum Step<'a> {
    Comes(&'a str),
    Still,
    Missing(u64),
}
use Step::{Comes, Missing, Still};

/// What is printed at each step and at the end.
fn said(mut live: Live, steps: &[Step<'_>]) -> Vec<String> {
    let mut all = Vec::new();
    for step in steps {
        let mut now = String::new();
        let mut out = |said: ShownText<'_>| now.push_str(said.text);
        match step {
            Comes(text) => live.push(text.as_bytes(), &mut out),
            Still => live.still(&mut out),
            Missing(to) => live.missing(*to, &mut out),
        }
        all.push(now);
    }
    let mut rest = String::new();
    live.finish(&mut |said| rest.push_str(said.text));
    all.push(rest);
    all
}

fn plain(steps: &[Step<'_>]) -> Vec<String> {
    said(Live::new(LIMIT, 0), steps)
}

fn redacted(steps: &[Step<'_>]) -> Vec<String> {
    said(Live::new(LIMIT, 0).redacted(""), steps)
}

#[test]
fn a_line_is_printed_when_it_is_finished() {
    assert_eq!(
        plain(&[Comes("on"), Comes("e\ntw"), Comes("o\n"), Comes("three")]),
        ["", "one\n", "two\n", "", "three"]
    );
    assert_eq!(
        plain(&[Comes("10%\r"), Comes("50%\r\x1b["), Comes("Kdone\n")]),
        ["", "", "done\n", ""]
    );
}

#[test]
fn a_question_is_printed_and_its_line_continues() {
    assert_eq!(
        plain(&[Comes("Password: "), Still, Comes("\r\nok\n")]),
        ["", "Password: ", "\nok\n", ""]
    );
    assert_eq!(
        plain(&[
            Comes("."),
            Still,
            Comes("."),
            Still,
            Still,
            Comes(". done\n")
        ]),
        ["", ".", "", ".", "", ". done\n", ""]
    );
    assert_eq!(plain(&[Comes("a"), Still]), ["", "a", ""]);
    assert_eq!(plain(&[Comes("a"), Still, Comes("b")]), ["", "a", "", "b"]);
}

#[test]
fn an_overwritten_line_is_printed_again_on_a_new_line() {
    assert_eq!(
        plain(&[Comes("10%"), Still, Comes("\r100%\nnext\n")]),
        ["", "10%", "\n100%\nnext\n", ""]
    );
    assert_eq!(
        plain(&[Comes("10%"), Still, Comes("\r20%"), Still, Comes("\r30%\n")]),
        ["", "10%", "", "\n20%", "\n30%\n", ""]
    );
    // Blanks that were printed are no longer shown. That is no reason to print the line again.
    assert_eq!(
        plain(&[Comes("ab  "), Still, Comes("\ra"), Still, Comes("\n")]),
        ["", "ab  ", "", "", "\n", ""]
    );
    assert_eq!(
        plain(&[Comes("ab"), Still, Comes("\r\x1b[K"), Still, Comes("\n")]),
        ["", "ab", "", "", "\n\n", ""]
    );
}

#[test]
fn a_slow_progress_bar_is_printed_less_and_less_often() {
    let mut live = Live::new(LIMIT, 0);
    let mut said = Vec::new();
    for second in 0..3600 {
        live.push(format!("\r{second} s").as_bytes(), &mut |_| {});
        if live
            .patience()
            .is_some_and(|patience| patience < Duration::from_secs(1))
        {
            live.still(&mut |now| said.push(now.text.to_owned()));
        }
    }
    assert!((2..8).contains(&said.len()), "{said:?}");
    live.push(b"\nquestion? ", &mut |_| {});
    assert!(live.patience() < Some(Duration::from_millis(200)));
}

/// No timer runs unless something is held back.
#[test]
fn a_timer_runs_only_while_something_is_held_back() {
    let mut live = Live::new(LIMIT, 0);
    let mut waits = |bytes: &str, is_still: bool| {
        live.push(bytes.as_bytes(), &mut |_| {});
        if is_still {
            live.still(&mut |_| {});
        }
        live.patience().is_some()
    };
    assert!(!waits("", false));
    assert!(!waits("stdin: is not a tty", false));
    assert!(!waits("\n", false));
    assert!(waits("ask", false));
    assert!(!waits("ed", true));
    assert!(!waits("\x1b[0m", false), "nothing to see has come");
    assert!(waits("!", false));
    assert!(!waits("\n", false));
    assert!(!waits(&"long ".repeat(100), false));
}

/// Half a word that may be a secret is held back, but no timer runs for it.
#[test]
fn no_timer_runs_for_half_a_secret() {
    let mut live = Live::new(LIMIT, 0).redacted("");
    live.push(b"token ghp_a1B2", &mut |_| {});
    assert!(live.patience().is_some());
    live.still(&mut |_| {});
    assert!(live.patience().is_none());
}

#[test]
fn shell_noise_is_dropped_in_the_live_view_too() {
    let noise = "stdin: is not a tty\n";
    assert_eq!(plain(&[Comes(noise), Comes("a\n")]), ["", "a\n", ""]);
    assert_eq!(plain(&[Comes(noise), Still]), ["", "", noise]);
    assert_eq!(
        plain(&[Comes(noise), Comes("$ "), Still, Comes("\r\x1b[K")]),
        ["", "", "$ ", "", ""]
    );
    assert_eq!(
        plain(&[Comes(noise), Comes("a"), Missing(900), Comes("b\n")]),
        ["", "", "a", "b\n", ""]
    );
}

#[test]
fn a_missing_range_ends_a_line() {
    assert_eq!(
        plain(&[Comes("a\nb\x1b["), Missing(100), Comes("mc\n")]),
        ["a\n", "b", "mc\n", ""]
    );
    assert_eq!(
        plain(&[Comes("ab"), Still, Comes("c"), Missing(100), Comes("abd")]),
        ["", "ab", "", "c", "", "abd"]
    );
}

#[test]
fn each_text_has_its_offset() {
    let mut live = Live::new(LIMIT, 100);
    let mut places = Vec::new();
    let mut out = |said: ShownText<'_>| places.push((said.from_byte, said.text.to_owned()));
    live.push(b"\x1b[1mone\x1b[m\ntwo\nthr", &mut out);
    live.still(&mut out);
    live.push(b"ee\nfour\n", &mut out);
    live.missing(1000, &mut out);
    live.push(b"five", &mut out);
    live.finish(&mut out);
    let expected = [(100, "one\n"), (111, "two\n"), (115, "thr"), (118, "ee\n")];
    let then = [(121, "four\n"), (1000, "five")];
    let expected: Vec<(u64, String)> = [&expected[..], &then]
        .concat()
        .into_iter()
        .map(|(at, text)| (at, text.to_owned()))
        .collect();
    assert_eq!(places, expected);
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let mut live = Live::new(2048, 0).redacted("");
    for _ in 0..300 {
        live.push("no end in sight ".repeat(4000).as_bytes(), &mut |_| {});
        live.still(&mut |_| {});
        assert!(live.held() < 64 * 1024, "{}", live.held());
    }
}

#[test]
fn secrets_are_redacted_wherever_the_input_is_cut() {
    let token = ["ghp", "_", &"a1B2".repeat(9)].concat();
    let line = format!("the \x1b[1mtoken {token} is\x1b[m mine\n");
    for at in (0..line.len()).filter(|at| line.is_char_boundary(*at)) {
        let (first, rest) = line.split_at(at);
        let all = redacted(&[Comes(first), Still, Comes(rest)]).concat();
        let shown = all.replace("the ", "").replace("token ", "");
        assert!(!all.contains("a1B2"), "cut at {at}: {all}");
        assert!(shown.ends_with(" is mine\n"), "cut at {at}: {all}");
    }
}

#[test]
fn questions_are_printed_and_half_secrets_are_not() {
    for question in [
        "Password:",
        "Password: ",
        "[sudo] password for root: ",
        "(gdb) ",
        "me@host:~/src$",
        "Continue? [y/N]",
        ">>> ",
    ] {
        assert_eq!(redacted(&[Comes(question), Still])[1], question);
    }
    for (half, shown) in [
        ("token is ghp_a1B2", "token is "),
        ("PASSWORD=ab:", ""),
        ("the password: ab:", "the password: "),
        ("see postgres://me:pa$", "see "),
        ("curl -u me:pa", "curl -u "),
        ("curl -u 'me:pa ss", "curl -u 'me:[redacted:password]"),
        ("Cookie: sid=a1b2; th", "Cookie: [redacted:cookie] "),
        ("-----BEGIN PRIVATE KEY----- MIIEabc ", ""),
    ] {
        assert_eq!(redacted(&[Comes(half), Still])[1], shown, "{half}");
    }
}

#[test]
fn a_private_key_is_redacted_however_slowly_it_comes() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    let key = [
        Comes("-----BEGIN PRIVATE KEY-----\n"),
        Still,
        Comes(&body[..20]),
        Still,
        Comes(&body[20..]),
        Still,
        Comes("YWJj\n-----END PRI"),
        Still,
        Comes("VATE KEY-----\nafter\n"),
    ];
    assert_eq!(
        redacted(&key).concat(),
        "[redacted:private-key]\nafter\n",
        "from its beginning"
    );
    // The beginning of the key is missing.
    let rest = format!("before\n{body}{body}YWJj\n-----END PRIVATE KEY-----\nafter\n");
    assert_eq!(
        redacted(&[Comes(&rest)]).concat(),
        "before\n[redacted:private-key]\nafter\n"
    );
    // Text that only looks like a key is shown soon.
    assert_eq!(
        redacted(&[Comes(body), Still, Comes("x\n")]),
        ["", body, "x\n", ""]
    );
    assert_eq!(
        redacted(&[Comes(body), Comes(body), Comes("no key\n")]),
        ["", "", &format!("{body}{body}no key\n"), ""]
    );
}

fn live_text(live: Live, chunks: &[&[u8]]) -> String {
    let mut live = live;
    let mut text = String::new();
    for chunk in chunks {
        live.push(chunk, &mut |said| text.push_str(said.text));
    }
    live.finish(&mut |said| text.push_str(said.text));
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_live_view_prints_the_same_text_as_the_whole_view(
        input in prop_oneof![pieces(), vec(any::<u8>(), 0..1500)],
        has_noise in any::<bool>(),
        limit in prop_oneof![128usize..200, Just(1 << 18)],
        places in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let noise = if has_noise { &b"stdin: is not a tty\n"[..] } else { b"" };
        let input = [noise, &input].concat();
        let whole = view(Options { budget: usize::MAX, line_limit: limit }, &[&input]);
        prop_assert_eq!(live_text(Live::new(limit, 0), &cut(&input, &places)), whole.text);
    }

    /// However many pauses there were, the last printed state of each line is its final one.
    #[test]
    fn the_last_printed_state_of_a_line_is_its_final_one(
        input in pieces(),
        places in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut live = Live::new(1 << 18, 0);
        let mut text = String::new();
        for chunk in cut(&input, &places) {
            live.push(chunk, &mut |said| text.push_str(said.text));
            live.still(&mut |said| text.push_str(said.text));
        }
        live.finish(&mut |said| text.push_str(said.text));
        let mut lines = text.split('\n').map(|line| line.trim_end_matches(' '));
        for line in reference::lines(&input) {
            let line = line.trim_end_matches('\n').trim_end_matches(' ');
            prop_assert!(lines.any(|said| said == line), "{line:?} in {text:?}");
        }
    }
}
