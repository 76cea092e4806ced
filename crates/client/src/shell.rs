//! Takes the trailing `&` off a shell string, so that what it starts is the job.
//!
//! Agents like to start a server with a string such as `cd app && npm start &`.
//! Run by `bash -c`, that shell exits at once and leaves the server behind,
//! belonging to nobody. With exactly that last `&` removed, the shell stays for
//! as long as the server does, and whoever supervises the shell supervises it.
//!
//! This module owns one decision and one edit: whether the last top-level list
//! of a string is backgrounded, and the removal of the `&` that says so. It
//! decides from the tokens and the grammar as `brush-parser` reads them in its
//! bash mode, so an `&` in quotes, a comment, a here-document, a redirection or
//! a nested command is not taken for the one that matters. The edit is then
//! checked: the result has to read as the same tokens less that one.
//!
//! In doubt the string is left alone. That covers a string that does not parse,
//! and a string the parser is not trusted with: it panics, overflows the stack
//! or takes exponential time on some inputs, none of which resembles the way a
//! server is started. Those are kept from it by the limits below, because a
//! panic cannot be caught where the program is built to abort on one.
//!
//! What it does not do: it runs nothing and expands nothing. It does not look
//! inside subshells, groups, functions or strings handed to another shell
//! (`(server &)`, `bash -c 'server &'`), and it does not touch an `&` that has
//! something after it (`server & wait`), since there the string itself says
//! what its shell is to do next.

use std::thread;

use brush_parser::ast::SeparatorOperator;
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str, unquote_str};

/// The longest string looked at. The tokenizer takes quadratic time on a
/// here-document's line, and nobody types a longer command.
const MAX_SCRIPT_BYTES: usize = 32 * 1024;

/// The most constructs that can nest in one string, counted as if each were
/// inside the one before it. The parser recurses once for each, using up to
/// 24 KiB of stack a time when unoptimised.
const MAX_OPENERS: usize = 512;

/// Room for [`MAX_OPENERS`] levels twice over. Pages never touched cost nothing.
const PARSER_STACK_BYTES: usize = 32 * 1024 * 1024;

/// The most parentheses and `case`s, one inside another, that are parsed. The
/// parser's time doubles with each: it tries `((` as arithmetic before it tries
/// it as subshells, `2> >(` with the number before it tries it without, and the
/// last item of a `case` as though another came after it.
const MAX_RETRIES: usize = 8;

/// The reserved words at which the parser recurses.
const OPENING_WORDS: [&str; 9] = [
    "!", "[[", "{", "case", "coproc", "for", "if", "until", "while",
];

/// Returns `script` less its trailing `&` when its last list is backgrounded,
/// and `None` when it is to be run exactly as given.
///
/// Every other byte is kept, so that here-documents, comments and line numbers
/// stay as they were.
#[must_use]
pub fn foreground(script: &str) -> Option<String> {
    if !script.contains('&') || !is_safe_to_tokenize(script) {
        return None;
    }
    on_parser_stack(|| rewrite(script))
}

/// Runs `work` on a stack whose size does not depend on the calling thread's.
///
/// Should it panic all the same, in a program built to unwind, it found nothing.
fn on_parser_stack<T: Send>(work: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    thread::scope(|scope| {
        let parser = thread::Builder::new()
            .name("shell-parser".to_owned())
            .stack_size(PARSER_STACK_BYTES)
            .spawn_scoped(scope, work)
            .ok()?;
        parser.join().ok().flatten()
    })
}

fn rewrite(script: &str) -> Option<String> {
    let before = Reading::of(script)?;
    let ampersand = before.trailing_ampersand()?;
    let rewritten = without_ampersand(script, before.tokens.get(ampersand)?)?;
    let after = Reading::of(&rewritten)?;
    before
        .is_same_but_for(ampersand, &after)
        .then_some(rewritten)
}

/// Takes the character of the `&` token out of `script`.
fn without_ampersand(script: &str, ampersand: &Token) -> Option<String> {
    // Positions count characters, and only the end is exact: the start is not
    // moved past a line continuation that comes before the token.
    let last_char = ampersand.location().end.index.checked_sub(1)?;
    let (at, _) = script
        .char_indices()
        .nth(last_char)
        .filter(|(_, c)| *c == '&')?;
    let (head, tail) = (script.get(..at)?, script.get(at + 1..)?);
    // What follows may run into the word before (`server&#note`), and the only
    // things sure not to are those that end a word themselves.
    let gap = if tail.is_empty() || tail.starts_with([' ', '\t', '\n']) {
        ""
    } else {
        " "
    };
    Some([head, gap, tail].concat())
}

