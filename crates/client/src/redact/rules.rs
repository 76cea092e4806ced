//! The shapes of well-known credentials, and the keywords that call for them.
//!
//! Each expression has two groups: the public prefix, which is kept, and the
//! secret. They are written from the issuers' own descriptions of their formats,
//! and are lenient about length, since formats have grown before. None needs the
//! Unicode tables of `regex`.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::automaton::{Automaton, OverlappingState};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, Input, MatchKind};
use memchr::memchr;
use regex::Regex;

use super::Span;
use super::names;
use super::values::{is_placeholder, tail_after_marker};

/// One shape.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    /// A line without any of these cannot match.
    keywords: &'static [&'static str],
    case: Case,
    /// A byte without which a line cannot match, for keywords that are common.
    needs: u8,
    pattern: &'static str,
    /// Whether what matched is a secret and not something else of its shape.
    is_secret: fn(&str) -> bool,
    regex: OnceLock<Regex>,
}

#[derive(Clone, Copy, PartialEq)]
enum Case {
    Exact,
    Ignored,
}

impl Rule {
    const fn new(
        kind: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
    ) -> Self {
        Self {
            kind,
            keywords,
            case: Case::Exact,
            needs: 0,
            pattern,
            is_secret: |_| true,
            regex: OnceLock::new(),
        }
    }

    const fn any_case(mut self) -> Self {
        self.case = Case::Ignored;
        self
    }

    const fn needs(mut self, byte: u8) -> Self {
        self.needs = byte;
        self
    }

    const fn only_if(mut self, is_secret: fn(&str) -> bool) -> Self {
        self.is_secret = is_secret;
        self
    }

    pub(super) fn find(&self, line: &str, spans: &mut Vec<Span>) {
        if self.needs != 0 && memchr(self.needs, line.as_bytes()).is_none() {
            return;
        }
        let regex = self
            .regex
            .get_or_init(|| Regex::new(self.pattern).expect("a constant expression"));
        for found in regex.captures_iter(line) {
            let (Some(prefix), Some(secret)) = (found.get(1), found.get(2)) else {
                continue;
            };
            if (self.is_secret)(secret.as_str()) {
                spans.push(Span {
                    start: prefix.start(),
                    keep: prefix.end(),
                    end: secret.end(),
                    kind: self.kind,
                });
            }
        }
    }
}

