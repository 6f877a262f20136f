//! First opens of files. Each reads and hashes a whole content and is answered when it is verified. Separate threads do
//! this, so that the threads that answer the kernel can continue with reads.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use archive::ListedArchive;
use fuser::{Errno, FileHandle, FopenFlags, ReplyOpen};

use crate::error::RefusedFile;
use crate::limits::HASHING_THREADS;
use crate::tree::Tree;

/// The callback for files that could not be opened.
pub(crate) type RefusalCallback = Box<dyn Fn(RefusedFile) + Send + Sync>;

/// The state of an archive that all threads share.
pub(crate) struct SharedArchive {
    pub(crate) listed: ListedArchive,
    pub(crate) tree: Tree,
    pub(crate) refused: RefusalCallback,
}

/// An open of a file that is not verified yet.
pub(crate) struct FirstOpen {
    /// The inode number of the file.
    pub(crate) number: u64,
    pub(crate) reply: ReplyOpen,
}

/// Starts the threads. They end when all senders are dropped.
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

/// Answers that a file is open. The kernel may keep its cached pages, because they were read after verification.
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
