//! Image references in texts: their positions, the evidence that distinguishes them from other texts, and their
//! complete form. A [`Hint`] states what the name of a field, flag or variable says about its value.

use std::collections::BTreeSet;
use std::ops::Range;

use schemas::ImageReference;

/// The registry that container engines use for a reference without one.
const DEFAULT_REGISTRY: &str = "docker.io";
/// The characters around references in arguments, variables and files.
const SEPARATORS: &[char] = &[',', '=', ';', '"', '\'', '(', ')', '[', ']', '{', '}', '|'];

/// The schemes of references, which define how images are pulled.
const SCHEMES: [&str; 2] = ["docker://", "oci://"];

/// The image of a container that an admission webhook replaces, as service meshes write it.
pub(crate) const PROVIDED: &str = "auto";
/// The key of a ConfigMap with documented example settings. It is a convention of knative, whose programs never read
/// it, and some of them reject a ConfigMap in which it was changed.
pub const EXAMPLE: &str = "_example";

/// The hint that a name gives about its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The text is a reference: `image` of a container, `RELATED_IMAGE_*`.
    Image,
    /// The name contains `image`: `--web-image`, `DEFAULT_IMAGE`.
    Named,
    /// The name shows that a program only reports the text and does not start it: `OTEL_RESOURCE_ATTRIBUTES`.
    Reported,
    /// The name gives no hint. Only a text with a registry and a tag or digest counts.
    None,
}

/// The words after `image` that denote a part of a reference or a setting for pulling.
const OTHERS: [&str; 12] = [
    "policies",
    "policy",
    "prefix",
    "prefixes",
    "registries",
    "registry",
    "repo",
    "repos",
    "repositories",
    "repository",
    "secret",
    "secrets",
];

/// The end of the names of fields with an image: `image`, `sidecarImage`.
const IMAGE: &str = "mage";

/// The quotes around names and values in YAML and JSON.
const QUOTES: [char; 2] = ['"', '\''];

/// The word before `image` for references to which a program adds the tag.
const BASE: &str = "base";

/// The words that denote telemetry.
const TELEMETRY: [&str; 2] = ["otel", "telemetry"];

impl Hint {
    /// Returns the hint of the name of a variable, flag or field.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        if name.to_lowercase().starts_with("related_image_") {
            return Self::Image;
        }
        let words: Vec<String> = split_name(name).map(str::to_lowercase).collect();
        let Some(last) = words.iter().rposition(|word| word.contains("image")) else {
            let is_reported = words.iter().any(|word| TELEMETRY.contains(&word.as_str()));
            return if is_reported {
                Self::Reported
            } else {
                Self::None
            };
        };
        // Words may be joined: `imagepullsecrets`, `baseimage`.
        let is_other = |word: &String| {
            let word = word.trim_start_matches("image");
            OTHERS.contains(&word.trim_start_matches("pull"))
        };
        let is_base = |word: &String| word.trim_end_matches("image") == BASE;
        if words[last..].iter().any(is_other) || words.iter().any(is_base) {
            Self::None
        } else {
            Self::Named
        }
    }

    /// Returns the hint of an argument about the next one, which is its value if the argument is a flag.
    #[must_use]
    pub fn from_argument(argument: &str) -> Self {
        if argument.starts_with('-') && !argument.contains(['=', ' ']) {
            Self::from_name(argument)
        } else {
            Self::None
        }
    }

    /// Returns true if the text is about images.
    #[must_use]
    pub fn says_image(self) -> bool {
        matches!(self, Self::Image | Self::Named)
    }

    /// Returns this hint, or the other one if this is [`Hint::None`].
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::None => other,
            said => said,
        }
    }
}

/// Splits a name into words: `SOME_NAME`, `some-name`, `some.name`, `someName`.
fn split_name(name: &str) -> impl Iterator<Item = &str> {
    let parts = name.split(|c: char| !c.is_alphanumeric());
    parts.flat_map(|part| {
        let mut before = None;
        let mut begin = 0;
        let mut words = Vec::new();
        for (index, c) in part.char_indices() {
            let is_end = before.is_some_and(char::is_lowercase) && c.is_uppercase();
            if is_end {
                words.push(&part[begin..index]);
                begin = index;
            }
            before = Some(c);
        }
        words.push(&part[begin..]);
        words
    })
}

/// Names of images that are known from values, lists or other images. A text that equals such a name is an image even
/// if nothing else shows it.
#[derive(Clone, Debug, Default)]
pub struct KnownNames {
    /// The registry and repository of each name.
    repositories: BTreeSet<String>,
    /// The complete references that were added with a tag or digest.
    references: BTreeSet<String>,
}

