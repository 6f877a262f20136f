//! A program that runs in the background of a test.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::common::Answer;
use crate::site::DEADLINE;

/// A running program, and its standard error so far.
pub(crate) struct Running {
    child: Child,
    stream: Arc<MessageStream>,
    reader: Option<JoinHandle<()>>,
}

/// The received standard error of a program.
#[derive(Default)]
struct MessageStream {
    messages: Mutex<Messages>,
    more: Condvar,
}

#[derive(Default)]
struct Messages {
    text: String,
    /// Whether the stream has ended.
    is_all: bool,
}

impl MessageStream {
    fn add(&self, bytes: &[u8]) {
        let mut messages = self.messages.lock().unwrap();
        messages.text.push_str(&String::from_utf8_lossy(bytes));
        self.more.notify_all();
    }

    fn end(&self) {
        self.messages.lock().unwrap().is_all = true;
        self.more.notify_all();
    }
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stream = Arc::<MessageStream>::default();
        let (mut stderr, all) = (child.stderr.take().unwrap(), Arc::clone(&stream));
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut bytes) {
                all.add(&bytes[..read]);
            }
            all.end();
        });
        Self {
            child,
            stream,
            reader: Some(reader),
        }
    }

    pub(crate) fn messages(&self) -> String {
        self.stream.messages.lock().unwrap().text.clone()
    }

    /// Returns its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until its standard error contains this text.
    #[track_caller]
    pub(crate) fn wait_for_message(&self, words: &str) {
        let messages = self.stream.messages.lock().unwrap();
        let wanted = |messages: &mut Messages| !messages.is_all && !messages.text.contains(words);
        let waiting = self
            .stream
            .more
            .wait_timeout_while(messages, DEADLINE, wanted);
        let messages = waiting.unwrap().0.text.clone();
        assert!(messages.contains(words), "`{words}` is not in: {messages}");
    }

    pub(crate) fn signal(&self, name: &str) {
        let kill = ["-s", name, &self.child.id().to_string()];
        Answer::from_command(Command::new("kill").args(kill)).success();
    }

    /// Returns its exit code, and the time that it took to end. By then all of its standard error has been read.
    pub(crate) fn end(&mut self) -> (Option<i32>, Duration) {
        let began = Instant::now();
        let code = self.child.wait().unwrap().code();
        let took = began.elapsed();
        let reader = self.reader.take();
        reader.map_or(Ok(()), JoinHandle::join).unwrap();
        (code, took)
    }

    /// Returns all of its standard error, after a successful end.
    #[track_caller]
    pub(crate) fn wait_for_success(mut self) -> String {
        let code = self.end().0;
        let messages = self.messages();
        assert_eq!(code, Some(0), "{messages}");
        messages
    }
}
