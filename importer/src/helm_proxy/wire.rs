//! The subset of HTTP/1.1 that Helm uses: [`read`] reads complete requests within limits, and [`begin`], [`piece`] and
//! [`end`] write a response in chunks. A request that is ambiguous or exceeds a limit ends the connection.

use tokio::io::{self, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::limits;

/// A request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WireRequest {
    pub(super) method: String,
    /// The path and the query, not decoded.
    pub(super) target: String,
    pub(super) authorization: Option<String>,
    pub(super) accept: String,
    pub(super) content_type: Option<String>,
    pub(super) body: Vec<u8>,
    pub(super) length: usize,
}

/// Returns the error that closes the connection without a response.
fn bad(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Reads the next request. Returns `None` if the client has closed the connection. `rest` holds bytes that were
/// received after the previous request.
pub(super) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    rest: &mut Vec<u8>,
) -> io::Result<Option<WireRequest>> {
    let mut request = loop {
        if let Some((request, length)) = head(rest)? {
            rest.drain(..length);
            break request;
        }
        if rest.len() > limits::GATE_HEAD {
            return Err(bad("the request head is too long"));
        }
        if stream.read_buf(rest).await? == 0 {
            return if rest.is_empty() {
                Ok(None)
            } else {
                Err(bad("the request head is incomplete"))
            };
        }
    };
    while rest.len() < request.length {
        if stream.read_buf(rest).await? == 0 {
            return Err(bad("the request body is incomplete"));
        }
    }
    let behind = rest.split_off(request.length);
    request.body = std::mem::replace(rest, behind);
    Ok(Some(request))
}

/// Parses the head at the start of the received bytes and returns it with its length. Returns `None` if it is
/// incomplete.
fn head(bytes: &[u8]) -> io::Result<Option<(WireRequest, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; limits::GATE_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(bad("not a valid request head")),
    };
    let mut request = WireRequest {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        ..WireRequest::default()
    };
    let mut lengths = 0;
    for header in parsed.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let value = || str::from_utf8(header.value).map(|value| value.trim().to_owned());
        let value = || value().map_err(|_| bad("a header is not text"));
        if is("content-length") {
            lengths += 1;
            request.length = value()?
                .parse()
                .map_err(|_| bad("the content length is not a number"))?;
        } else if is("transfer-encoding") || is("upgrade") {
            return Err(bad("transfer encodings and upgrades are not supported"));
        } else if is("authorization") {
            request.authorization = Some(value()?);
        } else if is("accept") {
            request.accept = value()?;
        } else if is("content-type") {
            request.content_type = Some(value()?);
        }
    }
    // More than one length would make the end of the request ambiguous (RFC 9112, section 6.3).
    if length > limits::GATE_HEAD || lengths > 1 || request.length > limits::GATE_BODY {
        return Err(bad(
            "the request is too large or has multiple content lengths",
        ));
    }
    Ok(Some((request, length)))
}

/// Starts a response with a chunked body.
pub(super) async fn begin(
    stream: &mut (impl AsyncWrite + Unpin),
    status: u16,
    headers: &[(&'static str, String)],
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} -\r\ntransfer-encoding: chunked\r\n");
    for (name, value) in headers {
        // A header value from the server has no line breaks, since the HTTP client would have rejected it.
        for part in [name, ": ", value.as_str(), "\r\n"] {
            head.push_str(part);
        }
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await
}

/// Writes a chunk of a body.
pub(super) async fn piece(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        // An empty chunk would end the body.
        return Ok(());
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk).await?;
    stream.flush().await
}

/// Ends a body.
pub(super) async fn end(stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n").await?;
    stream.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn requests(mut bytes: &[u8]) -> io::Result<Vec<WireRequest>> {
        let (mut all, mut rest) = (Vec::new(), Vec::new());
        while let Some(request) = read(&mut bytes, &mut rest).await? {
            all.push(request);
        }
        Ok(all)
    }

    #[tokio::test]
    async fn requests_are_read_one_behind_the_other() {
        let bytes = b"PATCH /a?b=c HTTP/1.1\r\nAuthorization: Basic eA==\r\nAccept: */*\r\n\
            Content-Type: x/y\r\nContent-Length: 2\r\n\r\n{}GET /d HTTP/1.1\r\n\r\n";
        let read = requests(bytes).await.unwrap();
        let first = WireRequest {
            method: "PATCH".to_owned(),
            target: "/a?b=c".to_owned(),
            authorization: Some("Basic eA==".to_owned()),
            accept: "*/*".to_owned(),
            content_type: Some("x/y".to_owned()),
            body: b"{}".to_vec(),
            length: 2,
        };
        assert_eq!(read[0], first);
        assert_eq!((read[1].target.as_str(), read[1].body.len()), ("/d", 0));
        assert_eq!(read.len(), 2);
    }

    #[tokio::test]
    async fn what_could_be_read_in_two_ways_or_without_end_is_not_read() {
        let long = format!(
            "GET / HTTP/1.1\r\nx: {}\r\n\r\n",
            "x".repeat(limits::GATE_HEAD)
        );
        let large = format!(
            "PUT / HTTP/1.1\r\nContent-Length: {}\r\n\r\n",
            limits::GATE_BODY + 1
        );
        for bytes in [
            "GET /\r\n\r\n",
            "PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "PUT / HTTP/1.1\r\nContent-Length: +\r\n\r\n",
            "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
            "PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab",
            "GET / HTTP/1.1\r\n",
            &long,
            &large,
        ] {
            assert!(requests(bytes.as_bytes()).await.is_err(), "{bytes:.60}");
        }
    }
}
