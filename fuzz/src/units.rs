//! Durations and sizes: accepted values are within bounds, a larger number of a unit is never a smaller
//! value, and every value can be formatted.

use crate::read;
use outlive_core::units::{MAX_DURATION, parse_duration, parse_size, show_duration, show_size};
use std::time::Duration;

pub fn check(bytes: &[u8]) {
    let Some(text) = read::<&str>(bytes) else {
        return;
    };
    if let Ok(duration) = parse_duration(text) {
        assert!(duration <= MAX_DURATION);
        assert!(!show_duration(duration).is_empty());
        let exact = format!("{}ms", duration.as_millis());
        let again = parse_duration(&exact).expect("it is no longer");
        // Above some hundred years, a float is no longer exact to the microsecond.
        assert!(again.abs_diff(duration) < Duration::from_millis(2));
        if let Ok(more) = parse_duration(&format!("9{}", text.trim())) {
            assert!(more >= duration);
        }
    }
    if let Ok(size) = parse_size(text) {
        assert!(size <= 1 << 53);
        assert!(!show_size(size).is_empty());
        assert_eq!(parse_size(&size.to_string()), Ok(size));
    }
}