impl KnownNames {
    /// Adds a reference with or without a tag. A text that is not a reference is ignored.
    pub fn add(&mut self, written: &str) {
        let Some(reference) = normal(written) else {
            return;
        };
        self.repositories.insert(repository(&reference));
        if is_pinned(written) {
            self.references.insert(reference.to_string());
        }
    }

    /// Adds all names of another collection.
    pub fn extend(&mut self, other: Self) {
        self.repositories.extend(other.repositories);
        self.references.extend(other.references);
    }

    /// Returns the registry and repository of each name.
    pub fn repositories(&self) -> impl Iterator<Item = &str> {
        self.repositories.iter().map(String::as_str)
    }

    /// Checks whether a token is a known name with a tag or digest. Without a registry, the token may be a host with a
    /// port or a role that is written in the same way (`redis:6379`, `web/redis:6379`, `redis:admin`).
    #[must_use]
    pub fn has(&self, token: &str) -> bool {
        if !is_pinned(token) {
            return false;
        }
        let Some(reference) = normal(token) else {
            return false;
        };
        if !self.repositories.contains(&repository(&reference)) {
            return false;
        }
        host(token).is_some()
            || self.references.contains(reference.as_str())
            || reference.tag().is_none_or(|tag| is_no_other(tag, token))
    }
}

/// Checks whether the text after the colon of a token can only be a tag. After a path, a number of at most two digits
/// is more likely a version than a port.
fn is_no_other(tag: &str, token: &str) -> bool {
    let is_path = token.contains('/');
    let is_number = tag.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = !tag.bytes().any(|byte| byte.is_ascii_digit()) && tag != "latest";
    match (is_number, is_word) {
        (true, _) => is_path && tag.len() <= 2,
        (_, is_word) => is_path || !is_word,
    }
}

/// Returns the positions of references in a text.
#[must_use]
pub fn references(text: &str, hint: Hint) -> Vec<Range<usize>> {
    named_tokens(text, hint)
        .filter(|(range, hint)| is_reference(&text[range.clone()], *hint))
        .map(|(range, _)| range)
        .collect()
}

/// Splits a text into tokens, each with its hint: of the whole text, of the preceding flag, or of the field in the
/// text.
pub(crate) fn named_tokens(
    text: &str,
    about: Hint,
) -> impl Iterator<Item = (Range<usize>, Hint)> + '_ {
    let mut said = Hint::None;
    let mut fields = image_fields(text).peekable();
    tokens(text).map(move |range| {
        let token = &text[range.clone()];
        while fields.next_if(|field| field.start < range.start).is_some() {}
        let of_field = fields
            .next_if_eq(&range)
            .map_or(Hint::None, |_| Hint::Named);
        let hint = about.or(said).or(of_field);
        // Quotes, continued lines and the dashes of lists may separate a flag from its value.
        if !matches!(token, "" | "\\" | "-") {
            said = Hint::from_argument(token);
        }
        (range, hint)
    })
}

/// Finds the values of image fields with a tag or digest in a text that may contain YAML or JSON. The text is not
/// parsed, because YAML also occurs within texts of YAML and in templates that a program fills in.
fn image_fields(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let ends = text.match_indices(IMAGE).map(|(at, word)| at + word.len());
    ends.filter_map(|end| image_field(text, end))
}

/// Returns the value of the field whose name ends at `end`. A value that is completed by a template is not a reference.
fn image_field(text: &str, end: usize) -> Option<Range<usize>> {
    let (before, rest) = text.split_at(end);
    let quote = rest.chars().next().filter(|c| QUOTES.contains(c));
    let rest = rest[quote.map_or(0, char::len_utf8)..].trim_start_matches(' ');
    // The work below is done only for names with a colon, so that each byte of the text is inspected once.
    let rest = rest.strip_prefix(':')?;
    let name = before
        .rfind(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.'))
        .map_or(0, |at| {
            at + before[at..].chars().next().map_or(0, char::len_utf8)
        });
    let (before, name) = before.split_at(name);
    let value = rest.trim_start_matches(' ');
    let is_field = match quote {
        Some(quote) => before.ends_with(quote),
        // A field without quotes is the first word of its line. Other words with a colon are prose.
        None if value.len() < rest.len() => {
            let before = before.trim_end_matches([' ', '-']);
            before.is_empty() || before.ends_with('\n')
        }
        None => false,
    };
    if !is_field || !Hint::from_name(name).says_image() {
        return None;
    }
    let quote = value.chars().next().filter(|c| QUOTES.contains(c));
    let start = text.len() - value.len() + quote.map_or(0, char::len_utf8);
    let is_end = |c: char| c.is_whitespace() || SEPARATORS.contains(&c);
    let end = text[start..]
        .find(is_end)
        .map_or(text.len(), |length| start + length);
    let after = &text[end..];
    let line = after.trim_start_matches([' ', '\r']);
    let is_whole = match quote {
        Some(quote) => after.starts_with(quote),
        None if line.len() < after.len() => line.is_empty() || line.starts_with(['\n', '#']),
        None => line.is_empty() || line.starts_with('\n'),
    };
    (is_whole && is_pinned(&text[start..end])).then_some(start..end)
}

/// Returns the tokens between white space and separators, without the scheme of a reference.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut begin = 0;
    let tokens = text.split(|c: char| c.is_whitespace() || SEPARATORS.contains(&c));
    tokens.map(move |token| {
        let scheme = SCHEMES.iter().find(|scheme| token.starts_with(**scheme));
        let range = begin + scheme.map_or(0, |scheme| scheme.len())..begin + token.len();
        // Every listed separator has one byte, but white space may have more.
        let separator = text[range.end..].chars().next().map_or(0, char::len_utf8);
        begin = range.end + separator;
        range
    })
}

