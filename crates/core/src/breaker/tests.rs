use super::*;
use proptest::prelude::*;

fn boot() -> BootId {
    BootId("now".into())
}

fn entry(at_ms: u64, job: &str, seq: u64, wish: Wish) -> Entry {
    Entry {
        boot: boot(),
        at: BootTime::from_ms(at_ms),
        job: JobId::parse(job).expect("an id"),
        seq,
        wish,
        matches: match wish {
            Wish::Match => 1 + seq % 2,
            Wish::Resumed => 0,
        },
    }
}

fn encode(entries: &[Entry]) -> Vec<u8> {
    entries.iter().flat_map(Entry::encode).collect()
}

/// The verdict on a job's request.
fn verdict(list: &[u8], job: &JobId, seq: u64) -> Option<Verdict> {
    all_verdicts(&[list]).remove(&(job.clone(), seq))
}

/// The verdicts on all requests in a list that is read in pieces.
fn all_verdicts(pieces: &[&[u8]]) -> BTreeMap<(JobId, u64), Verdict> {
    let mut breaker = Breaker::new(SMALL);
    let mut verdicts = BTreeMap::new();
    for piece in pieces {
        breaker.take(piece, &boot(), |entry, verdict| {
            let twice = verdicts.insert((entry.job, entry.seq), verdict);
            assert_eq!(twice, None, "told once");
        });
    }
    verdicts
}

/// The state after all entries of a list.
fn fold(list: &[u8]) -> Breaker {
    let mut breaker = Breaker::new(SMALL);
    breaker.take(list, &boot(), |_, _| {});
    breaker
}

fn verdicts(entries: &[Entry], rules: BreakerRules) -> Vec<Option<Verdict>> {
    let mut breaker = Breaker::new(rules);
    entries.iter().map(|entry| breaker.apply(entry)).collect()
}

const SMALL: BreakerRules = BreakerRules {
    most: 3,
    window_ms: 10,
    silence_ms: 30,
};

#[test]
fn a_flood_trips_the_breaker_and_the_first_match_after_the_silence_resumes() {
    use Verdict::{Admitted, Idle, Resumes, Silenced, Trips};
    let table = [
        (0, Wish::Match, Admitted),
        (1, Wish::Match, Admitted),
        (2, Wish::Resumed, Idle),
        (9, Wish::Match, Admitted),
        (10, Wish::Match, Admitted),
        (10, Wish::Match, Trips),
        (11, Wish::Match, Silenced),
        (39, Wish::Match, Silenced),
        (39, Wish::Resumed, Idle),
        (40, Wish::Match, Resumes { silenced: 4 }),
        (40, Wish::Resumed, Idle),
        (41, Wish::Match, Admitted),
        (42, Wish::Match, Admitted),
        (43, Wish::Match, Trips),
        (80, Wish::Resumed, Resumes { silenced: 1 }),
        (80, Wish::Resumed, Idle),
        (80, Wish::Match, Admitted),
    ];
    let entries: Vec<Entry> = (1..)
        .zip(&table)
        .map(|(seq, (at, wish, _))| entry(*at, "a", seq, *wish))
        .collect();
    let expected: Vec<_> = table.iter().map(|(_, _, verdict)| Some(*verdict)).collect();
    assert_eq!(verdicts(&entries, SMALL), expected);
    assert_eq!(
        fold(&encode(&entries[..6])).silent_until(),
        Some(BootTime::from_ms(40))
    );
    assert_eq!(fold(&encode(&entries)).silent_until(), None);
}

#[test]
fn the_sixteenth_match_in_ten_seconds_trips_the_breaker() {
    let entries: Vec<Entry> = (1..=16)
        .map(|seq| entry(seq, &format!("j{seq}"), 1, Wish::Match))
        .collect();
    let verdicts = verdicts(&entries, BreakerRules::default());
    assert_eq!(verdicts[..15], [Some(Verdict::Admitted); 15]);
    assert_eq!(verdicts[15], Some(Verdict::Trips));
}

