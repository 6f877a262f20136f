//! Names of namespaces in texts: which of them are told apart from other words, and which are not.

use schemas::Namespace;

/// A text with a placeholder for each clear mention of a namespace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// Something may be the namespace, or another word.
    pub(crate) unclear: bool,
}

/// Whether the name of a field, variable or flag says that its value is a namespace's name.
pub(crate) fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("namespace") || name == "matchnames"
}

/// Rewrites the mentions of a namespace: a whole text whose name says that it is one, the value of such a flag, and the
/// second label of the DNS name of a Service (`NAME.NAMESPACE.svc`).
pub(crate) fn rewrite(text: &str, namespace: &Namespace, is_namespace: bool) -> Rewritten {
    let placeholder = format!("$(namespace:{namespace})");
    if !text.contains(namespace.as_str()) {
        return same(text);
    }
    if text == namespace.as_str() {
        return if is_namespace {
            clear(placeholder)
        } else {
            same(text)
        };
    }
    if let Some((flag, value)) = text.split_once('=')
        && value == namespace.as_str()
        && flag.starts_with('-')
        && is_named(flag)
    {
        return clear(format!("{flag}={placeholder}"));
    }
    let mut rewritten = Rewritten {
        text: String::with_capacity(text.len()),
        unclear: false,
    };
    for token in
        text.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))
    {
        let end = token
            .rfind(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.')
            .map_or(0, |last| last + 1);
        let (name, after) = token.split_at(end);
        let labels: Vec<&str> = name.split('.').collect();
        match labels[..] {
            // The API server's own Service, wherever the release is.
            ["kubernetes", "default", ..] => rewritten.text.push_str(name),
            [service, of, "svc", ..] if of == namespace.as_str() => {
                let rest = &name[service.len() + 1 + of.len()..];
                rewritten.text.extend([service, ".", &placeholder, rest]);
            }
            _ => {
                rewritten.unclear |= labels.len() == 2 && labels[1] == namespace.as_str();
                rewritten.text.push_str(name);
            }
        }
        rewritten.text.push_str(after);
    }
    rewritten
}

fn same(text: &str) -> Rewritten {
    clear(text.to_owned())
}

fn clear(text: String) -> Rewritten {
    Rewritten {
        text,
        unclear: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, is_namespace: bool) -> Rewritten {
        rewrite(text, &"app".parse().unwrap(), is_namespace)
    }

    #[test]
    fn namespaces_are_told_from_other_words() {
        for (text, is_namespace, expected) in [
            ("app", true, "$(namespace:app)"),
            ("app", false, "app"),
            ("--namespace=app", false, "--namespace=$(namespace:app)"),
            ("--name=app", false, "--name=app"),
            (
                "http://web.app.svc:80/app",
                false,
                "http://web.$(namespace:app).svc:80/app",
            ),
            (
                "a.app.svc.cluster.local,b.app.svc",
                false,
                "a.$(namespace:app).svc.cluster.local,b.$(namespace:app).svc",
            ),
            ("app.app.svc", false, "app.$(namespace:app).svc"),
            ("web.apps.svc", false, "web.apps.svc"),
            ("quay.io/app/app:1", false, "quay.io/app/app:1"),
        ] {
            let found = changed(text, is_namespace);
            assert_eq!(
                (found.text.as_str(), found.unclear),
                (expected, false),
                "{text}"
            );
        }
        let default = "default".parse().unwrap();
        for (text, expected) in [
            (
                "https://kubernetes.default.svc:443",
                "https://kubernetes.default.svc:443",
            ),
            ("kubernetes.default", "kubernetes.default"),
            ("web.default.svc", "web.$(namespace:default).svc"),
        ] {
            let found = rewrite(text, &default, false);
            assert_eq!(
                (found.text.as_str(), found.unclear),
                (expected, false),
                "{text}"
            );
        }
        let found = changed("http://web.app:80", false);
        assert_eq!(
            (found.text.as_str(), found.unclear),
            ("http://web.app:80", true)
        );
    }
}
