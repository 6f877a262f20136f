//! Cost of a regular expression before it is compiled, where the usual limits do not count yet: each class of Unicode
//! is written out with all its ranges, and where case is ignored every character of it is looked up.

/// The number of classes without that one costs where case is ignored, which takes some ten times longer.
const FOLDED: usize = 16;

/// Returns how many classes of Unicode a pattern comes to. It is never less than that: what only looks as if it ignored
/// case counts as if it did.
#[must_use]
pub fn pattern_weight(pattern: &str) -> usize {
    let (mut classes, mut sets) = (0, 0);
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                let class = bytes.next();
                let is_large = |class| matches!(class, b'p' | b'P' | b'w' | b'W' | b'D' | b'S');
                classes += usize::from(class.is_some_and(is_large));
            }
            b'[' => sets += 1,
            _ => {}
        }
    }
    if ignores_case(pattern) {
        (classes + sets) * FOLDED
    } else {
        classes
    }
}

/// Whether a group of a pattern could have the flag for that.
fn ignores_case(pattern: &str) -> bool {
    pattern.split('?').skip(1).any(|behind| {
        let is_flag = |it: &char| it.is_ascii_alphabetic() || *it == '-';
        let mut flags = behind.chars().take_while(is_flag);
        flags.any(|flag| flag == 'i')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_unicode_weigh_and_more_where_case_is_ignored() {
        for (pattern, weight) in [
            ("", 0),
            ("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", 0),
            (r"\d+\s", 0),
            (r"\\w", 0),
            (r"\", 0),
            (r"^\p{L}[\p{L}\pN-]*$", 3),
            (r"\w\W\D\S\PL", 5),
            ("(?i)abc", 0),
            ("(?i)[^a][^b]", 32),
            (r"(?s-m:a)(?xi:\W)", 16),
            // Nothing ignores case here.
            (r"(colou?ri)\w", 16),
        ] {
            assert_eq!(pattern_weight(pattern), weight, "{pattern}");
        }
    }
}
