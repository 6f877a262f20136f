//! A program that runs beside its test.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::common::Answer;
use crate::site::DEADLINE;

/// A program that is at work, and what it has said on standard error so far.
pub(crate) struct Running {
    child: Child,
    heard: Arc<Heard>,
    hearing: Option<JoinHandle<()>>,
}

/// What is heard of a program.
#[derive(Default)]
struct Heard {
    said: Mutex<Said>,
    more: Condvar,
}

#[derive(Default)]
struct Said {
    text: String,
    /// Nothing more will come.
    is_all: bool,
}

impl Heard {
    fn add(&self, bytes: &[u8]) {
        let mut said = self.said.lock().unwrap();
        said.text.push_str(&String::from_utf8_lossy(bytes));
        self.more.notify_all();
    }

    fn end(&self) {
        self.said.lock().unwrap().is_all = true;
        self.more.notify_all();
    }
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let heard = Arc::<Heard>::default();
        let (mut stderr, all) = (child.stderr.take().unwrap(), Arc::clone(&heard));
        let hearing = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut bytes) {
                all.add(&bytes[..read]);
            }
            all.end();
        });
        Self {
            child,
            heard,
            hearing: Some(hearing),
        }
    }

    pub(crate) fn said(&self) -> String {
        self.heard.said.lock().unwrap().text.clone()
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has said this.
    #[track_caller]
    pub(crate) fn until(&self, words: &str) {
        let said = self.heard.said.lock().unwrap();
        let wanted = |said: &mut Said| !said.is_all && !said.text.contains(words);
        let waiting = self.heard.more.wait_timeout_while(said, DEADLINE, wanted);
        let said = waiting.unwrap().0.text.clone();
        assert!(said.contains(words), "`{words}` is not in: {said}");
    }

    pub(crate) fn signal(&self, name: &str) {
        let kill = ["-s", name, &self.child.id().to_string()];
        Answer::of(Command::new("kill").args(kill)).success();
    }

    /// Its exit code, and how long it took to end. All that it said has been heard then.
    pub(crate) fn end(&mut self) -> (Option<i32>, Duration) {
        let began = Instant::now();
        let code = self.child.wait().unwrap().code();
        let took = began.elapsed();
        let hearing = self.hearing.take();
        hearing.map_or(Ok(()), JoinHandle::join).unwrap();
        (code, took)
    }

    /// All that it said, once it has ended well.
    #[track_caller]
    pub(crate) fn succeeds(mut self) -> String {
        let code = self.end().0;
        let said = self.said();
        assert_eq!(code, Some(0), "{said}");
        said
    }
}
