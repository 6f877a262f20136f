//! Names of namespaces in texts: which of them are told apart from other words, and which are not.
//!
//! A text is read as words (letters, digits, `-`, `_`, `.`) with what stands between them; placeholders and literals are
//! words that nothing is read from. One that is made of a word leaves what stands around it, so that compiling again
//! finds nothing more. The work is linear: each word is looked at once, with its neighbours.

use std::ops::Range;

use schemas::Namespace;

/// A text with a placeholder for each clear mention of a namespace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NamespaceRewrite {
    pub(crate) text: String,
    pub(crate) unclear: Vec<Unclear>,
}

/// A text that may be a namespace, or another word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unclear {
    /// The namespace.
    pub namespace: Namespace,
    /// The text that is written.
    pub written: String,
    /// The text with the placeholder that may be meant.
    pub meant: String,
}

/// The statement of the name beside a text about the namespaces in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamespaceHint {
    /// The text is a namespace, or a list of them.
    Namespace,
    /// The text is an object, as `NAMESPACE/NAME`.
    Object,
    /// The text is a variable or what a selector of namespaces selects by, and may be one.
    Anything,
    /// The text is about images or objects, whose names may look like namespaces.
    Other,
    /// The name says nothing.
    Nothing,
}

/// The label with the name of a namespace, which Kubernetes sets.
const LABEL: &str = "kubernetes.io/metadata.name";
/// Annotations whose value is an object of another namespace, as `NAMESPACE/NAME`.
const OBJECTS: [&str; 6] = [
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "nginx.ingress.kubernetes.io/auth-proxy-set-headers",
    "nginx.ingress.kubernetes.io/auth-secret",
    "nginx.ingress.kubernetes.io/auth-tls-secret",
    "nginx.ingress.kubernetes.io/proxy-ssl-secret",
];
/// The last word of a flag or variable whose value is no namespace, whatever it is.
const OTHERS: [&str; 6] = ["class", "id", "label", "name", "selector", "user"];

impl NamespaceHint {
    /// Returns what the name of a field says.
    pub(crate) fn by_field(name: &str) -> Self {
        if is_named(name) {
            Self::Namespace
        } else if OBJECTS.contains(&name) {
            Self::Object
        } else {
            Self::Nothing
        }
    }

    /// Returns what the name of a variable says that is not named as a namespace is.
    pub(crate) fn by_variable(name: &str) -> Self {
        if says_otherwise(name) {
            Self::Other
        } else {
            Self::Anything
        }
    }
}

/// Whether the name of a field, variable or flag says that its value is a namespace's name.
pub(crate) fn is_named(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit(['-', '_', '.']).next();
    lower.contains("namespace") || lower == "matchnames" || last == Some("ns") || name == LABEL
}

/// Whether a flag or variable says that its value is something else than a namespace.
fn says_otherwise(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    !is_named(&name) && (name.contains("image") || OTHERS.contains(&last))
}

/// Rewrites the mentions of namespaces in a text of which `apart` are placeholders and literals.
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
    let words = words(text, apart);
    let mut scan = WordScan {
        text,
        namespaces,
        said,
        governed: Governed::No,
        bracketed: false,
        done: 0,
        rewritten: NamespaceRewrite::default(),
    };
    for index in 0..words.len() {
        scan.word(&words, index);
    }
    scan.rewritten.text.push_str(&text[scan.done..]);
    scan.rewritten
}

/// A word of a text.
struct Word<'a> {
    range: Range<usize>,
    /// The text of the word; nothing if it is apart.
    text: &'a str,
}

/// Whether a text is one word.
pub(crate) fn is_word(text: &str) -> bool {
    text.chars().all(is_of_word)
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// The words of a text. Nothing but dashes and dots is no word.
fn words<'a>(text: &'a str, apart: &[Range<usize>]) -> Vec<Word<'a>> {
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

/// Whether what stands before says that a word is a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Governed {
    /// The text itself is one, by its name.
    ByName,
    /// A field, flag or list in the text.
    Within,
    No,
}

