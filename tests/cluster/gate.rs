//! A gate before the API server: the first request that names something waits until the test lets it through, so that
//! a test can do what others might do in just that moment.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::Answer;
use crate::site::Site;

/// How long anything may take that the test waits for.
const DEADLINE: Duration = Duration::from_secs(90);

/// What becomes of the request that is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passes,
    /// It never arrives.
    Stays,
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

/// The gate, with `kubectl proxy` behind it.
pub(crate) struct Gate {
    kubeconfig: String,
    latch: Arc<Latch>,
    reached: Receiver<()>,
    proxy: Child,
}

impl Gate {
    /// A gate that closes before the first request that holds these bytes, for example `POST /apis/apps/v1/`.
    pub(crate) fn before(site: &Site, request: &'static str) -> Self {
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
        let latch = Arc::new(Latch::default());
        let (tell, reached) = channel();
        let held = Arc::clone(&latch);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&behind)) else {
                    return;
                };
                connect(client, server, request, &held, &tell);
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
            latch,
            reached,
            proxy,
        }
    }

    /// Runs a command through the gate, does something while it waits there, and lets it go on.
    pub(crate) fn during(&self, command: &mut Command, act: impl FnOnce()) -> Answer {
        self.hold(command, act, Verdict::Passes)
    }

    fn hold(&self, command: &mut Command, act: impl FnOnce(), verdict: Verdict) -> Answer {
        command.env("KUBECONFIG", &self.kubeconfig);
        thread::scope(|scope| {
            let answer = scope.spawn(|| Answer::of(command));
            let reached = self.reached.recv_timeout(DEADLINE);
            if reached.is_ok() {
                act();
            }
            self.latch.decide(verdict);
            let answer = answer.join().unwrap();
            assert!(reached.is_ok(), "it never came to the gate: {answer:?}");
            answer
        })
    }

    /// Runs a command through the gate, and kills it while it waits there: its request never arrives.
    pub(crate) fn kill(&self, site: &Site, program: &Command) {
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
        let killed = self.hold(&mut command, kill, Verdict::Stays);
        assert_eq!(killed.code, -1, "{killed:?}");
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.latch.decide(Verdict::Stays);
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

fn connect(
    client: TcpStream,
    server: TcpStream,
    request: &'static str,
    latch: &Arc<Latch>,
    tell: &Sender<()>,
) {
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (latch, tell) = (Arc::clone(latch), tell.clone());
    thread::spawn(move || {
        pass_on(from, to, |bytes| {
            let here = bytes
                .windows(request.len())
                .any(|window| window == request.as_bytes());
            if !here {
                return Verdict::Passes;
            }
            // Nobody listens any more when the test has gone on.
            let _ = tell.send(());
            latch.wait()
        });
    });
    thread::spawn(move || pass_on(server, client, |_| Verdict::Passes));
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, look: impl Fn(&[u8]) -> Verdict) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read) = from.read(&mut buffer)
        && read > 0
    {
        let passes = look(&buffer[..read]) == Verdict::Passes;
        if !passes || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
