//! A proxy before the registry that breaks things on purpose: one request per connection, HTTP/1.1, on loopback.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as the proxy sees it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    /// How many requests came before it.
    pub(crate) number: usize,
}

impl Seen {
    pub(crate) fn is(&self, method: &str, part: &str) -> bool {
        self.method == method && self.path.contains(part)
    }

    pub(crate) fn length(&self) -> u64 {
        let length = self.headers.get("content-length");
        length.map_or(0, |length| length.parse().unwrap())
    }
}

/// What the proxy does with a request.
pub(crate) enum Action {
    /// Passes it on.
    Forward,
    /// Answers itself, after reading the body: status line and headers, then a body.
    Answer(&'static str, String),
    /// Answers itself before the body is read, and closes.
    AnswerEarly(&'static str),
    /// Passes on so many bytes of the body, and closes both connections.
    BreakAfter(u64),
    /// Keeps so many bytes of the body, and closes. They are sent before the body of the next `PATCH`, as if the
    /// registry had stored them.
    KeepAndBreak(u64),
    /// Passes it on, with a header of the answer replaced.
    Replace(&'static str, &'static str),
    /// Passes it on, and closes after so many bytes of the answer's body.
    Truncate(usize),
    /// Passes it on, and after so many bytes of the answer's body sends nothing more until the client goes away.
    Hold(usize),
    /// Passes it on, and sends a byte of the answer's body every two hundredths of a second.
    Drip,
    /// Takes a byte of the body every two hundredths of a second.
    Sip,
    /// Passes it on, and answers when so long has passed.
    Think(Duration),
    /// Passes it on without a header.
    Without(&'static str),
    /// Passes it on with another value of a header.
    With(&'static str, &'static str),
    /// Passes it on, and makes another answer of the registry's.
    Rewrite(fn(Vec<u8>) -> Vec<u8>),
}

type Rule = dyn Fn(&Seen) -> Action + Send + Sync;

struct State {
    upstream: u16,
    rule: Box<Rule>,
    seen: Mutex<Vec<Seen>>,
    kept: Mutex<Vec<u8>>,
}

/// A running proxy; its threads end with the test program.
pub(crate) struct Proxy {
    state: Arc<State>,
    port: u16,
}

impl Proxy {
    pub(crate) fn start(
        upstream: u16,
        rule: impl Fn(&Seen) -> Action + Send + Sync + 'static,
    ) -> Self {
        Self::start_at(0, upstream, rule)
    }

    /// On this port, so that a rule can know it; 0 is any.
    pub(crate) fn start_at(
        port: u16,
        upstream: u16,
        rule: impl Fn(&Seen) -> Action + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            upstream,
            rule: Box::new(rule),
            seen: Mutex::default(),
            kept: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A connection that breaks is what the proxy is for.
                std::thread::spawn(move || serve(&state, connection).ok());
            }
        });
        Self { state, port }
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, method: &str, part: &str) -> usize {
        self.seen()
            .iter()
            .filter(|seen| seen.is(method, part))
            .count()
    }
}

fn serve(state: &State, connection: TcpStream) -> io::Result<()> {
    let mut client = BufReader::new(connection);
    let Some((first, head)) = read_head(&mut client)? else {
        return Ok(());
    };
    let mut words = first.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        // Bytes of TLS: answered as plain HTTP servers do.
        return client
            .get_mut()
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    };
    let seen = {
        let mut all = state.seen.lock().unwrap();
        let headers = head.into_iter().collect();
        let number = all.len();
        all.push(Seen {
            method,
            path,
            headers,
            number,
        });
        all[number].clone()
    };
    act(state, &seen, client)
}

