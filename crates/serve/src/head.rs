//! The head of a request (RFC 9112). Bodies are never read. A request with a body is answered, and then the connection
//! is closed, so that no part of a body can be interpreted as a request.

use crate::limits;

/// The parsed parts of a head.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestHead {
    /// The method.
    pub(crate) method: Method,
    /// The request target, unparsed.
    pub(crate) target: String,
    /// The state of the connection after the answer.
    pub(crate) then: ConnectionFate,
    /// The evaluated fields.
    pub(crate) fields: HeadFields,
}

/// The method of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Method {
    /// A request for a content.
    #[default]
    Get,
    /// A request for the head of an answer without its content.
    Head,
    /// A method that a read-only registry does not support.
    Other(String),
}

impl Method {
    /// Returns the method in its HTTP spelling.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Other(name) => name,
        }
    }
}

/// The state of a connection after an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConnectionFate {
    /// The connection is kept open for the next request.
    #[default]
    Keep,
    /// The connection is closed.
    Close,
}

/// The evaluated fields of a head, unparsed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HeadFields {
    pub(crate) range: Option<String>,
    pub(crate) if_range: Option<String>,
    pub(crate) if_none_match: Option<String>,
    pub(crate) authorization: Option<String>,
}

/// The reason why bytes are not a valid head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadError {
    /// The bytes violate the grammar.
    Grammar,
    /// The head has more fields than [`limits::HEADERS`].
    TooMany,
    /// The version is not HTTP/1.0 or 1.1.
    Version,
}

/// Parses a head at the start of the received bytes. Returns it with its length; none if it is not complete yet.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<(RequestHead, usize)>, HeadError> {
    let mut headers = [httparse::EMPTY_HEADER; limits::HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooMany),
        Err(httparse::Error::Version) => return Err(HeadError::Version),
        Err(_) => return Err(HeadError::Grammar),
    };
    let mut head = RequestHead {
        method: match request.method.unwrap_or_default() {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            other => Method::Other(other.to_owned()),
        },
        target: request.path.unwrap_or_default().to_owned(),
        // HTTP/1.0 only keeps connections if both sides request it, which no client of a registry needs.
        then: if request.version == Some(1) {
            ConnectionFate::Keep
        } else {
            ConnectionFate::Close
        },
        fields: HeadFields::default(),
    };
    for header in request.headers.iter() {
        head.take(header)?;
    }
    Ok(Some((head, length)))
}

impl RequestHead {
    fn take(&mut self, header: &httparse::Header<'_>) -> Result<(), HeadError> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let value = || str::from_utf8(header.value).map_err(|_| HeadError::Grammar);
        if is("transfer-encoding") {
            self.then = ConnectionFate::Close;
        } else if is("content-length") {
            // Every value except for 0, including invalid ones, means that a body may follow.
            if value()?.trim() != "0" {
                self.then = ConnectionFate::Close;
            }
        } else if is("connection") {
            let mut options = value()?.split(',');
            if options.any(|option| option.trim().eq_ignore_ascii_case("close")) {
                self.then = ConnectionFate::Close;
            }
        }
        let fields = &mut self.fields;
        for (name, field) in [
            ("range", &mut fields.range),
            ("if-range", &mut fields.if_range),
            ("if-none-match", &mut fields.if_none_match),
            ("authorization", &mut fields.authorization),
        ] {
            if is(name) {
                *field = Some(value()?.to_owned());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(fields: &str) -> RequestHead {
        let text = format!("GET /v2/ HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        read(text.as_bytes()).unwrap().unwrap().0
    }

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let text = b"HEAD /v2/a/tags/list?n=1 HTTP/1.1\r\nHost: a\r\nRANGE: bytes=0-1\r\n\r\nGET ";
        for end in 0..text.len() - 4 {
            assert_eq!(read(&text[..end]).unwrap(), None, "{end}");
        }
        let (head, length) = read(text).unwrap().unwrap();
        assert_eq!(length, text.len() - 4);
        assert_eq!(
            (head.method, head.then),
            (Method::Head, ConnectionFate::Keep)
        );
        assert_eq!(head.target, "/v2/a/tags/list?n=1");
        assert_eq!(head.fields.range.as_deref(), Some("bytes=0-1"));
    }

    #[test]
    fn a_connection_ends_where_a_body_could_follow() {
        for (fields, then) in [
            ("", ConnectionFate::Keep),
            ("Content-Length: 0\r\n", ConnectionFate::Keep),
            ("Content-Length: 5\r\n", ConnectionFate::Close),
            ("Content-Length: 0, 5\r\n", ConnectionFate::Close),
            (
                "Content-Length: 5\r\nContent-Length: 0\r\n",
                ConnectionFate::Close,
            ),
            ("Transfer-Encoding: chunked\r\n", ConnectionFate::Close),
            ("Connection: keep-alive, Close\r\n", ConnectionFate::Close),
        ] {
            assert_eq!(head(fields).then, then, "{fields}");
        }
        let old = read(b"GET / HTTP/1.0\r\n\r\n").unwrap().unwrap().0;
        assert_eq!(old.then, ConnectionFate::Close);
    }

    #[test]
    fn what_is_no_head_is_refused() {
        for (text, bad) in [
            ("GET / HTTP/2.0\r\n\r\n".to_owned(), HeadError::Version),
            ("GET  / HTTP/1.1\r\n\r\n".to_owned(), HeadError::Grammar),
            (
                "GET / HTTP/1.1\r\n Folded: a\r\n\r\n".to_owned(),
                HeadError::Grammar,
            ),
            (
                "GET / HTTP/1.1\r\nRange : a\r\n\r\n".to_owned(),
                HeadError::Grammar,
            ),
            (
                format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65)),
                HeadError::TooMany,
            ),
        ] {
            assert_eq!(read(text.as_bytes()), Err(bad), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }
}