/// A walk through the words of a text.
struct WordScan<'a> {
    text: &'a str,
    namespaces: &'a [Namespace],
    said: NamespaceHint,
    governed: Governed,
    /// Whether it is in a list in brackets.
    bracketed: bool,
    /// The length of the text that is written.
    done: usize,
    rewritten: NamespaceRewrite,
}

/// A word with what stands around it.
struct WordContext<'a> {
    first: bool,
    previous: &'a str,
    /// The word before is the label that Kubernetes gives to namespaces.
    label: bool,
    before: &'a str,
    after: &'a str,
    next: Option<&'a Word<'a>>,
    /// The text behind the next word.
    beyond: &'a str,
}

impl<'a> WordContext<'a> {
    fn of(text: &'a str, words: &'a [Word<'a>], index: usize) -> Self {
        let word = &words[index].range;
        let previous = index.checked_sub(1).map(|index| &words[index]);
        let next = words.get(index + 1);
        let start = |index: usize| words.get(index).map_or(text.len(), |it| it.range.start);
        let is_label = |word: &Word<'_>| {
            let domain = LABEL.strip_suffix(word.text);
            !word.text.is_empty() && domain.is_some_and(|it| text[..word.range.start].ends_with(it))
        };
        Self {
            first: previous.is_none(),
            previous: previous.map_or("", |word| word.text),
            label: previous.is_some_and(is_label),
            before: &text[previous.map_or(0, |it| it.range.end)..word.start],
            after: &text[word.end..start(index + 1)],
            next,
            beyond: next.map_or("", |next| &text[next.range.end..start(index + 2)]),
        }
    }

    /// Whether it is in a list, and nothing but quotes between it and the list's marks.
    fn is_listed(&self) -> bool {
        let quotes = ['"', '\'', '\\'];
        let before = self.before.trim_end_matches(quotes);
        let after = self.after.trim_start_matches(quotes);
        before.ends_with([',', '[']) && after.starts_with([',', ']'])
    }

