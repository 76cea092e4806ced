//! A screen of any size accepts arbitrary bytes, and its repaint shows the same screen.

use crate::read;
use outlive::Size;
use outlive::fuzzing::emulated;

fn size((rows, cols): (u8, u8)) -> Size {
    Size {
        rows: u16::from(rows),
        cols: u16::from(cols),
    }
}

pub fn check(bytes: &[u8]) {
    let Some((first, later, cut, bytes)) = read::<((u8, u8), (u8, u8), u16, &[u8])>(bytes) else {
        return;
    };
    let (before, after) = bytes.split_at(usize::from(cut) % (bytes.len() + 1));
    let (text, repaint) = emulated(size(first), before, size(later), after);
    let (again, _) = emulated(size(later), &repaint, size(later), b"");
    assert_eq!(text, again);
}
