//! A registry for tests that answers every request from a script. It runs in the test's process, so faults occur
//! exactly when a test needs them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

use crate::{Client, ClientOptions, PlainHttp};

/// Answers requests in order with these heads (status and headers) and bodies; the last one repeats. Returns the result
/// of `ask` and the requested paths.
pub(crate) async fn asked<T>(
    answers: Vec<(String, String)>,
    ask: impl AsyncFnOnce(Client) -> T,
) -> (T, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (asked, paths) = mpsc::channel();
    std::thread::spawn(move || {
        let last = answers.last().into_iter().cycle();
        for (head, body) in answers.iter().chain(last) {
            let (mut connection, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let length = connection.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            if asked.send(path).is_err() {
                return;
            }
            let length = body.len();
            let common = format!("Content-Length: {length}\r\nConnection: close");
            // The client may close the connection early.
            let _ = write!(connection, "HTTP/1.1 {head}\r\n{common}\r\n\r\n{body}");
        }
    });
    let options = ClientOptions {
        plain_http: PlainHttp::Always,
        ..ClientOptions::default()
    };
    let client = Client::new(&address.parse().unwrap(), options).unwrap();
    (ask(client).await, paths.try_iter().collect())
}
