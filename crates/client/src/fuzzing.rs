//! For the fuzz targets alone: decoders of outside bytes that nobody else needs from outside.

pub use crate::launch::shell::foreground;

use outlive_core::Size;

/// What a terminal of this size shows after these bytes, and what would repaint it; resized in between.
pub fn emulated(size: Size, bytes: &[u8], later: Size, rest: &[u8]) -> (String, Vec<u8>) {
    let mut emulation = crate::screen::Emulation::sized(size);
    emulation.take(bytes);
    emulation.resize(later);
    emulation.take(rest);
    (emulation.rows_text(), emulation.repaint())
}
