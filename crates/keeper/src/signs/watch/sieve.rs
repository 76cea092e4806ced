//! Passing over lines in which nothing can match, at the speed of several searches side by side.
//!
//! An automaton goes from state to state with each byte, and the next step needs what the last one
//! found: the processor waits most of the time. A regular expression in which there is some literal text
//! does not mind, since that text is looked for first; for one like `[A-Z]{9,}` there is nothing else. But
//! no match goes beyond its line, so a block of lines can be cut at newlines and searched in several
//! places at once, one step here, one step there:
//!
//! ```text
//!  from ── lane ──┬── lane ──┬── lane ──┬── … ──┐ and again behind it
//!                 └ at the first newline after its share
//! ```
//! What it says is where to look: in the line of that byte something may match, and in none before it. So
//! it need not know how matches begin, and the automaton is a table that stays once it has come to a match.

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::Hir;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// So many fit the processor's registers, and are enough for it not to wait.
const LANES: usize = 6;
/// Long enough for the ends of lanes not to matter, which are searched one after the other.
const LANE: usize = 4096;
/// A few lines.
const NEAR: usize = 512;
/// So many bytes of each lane are searched before it is looked whether there was a match.
const STRIDE: usize = 16;
/// How many states are known. A larger automaton takes too long to be made.
const STATES: usize = 256;
const STEPS: usize = STATES * 256;
/// So many places in an expression, and it is one with large classes: to try it with all bytes is in vain.
const MANY: usize = 2000;
/// What the states take while they are made.
const MAKING: usize = 8 << 20;

/// A state, by where its row of the table begins: a step needs no more than to put the byte into it.
type State = u16;

/// The state that says that there was a match, or that there may have been. It is never left.
const HIT: State = 0;

/// Looks for lines that may match.
pub struct Sieve {
    /// Where each state goes with each byte.
    steps: Box<[State; STEPS]>,
    /// At the beginning of a line.
    start: State,
    /// What bytes it knows.
    knows: Bytes,
    lane: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bytes {
    All,
    /// Classes of all that Unicode has make an automaton that is too large.
    Ascii,
}

impl Sieve {
    /// For an expression in which nothing matches a newline. `None` where its automaton is too large.
    pub fn new(hir: &Hir) -> Option<Sieve> {
        let config = thompson::Config::new()
            .utf8(false)
            .nfa_size_limit(Some(MAKING))
            .which_captures(thompson::WhichCaptures::None);
        let nfa = thompson::Compiler::new()
            .configure(config)
            .build_from_hir(hir)
            .ok()?;
        let of = |bytes| Sieve::of(&nfa, bytes);
        let all = (nfa.states().len() <= MANY).then(|| of(Bytes::All));
        all.flatten().or_else(|| of(Bytes::Ascii))
    }

    fn of(nfa: &thompson::NFA, knows: Bytes) -> Option<Sieve> {
        let mut config = DFA::config()
            .match_kind(MatchKind::All)
            // Where it would have to know about letters beyond ASCII, it says that it does not.
            .unicode_word_boundary(true)
            .skip_cache_capacity_check(true)
            .cache_capacity(MAKING);
        if knows == Bytes::Ascii {
            config = (0x80..=0xff).fold(config, |config, byte| config.quit(byte, true));
        }
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa.clone());
        let dfa = dfa.ok()?;
        let making = Making {
            dfa: &dfa,
            cache: dfa.create_cache(),
            known: HashMap::new(),
            states: Vec::new(),
        };
        making.make(knows)
    }

    /// Where in a block of whole lines something may match, at or after `from`: nothing in a line before
    /// that of this byte does. What it knows nothing of is searched by `other`.
    pub fn first(
        &self,
        block: &[u8],
        from: usize,
        other: impl Fn(Range<usize>) -> Option<usize>,
    ) -> Option<usize> {
        let mut lanes = one_lane(self.lane.min(NEAR), block, from);
        loop {
            let (start, end) = (lanes[0].start, lanes[LANES - 1].end);
            let found = match self.knows == Bytes::All || block[start..end].is_ascii() {
                true => self.search(block, lanes),
                false => other(start..end),
            };
            if found.is_some() || end == block.len() {
                return found;
            }
            // The further nothing was found, the less is to be expected.
            lanes = lanes_of(self.lane.min(end - from), block, end);
        }
    }

