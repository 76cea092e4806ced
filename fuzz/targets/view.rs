//! The text view is the same wherever its input is cut, and stays within its budget.
#![no_main]

use libfuzzer_sys::fuzz_target;
use outlive::view::{Options, View, Viewed};

fn viewed<'a>(pieces: impl Iterator<Item = &'a [u8]>, options: Options) -> Viewed {
    let mut view = View::new(options);
    pieces.for_each(|piece| view.push(piece));
    view.finish()
}

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (cut, budget, bytes) = input;
    let options = Options {
        budget: usize::from(budget).max(512),
        ..Options::default()
    };
    let whole = viewed(std::iter::once(bytes), options);
    let cut = viewed(bytes.chunks(usize::from(cut).max(1)), options);
    assert_eq!(whole, cut);
    assert!(whole.text.len() <= options.budget);
});
