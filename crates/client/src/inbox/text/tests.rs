use super::*;
use outlive_core::post::Post;
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_last_lines_are_whole_and_fit(text in "[aö\n]{0,80}", most in 1usize..40) {
        let shown = last_lines(&text, most);
        prop_assert!(text.ends_with(shown));
        prop_assert!(shown.chars().count() <= most);
        let before = &text[..text.len() - shown.len()];
        let begins_line = before.is_empty() || before.ends_with('\n');
        prop_assert!(begins_line || !shown.contains('\n'), "{shown:?} begins in a line");
        if !before.is_empty() && begins_line {
            let line = before[..before.len() - 1].rfind('\n').map_or(0, |end| end + 1);
            prop_assert!(text[line..].chars().count() > most, "one more line would have fitted");
        }
    }
}

#[test]
fn a_delegation_stands_alone() {
    let post: Post = serde_json::from_value(json!({
        "format": 1, "id": "d1", "session": "s", "kind": "delegation", "boot": "b",
        "at": {"wall_ms": 1, "boot_ms": 1},
        "data": {
            "goal": "find the bug\nin parse()", "role": "reviewer", "context": "branch x", "tokens": 12,
            "results": [{"goal": "a", "status": "done", "summary": "it was y"}, "just text"],
        },
    }))
    .expect("a post");
    assert_eq!(
        delegation(&post),
        "Delegation d1 \"find the bug…\" has ended; it did not say how: 1 of 2 done, 1 not said.\n\
         | Role: reviewer\n\
         | Goal: find the bug\n\
         |   in parse()\n\
         | Context: branch x\n\
         | tokens: 12\n\
         |   Result 1 of 2 \"a\" is done.\n\
         |     Summary: it was y\n\
         |   Result 2 of 2 has ended; it did not say how:\n\
         |     just text"
    );
}