fn act(state: &State, seen: &Seen, client: BufReader<TcpStream>) -> io::Result<()> {
    let mut client = client;
    let length = seen.length();
    match (state.rule)(seen) {
        Action::Forward => forward(state, seen, &mut client, |answer| answer),
        Action::Replace(name, value) => forward(state, seen, &mut client, |answer| {
            replace(&answer, name, value)
        }),
        Action::Rewrite(change) => forward(state, seen, &mut client, change),
        Action::With(name, value) => {
            let mut seen = seen.clone();
            seen.headers.insert(name.to_owned(), value.to_owned());
            forward(state, &seen, &mut client, |answer| answer)
        }
        Action::Without(name) => {
            let mut seen = seen.clone();
            seen.headers.remove(name);
            forward(state, &seen, &mut client, |answer| answer)
        }
        Action::Hold(bytes) => {
            forward(state, seen, &mut client, |answer| {
                let body = find(&answer, b"\r\n\r\n") + 4;
                answer[..answer.len().min(body + bytes)].to_vec()
            })?;
            client.read(&mut [0]).map(drop)
        }
        Action::Drip => drip(state, seen, client),
        Action::Sip => loop {
            client.get_mut().read_exact(&mut [0])?;
            std::thread::sleep(SLOW);
        },
        Action::Think(time) => forward(state, seen, &mut client, |answer| {
            std::thread::sleep(time);
            answer
        }),
        Action::Truncate(bytes) => forward(state, seen, &mut client, |answer| {
            let body = find(&answer, b"\r\n\r\n") + 4;
            answer[..answer.len().min(body + bytes)].to_vec()
        }),
        Action::Answer(head, body) => {
            io::copy(&mut (&mut client).take(length), &mut io::sink())?;
            answer(&mut client, head, &body)
        }
        Action::AnswerEarly(head) => {
            answer(&mut client, head, "")?;
            client.get_mut().shutdown(Shutdown::Write)?;
            // As nginx does it: what was under way is read, so that the answer is not lost to a reset.
            io::copy(&mut (&mut client).take(length), &mut io::sink()).map(drop)
        }
        Action::BreakAfter(bytes) => {
            let mut upstream = open(state, seen, length)?;
            io::copy(&mut (&mut client).take(bytes), &mut upstream).map(drop)
        }
        Action::KeepAndBreak(bytes) => {
            let mut kept = Vec::new();
            (&mut client).take(bytes).read_to_end(&mut kept)?;
            *state.kept.lock().unwrap() = kept;
            Ok(())
        }
    }
}

/// The time between two bytes of somebody who drips.
const SLOW: Duration = Duration::from_millis(20);

fn drip(state: &State, seen: &Seen, client: BufReader<TcpStream>) -> io::Result<()> {
    let mut client = client;
    let mut body = Vec::new();
    forward(state, seen, &mut client, |answer| {
        let end = find(&answer, b"\r\n\r\n") + 4;
        body = answer[end..].to_vec();
        answer[..end].to_vec()
    })?;
    for byte in body {
        std::thread::sleep(SLOW);
        client.get_mut().write_all(&[byte])?;
    }
    Ok(())
}

fn answer(client: &mut BufReader<TcpStream>, head: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    client
        .get_mut()
        .write_all(format!("{head}{body}").as_bytes())
}

/// Connects to the registry and sends the request's head.
fn open(state: &State, seen: &Seen, length: u64) -> io::Result<TcpStream> {
    let mut upstream = TcpStream::connect(("127.0.0.1", state.upstream))?;
    let mut head = format!(
        "{} {} HTTP/1.1\r\nConnection: close\r\n",
        seen.method, seen.path
    );
    for (name, value) in &seen.headers {
        if !matches!(
            name.as_str(),
            "connection" | "content-length" | "content-range"
        ) {
            head.extend([name, ": ", value, "\r\n"]);
        }
    }
    upstream.write_all(head.as_bytes())?;
    write!(upstream, "Content-Length: {length}\r\n\r\n")?;
    Ok(upstream)
}

fn forward(
    state: &State,
    seen: &Seen,
    client: &mut BufReader<TcpStream>,
    change: impl FnOnce(Vec<u8>) -> Vec<u8>,
) -> io::Result<()> {
    let kept = if seen.method == "PATCH" {
        std::mem::take(&mut *state.kept.lock().unwrap())
    } else {
        Vec::new()
    };
    let mut upstream = open(state, seen, seen.length() + kept.len() as u64)?;
    upstream.write_all(&kept)?;
    io::copy(&mut client.take(seen.length()), &mut upstream)?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer)?;
    client.get_mut().write_all(&change(answer))
}

type Head = (String, Vec<(String, String)>);

fn read_head(client: &mut BufReader<TcpStream>) -> io::Result<Option<Head>> {
    // TLS begins with byte 22: there is no line to wait for.
    if client.fill_buf()?.first().is_none_or(|byte| *byte == 22) {
        return Ok(Some((String::new(), Vec::new())));
    }
    let mut first = String::new();
    client.read_line(&mut first)?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        client.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => return Ok(Some((first, headers))),
        }
    }
}

pub(crate) fn find(bytes: &[u8], part: &[u8]) -> usize {
    let found = bytes.windows(part.len()).position(|window| window == part);
    found.expect("a complete head")
}

pub(crate) fn replace(answer: &[u8], name: &str, value: &str) -> Vec<u8> {
    let end = find(answer, b"\r\n\r\n");
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let lines: Vec<String> = head
        .split("\r\n")
        .map(|line| match line.split_once(": ") {
            Some((found, _)) if found.eq_ignore_ascii_case(name) => format!("{name}: {value}"),
            _ => line.to_owned(),
        })
        .collect();
    [lines.join("\r\n").as_bytes(), &answer[end..]].concat()
}
