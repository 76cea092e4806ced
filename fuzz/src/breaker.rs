//! The breaker accepts arbitrary bytes as its list. Reading the list at once or in two pieces gives the
//! same verdicts, and trimming it changes no later verdict.

use crate::read;
use outlive_core::breaker::{self, Breaker, BreakerRules, Entry, Verdict, Wish};
use outlive_core::process::BootId;
use outlive_core::{BootTime, JobId};

pub fn check(bytes: &[u8]) {
    let Some((now, cut, list)) = read::<(u64, u16, &[u8])>(bytes) else {
        return;
    };
    let boot = BootId("b".to_owned());
    let rules = BreakerRules {
        most: 2,
        window_ms: 100,
        silence_ms: 300,
    };
    let mut whole = Vec::new();
    let mut breaker = Breaker::new(rules);
    breaker.take(list, &boot, |_, verdict| whole.push(verdict));

    let lines: Vec<&[u8]> = list.split_inclusive(|byte| *byte == b'\n').collect();
    let cut = usize::from(cut) % (lines.len() + 1);
    let (mut pieces, mut taker) = (Vec::new(), Breaker::new(rules));
    for piece in [lines[..cut].concat(), lines[cut..].concat()] {
        taker.take(&piece, &boot, |_, verdict| pieces.push(verdict));
    }
    assert_eq!(pieces, whole);

    let now = BootTime::from_ms(now);
    // Keepers number their own entries and append entries of the present time, so only such lists are
    // trimmed.
    let needless = breaker::trimmed(list, &boot, rules, now);
    assert!(needless <= list.len());
    let entry = Entry {
        boot: boot.clone(),
        at: now,
        job: JobId::parse("nobody-else").expect("valid"),
        seq: 1,
        wish: Wish::Match,
        matches: 1,
    };
    let verdict = |list: &[u8]| -> Option<Verdict> {
        let mut breaker = Breaker::new(rules);
        breaker.take(list, &boot, |_, _| {});
        breaker.apply(&entry)
    };
    let is_past =
        |entry: &Entry| entry.at <= now && entry.job != JobId::parse("nobody-else").expect("valid");
    let mut all_past = true;
    Breaker::new(rules).take(list, &boot, |entry, _| all_past &= is_past(&entry));
    if all_past && verdict(list) != verdict(&list[needless..]) {
        panic!(
            "{:?} became {:?}",
            verdict(list),
            verdict(&list[needless..])
        );
    }
}