    /// All lanes side by side as far as the shortest goes, or to the first match; then what is left of each.
    fn search(&self, block: &[u8], lanes: [Range<usize>; LANES]) -> Option<usize> {
        let parts = lanes
            .clone()
            .map(|lane| block[lane].as_chunks::<STRIDE>().0);
        let shortest = parts.map(<[_]>::len).into_iter().min().unwrap_or(0);
        let mut states = [self.start; LANES];
        let mut done = 0;
        for stride in 0..shortest {
            let bytes = parts.map(|part| &part[stride]);
            let next = (0..STRIDE).fold(states, |states, at| {
                std::array::from_fn(|lane| self.step(states[lane], bytes[lane][at]))
            });
            if next.contains(&HIT) {
                break;
            }
            states = next;
            done += STRIDE;
        }
        let mut left = lanes.into_iter().zip(states);
        left.find_map(|(lane, state)| self.search_one(block, lane.start + done..lane.end, state))
    }

    fn search_one(&self, block: &[u8], range: Range<usize>, mut state: State) -> Option<usize> {
        let start = range.start;
        let hit = block[range].iter().position(|byte| {
            state = self.step(state, *byte);
            state == HIT
        });
        // A match is seen with the byte behind it, which is the newline at the latest.
        hit.map(|at| start + at)
    }

    #[inline(always)]
    fn step(&self, state: State, byte: u8) -> State {
        self.steps[place(state, byte)]
    }
}

/// Whole lines each, one after the other, of this length or so.
fn lanes_of(length: usize, block: &[u8], from: usize) -> [Range<usize>; LANES] {
    let length = length.min((block.len() - from).div_ceil(LANES));
    let mut start = from;
    std::array::from_fn(|lane| {
        let end = end_of_line(block, (from + (lane + 1) * length - 1).max(start));
        std::mem::replace(&mut start, end)..end
    })
}

/// What lies next is searched by itself: where lines match, many do, and what other lanes find then is in vain.
fn one_lane(length: usize, block: &[u8], from: usize) -> [Range<usize>; LANES] {
    let end = end_of_line(block, from + length - 1);
    std::array::from_fn(|lane| if lane == 0 { from..end } else { end..end })
}

/// Where the line is over that this byte is in, or would be.
fn end_of_line(block: &[u8], at: usize) -> usize {
    let newline = block.get(at..).and_then(|rest| memchr::memchr(b'\n', rest));
    newline.map_or(block.len(), |newline| at + newline + 1)
}

fn place(state: State, byte: u8) -> usize {
    usize::from(state) | usize::from(byte)
}

/// The state of this number, of which there are no more than there are rows.
fn state(number: usize) -> Option<State> {
    (number < STATES).then_some((number << 8) as State)
}

/// The table while it is made: all states that can be come to.
struct Making<'a> {
    dfa: &'a DFA,
    cache: Cache,
    known: HashMap<LazyStateID, State>,
    /// In the order of their numbers, the first of which is that of a hit.
    states: Vec<LazyStateID>,
}

impl Making<'_> {
    fn make(mut self, knows: Bytes) -> Option<Sieve> {
        let line = start::Config::new()
            .look_behind(Some(b'\n'))
            .anchored(Anchored::No);
        let start = self.dfa.start_state(&mut self.cache, &line).ok()?;
        let start = self.known(start)?;
        let mut steps: Box<[State; STEPS]> = vec![HIT; STEPS].try_into().ok()?;
        let mut done = 0;
        while let Some(next) = self.states.get(done).copied() {
            done += 1;
            self.fill_row(next, state(done)?, &mut steps)?;
        }
        // States that were forgotten meanwhile would be others now.
        (self.cache.clear_count() == 0).then_some(Sieve {
            steps,
            start,
            knows,
            lane: LANE,
        })
    }

    fn fill_row(&mut self, of: LazyStateID, row: State, steps: &mut [State; STEPS]) -> Option<()> {
        // Bytes that no state tells apart are one class.
        let mut known = [None; 256];
        for byte in 0..=u8::MAX {
            let class = usize::from(self.dfa.byte_classes().get(byte));
            let next = match known[class] {
                Some(next) => next,
                None => {
                    let next = self.dfa.next_state(&mut self.cache, of, byte).ok()?;
                    *known[class].insert(self.known(next)?)
                }
            };
            steps[place(row, byte)] = next;
        }
        Some(())
    }

    /// Its row, given if need be; `None` if there are too many.
    fn known(&mut self, id: LazyStateID) -> Option<State> {
        if id.is_match() || id.is_quit() {
            return Some(HIT);
        }
        if let Some(state) = self.known.get(&id) {
            return Some(*state);
        }
        let state = state(self.states.len() + 1)?;
        self.states.push(id);
        self.known.insert(id, state);
        Some(state)
    }
}

impl fmt::Debug for Sieve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sieve")
            .field("knows", &self.knows)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
