//! A place prints as itself, and nothing in the address of a host is read as an option or by a shell.

use outlive_core::place::{Address, PlaceName};

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(place) = PlaceName::parse(text) else {
        return;
    };
    assert_eq!(PlaceName::parse(&place.to_string()).as_ref(), Ok(&place));
    assert!(!text.chars().any(char::is_control), "it would be two lines");
    let PlaceName::At(address) = place else {
        return;
    };
    let written = String::from(address.clone());
    assert_eq!(Address::try_from(written).as_ref(), Ok(&address));
    if let Address::Ssh(host) = address {
        let words = [Some(host.host), host.user];
        for word in words.into_iter().flatten() {
            assert!(
                !word.is_empty() && !word.starts_with('-'),
                "an option of ssh"
            );
            let is_special = |letter: char| letter.is_whitespace() || "'\"\\;|&$`".contains(letter);
            assert!(!word.contains(is_special), "a shell would read it");
        }
    }
}