/// Checks whether a token is a reference, given its hint.
pub(crate) fn is_reference(token: &str, hint: Hint) -> bool {
    match hint {
        Hint::Image => token != PROVIDED && token.parse::<ImageReference>().is_ok(),
        Hint::Named => {
            let parsed = token.parse::<ImageReference>().is_ok();
            is_pinned(token) || (parsed && token.contains('/'))
        }
        Hint::Reported => false,
        Hint::None => is_pinned(token) && host(token).is_some(),
    }
}

/// Checks whether a token is a reference with a tag or digest. Without either, any word has the form of a reference.
pub(crate) fn is_pinned(token: &str) -> bool {
    let reference = token.parse::<ImageReference>();
    reference.is_ok_and(|reference| reference.tag().is_some() || token.contains('@'))
}

/// Returns the host of the registry, by the rule with which container engines distinguish it from a path.
#[must_use]
pub fn host(reference: &str) -> Option<&str> {
    let (first, _) = reference.split_once('/')?;
    (first.contains(['.', ':']) || first == "localhost").then_some(first)
}

/// Returns the complete form of a reference, with registry and tag or digest, as container engines complete it.
#[must_use]
pub fn normal(written: &str) -> Option<ImageReference> {
    written.parse::<ImageReference>().ok()?;
    let (host, path) = match host(written) {
        Some(host) => (host, &written[host.len() + 1..]),
        None => (DEFAULT_REGISTRY, written),
    };
    // Docker Hub has multiple host names for one registry.
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

/// Returns the repository without its registry, tag and digest.
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

/// Returns the registry and repository of a complete reference.
#[must_use]
pub fn repository(reference: &ImageReference) -> String {
    let host = host(reference.as_str()).unwrap_or_default();
    format!("{host}/{}", path(reference))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_image_unless_one_of_their_words_says_what_else() {
        for (name, hint) in [
            ("RELATED_IMAGE_PROXY", Hint::Image),
            ("CSI_NODE_DRIVER_REGISTRAR_IMAGE", Hint::Named),
            ("nodeDriverRegistrarImage", Hint::Named),
            ("DATABASE_IMAGE", Hint::Named),
            ("SECRETS_STORE_IMAGE", Hint::Named),
            ("--registry-image", Hint::Named),
            ("imagePullSecretName", Hint::None),
            ("--engine-image", Hint::Named),
            ("imageK8S", Hint::Named),
            ("--thanos-default-base-image", Hint::None),
            ("baseImage", Hint::None),
            ("baseimage", Hint::None),
            ("IMAGE_REGISTRY", Hint::None),
            ("imageRepositories", Hint::None),
            ("image.repo", Hint::None),
            ("imagePullPolicy", Hint::None),
            ("imagepullsecrets", Hint::None),
            ("pullPolicy", Hint::None),
            ("OTEL_RESOURCE_ATTRIBUTES", Hint::Reported),
            ("APP_TELEMETRY_DEFAULTS", Hint::Reported),
            ("OTEL_COLLECTOR_IMAGE", Hint::Named),
        ] {
            assert_eq!(Hint::from_name(name), hint, "{name}");
        }
    }

    /// Examples follow longhorn and consul.
    #[test]
    fn the_flag_before_a_reference_names_it() {
        let found = |text: &'static str, hint| {
            let found = references(text, hint).into_iter();
            found.map(|range| &text[range]).collect::<Vec<_>>()
        };
        for (text, expected) in [
            ("--engine-image org/engine:v1", &["org/engine:v1"][..]),
            ("--engine-image=org/engine:v1", &["org/engine:v1"]),
            (
                "exec app \\\n  -proxy-image=\"org/proxy:1\" \\\n  -agent-image \\\n 'org/agent' -name org/other:1",
                &["org/proxy:1", "org/agent"],
            ),
            (
                "args:\n- --engine-image\n- org/engine:v1\n- org/other:1",
                &["org/engine:v1"],
            ),
            ("--image-repository org/engine --tag v1", &[]),
            ("--image-dir /var/lib --threads 3", &[]),
            ("an --image and org/engine:v1", &[]),
        ] {
            assert_eq!(found(text, Hint::None), expected, "{text}");
        }
    }

    #[test]
    fn a_known_name_with_a_tag_is_an_image_wherever_it_stands() {
        let mut names = KnownNames::default();
        for name in ["org/agent", "redis:7", "quay.io/org/web:8080", "", "A B"] {
            names.add(name);
        }
        for (token, is_known) in [
            ("org/agent:v1", true),
            ("docker.io/org/agent:1", true),
            ("org/agent:v1-jdk21", true),
            ("org/agent:17", true),
            (&format!("org/agent@sha256:{}", "5".repeat(64)), true),
            // Without a tag, the image is ambiguous.
            ("org/agent", false),
            // Another repository.
            ("org/agents:v1", false),
            ("quay.io/org/agent:v1", false),
            ("org/web:v1", false),
            // A Service of a namespace with its port, unless this is the known tag.
            ("org/agent:50000", false),
            ("redis:6379", false),
            ("redis:7", true),
            ("redis:7-alpine", true),
            ("redis:latest", true),
            ("redis:admin", false),
            ("quay.io/org/web:9090", true),
        ] {
            assert_eq!(names.has(token), is_known, "{token}");
        }
    }

    /// The example follows the template of a sidecar injector: YAML within YAML, which is invalid until it is filled
    /// in.
    #[test]
    fn a_field_that_says_image_names_one_in_any_text() {
        let found = |text: &'static str| {
            let found = references(text, Hint::None).into_iter();
            found.map(|range| &text[range]).collect::<Vec<_>>()
        };
        for (text, expected) in [
            (
                "templates:\n  simple: |\n    {{- if .On }}\n    spec:\n      initContainers:\n        - name: init\n          image: busybox:1.28\n",
                &["busybox:1.28"][..],
            ),
            (
                "- image: 'org/a:1'\r\n  - image: org/b:2 # ours\r\n",
                &["org/a:1", "org/b:2"],
            ),
            (
                "- - image:  \"a:1\"\n'image': b:2\nimage: c:3",
                &["a:1", "b:2", "c:3"],
            ),
            (
                "sidecarImage: org/a:1\nbaseImage: org/b:1\nimageTag: c:1\n",
                &["org/a:1"],
            ),
            (
                "{\"a\":{\"image\":\"busybox:1.28\"},\n\"image\" : \"a:1\", \"image\": \"b:2\"}",
                &["busybox:1.28", "a:1", "b:2"],
            ),
            // A template placeholder, a reference without a tag, and prose.
            (
                "image: org/a:{{ .Tag }}\nimage: {{ .Hub }}/a:1\nimage: \"{{ .Image }}\"\n",
                &[],
            ),
            (
                "image: a:1-{{ .Build }}\nimage: 'a:1\nimage: a:1 b:2\nimage: a:1#b\n",
                &[],
            ),
            (
                "image: auto\nimage: busybox\nimage:a:1\nimage:\n  a:1\n",
                &[],
            ),
            ("the image: a:1\n# image: b:2\nno {image: c:3}\n", &[]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
        assert!(references("image: a:1", Hint::Reported).is_empty());
    }

    /// A megabyte of text takes one pass, regardless of its content.
    #[test]
    fn long_texts_are_read_in_one_pass() {
        let mut names = KnownNames::default();
        names.add("org/agent");
        let text = "--image \\ - - \"org/agent:v1\"\n".repeat(40_000);
        assert_eq!(references(&text, Hint::None).len(), 40_000);
        let tokens =
            named_tokens(&text, Hint::None).filter(|token| names.has(&text[token.0.clone()]));
        assert_eq!(tokens.count(), 40_000);
        for text in ["image:", "image: ", "- - image", "'image':", "image: a:1 "] {
            assert!(references(&text.repeat(50_000), Hint::None).len() <= 1);
        }
    }
}
