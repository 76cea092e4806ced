use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

mod bounds;
mod live;
mod reference;

fn view(options: Options, chunks: &[&[u8]]) -> Viewed {
    let mut view = View::new(options);
    for chunk in chunks {
        view.push(chunk);
    }
    view.finish()
}

fn text(input: &str) -> String {
    view(Options::default(), &[input.as_bytes()]).text
}

fn bytes(input: &[u8]) -> String {
    view(Options::default(), &[input]).text
}

/// Checks each input against what it looks like.
fn check_table(rows: &[(&str, &str)]) {
    for (input, expected) in rows {
        assert_eq!(text(input), *expected, "of {input:?}");
    }
}

#[test]
fn escape_sequences_are_not_shown() {
    check_table(&[
        (
            "\x1b[0m\x1b[01;34mbin\x1b[0m  \x1b[01;32mrun.sh\x1b[0m\n",
            "bin  run.sh\n",
        ),
        (
            "\x1b[01;31m\x1b[Kmatch\x1b[m\x1b[K of grep\n",
            "match of grep\n",
        ),
        (
            "\x1b]8;;https://a.example/\x1b\\link\x1b]8;;\x1b\\ x\n",
            "link x\n",
        ),
        ("\x1b]0;user@host: ~\x07$ ls\n", "$ ls\n"),
        ("\x1b]2;done ✓\x1b\\$\n", "$\n"),
        (
            "\x1bP1$r0m\x1b\\a\x1b_Gi=1;AAAA\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d",
            "abcd",
        ),
        (
            "\x1bktitle\x1b\\$ \x1b(B\x1b)0\x1b=\x1b>\x1b7\x1b8\x1bMx\x1b#8y",
            "$ xy",
        ),
        (
            "\x1b[?25l\x1b[?2004ha\x1b[38:2::1:2:3mb\x1b[>4;1mc\x1b[ qd",
            "abcd",
        ),
        ("a\x1b[2Jb\x1b[3Ac\x1b[10;20Hd", "abcd"),
        ("unfinished \x1b[12", "unfinished "),
        ("unfinished \x1b]0;title", "unfinished "),
        ("\x1b[3\nm", "\nm"),
        ("\x1b[3\x1b[1mx\x1b[\u{18}y", "xy"),
        ("\u{9b}x as a character\u{85}", "x as a character"),
    ]);
}

#[test]
fn text_in_another_encoding_hides_nothing_after_it() {
    // An old terminal would treat these bytes as controls. Today they are Shift-JIS or cp1252.
    for byte in 0x80..=0x9f {
        let line = [&b"before "[..], &[byte], b" after\n"].concat();
        assert_eq!(bytes(&line), "before \u{fffd} after\n", "{byte:#x}");
    }
    assert_eq!(text("a\u{9b}31m \u{9d}b\n"), "a31m b\n");
    assert_eq!(bytes(b"\xe2\x9c\x93 \xe2\x9b\x84 \xc3\x9b"), "✓ ⛄ Û");
    assert_eq!(bytes(b"\x93quoted\x94"), "\u{fffd}quoted\u{fffd}");
}

#[test]
fn an_escape_string_without_end_becomes_text() {
    assert_eq!(text("a\x1b]0;title\nb\n"), "a\nb\n");
    let long = format!("a\x1b]{}xyz\n", "t".repeat(decode::LONGEST_SEQUENCE - 1));
    assert_eq!(text(&long), "axyz\n");
    let long = format!("a\x1b[{}mxyz\n", "1".repeat(decode::LONGEST_SEQUENCE));
    assert_eq!(text(&long), "a1mxyz\n");
}

