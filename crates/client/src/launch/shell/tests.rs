use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Strings whose last list is backgrounded, and what they become.
const REWRITTEN: &[(&str, &str)] = &[
    ("server &", "server "),
    ("server&", "server"),
    ("server & ", "server  "),
    ("server &\t", "server \t"),
    ("server &\n\n", "server \n\n"),
    ("\n\nserver &", "\n\nserver "),
    // Before and after it.
    ("a; server &", "a; server "),
    ("a & b &", "a & b "),
    ("a &\nb &", "a &\nb "),
    ("a &\n\n# c\nb &\n# d &", "a &\n\n# c\nb \n# d &"),
    ("cd app && npm start &", "cd app && npm start "),
    ("a || b &", "a || b "),
    ("a | b &", "a | b "),
    ("a |& b &", "a |& b "),
    ("! a &", "! a "),
    ("time a &", "time a "),
    ("A=1 B=(2 3) a &", "A=1 B=(2 3) a "),
    // Comments, which must not run into the word before them.
    ("server & # comment", "server  # comment"),
    ("server &# comment", "server  # comment"),
    ("server&#comment", "server #comment"),
    ("server&\\\n#comment", "server \\\n#comment"),
    // Line continuations, after which token starts are out of place.
    (
        "server \\\n  --port 1 \\\n  &",
        "server \\\n  --port 1 \\\n  ",
    ),
    ("server &\\\n", "server  \\\n"),
    (
        "a \\\n\\\n # c\n \\\n \\\n\t b \\\n &",
        "a \\\n\\\n # c\n \\\n \\\n\t b \\\n ",
    ),
    // Redirections.
    ("nohup server > log 2>&1 &", "nohup server > log 2>&1 "),
    ("server &> log &", "server &> log "),
    ("server &>> log&", "server &>> log"),
    ("server >&2 <&- &", "server >&2 <&- "),
    ("server > >(tee log) 2>&1 &", "server > >(tee log) 2>&1 "),
    ("server <<< '&' &", "server <<< '&' "),
    // Compound commands.
    ("(a & ) &", "(a & ) "),
    ("(server)&", "(server)"),
    ("((i++)) &", "((i++)) "),
    ("( (a; b) ) &", "( (a; b) ) "),
    ("{ a; } &", "{ a; } "),
    ("{ a & } 2>&1 | tee log &", "{ a & } 2>&1 | tee log "),
    ("while true; do x & done &", "while true; do x & done "),
    ("until a; do b; done &", "until a; do b; done "),
    ("for i in 1 2; do x; done &", "for i in 1 2; do x; done "),
    (
        "for ((i=0; i<2; i++)); do x; done &",
        "for ((i=0; i<2; i++)); do x; done ",
    ),
    ("if x; then y & fi &", "if x; then y & fi "),
    (
        "case x in (a) b & ;; c) d; esac &",
        "case x in (a) b & ;; c) d; esac ",
    ),
    ("[[ -f a && ! -f b ]] && c &", "[[ -f a && ! -f b ]] && c "),
    ("[[ $a =~ ^(x|y)$ ]] && c &", "[[ $a =~ ^(x|y)$ ]] && c "),
    ("f() { g & }; f &", "f() { g & }; f "),
    // Words.
    (
        "echo '&' \"&\" \\& $'\\'&' &",
        "echo '&' \"&\" \\& $'\\'&' ",
    ),
    ("echo $(a &) `b &` ${c:-&} &", "echo $(a &) `b &` ${c:-&} "),
    ("echo \"$(a \"&\" &)\" &", "echo \"$(a \"&\" &)\" "),
    ("sh -c 'a & b &' &", "sh -c 'a & b &' "),
    ("a[0]=1 a[$i]=2 server[x] &", "a[0]=1 a[$i]=2 server[x] "),
    ("ls !(a|b) &", "ls !(a|b) "),
    // Characters of several bytes.
    ("écho 日本 '🦀' &", "écho 日本 '🦀' "),
    ("# 日本 &\necho é & # ü &", "# 日本 &\necho é  # ü &"),
    // Here-documents.
    ("cat <<E &\nbody &\nE\n", "cat <<E \nbody &\nE\n"),
    ("cat <<E &\nbody &\nE", "cat <<E \nbody &\nE"),
    ("cat <<E&\nE\n", "cat <<E\nE\n"),
    (
        "cat <<'É' - <<-F &\né &\nÉ\n\tf &\n\tF\n",
        "cat <<'É' - <<-F \né &\nÉ\n\tf &\n\tF\n",
    ),
    (
        "cat \\\n << E - \\\n <<F \\\n & # c\nE\nF\n # d\n",
        "cat \\\n << E - \\\n <<F \\\n  # c\nE\nF\n # d\n",
    ),
    (
        "cat <<E # c\nE\ncat <<F\n\nF\n\n \\\n server &",
        "cat <<E # c\nE\ncat <<F\n\nF\n\n \\\n server ",
    ),
    (
        "cat > c <<E\nport &\nE\nserver &",
        "cat > c <<E\nport &\nE\nserver ",
    ),
    (
        "x=$(cat <<E\na & (b)\nE\n) && server &",
        "x=$(cat <<E\na & (b)\nE\n) && server ",
    ),
];

