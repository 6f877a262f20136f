//! Namespaces in texts: decides for each occurrence of a namespace's name whether it is the namespace, may be the
//! namespace, or is another word.
//!
//! A text is split into words (letters, digits, `-`, `_`, `.`) and the separators between them. Placeholders and
//! literals count as words without content. Replacing a word leaves its context unchanged, so that a second compilation
//! finds nothing new. The work is linear: each word is inspected once, with its neighbours.

use std::ops::Range;

use schemas::Namespace;

/// A text with a placeholder for each unambiguous namespace, and the ambiguous occurrences.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NamespaceRewrite {
    pub(crate) text: String,
    pub(crate) unclear: Vec<AmbiguousText>,
}

/// A text that may be a namespace or another word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguousText {
    /// The namespace.
    pub namespace: Namespace,
    /// The original text.
    pub written: String,
    /// The text with the placeholder that may be intended.
    pub meant: String,
}

/// The hint that the name of a field or variable gives about namespaces in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamespaceHint {
    /// The text is a namespace or a list of namespaces.
    Namespace,
    /// The text is an object, as `NAMESPACE/NAME`.
    Object,
    /// The text is the value of a variable or a condition in a namespace selector, and may be a namespace.
    Anything,
    /// The text is about images or objects, whose names may equal namespaces.
    Other,
    /// The name gives no hint.
    Nothing,
}

/// The label with the name of a namespace, which Kubernetes sets.
const LABEL: &str = "kubernetes.io/metadata.name";
/// The annotations whose value is an object of another namespace, as `NAMESPACE/NAME`.
const OBJECTS: [&str; 6] = [
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "nginx.ingress.kubernetes.io/auth-proxy-set-headers",
    "nginx.ingress.kubernetes.io/auth-secret",
    "nginx.ingress.kubernetes.io/auth-tls-secret",
    "nginx.ingress.kubernetes.io/proxy-ssl-secret",
];
/// The last word of flags and variables whose value is never a namespace.
const OTHERS: [&str; 6] = ["class", "id", "label", "name", "selector", "user"];

impl NamespaceHint {
    /// Returns the hint of a field's name.
    pub(crate) fn by_field(name: &str) -> Self {
        if is_named(name) {
            Self::Namespace
        } else if OBJECTS.contains(&name) {
            Self::Object
        } else {
            Self::Nothing
        }
    }

    /// Returns the hint of a variable's name that does not contain `namespace`.
    pub(crate) fn by_variable(name: &str) -> Self {
        if says_otherwise(name) {
            Self::Other
        } else {
            Self::Anything
        }
    }
}

/// Checks whether the name of a field, variable or flag states that its value is a namespace.
pub(crate) fn is_named(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit(['-', '_', '.']).next();
    lower.contains("namespace") || lower == "matchnames" || last == Some("ns") || name == LABEL
}

/// Checks whether the name of a flag or variable states that its value is not a namespace.
fn says_otherwise(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    !is_named(&name) && (name.contains("image") || OTHERS.contains(&last))
}

/// Replaces the namespaces in a text. `apart` are the ranges of placeholders and literals.
pub(crate) fn rewrite(
    text: &str,
    apart: &[Range<usize>],
    namespaces: &[Namespace],
    said: NamespaceHint,
) -> NamespaceRewrite {
    let is_there = |namespace: &Namespace| text.contains(namespace.as_str());
    if !namespaces.iter().any(is_there) {
        return NamespaceRewrite {
            text: text.to_owned(),
            unclear: Vec::new(),
        };
    }
    let words = split_words(text, apart);
    let mut scan = WordScan {
        text,
        namespaces,
        said,
        governed: NamespaceEvidence::No,
        bracketed: false,
        done: 0,
        rewritten: NamespaceRewrite::default(),
    };
    for index in 0..words.len() {
        scan.scan_word(&words, index);
    }
    scan.rewritten.text.push_str(&text[scan.done..]);
    scan.rewritten
}

/// A word of a text.
struct Word<'a> {
    range: Range<usize>,
    /// The text of the word; empty for a placeholder or literal.
    text: &'a str,
}