#[test]
fn a_progress_bar_shows_its_last_state() {
    check_table(&[
        ("one\r\ntwo\r\r\n", "one\ntwo\n"),
        (
            "   Building [==>   ] 1/3: a\r   Building [=====>] 3/3: b\r\x1b[K    Finished in 2s\n",
            "    Finished in 2s\n",
        ),
        (
            "  \x1b[32m━━━━\x1b[0m 1.0/9.9 MB\r\x1b[2K  \x1b[32m━━━━━━━━\x1b[0m 9.9/9.9 MB\r\n",
            "  ━━━━━━━━ 9.9/9.9 MB\n",
        ),
        (
            "\rReading package lists... 0%\r\rReading package lists... 100%\r\rReading package lists... Done\r\n",
            "Reading package lists... Done\n",
        ),
        ("100%\r99%\n", "99%%\n"),
        ("working...\r          \rdone\n", "done\n"),
        ("kept  \n", "kept  \n"),
        ("abcdef\x1b[3D\x1b[K\n", "abc\n"),
        ("abcdef\x1b[4D\x1b[1K\n", "   def\n"),
        ("abc\x1b[1Kd\n", "   d\n"),
        ("abc\x1b[2Kd\n", "   d\n"),
        ("a\x1b[5Cb\x1b[3Gc\x1b[Gd\x1b[0Ge\n", "e c   b\n"),
        (
            "Starting x\x1b[80C\x1b[66D[  OK  ]\n",
            "Starting x              [  OK  ]\n",
        ),
        ("\x1b[999C\x1b[999Dx\n", "x\n"),
        ("日本語\rab\n", "ab語\n"),
        ("👍🏽 ok\r👎\x1b[K\n", "👎\n"),
    ]);
}

#[test]
fn other_control_characters_are_dropped() {
    check_table(&[
        ("abd\x08c\n", "abc\n"),
        ("-\x08\\\x08|\x08/\x08 \x08ok\n", "ok\n"),
        ("\x08\x08a\n", "a\n"),
        ("a\tb\x07\x0b\x0c\x0e\x7f\0c\n", "a\tbc\n"),
        ("", ""),
        ("\n\n", "\n\n"),
        ("gone\r\x1b[K", ""),
    ]);
}

#[test]
fn invalid_bytes_are_replaced_as_the_standard_library_does() {
    for input in [
        &b"a\xffb\xc3"[..],
        b"\xf0\x9f\x98x\xe2\x82",
        b"\xed\xa0\xa0 \xf5\xc0\xaf",
        b"\xf0\xa4",
    ] {
        assert_eq!(bytes(input), String::from_utf8_lossy(input));
    }
}

/// Decoding works in runs, which can end inside a character, like chunks.
#[test]
fn characters_stay_whole_in_long_runs() {
    let roomy = Options {
        budget: 1 << 20,
        line_limit: 1 << 18,
    };
    for input in ["日本".repeat(3000), format!("a{}", "👍é".repeat(3000))] {
        assert_eq!(view(roomy, &[input.as_bytes()]).text, input);
    }
}

#[test]
fn shell_noise_is_dropped_from_the_front() {
    let noise = "bash: cannot set terminal process group (-1): Inappropriate ioctl for device\r\n\
        bash: no job control in this shell\nstdin: is not a tty\n\
        /bin/sh: 0: can't access tty; job control turned off\n\
        mesg: ttyname failed: Inappropriate ioctl for device\n\
        tput: No value for $TERM and no -T specified\n";
    assert_eq!(text(&format!("{noise}hello\n")), "hello\n");
    assert_eq!(
        text(&format!("hello\n{noise}")),
        format!("hello\n{noise}").replace('\r', "")
    );
    assert_eq!(
        text("bash: nosuch: command not found\n"),
        "bash: nosuch: command not found\n"
    );
    // The noise may be the whole output.
    assert_eq!(text(noise), noise.replace('\r', ""));
    assert_eq!(text("stdin: is not a tty"), "stdin: is not a tty");
    assert_eq!(text("stdin: is not a tty\n|\r "), "stdin: is not a tty\n");
    // Noise counts in the line numbers.
    let long = format!("{noise}{}", "line\n".repeat(10_000));
    let viewed = view(Options::default(), &[long.as_bytes()]);
    let first = viewed.text.split("[…").next().expect("a head");
    assert_eq!(
        viewed.omitted_from_line,
        Some(7 + first.lines().count() as u64)
    );
}