/// A string as the shell would read it.
struct Reading {
    /// Without the newlines that end it.
    tokens: Vec<Token>,
    /// How many lists there are at the top level, over all lines.
    lists: usize,
    last_is_async: bool,
}

impl Reading {
    /// Returns `None` for a string that does not parse or had better not be.
    fn of(script: &str) -> Option<Self> {
        let tokens = tokenize(script)?;
        if !is_safe_to_parse(&tokens) || !are_sound(script, &tokens) {
            return None;
        }
        let program = parse_tokens(&tokens, &ParserOptions::default()).ok()?;
        let commands = &program.complete_commands;
        let last = commands.last()?.0.last()?;
        Some(Self {
            lists: commands.iter().map(|command| command.0.len()).sum(),
            last_is_async: matches!(last.1, SeparatorOperator::Async),
            tokens,
        })
    }

    /// The index of the `&` that backgrounds the last list.
    ///
    /// The syntax tree has no positions for separators. It needs none: only
    /// newlines can follow the last separator, and here-documents, which follow
    /// it in the string, come before it among the tokens.
    fn trailing_ampersand(&self) -> Option<usize> {
        let (last, rest) = self.tokens.split_last()?;
        (self.last_is_async && is_operator(last, "&")).then_some(rest.len())
    }

    /// Whether `after` is this reading without the `&` at `ampersand`.
    fn is_same_but_for(&self, ampersand: usize, after: &Self) -> bool {
        let kept = self
            .tokens
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != ampersand)
            .map(|(_, token)| token);
        !after.last_is_async
            && after.lists == self.lists
            && kept
                .map(kind_and_text)
                .eq(after.tokens.iter().map(kind_and_text))
    }
}

fn kind_and_text(token: &Token) -> (bool, &str) {
    (matches!(token, Token::Operator(..)), token.to_str())
}

fn is_operator(token: &Token, text: &str) -> bool {
    matches!(token, Token::Operator(operator, _) if operator == text)
}

/// Splits `script` into tokens, dropping the newlines at its end.
fn tokenize(script: &str) -> Option<Vec<Token>> {
    // Where a here-document meets a substitution the tokenizer may go looking
    // for a closing bracket it has already passed, and panics at the end of its
    // input. Newlines there mean nothing to the shell, and one for each
    // character is more than it can take: each bracket makes it take one, and
    // each here-document as many as its tag has characters and one more.
    let padded = [script, "\n", &"\n".repeat(script.len())].concat();
    let options = ParserOptions::default().tokenizer_options();
    let mut tokens = uncached_tokenize_str(&padded, &options).ok()?;
    while tokens.last().is_some_and(|token| is_operator(token, "\n")) {
        tokens.pop();
    }
    Some(tokens)
}

/// Whether the tokenizer can be given `script`.
fn is_safe_to_tokenize(script: &str) -> bool {
    let expansions = script
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [b'$', b'(' | b'{' | b'[']))
        .count();
    script.len() <= MAX_SCRIPT_BYTES
        && expansions <= MAX_OPENERS
        // The newlines added for the tokenizer would make this one continue.
        && !script.ends_with('\\')
}

/// Whether the parser can be given `tokens`.
fn is_safe_to_parse(tokens: &[Token]) -> bool {
    let openers = tokens.iter().filter(|token| is_opener(token)).count();
    openers <= MAX_OPENERS
        && retries(tokens).is_some_and(|retries| retries <= MAX_RETRIES)
        && !tokens.iter().any(has_complex_subscript)
        && !tokens.windows(2).any(is_oversized_fd)
}

fn is_word(token: &Token, text: &str) -> bool {
    matches!(token, Token::Word(word, _) if word == text)
}

fn is_opener(token: &Token) -> bool {
    match token {
        Token::Operator(operator, _) => operator == "(",
        Token::Word(word, _) => OPENING_WORDS.contains(&word.as_str()),
    }
}

