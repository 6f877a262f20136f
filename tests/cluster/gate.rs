//! A gate before the API server: a request that is named, or counted, waits until the test lets it through, so that a
//! test can do what others might do in just that moment, or end the program there.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::Answer;
use crate::site::Site;

/// How long anything may take that the test waits for.
const DEADLINE: Duration = Duration::from_secs(90);

/// Where the gate closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Before the first request that holds these bytes.
    Before(&'static str),
    /// Before the request of this number, counted from 1.
    BeforeRequest(usize),
    /// Before the write of this number.
    BeforeWrite(usize),
    /// When the write of this number was carried out, and before its answer.
    AfterWrite(usize),
    /// Before the first answer to each write: what is asked once more is answered.
    Answers,
    /// Nowhere: requests are only counted.
    Nowhere,
}

/// What becomes of the request that is waited for, or of the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passes,
    /// It never arrives.
    Stays,
}

/// What a test waits for.
#[derive(PartialEq, Eq)]
enum Event {
    Reached,
    Ended,
}

/// Holds a request until its verdict is known.
#[derive(Default)]
struct Latch {
    verdict: Mutex<Option<Verdict>>,
    known: Condvar,
}

impl Latch {
    /// The first verdict stays.
    fn decide(&self, verdict: Verdict) {
        self.verdict.lock().unwrap().get_or_insert(verdict);
        self.known.notify_all();
    }

    fn wait(&self) -> Verdict {
        let verdict = self.verdict.lock().unwrap();
        let waiting = self
            .known
            .wait_timeout_while(verdict, DEADLINE, |verdict| verdict.is_none());
        waiting.unwrap().0.unwrap_or(Verdict::Stays)
    }
}

/// One command's way through the gate.
struct Passage {
    stop: Stop,
    requests: AtomicUsize,
    writes: AtomicUsize,
    sent: Mutex<HashSet<Vec<u8>>>,
    latch: Latch,
    tell: Sender<Event>,
}

impl Passage {
    fn new(stop: Stop) -> (Arc<Self>, Receiver<Event>) {
        let (tell, events) = channel();
        let passage = Self {
            stop,
            requests: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
            sent: Mutex::default(),
            latch: Latch::default(),
            tell,
        };
        (Arc::new(passage), events)
    }

    /// Counts what a client sent, and says whether the gate closes before it, or before its answer.
    fn closes(&self, bytes: &[u8]) -> Option<Moment> {
        let begins = begins(bytes);
        let count = |counter: &AtomicUsize, counts: bool| {
            let before = counter.fetch_add(usize::from(counts), Ordering::SeqCst);
            counts.then_some(before + 1)
        };
        let request = count(&self.requests, begins.is_some());
        let write = count(&self.writes, begins == Some(Begins::Write));
        match self.stop {
            Stop::Before(text) => holds(bytes, text).then_some(Moment::Request),
            Stop::BeforeRequest(number) => (request == Some(number)).then_some(Moment::Request),
            Stop::BeforeWrite(number) => (write == Some(number)).then_some(Moment::Request),
            Stop::AfterWrite(number) => (write == Some(number)).then_some(Moment::Answer),
            Stop::Answers => (write.is_some() && self.is_first(bytes)).then_some(Moment::Answer),
            Stop::Nowhere => None,
        }
    }

    /// Whether this was not sent before, by its first line.
    fn is_first(&self, bytes: &[u8]) -> bool {
        let line = first_line(bytes).to_vec();
        self.sent.lock().unwrap().insert(line)
    }

    fn wait(&self) -> Verdict {
        // Nobody listens any more when the test has gone on.
        let _ = self.tell.send(Event::Reached);
        self.latch.wait()
    }
}

/// What is held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Request,
    Answer,
}

/// What begins with these bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    Read,
    Write,
}

