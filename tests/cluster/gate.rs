//! A proxy for the API server that holds a chosen request until the test continues. A test can act as another client at
//! exactly that moment, or kill the program there.

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

/// The time limit of everything that the test waits for.
const DEADLINE: Duration = Duration::from_secs(90);

/// The point at which the gate closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Before the first request that contains these bytes.
    Before(&'static str),
    /// Before the request of this number, counted from 1.
    BeforeRequest(usize),
    /// Before the write of this number.
    BeforeWrite(usize),
    /// After the write of this number was executed, and before its answer.
    AfterWrite(usize),
    /// Before the first answer to each write; a repeated write gets its answer.
    Answers,
    /// Nowhere: the gate only counts requests.
    Nowhere,
}

/// The decision about the held request or answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Pass,
    /// It is dropped.
    Drop,
}

/// An event that a test waits for.
#[derive(PartialEq, Eq)]
enum Event {
    Reached,
    Ended,
}

/// A latch that holds a request until the decision.
#[derive(Default)]
struct Latch {
    verdict: Mutex<Option<Decision>>,
    known: Condvar,
}

impl Latch {
    /// Sets the decision. The first one counts.
    fn decide(&self, verdict: Decision) {
        self.verdict.lock().unwrap().get_or_insert(verdict);
        self.known.notify_all();
    }

    fn wait(&self) -> Decision {
        let verdict = self.verdict.lock().unwrap();
        let waiting = self
            .known
            .wait_timeout_while(verdict, DEADLINE, |verdict| verdict.is_none());
        waiting.unwrap().0.unwrap_or(Decision::Drop)
    }
}

/// The state of one command's connections.
struct CommandState {
    stop: Stop,
    requests: AtomicUsize,
    writes: AtomicUsize,
    sent: Mutex<HashSet<Vec<u8>>>,
    latch: Latch,
    tell: Sender<Event>,
}

impl CommandState {
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

    /// Counts the requests of a client, and returns whether the gate closes before a request or before its answer.
    fn held_message(&self, bytes: &[u8]) -> Option<HeldMessage> {
        let begins = request_kind(bytes);
        let count = |counter: &AtomicUsize, counts: bool| {
            let before = counter.fetch_add(usize::from(counts), Ordering::SeqCst);
            counts.then_some(before + 1)
        };
        let request = count(&self.requests, begins.is_some());
        let write = count(&self.writes, begins == Some(RequestKind::Write));
        match self.stop {
            Stop::Before(text) => contains(bytes, text).then_some(HeldMessage::Request),
            Stop::BeforeRequest(number) => {
                (request == Some(number)).then_some(HeldMessage::Request)
            }
            Stop::BeforeWrite(number) => (write == Some(number)).then_some(HeldMessage::Request),
            Stop::AfterWrite(number) => (write == Some(number)).then_some(HeldMessage::Answer),
            Stop::Answers => {
                (write.is_some() && self.is_first(bytes)).then_some(HeldMessage::Answer)
            }
            Stop::Nowhere => None,
        }
    }

    /// Returns whether this request was not sent before, by its first line.
    fn is_first(&self, bytes: &[u8]) -> bool {
        let line = first_line(bytes).to_vec();
        self.sent.lock().unwrap().insert(line)
    }

    fn wait(&self) -> Decision {
        // Nobody receives events after the test has continued.
        let _ = self.tell.send(Event::Reached);
        self.latch.wait()
    }
}

/// The message that is held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeldMessage {
    Request,
    Answer,
}

/// The kind of request that begins with these bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestKind {
    Read,
    Write,
}

