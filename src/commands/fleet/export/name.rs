//! The names of a tool's objects.

/// Characters of a name that are for people: with what follows, Helm takes it for the name of a release.
const READABLE: usize = 40;
/// Hex digits that make it the only one.
const HASHED: usize = 8;

/// A name that people can read, of what no other deployment is called: the fleet, and what stands behind it.
pub(super) fn object_name(all: &str) -> String {
    let (_, readable) = all.split_once('/').unwrap_or(("", all));
    let plain = |it: char| if it.is_ascii_alphanumeric() { it } else { '-' };
    let readable: String = readable.chars().map(plain).take(READABLE).collect();
    let hash = files::digest(all.as_bytes()).hex();
    format!("{readable}-{}", &hash[..HASHED])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_label_and_tells_apart_what_reads_alike() {
        let [one, other] = ["f/a-b/c/d", "f/a/b-c/d"].map(object_name);
        assert!(one.starts_with("a-b-c-d-") && other.starts_with("a-b-c-d-"));
        assert_ne!(one, other);
        let long = object_name(&format!("f/{}/prod/shop", "a.".repeat(60)));
        assert!(long.len() <= 53, "{long}");
        assert!(!long.contains('.') && !long.ends_with('-'), "{long}");
    }
}