/// Strings that run exactly as given.
const LEFT_ALONE: &[&str] = &[
    "",
    "\n",
    "server",
    "server;",
    // Something comes after it.
    "a & b",
    "a &\nb\n",
    "a & b;",
    "server & disown",
    "server & wait",
    "server & sleep 1; curl localhost",
    "server &\r\n",
    // Another operator.
    "a && b",
    "a &&\nb",
    "a |& b",
    "a >&2",
    "a &>file",
    "a &>>file",
    "a 2>&1",
    // No operator.
    "echo \"&\"",
    "echo '&'",
    "echo $'&'",
    "echo \\&",
    "# x &",
    "echo a # &",
    "echo a#&b",
    "cat <<E\nserver &\nE",
    "cat <<E\nserver &\nE\n",
    "cat <<-'E'\n\tserver &\n\tE\n",
    // Inside something else.
    "echo $(b &)",
    "echo `b &`",
    "echo \"$(b &)\"",
    "cat <(b &)",
    "(b &)",
    "{ b & }",
    "if x; then y & fi",
    "while x; do y & done",
    "case x in a) b & esac",
    "f() { g & }",
    "sh -c 'server &'",
    // Not the shell's language.
    "&",
    "& &",
    "a &;",
    "a & &",
    "a && &",
    "a | &",
    "a ;& ",
    "a ( &",
    "a ) &",
    "( a &",
    "{ a &",
    "if a; then b &",
    "echo 'a &",
    "echo \"a &",
    "echo `a &",
    "echo $(a &",
    "echo ${a &",
    "cat <<E &",
    "cat <<E &\nbody &\n",
    "server & \\",
    "server &\\",
    "server & # comment \\",
    // A subscript that the tokenizer ends too soon.
    "a[ &# ]=1 &",
    // Here-documents that the tokenizer mistakes.
    "((a) ); cat <<E\nserver &",
    "cat <<E > ${x}/y $(z) &\nE\n",
    "cat <<''>&2 $(${x} &",
];

#[test]
fn the_last_ampersand_goes() {
    for (script, expected) in REWRITTEN {
        assert_eq!(foreground(script).as_deref(), Some(*expected), "{script:?}");
        assert_eq!(foreground(expected), None, "{script:?}, a second time");
    }
}

#[test]
fn anything_else_is_left_alone() {
    for script in LEFT_ALONE {
        assert_eq!(foreground(script), None, "{script:?}");
    }
}

#[test]
fn bash_still_reads_what_was_rewritten() {
    if !Path::new("/bin/bash").exists() {
        return;
    }
    for (script, expected) in REWRITTEN {
        assert!(bash_reads(script), "the test's own {script:?}");
        assert!(bash_reads(expected), "{expected:?}");
    }
}

#[expect(clippy::disallowed_methods, reason = "it only parses, in a test")]
fn bash_reads(script: &str) -> bool {
    // Like the parser, with the one syntax bash reads only when told to.
    let status = Command::new("/bin/bash")
        .args(["-O", "extglob", "-n", "-c", script])
        .stderr(Stdio::null())
        .status()
        .expect("bash runs");
    status.success()
}

/// Each of these makes the parser panic when it is not kept from it.
#[test]
fn what_the_parser_panics_on_is_kept_from_it() {
    for script in [
        "a 99999999999>x &",
        "a 99999999999<<E &\nE\n",
        "a[${x:-~99999999999999999999}]=1 &",
        "x & $($(<<E)\nE\n",
        "a <<''>&2 $(${x} &\n\n",
        "$(<<''$(( > >(case x in a) else 2>&1  &\n\n",
    ] {
        // Not on the other thread, where a panic would go unseen.
        assert_eq!(rewrite(script), None, "{script:?}");
    }
}

