//! The cost of a regular expression before it is compiled, when the usual limits do not apply yet. Each Unicode class
//! is expanded to all its ranges, and without case sensitivity, each of its characters is looked up.

/// The factor for a class in a pattern that ignores case, which takes about ten times longer.
const FOLDED: usize = 16;

/// Returns the number of Unicode classes that a pattern costs at most. A pattern that only seems to ignore case counts
/// as one that does.
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

/// Returns whether a group of a pattern could have the flag to ignore case.
fn ignores_case(pattern: &str) -> bool {
    pattern.split('?').skip(1).any(|behind| {
        let is_flag = |c: &char| c.is_ascii_alphabetic() || *c == '-';
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
