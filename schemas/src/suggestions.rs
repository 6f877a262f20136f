//! Suggestions for mistyped names. The distance between two names is the number of edits.

/// Returns the name with the smallest edit distance to a written name. The distance is at most `most`, and less than
/// the number of characters written, so that at least one is kept.
#[must_use]
pub fn nearest<'a, N: AsRef<str> + ?Sized>(
    written: &str,
    names: impl IntoIterator<Item = &'a N>,
    most: usize,
) -> Option<&'a N> {
    let key = |name: &&N| {
        let name = (*name).as_ref();
        let distance = strsim::damerau_levenshtein(name, written);
        (distance, name.to_owned())
    };
    let most = most.min(written.chars().count().saturating_sub(1));
    let nearest = names.into_iter().min_by_key(key);
    nearest.filter(|name| key(name).0 <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_meant_if_few_letters_are_others() {
        let names = ["web", "worker", "db"];
        for (written, expected) in [
            ("wbe", Some("web")),
            ("wokre", Some("worker")),
            ("db", Some("db")),
            ("cart", None),
            ("x", None),
        ] {
            assert_eq!(nearest(written, names, 2), expected, "{written}");
        }
        // Of several that are as near it is always the same one.
        assert_eq!(nearest("ab", ["ac", "aa"], 1), Some("aa"));
        assert_eq!(nearest::<str>("a", [], 9), None);
    }
}