/// Each of these overflows the stack, or takes as good as forever, when it
/// is not kept from the parser.
#[test]
fn nesting_ends_in_neither_an_overflow_nor_a_wait() {
    let started = Instant::now();
    for (open, close) in [
        ("(", ")"),
        ("(", ""),
        ("((", ";b))"),
        ("(a;", ")"),
        ("{ ", ";}"),
        ("f() { ", ";}"),
        ("if ", ";then b;fi"),
        ("while ", ";do b;done"),
        ("for i in x;do ", ";done"),
        ("case x in y) ", "\nesac"),
        ("(case x in y) ", "\nesac)"),
        ("x 2> >(", ";;)"),
        ("x 2> >(case x in y) ", ";; z)\nesac"),
        ("coproc ", ""),
        ("[[ ! ", " ]]"),
        ("[[ ( ", " ) ]]"),
        ("[[ x =~ (", ") ]]"),
        ("$(", ")"),
        ("${a:-", "}"),
        ("$[", "]"),
        ("a[", "]"),
        ("@(", ")"),
        ("\"$(", ")\""),
        ("$(cat <<E\n", "\nE\n)"),
    ] {
        for depth in [4, 8, 16, 100, 256, MAX_OPENERS, 10 * MAX_OPENERS, 100_000] {
            let _ = foreground(&format!("{}a{} &", open.repeat(depth), close.repeat(depth)));
        }
    }
    let long = "a b; ".repeat(MAX_SCRIPT_BYTES / 6);
    for (open, close) in [
        ("x 2> >(", ";;)"),
        ("case x in y) ", "\nesac"),
        ("(", ";b)"),
    ] {
        for depth in [1, 2, 4, 8] {
            let (open, close) = (open.repeat(depth), close.repeat(depth));
            let _ = foreground(&format!("{open}{long}{close} &"));
        }
    }
    assert!(started.elapsed() < Duration::from_mins(1));
}

#[test]
fn nesting_that_people_write_is_parsed() {
    for (open, close, depth) in [
        ("(", ")", 8),
        ("(a; ", ")", 8),
        ("case x in y) ", "\nesac", 8),
        ("{ ", ";}", MAX_OPENERS),
        ("if ", ";then b;fi", MAX_OPENERS),
    ] {
        let command = format!("{}a{}", open.repeat(depth), close.repeat(depth));
        assert_eq!(foreground(&format!("{command}&")), Some(command));
    }
    let mut lines = String::new();
    for i in 0..200 {
        let _ = writeln!(lines, "x{i}=$(a \"${{b}}\"); (cd d{i} && c)");
    }
    assert_eq!(foreground(&format!("{lines}a&")), Some(format!("{lines}a")));
}

#[test]
fn a_string_too_long_is_left_alone() {
    let script = format!("echo {} &", "a".repeat(MAX_SCRIPT_BYTES));
    assert_eq!(foreground(&script), None);
}

/// Pieces of shell, and enough of its characters to spoil them.
fn shell_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a&;|<>(){}$`'\"\\\\#!*?@~=\\[\\] \t\nE0-9é日🦀-]",
        2 => prop::sample::select(vec![
            "a", "x=1 ", " & ", " &", "&&", "||", "|&", "&>f ", ">&2 ", "2>&1 ", "$(", "$((",
            "))", "${", "$[", "<(", " > >(", "@(", "<<E", "<<E &\nbody &\nE\n", "<<-'E' ",
            "<<''", "<<'\n'", "\nE\n", "\\\n", "# c &\n", "99999999999>", "a[", "]=",
            "~99999999999999999999", "{ ", "; }", "if ", "then ", "; fi", "while ", "do ",
            "; done", "for i in a; do ", "case x in a) ", ";; ", "esac", "f() ", "function g ",
            "coproc ", "time ", "! ", "[[ ", " ]]", "=~ ", "é", "日本",
        ])
        .prop_map(str::to_owned),
    ];
    (prop::collection::vec(piece, 0..40), any::<bool>()).prop_map(|(pieces, backgrounded)| {
        let end = if backgrounded { " &" } else { "" };
        pieces.concat() + end
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_panics_and_only_an_ampersand_goes(script in shell_like()) {
        // Not on the other thread, where a panic would go unseen.
        let rewritten = if is_safe_to_tokenize(&script) { rewrite(&script) } else { None };
        prop_assert_eq!(&rewritten, &foreground(&script));
        if let Some(rewritten) = rewritten {
            let one_less = script.match_indices('&').any(|(at, _)| {
                let (head, tail) = (&script[..at], &script[at + 1..]);
                rewritten == [head, tail].concat() || rewritten == [head, " ", tail].concat()
            });
            prop_assert!(one_less, "{:?}", rewritten);
            prop_assert_eq!(foreground(&rewritten), None);
        }
    }
}
