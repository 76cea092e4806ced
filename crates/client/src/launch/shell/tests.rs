use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
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
    (
        "case x in a|b) c ;& (d) e ;;& *) f\nesac &",
        "case x in a|b) c ;& (d) e ;;& *) f\nesac ",
    ),
    ("for i\nin a b\ndo c; done &", "for i\nin a b\ndo c; done "),
    ("for i; do a; done &", "for i; do a; done "),
    ("function f { a; }\nf &", "function f { a; }\nf "),
    ("function f() (a)\nf &", "function f() (a)\nf "),
    (
        "if (a) then b; elif c; then d; else e; fi &",
        "if (a) then b; elif c; then d; else e; fi ",
    ),
    ("[[ -f a && ! -f b ]] && c &", "[[ -f a && ! -f b ]] && c "),
    ("[[ $a =~ ^(x|y)$ ]] && c &", "[[ $a =~ ^(x|y)$ ]] && c "),
    ("f() { g & }; f &", "f() { g & }; f "),
    // Words.
    (
        "echo '&' \"&\" \\& $'\\n&' &",
        "echo '&' \"&\" \\& $'\\n&' ",
    ),
    ("echo $(a &) `b &` ${c:-&} &", "echo $(a &) `b &` ${c:-&} "),
    ("echo \"$(a \"&\" &)\" &", "echo \"$(a \"&\" &)\" "),
    ("sh -c 'a & b &' &", "sh -c 'a & b &' "),
    ("a[0]=1 a[$i]=2 server[x] &", "a[0]=1 a[$i]=2 server[x] "),
    ("a=(1 # &\n '&' [x]=2) b &", "a=(1 # &\n '&' [x]=2) b "),
    (
        "echo $((1 << 2 & 3)) $# ${#a} ${a##*/} &",
        "echo $((1 << 2 & 3)) $# ${#a} ${a##*/} ",
    ),
    (
        "echo \"it's ${a:-\"&\"} \\\" `x` $((1))\" &",
        "echo \"it's ${a:-\"&\"} \\\" `x` $((1))\" ",
    ),
    (
        "echo $(case x in a) b & ;; esac) &",
        "echo $(case x in a) b & ;; esac) ",
    ),
    ("echo $(a # )\n) &", "echo $(a # )\n) "),
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
        "cat <<E > ${x}/y $(z) &\nE\n",
        "cat <<E > ${x}/y $(z) \nE\n",
    ),
    ("cat <<\\E &\nE\n", "cat <<\\E \nE\n"),
    ("cat <<\"E F\" &\nE\nE F\n", "cat <<\"E F\" \nE\nE F\n"),
    (
        "if cat <<E; then\nx &\nE\na; fi &",
        "if cat <<E; then\nx &\nE\na; fi ",
    ),
    ("cat <<E\na\\\nb\nE\na &", "cat <<E\na\\\nb\nE\na "),
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
    // An extended pattern, which bash does not read unless `shopt -s extglob` came first.
    "ls !(a|b) &",
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
    "if a; then fi &",
    "while a; b; done &",
    "for i in a; b; do c; done &",
    "case x in a) b; ;; &",
    "a > &",
    "a && fi &",
    "{ a; } b &",
    "() &",
    // A subscript of an assignment goes on past blanks.
    "a[ &# ]=1 &",
    "cat <<E\nserver &\n E\n",
    // What the lexer is not sure of.
    "((a) ); cat <<E\nserver &",
    "cat <<''>&2 $(${x} &",
    "cat <<'' &\n\n",
    "cat <<$x &\n$x\n",
    "cat <<E 'a\nb' &\nE\n",
    "cat <<E &\na\\\nE\n",
    "coproc server &",
    "echo $[1 & 2] &",
    "echo \"${a:-it's}\" &",
    "!(a) &",
    "x=${ a; } &",
    "a &\\\n& b &",
    // The next line continues a name, an opening parenthesis or a reserved word.
    "a\\\n[k & # ]=v; echo x",
    "(\\\n(1 # )); echo \"\n)) & #\"",
    "echo $(\\\n(1 # )); echo \"\n)) & #\"",
    "!\\\n &",
    "time -p &",
    // Shells without `$'…'` end this text earlier.
    "echo $'\\'' & #'",
    // Some shells take this for a word, others for a file descriptor.
    "echo 11111111111>x &",
];

/// Longer than any script that can start.
#[test]
fn a_script_that_no_program_can_be_given_is_not_read() {
    let script = |length: usize| format!("{} &", "a".repeat(length - 2));
    assert!(foreground(&script(MAX_SCRIPT_BYTES)).is_some());
    assert!(foreground(&script(MAX_SCRIPT_BYTES + 1)).is_none());
}

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
    let status = Command::new("/bin/bash")
        .args(["-n", "-c", script])
        .stderr(Stdio::null())
        .status()
        .expect("bash runs");
    status.success()
}

/// Nesting costs heap, and time is linear: a small stack and little time do.
#[test]
fn nesting_ends_in_neither_an_overflow_nor_a_wait() {
    let started = Instant::now();
    let small = thread::Builder::new().stack_size(64 * 1024);
    let nested = small.spawn(read_nested).expect("a thread");
    nested.join().expect("no overflow");
    assert!(started.elapsed() < Duration::from_mins(1));
}

fn read_nested() {
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
        for depth in [4, 100, 10_000, 100_000] {
            let script = format!("{}a{} &", open.repeat(depth), close.repeat(depth));
            // Also scripts that are too long to start.
            let _ = Lexer::new(&script).trailing_ampersand();
        }
    }
}

#[test]
fn nesting_that_people_write_is_parsed() {
    for (open, close, depth) in [
        ("(", ")", 8),
        ("(a; ", ")", 8),
        ("case x in y) ", "\nesac", 8),
        ("{ ", ";}", 10_000),
        ("$(", ")", 10_000),
        ("if ", ";then b;fi", 10_000),
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
        if let Some(rewritten) = foreground(&script) {
            let one_less = script.match_indices('&').any(|(at, _)| {
                let (head, tail) = (&script[..at], &script[at + 1..]);
                rewritten == [head, tail].concat() || rewritten == [head, " ", tail].concat()
            });
            prop_assert!(one_less, "{:?}", rewritten);
            prop_assert_eq!(foreground(&rewritten), None);
        }
    }
}