/// Checks whether a text is a single word.
pub(crate) fn is_word(text: &str) -> bool {
    text.chars().all(is_of_word)
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Splits a text into words. A sequence of dashes and dots alone is not a word.
fn split_words<'a>(text: &'a str, apart: &[Range<usize>]) -> Vec<Word<'a>> {
    let mut words = Vec::new();
    let mut position = 0;
    let end = text.len()..text.len();
    for apart in apart.iter().chain([&end]) {
        let plain = &text[position..apart.start];
        let mut begin = position;
        for piece in plain.split(|c| !is_of_word(c)) {
            let range = begin..begin + piece.len();
            begin = range.end + text[range.end..].chars().next().map_or(0, char::len_utf8);
            if piece.contains(|c: char| c.is_ascii_alphanumeric()) {
                words.push(Word { range, text: piece });
            }
        }
        if !apart.is_empty() {
            words.push(Word {
                range: apart.clone(),
                text: "",
            });
        }
        position = apart.end;
    }
    words
}

/// The evidence in the preceding text that a word is a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamespaceEvidence {
    /// The name of the whole text.
    ByName,
    /// A field, flag or list within the text.
    Within,
    No,
}

/// A traversal of the words of a text.
struct WordScan<'a> {
    text: &'a str,
    namespaces: &'a [Namespace],
    said: NamespaceHint,
    governed: NamespaceEvidence,
    /// True within a list in brackets.
    bracketed: bool,
    /// The length of the input that has been written to the output.
    done: usize,
    rewritten: NamespaceRewrite,
}

/// A word with its surrounding text.
struct WordContext<'a> {
    first: bool,
    previous: &'a str,
    /// True if the preceding word is the label that Kubernetes sets on namespaces.
    label: bool,
    before: &'a str,
    after: &'a str,
    next: Option<&'a Word<'a>>,
    /// The text after the next word.
    beyond: &'a str,
}

impl<'a> WordContext<'a> {
    fn new(text: &'a str, words: &'a [Word<'a>], index: usize) -> Self {
        let word = &words[index].range;
        let previous = index.checked_sub(1).map(|index| &words[index]);
        let next = words.get(index + 1);
        let start = |index: usize| words.get(index).map_or(text.len(), |word| word.range.start);
        let is_label = |word: &Word<'_>| {
            let domain = LABEL.strip_suffix(word.text);
            !word.text.is_empty()
                && domain.is_some_and(|domain| text[..word.range.start].ends_with(domain))
        };
        Self {
            first: previous.is_none(),
            previous: previous.map_or("", |word| word.text),
            label: previous.is_some_and(is_label),
            before: &text[previous.map_or(0, |word| word.range.end)..word.start],
            after: &text[word.end..start(index + 1)],
            next,
            beyond: next.map_or("", |next| &text[next.range.end..start(index + 2)]),
        }
    }

    /// Checks whether the word is an element of a list, separated only by quotes from the delimiters of the list.
    fn is_listed(&self) -> bool {
        let quotes = ['"', '\'', '\\'];
        let before = self.before.trim_end_matches(quotes);
        let after = self.after.trim_start_matches(quotes);
        before.ends_with([',', '[']) && after.starts_with([',', ']'])
    }

    /// Returns the word after this one if both are an object, as `NAMESPACE/NAME`.
    fn as_object(&self) -> Option<&Word<'a>> {
        let begins = match core(self.before).as_str() {
            "" => self.first,
            "=" | ":" | "," => !says_otherwise(self.previous),
            _ => false,
        };
        let ends =
            self.beyond.is_empty() || self.beyond.starts_with([' ', '\n', ',', '"', '\'', '\\']);
        let next = self.next.filter(|next| !next.text.is_empty());
        next.filter(|_| begins && ends && self.after == "/")
    }
}

