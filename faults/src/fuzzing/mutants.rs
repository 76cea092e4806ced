//! Inputs that differ a little from the kept ones.

use crate::random::Random;

/// Bytes that have a meaning for the decoders.
const TELLING: [&[u8]; 16] = [
    b"\n",
    b"\0",
    b"\r",
    b"\"",
    b"{",
    b"}",
    b"\\",
    b"&",
    b"\x1b[",
    b"\x80",
    b"\xff",
    b"-1",
    b"99999999999999999999",
    b"1e999",
    b"\xf0\x9f\x92\xa9",
    b"\\ud800",
];

/// Longer inputs find nothing more.
const MAX_INPUT_BYTES: usize = 4096;

/// One of these inputs with a few random changes.
pub fn mutant(kept: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = kept[random.below(kept.len())].clone();
    for _ in 0..1 + random.below(4) {
        change(&mut bytes, kept, random);
    }
    bytes.truncate(MAX_INPUT_BYTES);
    bytes
}

fn change(bytes: &mut Vec<u8>, kept: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = at + random.below((bytes.len() - at).min(32) + 1);
    match random.below(6) {
        // Flip one bit.
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        // Replace one byte.
        1 if at < bytes.len() => bytes[at] = random.below(256) as u8,
        // Remove a part.
        2 => drop(bytes.drain(at..end)),
        // Repeat a part.
        3 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        // Insert a part of another input.
        4 => {
            let other = &kept[random.below(kept.len())];
            let from = random.below(other.len() + 1);
            let to = from + random.below(other.len() - from + 1);
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        _ => {
            let telling = TELLING[random.below(TELLING.len())];
            bytes.splice(at..at, telling.iter().copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_the_mutants_and_they_differ() {
        let kept = vec![b"one two three".to_vec(), Vec::new(), vec![7; 9]];
        let some = |seed| -> Vec<Vec<u8>> {
            let mut random = Random::new(seed);
            (0..500).map(|_| mutant(&kept, &mut random)).collect()
        };
        assert_eq!(some(1), some(1));
        assert_ne!(some(1), some(2));
        let mut distinct = some(1);
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() > 300, "{}", distinct.len());
        assert!(distinct.iter().all(|bytes| bytes.len() <= MAX_INPUT_BYTES));
    }
}