#[test]
fn an_entry_that_an_heir_repeats_counts_once_and_keeps_its_verdict() {
    let list = encode(&[
        entry(0, "a", 1, Wish::Match),
        entry(1, "a", 2, Wish::Match),
        entry(2, "a", 2, Wish::Match),
        entry(3, "b", 1, Wish::Match),
        entry(4, "b", 2, Wish::Match),
    ]);
    let verdict = |job: &str, seq| {
        let job = JobId::parse(job).expect("an id");
        verdict(&list, &job, seq)
    };
    assert_eq!(verdict("a", 2), Some(Verdict::Admitted));
    assert_eq!(verdict("b", 1), Some(Verdict::Admitted));
    assert_eq!(verdict("b", 2), Some(Verdict::Trips));
    assert_eq!(verdict("b", 3), None);
}

/// A list is never cut between an entry and its repeat: the repeat would count as a new entry.
#[test]
fn trimming_a_list_does_not_make_a_late_repeat_count_as_new() {
    let list = encode(&[
        entry(0, "a", 1, Wish::Match),
        entry(50, "b", 1, Wish::Match),
        entry(0, "a", 1, Wish::Match),
        entry(51, "b", 2, Wish::Match),
    ]);
    let rest = trimmed(&list, &boot(), SMALL, BootTime::from_ms(52));
    let next = entry(52, "c", 1, Wish::Match);
    assert_eq!(
        fold(&list[rest..]).apply(&next),
        fold(&list).apply(&next),
        "cut at {rest}"
    );
    // If an entry and its repeat are both cut off, nothing is counted twice.
    assert_eq!(
        trimmed(&list, &boot(), SMALL, BootTime::from_ms(1000)),
        list.len()
    );
}

#[test]
fn incomplete_lines_and_other_boots_are_skipped() {
    let before = Entry {
        boot: BootId("before".into()),
        ..entry(9_999_999, "a", 9, Wish::Match)
    };
    let whole = entry(5, "a", 1, Wish::Match);
    let torn = &whole.encode()[..20];
    let list = [&before.encode(), torn, &whole.encode(), b"\xff\0\n{}", torn].concat();
    let read: Vec<Entry> = entries(&list, &boot()).map(|(_, entry)| entry).collect();
    assert_eq!(read, [whole]);
}

#[test]
fn the_format_of_an_entry_stays_readable() {
    assert_eq!(
        String::from_utf8(entry(5, "a", 7, Wish::Resumed).encode()).expect("text"),
        "\n{\"boot\":\"now\",\"at_ms\":5,\"job\":\"a\",\"seq\":7,\"wish\":\"resumed\",\"matches\":0}\n"
    );
}

/// Entries of a few jobs. Some are repeated, some have a slightly earlier time.
fn lists() -> impl Strategy<Value = Vec<Entry>> {
    let step = (0..12u64, 0..3u64, 0..3usize, 0..10u8);
    prop::collection::vec(step, 0..40).prop_map(|steps| {
        let (mut now, mut seqs) = (100, [0u64; 3]);
        steps
            .into_iter()
            .map(|(later, early, job, kind)| {
                now += later * later / 4;
                let wish = if kind == 0 {
                    Wish::Resumed
                } else {
                    Wish::Match
                };
                if kind != 1 || seqs[job] == 0 {
                    seqs[job] += 1;
                }
                entry(now - early, &format!("j{job}"), seqs[job], wish)
            })
            .collect()
    })
}