    /// The first part of `NAMESPACE/NAME`, which ends with the word that it returns.
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
    fn word(&mut self, words: &[Word<'_>], index: usize) {
        let word = &words[index];
        let around = WordContext::of(self.text, words, index);
        self.govern(&around);
        if word.text.contains('.') {
            self.dns(word, &around);
            return;
        }
        let namespaces = self.namespaces;
        let Some(namespace) = namespaces.iter().find(|it| it.as_str() == word.text) else {
            return;
        };
        if self.is_clear(&around) {
            self.replace(word.range.clone(), namespace);
        } else if let Some(end) = self.unclear(word, &around) {
            self.doubt(word.range.start..end, word.range.clone(), namespace);
        }
    }

    /// Finds out whether a word is a namespace by what stands before it.
    fn govern(&mut self, around: &WordContext<'_>) {
        let when = |holds: bool| {
            if holds {
                Governed::Within
            } else {
                Governed::No
            }
        };
        let flag = around.previous.starts_with('-') && is_named(around.previous);
        let quoted = around.before.contains(['"', '\'']);
        let before = core(around.before);
        self.governed = match before.as_str() {
            "" | "[" | "-" if around.first => {
                self.bracketed = before == "[";
                if self.said == NamespaceHint::Namespace {
                    Governed::ByName
                } else {
                    Governed::No
                }
            }
            "=" | ":" | "==" | "!=" | "=~" | "!~" | ":-" | "=[" | ":[" => {
                self.bracketed = before.ends_with('[');
                when(around.label || is_named(around.previous))
            }
            "" | "," if flag && !around.before.is_empty() => Governed::Within,
            "," | "|" | ";" if self.bracketed || !quoted => self.governed,
            "-" if around.before.contains('\n') => self.governed,
            "" if self.governed == Governed::ByName => self.governed,
            _ => Governed::No,
        };
    }

    /// Whether a word can only be meant as the namespace that has this name.
    fn is_clear(&self, around: &WordContext<'_>) -> bool {
        let is_key = core(around.after).starts_with(['=', ':']);
        let is_path = around.after.starts_with('/');
        let blanks = around.after.starts_with(' ') || around.before.ends_with(' ');
        let listed = around.before.contains([',', '|', ';']);
        // What is in a field of namespaces may be prose all the same.
        let is_prose = self.governed == Governed::ByName && blanks && !listed;
        let governed = self.governed != Governed::No && !is_key && !is_path && !is_prose;
        let of_account =
            around.before == ":" && matches!(around.previous, "serviceaccount" | "serviceaccounts");
        let of_api = around.before == "/" && around.previous == "namespaces";
        let of_object =
            self.said == NamespaceHint::Object && around.first && around.before.is_empty();
        governed || of_account || of_api || (of_object && is_path)
    }

    /// Whether a word may be meant as the namespace that has this name: the end of what says so.
    fn unclear(&self, word: &Word<'_>, around: &WordContext<'_>) -> Option<usize> {
        if self.said == NamespaceHint::Other {
            return None;
        }
        let before = core(around.before);
        let alone = around.first && before.is_empty() && core(around.after).is_empty();
        let by_flag = around.previous == "-n" && matches!(before.as_str(), "" | "=" | ",");
        let by_itself = alone && self.said == NamespaceHint::Anything;
        let is_one = self.governed != Governed::No || by_flag || around.is_listed() || by_itself;
        let of_object = around.as_object().map(|name| name.range.end);
        of_object.or(is_one.then_some(word.range.end))
    }

    /// The DNS names of Services and their pods: `NAME.NAMESPACE.svc`.
    fn dns(&mut self, word: &Word<'_>, around: &WordContext<'_>) {
        let labels: Vec<&str> = word.text.split('.').collect();
        let namespaces = self.namespaces;
        let mut start = word.range.start;
        for (index, label) in labels.iter().enumerate() {
            let range = start..start + label.len();
            start = range.end + 1;
            let before = index.checked_sub(1).map(|before| labels[before]);
            let Some(namespace) = namespaces.iter().find(|it| it.as_str() == *label) else {
                continue;
            };
            // The API server's own Service, wherever the release is.
            if (before, *label) == (Some("kubernetes"), "default") {
                continue;
            }
            let of_service = labels.get(index + 1) == Some(&"svc");
            let of_variable = before.is_none() && around.before.ends_with(['$', '{', '%']);
            if of_service && !of_variable && (before.is_some() || labels.len() > 2) {
                self.replace(range, namespace);
            } else if index + 1 == labels.len() && labels.len() == 2 || (of_service && !of_variable)
            {
                self.doubt(word.range.clone(), range, namespace);
            }
        }
    }

    fn replace(&mut self, range: Range<usize>, namespace: &Namespace) {
        let written = &mut self.rewritten.text;
        written.push_str(&self.text[self.done..range.start]);
        written.push_str(&placeholder(namespace));
        self.done = range.end;
    }

    /// Notes what may mean a namespace, whose name stands at `name`.
    fn doubt(&mut self, range: Range<usize>, name: Range<usize>, namespace: &Namespace) {
        let written = &self.text[range.clone()];
        let (before, after) = (
            &self.text[range.start..name.start],
            &self.text[name.end..range.end],
        );
        let unclear = Unclear {
            namespace: namespace.clone(),
            written: written.to_owned(),
            meant: format!("{before}{}{after}", placeholder(namespace)),
        };
        // Once for each namespace is enough to say where.
        let known = &mut self.rewritten.unclear;
        if known.iter().all(|it| it.namespace != *namespace) {
            known.push(unclear);
        }
    }
}

fn placeholder(namespace: &Namespace) -> String {
    format!("$(namespace:{namespace})")
}

/// Returns what stands between two words without blanks and quotes.
fn core(between: &str) -> String {
    let is_idle = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '`');
    between.chars().filter(|c| !is_idle(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACEHOLDER: &str = "$(namespace:app)";

    /// The text, with `@` for the placeholder of the namespace `app`, and what may be meant in it.
    fn rewritten(text: &str, said: NamespaceHint) -> (String, String) {
        let found = rewrite(text, &[], &["app".parse().unwrap()], said);
        let meant = found.unclear.first().map(|it| it.meant.clone());
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

    /// Texts of all words and marks that mean something, each with every other.
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