impl WordScan<'_> {
    fn scan_word(&mut self, words: &[Word<'_>], index: usize) {
        let word = &words[index];
        let around = WordContext::new(self.text, words, index);
        self.update_evidence(&around);
        if word.text.contains('.') {
            self.dns(word, &around);
            return;
        }
        let namespaces = self.namespaces;
        let Some(namespace) = namespaces
            .iter()
            .find(|namespace| namespace.as_str() == word.text)
        else {
            return;
        };
        if self.is_clear(&around) {
            self.replace(word.range.clone(), namespace);
        } else if let Some(end) = self.find_ambiguity(word, &around) {
            self.record_ambiguity(word.range.start..end, word.range.clone(), namespace);
        }
    }

    /// Updates the evidence for the next words from the text before the current one.
    fn update_evidence(&mut self, around: &WordContext<'_>) {
        let when = |holds: bool| {
            if holds {
                NamespaceEvidence::Within
            } else {
                NamespaceEvidence::No
            }
        };
        let flag = around.previous.starts_with('-') && is_named(around.previous);
        let quoted = around.before.contains(['"', '\'']);
        let before = core(around.before);
        self.governed = match before.as_str() {
            "" | "[" | "-" if around.first => {
                self.bracketed = before == "[";
                if self.said == NamespaceHint::Namespace {
                    NamespaceEvidence::ByName
                } else {
                    NamespaceEvidence::No
                }
            }
            // The operators of assignments, selectors and PromQL matchers, and the default of a shell variable.
            "=" | ":" | "==" | "!=" | "=~" | "!~" | ":-" | "=[" | ":[" => {
                self.bracketed = before.ends_with('[');
                when(around.label || is_named(around.previous))
            }
            "" | "," if flag && !around.before.is_empty() => NamespaceEvidence::Within,
            "," | "|" | ";" if self.bracketed || !quoted => self.governed,
            // The next item of a YAML list.
            "-" if around.before.contains('\n') => self.governed,
            "" if self.governed == NamespaceEvidence::ByName => self.governed,
            _ => NamespaceEvidence::No,
        };
    }

    /// Checks whether a word can only be the namespace with this name.
    fn is_clear(&self, around: &WordContext<'_>) -> bool {
        let is_key = core(around.after).starts_with(['=', ':']);
        let is_path = around.after.starts_with('/');
        let blanks = around.after.starts_with(' ') || around.before.ends_with(' ');
        let listed = around.before.contains([',', '|', ';']);
        // The text of a namespace field can still be prose.
        let is_prose = self.governed == NamespaceEvidence::ByName && blanks && !listed;
        let governed = self.governed != NamespaceEvidence::No && !is_key && !is_path && !is_prose;
        // `system:serviceaccount:NAMESPACE:NAME`, and paths of the API such as `/api/v1/namespaces/NAMESPACE/pods`.
        let of_account =
            around.before == ":" && matches!(around.previous, "serviceaccount" | "serviceaccounts");
        let of_api = around.before == "/" && around.previous == "namespaces";
        let of_object =
            self.said == NamespaceHint::Object && around.first && around.before.is_empty();
        governed || of_account || of_api || (of_object && is_path)
    }

    /// Returns the end of the ambiguous text if the word may be the namespace with this name.
    fn find_ambiguity(&self, word: &Word<'_>, around: &WordContext<'_>) -> Option<usize> {
        if self.said == NamespaceHint::Other {
            return None;
        }
        let before = core(around.before);
        let alone = around.first && before.is_empty() && core(around.after).is_empty();
        // `-n` is a namespace for kubectl and Helm, but other programs use it differently.
        let by_flag = around.previous == "-n" && matches!(before.as_str(), "" | "=" | ",");
        let by_itself = alone && self.said == NamespaceHint::Anything;
        let is_one =
            self.governed != NamespaceEvidence::No || by_flag || around.is_listed() || by_itself;
        let of_object = around.as_object().map(|name| name.range.end);
        of_object.or(is_one.then_some(word.range.end))
    }

    /// Replaces the namespace in the DNS names of Services and their pods: `NAME.NAMESPACE.svc`.
    fn dns(&mut self, word: &Word<'_>, around: &WordContext<'_>) {
        let labels: Vec<&str> = word.text.split('.').collect();
        let namespaces = self.namespaces;
        let mut start = word.range.start;
        for (index, label) in labels.iter().enumerate() {
            let range = start..start + label.len();
            start = range.end + 1;
            let before = index.checked_sub(1).map(|before| labels[before]);
            let Some(namespace) = namespaces
                .iter()
                .find(|namespace| namespace.as_str() == *label)
            else {
                continue;
            };
            // `kubernetes.default` is the API server's Service, independent of the release's namespaces.
            if (before, *label) == (Some("kubernetes"), "default") {
                continue;
            }
            let of_service = labels.get(index + 1) == Some(&"svc");
            let of_variable = before.is_none() && around.before.ends_with(['$', '{', '%']);
            if of_service && !of_variable && (before.is_some() || labels.len() > 2) {
                self.replace(range, namespace);
            } else if index + 1 == labels.len() && labels.len() == 2 || (of_service && !of_variable)
            {
                self.record_ambiguity(word.range.clone(), range, namespace);
            }
        }
    }

    fn replace(&mut self, range: Range<usize>, namespace: &Namespace) {
        let written = &mut self.rewritten.text;
        written.push_str(&self.text[self.done..range.start]);
        written.push_str(&placeholder(namespace));
        self.done = range.end;
    }

    /// Records an ambiguous text. `name` is the range of the namespace's name in it.
    fn record_ambiguity(&mut self, range: Range<usize>, name: Range<usize>, namespace: &Namespace) {
        let written = &self.text[range.clone()];
        let (before, after) = (
            &self.text[range.start..name.start],
            &self.text[name.end..range.end],
        );
        let unclear = AmbiguousText {
            namespace: namespace.clone(),
            written: written.to_owned(),
            meant: format!("{before}{}{after}", placeholder(namespace)),
        };
        // One remark for each namespace in a text is enough to find all of them.
        let known = &mut self.rewritten.unclear;
        if known.iter().all(|unclear| unclear.namespace != *namespace) {
            known.push(unclear);
        }
    }
}

