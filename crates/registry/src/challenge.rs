//! Parser of `WWW-Authenticate` headers, by which a registry requests a login (RFC 9110, section 11.6.1). The header
//! comes from an untrusted server, so unknown schemes and parameters are ignored.

/// A challenge for a scheme that this client supports. Unused parameters are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

/// Returns the preferred supported challenge: the first Bearer, else Basic.
pub(crate) fn parse<'a>(headers: impl Iterator<Item = &'a str>) -> Option<Challenge> {
    let mut basic = None;
    for header in headers {
        for challenge in split(header) {
            match challenge {
                Challenge::Bearer { .. } => return Some(challenge),
                Challenge::Basic => basic = Some(challenge),
            }
        }
    }
    basic
}

/// Returns all supported challenges in one header. Commas separate both challenges and their parameters (RFC 9110,
/// section 11.6.1), so a word that is not followed by `=` begins a new challenge.
fn split(header: &str) -> Vec<Challenge> {
    let mut found = Vec::new();
    let mut scheme = String::new();
    let mut parameters: Vec<(String, String)> = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() && !after.starts_with('=') {
            break;
        }
        if let Some(value) = after.trim_start().strip_prefix('=') {
            let (value, after) = take_value(value.trim_start());
            parameters.push((word.to_ascii_lowercase(), value));
            rest = after;
        } else {
            found.extend(finish(&scheme, &parameters));
            scheme = word.to_ascii_lowercase();
            parameters.clear();
            rest = after;
        }
    }
    found.extend(finish(&scheme, &parameters));
    found
}

fn finish(scheme: &str, parameters: &[(String, String)]) -> Option<Challenge> {
    let get = |name: &str| {
        let found = parameters.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone())
    };
    match scheme {
        "basic" => Some(Challenge::Basic),
        "bearer" => get("realm").map(|realm| Challenge::Bearer {
            realm,
            service: get("service"),
        }),
        _ => None,
    }
}

/// Reads a token or a quoted string with backslash escapes, and returns the rest of the text.
fn take_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>) -> Challenge {
        Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.map(ToOwned::to_owned),
        }
    }

    #[test]
    fn what_registries_send() {
        let one = |header: &str| parse([header].into_iter());
        assert_eq!(
            one("Basic realm=\"Registry Realm\""),
            Some(Challenge::Basic)
        );
        assert_eq!(
            one(
                "Bearer realm=\"https://a.example/token\",service=\"r.example\",scope=\"repository:a,b:pull,push\""
            ),
            Some(bearer("https://a.example/token", Some("r.example")))
        );
        assert_eq!(
            one("Basic realm=x, BEARER realm = \"https://a/\\\"t\""),
            Some(bearer("https://a/\"t", None))
        );
        assert_eq!(
            parse(["Basic realm=x", "Bearer realm=\"https://a/t\""].into_iter()),
            Some(bearer("https://a/t", None))
        );
    }

    #[test]
    fn hostile_headers_end() {
        for header in [
            "",
            ",,,",
            "=",
            "= = =",
            "Bearer",
            "Bearer realm=\"",
            "Bearer realm=\"a\\",
            "Negotiate",
            "\u{e9}=\"\\\u{e9}",
        ] {
            assert_eq!(
                parse([header].into_iter()).filter(|c| *c == Challenge::Basic),
                None
            );
        }
        assert_eq!(parse(["Negotiate abc=="].into_iter()), None);
    }
}