/// Whether a request begins here, and of which sort. A client sends its next request on a connection only after the answer
/// to the one before, so that each begins with what is read at once; and what the program sends as content begins with `{`.
fn begins(bytes: &[u8]) -> Option<Begins> {
    let line = std::str::from_utf8(first_line(bytes)).ok()?;
    let (method, path) = line.split_once(" /")?;
    let reviews = ["apis/authentication.k8s.io/", "apis/authorization.k8s.io/"];
    let asks = path.contains("dryRun=All") || reviews.iter().any(|it| path.starts_with(it));
    match method {
        "GET" => Some(Begins::Read),
        "POST" | "PUT" | "PATCH" | "DELETE" if asks => Some(Begins::Read),
        "POST" | "PUT" | "PATCH" | "DELETE" => Some(Begins::Write),
        _ => None,
    }
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let mut lines = bytes.split(|byte| *byte == b'\r');
    lines.next().unwrap_or_default()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// What became of a command that went through the gate.
struct Held {
    /// Whether it came to where the gate closes.
    reached: bool,
    answer: Answer,
    requests: usize,
}

/// The gate, with `kubectl proxy` behind it.
pub(crate) struct Gate {
    kubeconfig: String,
    stop: Stop,
    /// That of the command which runs now, for connections that come.
    current: Arc<Mutex<Arc<Passage>>>,
    proxy: Child,
}

impl Gate {
    /// A gate that closes before the first request that holds these bytes, for example `POST /apis/apps/v1/`.
    pub(crate) fn before(site: &Site, request: &'static str) -> Self {
        Self::new(site, Stop::Before(request))
    }

    /// A gate that lets everything through but for what its methods say.
    pub(crate) fn open(site: &Site) -> Self {
        Self::new(site, Stop::Nowhere)
    }

    fn new(site: &Site, stop: Stop) -> Self {
        let mut proxy = Command::new("kubectl")
            .args(["proxy", "--port=0", "--kubeconfig", site.kubeconfig()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(proxy.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        // The line is: Starting to serve on 127.0.0.1:40123
        let behind = line.trim().rsplit(' ').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let current = Arc::new(Mutex::new(Passage::new(stop).0));
        let passages = Arc::clone(&current);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&behind)) else {
                    return;
                };
                let passage = Arc::clone(&passages.lock().unwrap());
                connect(client, server, passage);
            }
        });
        let file = "gate.kubeconfig";
        let config = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: gate\nclusters: [{{name: gate, cluster: {{server: 'http://{address}'}}}}]\nusers: [{{name: gate, user: {{}}}}]\ncontexts: [{{name: gate, context: {{cluster: gate, user: gate}}}}]\n"
        );
        site.desk.write(file, config);
        let kubeconfig = site.desk.path(file).to_str().unwrap().to_owned();
        Self {
            kubeconfig,
            stop,
            current,
            proxy,
        }
    }

    /// Runs a command through the gate, does something while it waits there, and lets it go on.
    pub(crate) fn during(&self, command: &mut Command, act: impl FnOnce()) -> Answer {
        let held = self.hold(self.stop, command, act, Verdict::Passes);
        let Held { answer, .. } = held;
        assert!(held.reached, "it never came to the gate: {answer:?}");
        answer
    }

    /// Runs a command through the gate, and kills it while it waits there: its request never arrives.
    pub(crate) fn kill(&self, site: &Site, program: &Command) {
        let ended = self.kill_at(self.stop, site, program);
        assert!(ended.is_none(), "it never came to the gate: {ended:?}");
    }

    /// Runs a command through the gate and kills it where it is told. Returns the answer of one that ended before.
    pub(crate) fn kill_at(&self, stop: Stop, site: &Site, program: &Command) -> Option<Answer> {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo $$ > pid && exec "$0" "$@""#]);
        command.arg(program.get_program()).args(program.get_args());
        command.current_dir(site.desk.path("")).env_clear();
        let variables = program.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        let kill = || {
            let process = fs::read_to_string(site.desk.path("pid")).unwrap();
            let kill = ["-s", "KILL", process.trim()];
            Answer::of(Command::new("kill").args(kill)).success();
        };
        let held = self.hold(stop, &mut command, kill, Verdict::Stays);
        let Held { answer, .. } = held;
        if !held.reached {
            return Some(answer);
        }
        assert_eq!(answer.code, -1, "{answer:?}");
        None
    }

    /// Counts the requests of a command that must succeed.
    pub(crate) fn count(&self, command: &mut Command) -> usize {
        let held = self.hold(Stop::Nowhere, command, || {}, Verdict::Passes);
        held.answer.success();
        held.requests
    }

    /// Runs a command through the gate, and ends its connection where a write was carried out and not answered, as an API
    /// server does that stops: each write that is sent for the first time.
    pub(crate) fn losing_answers(&self, command: &mut Command) -> Answer {
        let held = self.hold(Stop::Answers, command, || {}, Verdict::Stays);
        held.answer
    }

    fn hold(
        &self,
        stop: Stop,
        command: &mut Command,
        act: impl FnOnce(),
        verdict: Verdict,
    ) -> Held {
        let (passage, events) = Passage::new(stop);
        *self.current.lock().unwrap() = Arc::clone(&passage);
        command.env("KUBECONFIG", &self.kubeconfig);
        thread::scope(|scope| {
            let answer = scope.spawn(|| {
                let answer = Answer::of(command);
                let _ = passage.tell.send(Event::Ended);
                answer
            });
            let reached = events.recv_timeout(DEADLINE) == Ok(Event::Reached);
            if reached {
                act();
            }
            passage.latch.decide(verdict);
            let answer = answer.join().unwrap();
            let requests = passage.requests.load(Ordering::SeqCst);
            Held {
                reached,
                answer,
                requests,
            }
        })
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.current.lock().unwrap().latch.decide(Verdict::Stays);
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

fn connect(client: TcpStream, server: TcpStream, passage: Arc<Passage>) {
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let answer = Arc::new(Mutex::new(Verdict::Passes));
    let (asked, here) = (Arc::clone(&answer), Arc::clone(&passage));
    thread::spawn(move || {
        pass_on(from, to, |bytes| match here.closes(bytes) {
            None => Verdict::Passes,
            Some(Moment::Request) => here.wait(),
            Some(Moment::Answer) => {
                *asked.lock().unwrap() = Verdict::Stays;
                Verdict::Passes
            }
        });
    });
    thread::spawn(move || {
        pass_on(server, client, |_| {
            let held = *answer.lock().unwrap() == Verdict::Stays;
            if held {
                passage.wait()
            } else {
                Verdict::Passes
            }
        });
    });
}

/// What stays ends the connection in both directions.
fn pass_on(mut from: TcpStream, mut to: TcpStream, look: impl Fn(&[u8]) -> Verdict) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read) = from.read(&mut buffer)
        && read > 0
    {
        if look(&buffer[..read]) == Verdict::Stays {
            let _ = from.shutdown(Shutdown::Both);
            break;
        }
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