/// At most 64, as a line's rules are a set of bits. Of rules that match the same
/// text the later one names it.
#[rustfmt::skip]
pub(super) static RULES: [Rule; 33] = [
    Rule::new("url-password", &["://"], r#"://[^\x00-\x20/?#@:"'<>`]*:()([^\x00-\x20/"'<>`]+)@"#)
        .needs(b'@').only_if(is_value),
    Rule::new("database-password",
        &["postgres", "mysql://", "mariadb://", "mongodb", "redis://", "rediss://", "amqp", "mssql://", "sqlserver://", "clickhouse://", "nats://"],
        r#"(?i-u:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|clickhouse|nats)(?i-u:\+[a-z0-9]+)?://[^\x00-\x20/?#@:"'<>`]*:()([^\x00-\x20"'<>`]+)@"#)
        .any_case().needs(b'@').only_if(is_value),
    Rule::new("authorization", &["authorization"],
        r#"(?i-u:authorization)\\*["']?[ \t]*[:=][ \t]*\\*["']?()([A-Za-z0-9._~+/=:-]{8,})(?:[\\"' \t\r]{0,4}$|\\*["'])"#)
        .any_case().only_if(is_value),
    Rule::new("authorization", &["authorization"],
        r#"(?i-u:authorization)\\*["']?[ \t]*[:=>][ \t]*\\*["']?(?i-u:bearer|basic|token|apikey|digest|negotiate|bot|key)[ \t]+()([^\x00-\x20"'`\\,;<>\[\]]+)"#)
        .any_case().only_if(is_long_value),
    Rule::new("authorization", &["bearer "], r"(?i-u:\bbearer) {1,4}()([A-Za-z0-9._~+/=-]{20,})")
        .any_case().only_if(has_digit),
    Rule::new("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], r"(?-u:\b)(A(?:KI|SI|BI|CC)A)([A-Z0-9]{16})(?-u:\b)"),
    Rule::new("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"(gh[pousr]_)([A-Za-z0-9_.-]{20,})"),
    Rule::new("github-token", &["github_pat_"], r"(github_pat_)([A-Za-z0-9_]{20,})"),
    Rule::new("gitlab-token", &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-"],
        r"(?-u:\b)(gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-)([A-Za-z0-9_.=-]{16,})"),
    Rule::new("slack-token", &["xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-", "xapp-", "xoxe."],
        r"(xox[abcdeoprs]-|xoxe\.xox[bp]-|xapp-)([A-Za-z0-9%-]{10,})"),
    Rule::new("slack-webhook", &["hooks.slack.com/"], r"(hooks\.slack\.com/(?:services|workflows|triggers)/)([A-Za-z0-9_/-]{16,})"),
    Rule::new("discord-webhook", &["/api/webhooks/"], r"(/api/webhooks/[0-9]{15,22}/)([A-Za-z0-9_-]{30,})"),
    Rule::new("stripe-key", &["_live_", "_test_", "whsec_"], r"(?-u:\b)((?:sk|rk)_(?:live|test)_|whsec_)([A-Za-z0-9+/=]{10,})"),
    Rule::new("openai-key", &["sk-"], r"(?-u:\b)(sk-(?:proj-|svcacct-|admin-|or-v1-)?)([A-Za-z0-9_-]{20,})").only_if(is_no_slug),
    Rule::new("anthropic-key", &["sk-ant-"], r"(?-u:\b)(sk-ant-(?:[a-z]{1,8}[0-9]{2}-)?)([A-Za-z0-9_-]{20,})"),
    Rule::new("google-key", &["AIza"], r"(?-u:\b)(AIza)([A-Za-z0-9_-]{35,})"),
    Rule::new("google-token", &["GOCSPX-", "ya29."], r"(GOCSPX-|(?-u:\b)ya29\.)([A-Za-z0-9_.-]{20,})"),
    Rule::new("azure-key", &["accountkey=", "sharedaccesskey="], r"(?i-u:AccountKey|SharedAccessKey)=()([A-Za-z0-9+/=]{20,})").any_case(),
    Rule::new("azure-signature", &["?sig=", "&sig="], r"[?&]sig=()([A-Za-z0-9%+/=_-]{30,})"),
    Rule::new("twilio-key",
        &["SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd", "SKe", "SKf"],
        r"(?-u:\b)(SK)([0-9a-f]{32})(?-u:\b)"),
    Rule::new("sendgrid-key", &["SG."], r"(?-u:\b)(SG\.)([A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"),
    Rule::new("npm-token", &["npm_"], r"(?-u:\b)(npm_)([A-Za-z0-9]{30,})"),
    Rule::new("pypi-token", &["pypi-"], r"(?-u:\b)(pypi-)([A-Za-z0-9_-]{50,})"),
    Rule::new("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"(do[opr]_v1_)([a-f0-9]{40,})"),
    Rule::new("huggingface-token", &["hf_", "api_org_"], r"(?-u:\b)(hf_|api_org_)([A-Za-z0-9]{30,})"),
    Rule::new("telegram-token", &[":AA"], r"([0-9]{6,12}:)(AA[A-Za-z0-9_-]{30,})"),
    Rule::new("discord-token", &[], r"(?-u:\b)()([MNO][DTjz][AEIMQUYcgk][w-z0-5][A-Za-z0-9_-]{16,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})"),
    Rule::new("databricks-token", &["dapi"], r"(?-u:\b)(dapi)([a-f0-9]{32}(?:-[0-9])?)(?-u:\b)"),
    Rule::new("docker-token", &["dckr_pat_", "dckr_oat_"], r"(dckr_[po]at_)([A-Za-z0-9_-]{20,})"),
    Rule::new("vault-token", &["hvs.", "hvb.", "hvr."], r"(?-u:\b)(hv[sbr]\.)([A-Za-z0-9_-]{20,})"),
    Rule::new("cloudflare-token", &["cfk_", "cfut_", "cfat_"], r"(?-u:\b)(cf(?:k|ut|at)_)([A-Za-z0-9_-]{40,})"),
    Rule::new("cloudflare-key", &["v1.0-"], r"(?-u:\b)(v1\.0-)([a-f0-9]{24}-[a-f0-9]{100,})"),
    Rule::new("jwt", &["eyJ"], r"()(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)"),
];

fn is_value(secret: &str) -> bool {
    !is_placeholder(secret) && tail_after_marker(secret).is_none_or(|tail| tail > 0)
}

fn is_long_value(secret: &str) -> bool {
    secret.len() >= 4 && is_value(secret)
}

fn has_digit(secret: &str) -> bool {
    secret.bytes().any(|b| b.is_ascii_digit())
}

/// Whether `secret` is not just words with dashes between them.
fn is_no_slug(secret: &str) -> bool {
    let longest_word = secret.split(['-', '_']).map(str::len).max();
    secret.bytes().any(|b| b.is_ascii_uppercase()) || longest_word >= Some(20)
}

/// What a keyword asks for.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// The rule with this index.
    Shape(usize),
    /// A look at the name this is part of.
    Name,
    PrivateKey,
}

/// Every keyword of every rule, in one automaton.
pub(super) struct Keywords {
    automaton: DFA,
    keywords: Vec<Keyword>,
}

struct Keyword {
    text: String,
    case: Case,
    target: Target,
}

impl Keyword {
    /// The automaton ignores case, so that names need not be listed in each.
    fn is(&self, found: &[u8]) -> bool {
        self.case == Case::Ignored || self.text.as_bytes() == found
    }
}

impl Keywords {
    pub(super) fn get() -> &'static Self {
        static KEYWORDS: LazyLock<Keywords> = LazyLock::new(Keywords::new);
        &KEYWORDS
    }

    fn new() -> Self {
        let keyword = |text: &str, case, target| Keyword {
            text: text.to_owned(),
            case,
            target,
        };
        let mut keywords = vec![keyword("PRIVATE KEY", Case::Exact, Target::PrivateKey)];
        for text in names::KEYWORDS {
            keywords.push(keyword(text, Case::Ignored, Target::Name));
        }
        for (i, rule) in RULES.iter().enumerate() {
            for text in rule.keywords {
                keywords.push(keyword(text, rule.case, Target::Shape(i)));
            }
            if rule.kind == "discord-token" {
                for text in discord_openings() {
                    keywords.push(keyword(&text, Case::Exact, Target::Shape(i)));
                }
            }
        }
        let automaton = DFA::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .start_kind(aho_corasick::StartKind::Unanchored)
            .build(keywords.iter().map(|keyword| &keyword.text))
            .expect("a few hundred short keywords");
        Self {
            automaton,
            keywords,
        }
    }

    /// Where the first keyword at or after `from` ends, less one: a place in it.
    pub(super) fn first_in(&self, text: &str, from: usize) -> Option<usize> {
        let mut first = None;
        self.search(text, from, |_, at| {
            first = Some(at.end - 1);
            false
        });
        first
    }

    /// Calls `look` with each keyword in `line`, also with those that overlap.
    pub(super) fn each_in(&self, line: &str, mut look: impl FnMut(Target, Range<usize>)) {
        self.search(line, 0, |target, at| {
            look(target, at);
            true
        });
    }

    /// Goes on for as long as `look` says so.
    fn search(&self, text: &str, from: usize, mut look: impl FnMut(Target, Range<usize>) -> bool) {
        let input = Input::new(text)
            .span(from..text.len())
            .anchored(Anchored::No);
        let mut state = OverlappingState::start();
        while self
            .automaton
            .try_find_overlapping(&input, &mut state)
            .is_ok()
            && let Some(found) = state.get_match()
        {
            let keyword = &self.keywords[found.pattern().as_usize()];
            let at = found.range();
            if keyword.is(&text.as_bytes()[at.clone()]) && !look(keyword.target, at) {
                return;
            }
        }
    }
}

/// The first four characters a Discord bot token can have. It starts with a
/// decimal number in base64, of which four characters hold three digits. Three
/// would do, but ignoring case they are in half of all words.
fn discord_openings() -> impl Iterator<Item = String> {
    let firsts = ["MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"];
    let thirds = "AEIMQUYcgk".chars();
    firsts.into_iter().flat_map(move |first| {
        let lasts = |third| "wxyz012345".chars().map(move |last| (third, last));
        let pairs = thirds.clone().flat_map(lasts);
        pairs.map(move |(third, last)| format!("{first}{third}{last}"))
    })
}