/// Returns the kind of request that begins here. A client sends its next request on a connection only after the
/// previous answer, so each read begins with a request. The bodies of the program begin with `{`.
fn request_kind(bytes: &[u8]) -> Option<RequestKind> {
    let line = std::str::from_utf8(first_line(bytes)).ok()?;
    let (method, path) = line.split_once(" /")?;
    let reviews = ["apis/authentication.k8s.io/", "apis/authorization.k8s.io/"];
    let asks = path.contains("dryRun=All") || reviews.iter().any(|review| path.starts_with(review));
    match method {
        "GET" => Some(RequestKind::Read),
        "POST" | "PUT" | "PATCH" | "DELETE" if asks => Some(RequestKind::Read),
        "POST" | "PUT" | "PATCH" | "DELETE" => Some(RequestKind::Write),
        _ => None,
    }
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let mut lines = bytes.split(|byte| *byte == b'\r');
    lines.next().unwrap_or_default()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// The result of a command that went through the gate.
struct GatedCommand {
    /// Whether the command reached the gate's point.
    reached: bool,
    answer: Answer,
    requests: usize,
}

/// The gate, with `kubectl proxy` behind it.
pub(crate) struct Gate {
    kubeconfig: String,
    stop: Stop,
    /// The state of the current command, for new connections.
    current: Arc<Mutex<Arc<CommandState>>>,
    proxy: Child,
}

impl Gate {
    /// Creates a gate that closes before the first request that contains these bytes, for example `POST
    /// /apis/apps/v1/`.
    pub(crate) fn before(site: &Site, request: &'static str) -> Self {
        Self::new(site, Stop::Before(request))
    }

    /// Creates a gate that only closes for its methods.
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
        // kubectl prints: Starting to serve on 127.0.0.1:40123
        let behind = line.trim().rsplit(' ').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let current = Arc::new(Mutex::new(CommandState::new(stop).0));
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

    /// Runs a command through the gate, runs `act` while the command waits there, and lets it continue.
    pub(crate) fn run_during(&self, command: &mut Command, act: impl FnOnce()) -> Answer {
        let held = self.hold(self.stop, command, act, Decision::Pass);
        let GatedCommand { answer, .. } = held;
        assert!(held.reached, "it never came to the gate: {answer:?}");
        answer
    }

    /// Runs a command through the gate, and kills it while it waits there. Its request never arrives.
    pub(crate) fn kill(&self, site: &Site, program: &Command) {
        let ended = self.kill_at(self.stop, site, program);
        assert!(ended.is_none(), "it never came to the gate: {ended:?}");
    }

    /// Runs a command through the gate and kills it at this point. Returns the answer of a command that ended before.
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
            Answer::from_command(Command::new("kill").args(kill)).success();
        };
        let held = self.hold(stop, &mut command, kill, Decision::Drop);
        let GatedCommand { answer, .. } = held;
        if !held.reached {
            return Some(answer);
        }
        assert_eq!(answer.code, -1, "{answer:?}");
        None
    }

    /// Counts the requests of a command that must succeed.
    pub(crate) fn count(&self, command: &mut Command) -> usize {
        let held = self.hold(Stop::Nowhere, command, || {}, Decision::Pass);
        held.answer.success();
        held.requests
    }

    /// Runs a command through the gate, and closes its connection after the first execution of each write, without the
    /// answer, as an API server does that stops.
    pub(crate) fn run_losing_answers(&self, command: &mut Command) -> Answer {
        let held = self.hold(Stop::Answers, command, || {}, Decision::Drop);
        held.answer
    }

    fn hold(
        &self,
        stop: Stop,
        command: &mut Command,
        act: impl FnOnce(),
        verdict: Decision,
    ) -> GatedCommand {
        let (passage, events) = CommandState::new(stop);
        *self.current.lock().unwrap() = Arc::clone(&passage);
        command.env("KUBECONFIG", &self.kubeconfig);
        thread::scope(|scope| {
            let answer = scope.spawn(|| {
                let answer = Answer::from_command(command);
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
            GatedCommand {
                reached,
                answer,
                requests,
            }
        })
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.current.lock().unwrap().latch.decide(Decision::Drop);
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

fn connect(client: TcpStream, server: TcpStream, passage: Arc<CommandState>) {
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let answer = Arc::new(Mutex::new(Decision::Pass));
    let (asked, here) = (Arc::clone(&answer), Arc::clone(&passage));
    thread::spawn(move || {
        pass_on(from, to, |bytes| match here.held_message(bytes) {
            None => Decision::Pass,
            Some(HeldMessage::Request) => here.wait(),
            Some(HeldMessage::Answer) => {
                *asked.lock().unwrap() = Decision::Drop;
                Decision::Pass
            }
        });
    });
    thread::spawn(move || {
        pass_on(server, client, |_| {
            let held = *answer.lock().unwrap() == Decision::Drop;
            if held { passage.wait() } else { Decision::Pass }
        });
    });
}

/// A dropped message closes the connection in both directions.
fn pass_on(mut from: TcpStream, mut to: TcpStream, look: impl Fn(&[u8]) -> Decision) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read) = from.read(&mut buffer)
        && read > 0
    {
        if look(&buffer[..read]) == Decision::Drop {
            let _ = from.shutdown(Shutdown::Both);
            break;
        }
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
