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

/// The most tokens parsed, where each counts double for every level of
/// parentheses and `case`s the string has. So does the parser's time: it tries
/// `((` as arithmetic before it tries it as subshells, `2> >(` with the number
/// before it tries it without, and the last item of a `case` as though another
/// came after it.
const MAX_PARSER_STEPS: usize = 1 << 18;

/// The reserved words at which the parser recurses.
const OPENING_WORDS: [&str; 9] = [
    "!", "[[", "{", "case", "coproc", "for", "if", "until", "while",
];

/// Returns `script` less its trailing `&` when its last list is backgrounded,
/// and `None` when it is to be run exactly as given.
///
/// Every other byte is kept, so that here-documents, comments and line numbers
/// stay as they were. Where the words on its sides would join without it, a
/// space takes the place of the `&`.
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
        && retry_depth(tokens)
            .and_then(|depth| MAX_PARSER_STEPS.checked_shr(depth))
            .is_some_and(|limit| tokens.len() <= limit)
        && !tokens.iter().any(has_odd_subscript)
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

/// How deep the constructs that [`MAX_PARSER_STEPS`] is about can be inside one
/// another, or `None` for parentheses that do not match.
fn retry_depth(tokens: &[Token]) -> Option<u32> {
    let cases = tokens.iter().filter(|token| is_word(token, "case")).count();
    let depth = if cases == 0 {
        paren_depth(tokens)?
    } else {
        // A `case` pattern ends in a parenthesis that closes nothing, so depth
        // cannot be told from the tokens and all of them count.
        let parens = tokens.iter().filter(|token| is_operator(token, "("));
        cases + parens.count()
    };
    u32::try_from(depth).ok()
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

/// Whether the word begins `name[` with anything but a plain subscript and `]`
/// after it.
///
/// To see whether such a word is an assignment the parser parses the subscript
/// as arithmetic, with every expansion in it, where it panics on a large number
/// after `~` and recurses at each bracket. And bash lets the subscript of an
/// assignment go on past blanks and operators, which the tokenizer does not.
fn has_odd_subscript(token: &Token) -> bool {
    let Token::Word(word, _) = token else {
        return false;
    };
    let Some((name, rest)) = word.split_once('[') else {
        return false;
    };
    let is_name = !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    let is_plain = rest.split_once(']').is_some_and(|(subscript, _)| {
        !subscript.contains(['(', '[', '{', '"', '\'', '`', '\\', '~'])
    });
    is_name && !is_plain
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

/// Whether the tokens cover `script` without a hole up to the last of them, and
/// every `<<` among them is followed by its tag, its body and its tag again.
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
mod tests;
