//! Rules for the addresses that a registry names, and for the data that may be exchanged with them.
//!
//! A registry names other addresses freely: a token server (`realm`), the storage of a blob (redirects), an upload
//! (`Location`). Known attacks, and the rule that stops each of them:
//!
//! - A different server requests the login or receives pushed content: [`is_same`].
//! - A login leaves the machine without TLS because a registry on this machine uses none: [`may_take`].
//! - A redirect turns an encrypted download into an unencrypted one: [`may_give`].

use reqwest::Url;

use crate::address::is_loopback_host;

/// Checks whether both have the same scheme, host and port. The login of a registry and pushed content are sent to its
/// own origin only.
pub(crate) fn is_same(url: &Url, registry: &Url) -> bool {
    url.origin() == registry.origin()
}

/// Checks whether secrets may be sent to a URL. It must use TLS, be the registry itself, or be on this machine like the
/// registry.
pub(crate) fn may_take(url: &Url, registry: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => is_same(url, registry) || (is_plain(registry) && both_here(url, registry)),
        _ => false,
    }
}

/// Checks whether content may be downloaded from a URL: if secrets may be sent to it, or over plain HTTP if the user
/// allows plain HTTP for a registry on another machine. Downloads are verified by their digest and carry no login.
pub(crate) fn may_give(url: &Url, registry: &Url) -> bool {
    let allowed = is_plain(registry) && !is_here(registry);
    may_take(url, registry) || (allowed && is_plain(url))
}

fn is_plain(url: &Url) -> bool {
    url.scheme() == "http"
}

fn both_here(url: &Url, registry: &Url) -> bool {
    is_here(url) && is_here(registry)
}

fn is_here(url: &Url) -> bool {
    url.host_str().is_some_and(is_loopback_host)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "http://127.0.0.1:5000/";
    const PLAIN: &str = "http://r.example:5000/";
    const TLS: &str = "https://r.example:5000/";
    const TLS_HERE: &str = "https://localhost:5000/";

    fn allowed(rule: fn(&Url, &Url) -> bool, registry: &str, url: &str) -> bool {
        rule(&Url::parse(url).unwrap(), &Url::parse(registry).unwrap())
    }

    #[test]
    fn secrets_go_without_tls_to_the_plain_registry_itself_or_stay_on_its_machine() {
        for (registry, url, expected) in [
            (HERE, "http://127.0.0.1:5000/token", true),
            (HERE, "http://127.0.0.1:5001/token", true),
            (HERE, "http://127.9.9.9/token", true),
            (HERE, "http://localhost:5001/token", true),
            (HERE, "http://[::1]:5001/token", true),
            (HERE, "https://auth.example/token", true),
            (HERE, "http://auth.example/token", false),
            (HERE, "http://127.0.0.1.example/token", false),
            (HERE, "http://localhost.example/token", false),
            (HERE, "ftp://127.0.0.1:5000/token", false),
            (PLAIN, "http://r.example:5000/token", true),
            (PLAIN, "https://auth.example/token", true),
            (PLAIN, "http://r.example:5001/token", false),
            (PLAIN, "http://auth.example/token", false),
            (PLAIN, "http://127.0.0.1:5001/token", false),
            (TLS, "https://auth.example/token", true),
            (TLS, "http://r.example:5000/token", false),
            (TLS_HERE, "http://localhost:5000/token", false),
        ] {
            assert_eq!(
                allowed(may_take, registry, url),
                expected,
                "{registry} {url}"
            );
        }
    }

    #[test]
    fn content_comes_without_tls_where_the_user_has_allowed_that() {
        for (registry, url, expected) in [
            (HERE, "http://127.0.0.1:5001/x", true),
            (HERE, "http://storage.example/x", false),
            (PLAIN, "http://storage.example/x", true),
            (PLAIN, "https://storage.example/x", true),
            (PLAIN, "ftp://storage.example/x", false),
            (TLS, "https://storage.example/x", true),
            (TLS, "http://storage.example/x", false),
        ] {
            assert_eq!(
                allowed(may_give, registry, url),
                expected,
                "{registry} {url}"
            );
        }
    }

    #[test]
    fn another_port_or_scheme_is_another_origin() {
        assert!(allowed(
            is_same,
            "https://r.example/",
            "https://r.example:443/x"
        ));
        for url in [PLAIN, "https://r.example/", "https://other.example:5000/"] {
            assert!(!allowed(is_same, TLS, url), "{url}");
        }
    }
}
