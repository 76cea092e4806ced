use super::*;
use proptest::prelude::*;

fn boot() -> BootId {
    BootId("now".into())
}

fn entry(at_ms: u64, job: &str, seq: u64, wish: Wish) -> Entry {
    Entry {
        boot: boot(),
        at_ms,
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

/// What becomes of a job's wish.
fn verdict(list: &[u8], job: &JobId, seq: u64) -> Option<Verdict> {
    all_verdicts(&[list]).remove(&(job.clone(), seq))
}

/// What becomes of each wish in a list that is read in pieces.
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

/// What follows from everything in a list.
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
fn a_flood_trips_it_and_the_first_after_the_silence_resumes() {
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
    assert_eq!(fold(&encode(&entries[..6])).silent_until(), Some(40));
    assert_eq!(fold(&encode(&entries)).silent_until(), None);
}

#[test]
fn the_sixteenth_in_ten_seconds_is_one_too_many() {
    let entries: Vec<Entry> = (1..=16)
        .map(|seq| entry(seq, &format!("j{seq}"), 1, Wish::Match))
        .collect();
    let verdicts = verdicts(&entries, BreakerRules::default());
    assert_eq!(verdicts[..15], [Some(Verdict::Admitted); 15]);
    assert_eq!(verdicts[15], Some(Verdict::Trips));
}

#[test]
fn what_an_heir_repeats_counts_once_and_keeps_its_verdict() {
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

/// A list is not cut between an entry and what repeats it, or that would count.
#[test]
fn what_an_heir_repeats_late_is_not_new_when_the_list_is_trimmed() {
    let list = encode(&[
        entry(0, "a", 1, Wish::Match),
        entry(50, "b", 1, Wish::Match),
        entry(0, "a", 1, Wish::Match),
        entry(51, "b", 2, Wish::Match),
    ]);
    let rest = trimmed(&list, &boot(), SMALL, 52);
    let next = entry(52, "c", 1, Wish::Match);
    assert_eq!(
        fold(&list[rest..]).apply(&next),
        fold(&list).apply(&next),
        "cut at {rest}"
    );
    // Gone with what it repeats, it does no harm.
    assert_eq!(trimmed(&list, &boot(), SMALL, 1000), list.len());
}

#[test]
fn torn_lines_and_other_boots_are_passed_over() {
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
fn what_is_appended_once_is_read_for_ever() {
    assert_eq!(
        String::from_utf8(entry(5, "a", 7, Wish::Resumed).encode()).expect("text"),
        "\n{\"boot\":\"now\",\"at_ms\":5,\"job\":\"a\",\"seq\":7,\"wish\":\"resumed\",\"matches\":0}\n"
    );
}

/// Entries of a few jobs, some repeated, some dated a little early.
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

/// The same by looking back over everything for each entry.
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
            .at_ms
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
    fn it_is_what_looking_back_over_everything_gives(entries in lists()) {
        prop_assert_eq!(verdicts(&entries, SMALL), model(&entries, SMALL));
    }

    #[test]
    fn no_window_has_more_than_the_most(entries in lists()) {
        let verdicts = verdicts(&entries, SMALL);
        let mut now = 0;
        let told: Vec<u64> = entries.iter().zip(&verdicts).filter_map(|(entry, verdict)| {
            now = now.max(if verdict.is_some() { entry.at_ms } else { 0 });
            let told = matches!(verdict, Some(Verdict::Admitted | Verdict::Resumes { .. }));
            (told && entry.wish == Wish::Match).then_some(now)
        }).collect();
        for some in told.windows(SMALL.most + 1) {
            prop_assert!(some[SMALL.most] - some[0] >= SMALL.window_ms);
        }
    }

    #[test]
    fn everybody_learns_the_same_whatever_is_appended_later(entries in lists(), cut in 0..40usize) {
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
    fn what_is_trimmed_is_not_missed(entries in lists(), cut in 0..40usize, later in 0..100u64) {
        // Repeats of what has been taken away are new; here there are none.
        let entries: Vec<Entry> = (1..).zip(entries).map(|(seq, entry)| Entry { seq, ..entry }).collect();
        let cut = cut.min(entries.len());
        let list = encode(&entries[..cut]);
        let now = entries[..cut].iter().map(|entry| entry.at_ms).max().unwrap_or(0) + later;
        let rest = trimmed(&list, &boot(), SMALL, now);
        let next = entries[cut..].iter().map(|entry| Entry { at_ms: entry.at_ms + later, ..entry.clone() });
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
    fn taking_what_is_new_is_taking_all(entries in lists(), cut in 0..40usize) {
        let cut = cut.min(entries.len());
        let (some, rest) = (encode(&entries[..cut]), encode(&entries[cut..]));
        prop_assert_eq!(all_verdicts(&[&some, &rest]), all_verdicts(&[&encode(&entries)]));
    }

    #[test]
    fn any_bytes_are_readable(list: Vec<u8>, now: u64) {
        fold(&list);
        prop_assert!(trimmed(&list, &boot(), SMALL, now) <= list.len());
    }
}