/// How deep the constructs that [`MAX_RETRIES`] is about can be inside one
/// another, or `None` for parentheses that do not match.
fn retries(tokens: &[Token]) -> Option<usize> {
    let parens = tokens.iter().filter(|token| is_operator(token, "("));
    let cases = tokens.iter().filter(|token| is_word(token, "case")).count();
    if cases == 0 {
        paren_depth(tokens)
    } else {
        // A `case` pattern ends in a parenthesis that closes nothing, so depth
        // cannot be told from the tokens and all of them count.
        Some(cases + parens.count())
    }
}

/// How deep parentheses nest, or `None` where they do not match.
fn paren_depth(tokens: &[Token]) -> Option<usize> {
    let (mut depth, mut deepest) = (0_usize, 0);
    for token in tokens {
        if is_operator(token, "(") {
            depth += 1;
            deepest = deepest.max(depth);
        } else if is_operator(token, ")") {
            depth = depth.checked_sub(1)?;
        }
    }
    (depth == 0).then_some(deepest)
}

/// Whether the word begins `name[` with more than a plain subscript after it.
///
/// To see whether such a word is an assignment the parser parses the subscript
/// as arithmetic, with every expansion in it, where it panics on a large number
/// after `~` and recurses at each bracket.
fn has_complex_subscript(token: &Token) -> bool {
    let Token::Word(word, _) = token else {
        return false;
    };
    let Some((name, rest)) = word.split_once('[') else {
        return false;
    };
    let is_name = !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    let subscript = rest.split(']').next().unwrap_or(rest);
    is_name && subscript.contains(['(', '[', '{', '"', '\'', '`', '\\', '~'])
}

/// Whether the pair is a number before a redirection (`7>log`) and too large
/// for a file descriptor, on which the parser panics.
fn is_oversized_fd(pair: &[Token]) -> bool {
    let [Token::Word(number, _), Token::Operator(operator, _)] = pair else {
        return false;
    };
    operator.starts_with(['<', '>'])
        && number.chars().all(|c| c.is_ascii_digit())
        && number.parse::<i32>().is_err()
}

/// Whether the tokens cover `script` from one end to the other, and every `<<`
/// among them is followed by its tag, its body and its tag again.
///
/// After `((` the tokenizer takes `<<` for a shift, even where the shell would
/// not, and goes on to read the lines of the here-document as commands. And it
/// mislays words, or lets them out of a substitution as tokens of their own,
/// when the substitution comes after a `<<` on its line.
fn are_sound(script: &str, tokens: &[Token]) -> bool {
    let source: Vec<char> = script.chars().collect();
    let (mut rest, mut reached, mut here_documents_end) = (tokens, 0, 0);
    while let [token, tail @ ..] = rest {
        rest = tail;
        if !is_gap(&source, reached, token) {
            return false;
        }
        reached = token.location().end.index;
        if is_operator(token, "<<") || is_operator(token, "<<-") {
            let [tag, Token::Word(..), end, tail @ ..] = tail else {
                return false;
            };
            if !is_gap(&source, reached, tag) || !is_word(end, &unquote_str(tag.to_str())) {
                return false;
            }
            rest = tail;
            reached = tag.location().end.index;
            here_documents_end = end.location().end.index;
        } else if is_operator(token, "\n") {
            reached = reached.max(here_documents_end);
        }
    }
    true
}

/// Whether there is nothing but blanks and line continuations from `reached` to
/// the start of `token`. The comments there are part of the newline after them.
fn is_gap(source: &[char], reached: usize, token: &Token) -> bool {
    source
        .get(reached..token.location().start.index)
        .is_some_and(|gap| gap.iter().all(|c| [' ', '\t', '\\', '\n'].contains(c)))
}

#[cfg(test)]
mod tests {
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

    fn bash_reads(script: &str) -> bool {
        // The one thing in the table that bash reads only when told to.
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
            "a <<''>&2 $(${x} &",
            "$(<<''$(( > >(case x in a) else 2>&1  &",
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
        assert!(started.elapsed() < Duration::from_mins(1));
    }

    #[test]
    fn nesting_that_people_write_is_parsed() {
        for (open, close, depth) in [
            ("(", ")", MAX_RETRIES),
            ("(a; ", ")", MAX_RETRIES),
            ("case x in y) ", "\nesac", MAX_RETRIES),
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
}