fn placeholder(namespace: &Namespace) -> String {
    format!("$(namespace:{namespace})")
}

/// Returns the text between two words without white space and quotes.
fn core(between: &str) -> String {
    let is_idle = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '`');
    between.chars().filter(|c| !is_idle(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACEHOLDER: &str = "$(namespace:app)";

    /// Returns the text with `@` for the placeholder of the namespace `app`, and the first ambiguous text.
    fn rewritten(text: &str, said: NamespaceHint) -> (String, String) {
        let found = rewrite(text, &[], &["app".parse().unwrap()], said);
        let meant = found.unclear.first().map(|unclear| unclear.meant.clone());
        let short = |text: &str| text.replace(PLACEHOLDER, "@");
        (short(&found.text), short(&meant.unwrap_or_default()))
    }

    #[track_caller]
    fn assert_clear(said: NamespaceHint, cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            let found = rewritten(text, said);
            assert_eq!(found, ((*expected).to_owned(), String::new()), "{text}");
        }
    }

    #[test]
    fn what_can_only_be_the_namespace_is_replaced() {
        assert_clear(
            NamespaceHint::Nothing,
            &[
                ("--namespace=app", "--namespace=@"),
                ("-namespace app", "-namespace @"),
                ("--leader-election-ns=\"app\"", "--leader-election-ns=\"@\""),
                ("--namespaces=a,app,b", "--namespaces=a,@,b"),
                (
                    "kubectl --namespace app get pods",
                    "kubectl --namespace @ get pods",
                ),
                ("[\"--namespace\",\"app\"]", "[\"--namespace\",\"@\"]"),
                ("http://web.app.svc:80/app", "http://web.@.svc:80/app"),
                (
                    "a.app.svc.cluster.local,*.app.svc",
                    "a.@.svc.cluster.local,*.@.svc",
                ),
                (
                    "web-0.web.app.svc.cluster.local",
                    "web-0.web.@.svc.cluster.local",
                ),
                ("_peer._tcp.web.app.svc", "_peer._tcp.web.@.svc"),
                ("app.app.svc.app.svc", "app.@.svc.@.svc"),
                ("search app.svc.cluster.local", "search @.svc.cluster.local"),
                (
                    "system:serviceaccount:app:app",
                    "system:serviceaccount:@:app",
                ),
                (
                    "/api/v1/namespaces/app/pods/x",
                    "/api/v1/namespaces/@/pods/x",
                ),
                (
                    "a:\n  namespace: app\n  name: app\n",
                    "a:\n  namespace: @\n  name: app\n",
                ),
                (
                    "namespaces:\n- a\n- app\nnames:\n- app\n",
                    "namespaces:\n- a\n- @\nnames:\n- app\n",
                ),
                (
                    "namespaces: [a, app]\napp: app",
                    "namespaces: [a, @]\napp: app",
                ),
                (
                    r#"{"namespace":"app","name":"app","namespaces":["a","app"]}"#,
                    r#"{"namespace":"@","name":"app","namespaces":["a","@"]}"#,
                ),
                ("up{namespace=~\"a|app\"}", "up{namespace=~\"a|@\"}"),
                ("request.namespace == 'app'", "request.namespace == '@'"),
                (
                    "kubernetes.io/metadata.name: app",
                    "kubernetes.io/metadata.name: @",
                ),
            ],
        );
        assert_clear(
            NamespaceHint::Namespace,
            &[
                ("app", "@"),
                ("a,app", "a,@"),
                ("[\"a\", \"app\"]", "[\"a\", \"@\"]"),
            ],
        );
        assert_clear(NamespaceHint::Object, &[("app/cert", "@/cert")]);
    }

    #[test]
    fn other_words_are_left() {
        assert_clear(
            NamespaceHint::Nothing,
            &[
                "app",
                "--name=app",
                "--name app",
                "web.apps.svc",
                "quay.io/app/app:1",
                "namespace=$app",
                "${app.svc.x} $app.svc.x",
                "metadata.name: app",
                "the app, and others",
                "app/name: x",
            ]
            .map(|text| (text, text)),
        );
        assert_clear(
            NamespaceHint::Other,
            &["app", "app/app", "--x=app/app"].map(|text| (text, text)),
        );
        let default = ["default".parse().unwrap()];
        for text in ["https://kubernetes.default.svc:443", "kubernetes.default"] {
            let found = rewrite(text, &[], &default, NamespaceHint::Nothing);
            assert_eq!((found.text.as_str(), found.unclear.len()), (text, 0));
        }
    }

    #[test]
    fn what_may_be_the_namespace_is_named_and_left() {
        for (said, text, meant) in [
            (NamespaceHint::Nothing, "http://web.app:80", "web.@"),
            (NamespaceHint::Nothing, "app.svc", "@.svc"),
            (NamespaceHint::Nothing, "-n=app", "@"),
            (NamespaceHint::Nothing, "kubectl get -n app pods", "@"),
            (NamespaceHint::Nothing, "app/cert", "@/cert"),
            (
                NamespaceHint::Nothing,
                "--default-certificate=app/cert",
                "@/cert",
            ),
            (NamespaceHint::Nothing, "[Pod,app,web][*/*,app,*]", "@"),
            (
                NamespaceHint::Nothing,
                r#"{"key":"kubernetes.io/metadata.name","values":["app"]}"#,
                "@",
            ),
            (NamespaceHint::Anything, "app", "@"),
            (NamespaceHint::Nothing, "namespaces:\n  app:\n    a: b", "@"),
            (NamespaceHint::Namespace, "where the app is", "@"),
            (NamespaceHint::Namespace, "app/cert", "@/cert"),
        ] {
            let found = rewritten(text, said);
            assert_eq!(found, (text.to_owned(), meant.to_owned()), "{text}");
        }
    }

    #[test]
    fn names_say_what_their_values_are() {
        for (name, named) in [
            ("POD_NAMESPACE", true),
            ("resourceNamespace", true),
            ("matchNames", true),
            ("WATCH_NS", true),
            ("kubernetes.io/metadata.name", true),
            ("DNS", false),
            ("metadata.name", false),
        ] {
            assert_eq!(is_named(name), named, "{name}");
        }
        assert_eq!(
            NamespaceHint::by_field("cert-manager.io/inject-ca-from"),
            NamespaceHint::Object
        );
        assert_eq!(
            NamespaceHint::by_variable("SERVICE_NAME"),
            NamespaceHint::Other
        );
        assert_eq!(
            NamespaceHint::by_variable("TARGET"),
            NamespaceHint::Anything
        );
    }

    /// All combinations of the words and separators that have a meaning.
    #[test]
    fn what_was_rewritten_is_rewritten_no_further() {
        let words = [
            "app",
            "web.app.svc",
            "app.svc.x",
            "--namespace",
            "x",
            "$(namespace:app)",
        ];
        let marks = [
            "", " ", "=", ":", ",", "/", "[", "\",\"", "\n- ", ":\n- ", "$",
        ];
        let namespaces = ["app".parse().unwrap()];
        let again = |text: &str, said| {
            let apart = text.match_indices(PLACEHOLDER);
            let apart: Vec<Range<usize>> =
                apart.map(|(at, _)| at..at + PLACEHOLDER.len()).collect();
            rewrite(text, &apart, &namespaces, said).text
        };
        let pairs = || {
            marks
                .iter()
                .flat_map(|mark| words.iter().map(move |word| format!("{mark}{word}")))
        };
        for first in words {
            for second in pairs() {
                for third in pairs() {
                    let text = format!("{first}{second}{third}");
                    for said in [NamespaceHint::Nothing, NamespaceHint::Namespace] {
                        let once = again(&text, said);
                        assert_eq!(again(&once, said), once, "{text}");
                    }
                }
            }
        }
    }
}
