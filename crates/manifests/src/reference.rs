//! References of images in texts: where they stand, how they are told from other texts, and their complete form.

use std::ops::Range;

use schemas::ImageReference;

/// The registry that container engines mean when a reference names none.
const DEFAULT_REGISTRY: &str = "docker.io";
/// What stands around references in arguments, variables and files.
const SEPARATORS: &[char] = &[',', '=', ';', '"', '\'', '(', ')', '[', ']', '{', '}', '|'];

/// What stands before references that name how they are pulled.
const SCHEMES: [&str; 2] = ["docker://", "oci://"];

/// How a text is known to be about images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// It is a reference: `image` of a container, `RELATED_IMAGE_*`.
    Image,
    /// Its name says so: `--web-image`, `DEFAULT_IMAGE`.
    Named,
    /// Nothing says so: only what names registry and tag or digest counts.
    None,
}

impl Hint {
    /// What the name of a variable, flag or field says about its value.
    #[must_use]
    pub fn of(name: &str) -> Self {
        const OTHERS: [&str; 6] = ["policy", "registr", "repositor", "prefix", "secret", "base"];
        let name = name.to_lowercase();
        if name.starts_with("related_image_") {
            Self::Image
        } else if name.contains("image") && !OTHERS.iter().any(|other| name.contains(other)) {
            Self::Named
        } else {
            Self::None
        }
    }
}

/// Where references stand in a text.
#[must_use]
pub fn references(text: &str, hint: Hint) -> Vec<Range<usize>> {
    tokens(text)
        .filter(|range| is_reference(&text[range.clone()], hint))
        .collect()
}

/// What stands between white space and separators, without the scheme of a reference.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut begin = 0;
    let tokens = text.split(|c: char| c.is_whitespace() || SEPARATORS.contains(&c));
    tokens.map(move |token| {
        let scheme = SCHEMES.iter().find(|scheme| token.starts_with(**scheme));
        let range = begin + scheme.map_or(0, |it| it.len())..begin + token.len();
        // Every separator in the list has one byte; white space may have more.
        let separator = text[range.end..].chars().next().map_or(0, char::len_utf8);
        begin = range.end + separator;
        range
    })
}

/// Whether a token is a reference, as far as the hint says.
pub(crate) fn is_reference(token: &str, hint: Hint) -> bool {
    match hint {
        Hint::Image => token.parse::<ImageReference>().is_ok(),
        Hint::Named => {
            let parsed = token.parse::<ImageReference>().is_ok();
            is_pinned(token) || (parsed && token.contains('/'))
        }
        Hint::None => is_pinned(token) && host(token).is_some(),
    }
}

/// Whether a token may be a reference with a tag or a digest; with neither it is any word.
pub(crate) fn is_pinned(token: &str) -> bool {
    let reference = token.parse::<ImageReference>();
    reference.is_ok_and(|reference| reference.tag().is_some() || token.contains('@'))
}

/// The registry's host, as container engines tell it from a path.
#[must_use]
pub fn host(reference: &str) -> Option<&str> {
    let (first, _) = reference.split_once('/')?;
    (first.contains(['.', ':']) || first == "localhost").then_some(first)
}

/// A reference with registry and tag or digest, as container engines complete it.
#[must_use]
pub fn normal(written: &str) -> Option<ImageReference> {
    written.parse::<ImageReference>().ok()?;
    let (host, path) = match host(written) {
        Some(host) => (host, &written[host.len() + 1..]),
        None => (DEFAULT_REGISTRY, written),
    };
    let host = match host {
        "index.docker.io" | "registry-1.docker.io" => DEFAULT_REGISTRY,
        host => host,
    };
    let library = if host == DEFAULT_REGISTRY && !path.contains('/') {
        "library/"
    } else {
        ""
    };
    let tag = if is_pinned(written) { "" } else { ":latest" };
    format!("{host}/{library}{path}{tag}").parse().ok()
}

/// Repository without its registry, and what follows it.
#[must_use]
pub fn path(reference: &ImageReference) -> &str {
    let text = reference.as_str();
    let name = text.split('@').next().unwrap_or_default();
    let name = host(name).map_or(name, |host| &name[host.len() + 1..]);
    let end = name.rfind('/').map_or(0, |slash| slash + 1);
    let colon = name[end..]
        .find(':')
        .map_or(name.len(), |colon| end + colon);
    &name[..colon]
}

/// Registry and repository of a reference in its complete form.
#[must_use]
pub fn repository(reference: &ImageReference) -> String {
    let host = host(reference.as_str()).unwrap_or_default();
    format!("{host}/{}", path(reference))
}
