//! The text view does not depend on how its input is cut, equals the live view, and stays within its
//! budget.

use crate::read;
use outlive::view::{Live, Options, View, Viewed};

fn viewed<'a>(pieces: impl Iterator<Item = &'a [u8]>, options: Options) -> Viewed {
    let mut view = View::new(options);
    pieces.for_each(|piece| view.push(piece));
    view.finish()
}

pub fn check(bytes: &[u8]) {
    let Some((cut, budget, bytes)) = read::<(u8, u16, &[u8])>(bytes) else {
        return;
    };
    let options = Options {
        budget: usize::from(budget).max(512),
        ..Options::default()
    };
    let whole = viewed(std::iter::once(bytes), options);
    let size = usize::from(cut).max(1);
    let cut = viewed(bytes.chunks(size), options);
    assert_eq!(whole, cut);
    let unbounded = Options {
        budget: usize::MAX,
        ..options
    };
    let mut live = Live::new(unbounded.line_limit, 0);
    let mut said = String::new();
    for piece in bytes.chunks(size) {
        live.push(piece, &mut |now| said.push_str(now.text));
    }
    live.finish(&mut |now| said.push_str(now.text));
    assert_eq!(said, viewed(std::iter::once(bytes), unbounded).text);
    assert!(whole.text.len() <= options.budget);
}
