//! First opens: each reads and hashes a whole content, so threads of their own do it, and those that answer the kernel go on
//! with reads. It is answered when its content is verified.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use archive::Listed;
use fuser::{Errno, FileHandle, FopenFlags, ReplyOpen};

use crate::error::RefusedFile;
use crate::limits::HASHING_THREADS;
use crate::tree::Tree;

/// Is told of files that could not be opened.
pub(crate) type Refused = Box<dyn Fn(RefusedFile) + Send + Sync>;

/// What all threads have of an archive.
pub(crate) struct SharedArchive {
    pub(crate) listed: Listed,
    pub(crate) tree: Tree,
    pub(crate) refused: Refused,
}

/// A file that somebody opens and that is not verified yet.
pub(crate) struct FirstOpen {
    /// The number of the file.
    pub(crate) number: u64,
    pub(crate) reply: ReplyOpen,
}

/// Starts the threads, which end when nobody can send them anything any more.
pub(crate) fn threads(archive: &Arc<SharedArchive>) -> Sender<FirstOpen> {
    let (sender, waiting) = channel();
    let waiting = Arc::new(Mutex::new(waiting));
    for _ in 0..HASHING_THREADS {
        let (archive, waiting) = (Arc::clone(archive), Arc::clone(&waiting));
        thread::spawn(move || {
            while let Some(open) = next(&waiting) {
                archive.open(open);
            }
        });
    }
    sender
}

fn next(waiting: &Mutex<Receiver<FirstOpen>>) -> Option<FirstOpen> {
    let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.recv().ok()
}

/// Answers that a file is open. What the kernel has of it was read after it had been verified.
pub(crate) fn opened(reply: ReplyOpen) {
    reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
}

impl SharedArchive {
    fn open(&self, FirstOpen { number, reply }: FirstOpen) {
        let Some(content) = self.tree.content(number) else {
            return reply.error(Errno::ENOENT);
        };
        match content.verify(&self.listed) {
            Ok(()) => opened(reply),
            Err(error) => {
                (self.refused)(RefusedFile {
                    path: content.path.clone(),
                    error,
                });
                reply.error(Errno::EIO);
            }
        }
    }
}