/// Pieces of input that have a meaning for the view, and some that have none.
pub fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        b"a",
        b"bc",
        b"plain words here, more than thirty-two bytes of them",
        b"  ",
        b"\t",
        "é".as_bytes(),
        "日本".as_bytes(),
        "👍🏽".as_bytes(),
        "\u{9b}".as_bytes(),
        b"\r",
        b"\r\n",
        b"\n",
        b"\n",
        b"\x08",
        b"\0",
        b"\x07",
        b"\x7f",
        b"\x18",
        b"\x1b",
        b"\x1b[",
        b"\x1b[K",
        b"\x1b[0K",
        b"\x1b[1K",
        b"\x1b[2K",
        b"\x1b[3D",
        b"\x1b[2C",
        b"\x1b[999C",
        b"\x1b[4G",
        b"\x1b[G",
        b"\x1b[1;31m",
        b"\x1b[?25h",
        b"\x1b[99999999999999999999999C",
        b"\x1b(B",
        b"\x1b]",
        b"\x1b]0;title\x07",
        b"\x1b]8;;http://x\x1b\\",
        b"\x1bP",
        b"\x1b_",
        b"\x1b\\",
        b"\x9b",
        b"\x9d",
        b"\x9c",
        b"\x80",
        b"\xc3",
        b"\xe2\x82",
        b"\xf0\x9f",
        b"\xff",
        b";",
        b"1",
        b"m",
        b"K",
    ];
    let piece = prop_oneof![
        20 => select(known).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..4),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// The chunks of an input cut at these positions.
fn cut<'a>(input: &'a [u8], places: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places
        .iter()
        .map(|place| place.index(input.len() + 1))
        .collect();
    places.sort_unstable();
    let mut rest = input;
    let mut chunks = Vec::new();
    let mut from = 0;
    for place in places {
        let (chunk, after) = rest.split_at(place - from);
        chunks.push(chunk);
        (rest, from) = (after, place);
    }
    chunks.push(rest);
    chunks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_view_equals_the_reference_wherever_the_input_is_cut(input in pieces(), places in vec(any::<prop::sample::Index>(), 0..12)) {
        let roomy = Options { budget: 1 << 20, line_limit: 1 << 18 };
        let viewed = view(roomy, &cut(&input, &places));
        let text = reference::lines(&input).concat();
        prop_assert_eq!(viewed, Viewed { text, ..Viewed::default() });
    }

    #[test]
    fn input_one_byte_at_a_time_gives_the_same_text(input in pieces(), options in bounds::tight()) {
        let single: Vec<&[u8]> = input.chunks(1).collect();
        prop_assert_eq!(view(options, &single), view(options, &[&input]));
    }

    #[test]
    fn arbitrary_bytes_never_panic(input in vec(any::<u8>(), 0..1500), options in bounds::tight(), places in vec(any::<prop::sample::Index>(), 0..5)) {
        prop_assert_eq!(view(options, &cut(&input, &places)), view(options, &[&input]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A line shown without a view looks the same as with one.
    #[test]
    fn single_lines_look_the_same_as_in_a_view(parts in vec(select(vec![
        &b"ab "[..], b"\t", b"\r", b"\r\n", b"\x1b[m", b"\x1b[1;38:2::3m", b"\x1b[K", b"\x1b[0K", b"\x1b[2K", b"\x1b[;K",
        b"\x1b[?1m", b"\x1b[", b"\x1b", b"m", b"\x08", b"\x7f", b"\0", b"\xc2\x9b", b"\xc2", b"\xff", "é日".as_bytes(), b"\n",
    ]), 0..12)) {
        let bytes = parts.concat();
        let mut together = String::new();
        for bytes in bytes.split_inclusive(|byte| *byte == b'\n') {
            let expected = lines::viewed(bytes);
            prop_assert_eq!(line(bytes), expected.as_str(), "of {:?}", bytes);
            together.push_str(&expected);
        }
        let mut shown = String::new();
        prop_assert_eq!(lines(&bytes, &mut shown), together.as_bytes());
    }
}

#[test]
fn an_overlong_colour_sequence_reads_the_same_as_in_a_view() {
    for numbers in [255, 256, 257, 9000] {
        let bytes = [b"a\x1b[", "1".repeat(numbers).as_bytes(), b"mb\n"].concat();
        assert_eq!(line(&bytes), lines::viewed(&bytes), "{numbers}");
    }
}