/// A simple model that looks back over all earlier entries for each entry.
fn model(entries: &[Entry], rules: BreakerRules) -> Vec<Option<Verdict>> {
    let mut verdicts: Vec<(u64, Option<Verdict>)> = Vec::new();
    let mut silence: Option<(u64, u64)> = None;
    for (place, entry) in entries.iter().enumerate() {
        let repeated = entries[..place]
            .iter()
            .any(|other| (&other.job, other.seq) == (&entry.job, entry.seq));
        if repeated {
            verdicts.push((0, None));
            continue;
        }
        let at = entry
            .at
            .ms()
            .max(verdicts.iter().map(|(at, _)| *at).max().unwrap_or(0));
        let since_resumed = verdicts
            .iter()
            .rposition(|(_, verdict)| matches!(verdict, Some(Verdict::Resumes { .. })))
            .unwrap_or(0);
        let recent = verdicts[since_resumed..]
            .iter()
            .zip(&entries[since_resumed..])
            .filter(|((then, verdict), entry)| {
                let told = matches!(verdict, Some(Verdict::Admitted | Verdict::Resumes { .. }));
                told && entry.wish == Wish::Match && at - then < rules.window_ms
            })
            .count();
        let verdict = match (silence, entry.wish) {
            (Some((tripped, silenced)), _) if at - tripped >= rules.silence_ms => {
                silence = None;
                Verdict::Resumes { silenced }
            }
            (_, Wish::Resumed) => Verdict::Idle,
            (Some((tripped, silenced)), Wish::Match) => {
                silence = Some((tripped, silenced + entry.matches));
                Verdict::Silenced
            }
            (None, Wish::Match) if recent < rules.most => Verdict::Admitted,
            (None, Wish::Match) => {
                silence = Some((at, entry.matches));
                Verdict::Trips
            }
        };
        verdicts.push((at, Some(verdict)));
    }
    verdicts.into_iter().map(|(_, verdict)| verdict).collect()
}

proptest! {
    #[test]
    fn the_breaker_agrees_with_the_simple_model(entries in lists()) {
        prop_assert_eq!(verdicts(&entries, SMALL), model(&entries, SMALL));
    }

    #[test]
    fn no_window_admits_more_matches_than_allowed(entries in lists()) {
        let verdicts = verdicts(&entries, SMALL);
        let mut now = 0;
        let told: Vec<u64> = entries.iter().zip(&verdicts).filter_map(|(entry, verdict)| {
            now = now.max(if verdict.is_some() { entry.at.ms() } else { 0 });
            let told = matches!(verdict, Some(Verdict::Admitted | Verdict::Resumes { .. }));
            (told && entry.wish == Wish::Match).then_some(now)
        }).collect();
        for some in told.windows(SMALL.most + 1) {
            prop_assert!(some[SMALL.most] - some[0] >= SMALL.window_ms);
        }
    }

    #[test]
    fn later_entries_never_change_a_verdict(entries in lists(), cut in 0..40usize) {
        let cut = cut.min(entries.len());
        let all = encode(&entries);
        let some = encode(&entries[..cut]);
        for entry in &entries[..cut] {
            prop_assert_eq!(
                verdict(&some, &entry.job, entry.seq),
                verdict(&all, &entry.job, entry.seq)
            );
        }
    }

    #[test]
    fn trimming_a_list_changes_no_later_verdict(entries in lists(), cut in 0..40usize, later in 0..100u64) {
        // A repeat of an entry that was cut off counts as new; this list has no repeats.
        let entries: Vec<Entry> = (1..).zip(entries).map(|(seq, entry)| Entry { seq, ..entry }).collect();
        let cut = cut.min(entries.len());
        let list = encode(&entries[..cut]);
        let now = entries[..cut].iter().map(|entry| entry.at.ms()).max().unwrap_or(0) + later;
        let rest = trimmed(&list, &boot(), SMALL, BootTime::from_ms(now));
        let next = entries[cut..].iter().map(|entry| Entry { at: entry.at + Millis(later), ..entry.clone() });
        let next: Vec<u8> = next.flat_map(|entry| entry.encode()).collect();
        let whole = [&list[..], &next].concat();
        for (_, entry) in self::entries(&whole[rest..], &boot()) {
            prop_assert_eq!(
                verdict(&whole, &entry.job, entry.seq),
                verdict(&whole[rest..], &entry.job, entry.seq)
            );
        }
    }

    #[test]
    fn reading_only_the_new_entries_gives_the_same_state(entries in lists(), cut in 0..40usize) {
        let cut = cut.min(entries.len());
        let (some, rest) = (encode(&entries[..cut]), encode(&entries[cut..]));
        prop_assert_eq!(all_verdicts(&[&some, &rest]), all_verdicts(&[&encode(&entries)]));
    }

    #[test]
    fn reading_an_arbitrary_list_never_panics(list: Vec<u8>, now: u64) {
        fold(&list);
        prop_assert!(trimmed(&list, &boot(), SMALL, BootTime::from_ms(now)) <= list.len());
    }
}
