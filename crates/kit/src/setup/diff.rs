//! Shows what would change in a file, line by line.

/// The number of unchanged lines shown around a change.
const CONTEXT_LINES: usize = 2;
/// With more pairs of lines to compare, the differing part is shown as one block.
const MAX_PAIRS: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    Before,
    After,
}

/// The removed (`-`) and added (`+`) lines, with a few lines around them.
pub fn diff(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = compare(&old, &new);
    let changed: Vec<usize> = (0..lines.len())
        .filter(|at| lines[*at].0 != Side::Both)
        .collect();
    let mut text = String::new();
    let mut shown_to = 0;
    for at in changed {
        let from = at.saturating_sub(CONTEXT_LINES).max(shown_to);
        let to = (at + 1 + CONTEXT_LINES).min(lines.len());
        if from > shown_to {
            text.push_str("  …\n");
        }
        for (side, line) in &lines[from.min(to)..to] {
            let sign = match side {
                Side::Both => ' ',
                Side::Before => '-',
                Side::After => '+',
            };
            text.push_str(&format!("{sign} {line}\n"));
        }
        shown_to = to.max(shown_to);
    }
    text
}

fn compare<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(Side, &'t str)> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(new).take_while(same).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev());
    let tail = tail.take(rest).take_while(same).count();
    let (a, b) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut lines: Vec<(Side, &str)> = old[..head].iter().map(|line| (Side::Both, *line)).collect();
    lines.extend(middle(a, b));
    lines.extend(
        old[old.len() - tail..]
            .iter()
            .map(|line| (Side::Both, *line)),
    );
    lines
}

/// Finds the longest list of lines that both have.
fn middle<'t>(a: &[&'t str], b: &[&'t str]) -> Vec<(Side, &'t str)> {
    if a.len().saturating_mul(b.len()) > MAX_PAIRS {
        let gone = a.iter().map(|line| (Side::Before, *line));
        return gone
            .chain(b.iter().map(|line| (Side::After, *line)))
            .collect();
    }
    let mut common = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = match a[i] == b[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            lines.push((Side::Both, a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push((Side::Before, a[i]));
            i += 1;
        } else {
            lines.push((Side::After, b[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_and_their_context_are_shown() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let after = "a\nb\nc\nd\nE\nf\ng\nh\ni\n";
        let expected = "  …\n  c\n  d\n- e\n+ E\n  f\n  g\n  h\n+ i\n";
        assert_eq!(diff(before, after), expected);
        assert_eq!(diff(before, before), "");
        assert_eq!(diff("", "a\n"), "+ a\n");
    }
}
