//! Answers to the kernel's requests: [`MountedArchive`] implements FUSE. The mount is read-only, so the kernel itself
//! refuses every request that would write.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use archive::ListedArchive;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, ReplyOpen, ReplyStatfs,
    Request,
};

use crate::limits::{READ_AHEAD, UNCHANGED};
use crate::opening::{self, FirstOpen, RefusalCallback, SharedArchive};
use crate::tree::{Node, ROOT, Tree};

/// The unit in which file sizes are reported as blocks, in bytes.
const BLOCK: u32 = 512;

/// The owner of all files and directories in the mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOwner {
    /// The user id.
    pub user: u32,
    /// The group id.
    pub group: u32,
}

/// An archive as a FUSE file system.
pub(crate) struct MountedArchive {
    archive: Arc<SharedArchive>,
    owner: FileOwner,
    time: SystemTime,
    /// Sends first opens to the hashing threads.
    first_opens: Sender<FirstOpen>,
}

impl std::fmt::Debug for MountedArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MountedArchive")
            .field("archive_id", &self.archive.listed.archive_id())
            .finish_non_exhaustive()
    }
}

impl MountedArchive {
    pub(crate) fn new(listed: ListedArchive, owner: FileOwner, refused: RefusalCallback) -> Self {
        let seconds = listed.statement().predicate.time.unix();
        let archive = Arc::new(SharedArchive {
            tree: Tree::new(&listed),
            refused,
            listed,
        });
        Self {
            owner,
            time: UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default()),
            first_opens: opening::threads(&archive),
            archive,
        }
    }

    /// Returns the files and directories.
    #[cfg(test)]
    pub(crate) fn tree(&self) -> &Tree {
        &self.archive.tree
    }

    /// Returns the attributes of an inode.
    pub(crate) fn attributes(&self, number: u64) -> Option<FileAttr> {
        let (kind, perm, size, nlink) = match self.archive.tree.node(number)? {
            Node::Directory(directory) => {
                (FileType::Directory, 0o555, 0, 2 + directory.subdirectories)
            }
            Node::File(content) => (
                FileType::RegularFile,
                0o444,
                content.blob.size(),
                content.links,
            ),
        };
        Some(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size.div_ceil(u64::from(BLOCK)),
            atime: self.time,
            mtime: self.time,
            ctime: self.time,
            crtime: self.time,
            kind,
            perm,
            nlink,
            uid: self.owner.user,
            gid: self.owner.group,
            rdev: 0,
            blksize: READ_AHEAD,
            flags: 0,
        })
    }

    /// Reads a range of a verified content. It is shorter if the content ends first.
    pub(crate) fn read_at(
        &self,
        number: u64,
        offset: u64,
        size: u32,
    ) -> Option<io::Result<Vec<u8>>> {
        let blob = &self.archive.tree.content(number)?.blob;
        let left = blob.size().saturating_sub(offset);
        let length = usize::try_from(left.min(u64::from(size))).unwrap_or_default();
        let mut bytes = vec![0; length];
        Some(blob.read_exact_at(&mut bytes, offset).map(|()| bytes))
    }
}

impl Filesystem for MountedArchive {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A kernel with a smaller maximum returns it in the error.
        if let Err(most) = config.set_max_readahead(READ_AHEAD) {
            let _ = config.set_max_readahead(most);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let directory = self.archive.tree.directory(parent.0);
        let number = directory.and_then(|directory| directory.child(name.to_str()?));
        match number.and_then(|number| self.attributes(number)) {
            Some(attributes) => reply.entry(&UNCHANGED, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number.0) {
            Some(attributes) => reply.attr(&UNCHANGED, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let Some(content) = self.archive.tree.content(number.0) else {
            return reply.error(Errno::ENOENT);
        };
        if content.is_verified() {
            return opening::opened(reply);
        }
        let number = number.0;
        // If the hashing threads have ended, the reply is dropped, and fuser reports an error to the opening process.
        let _ = self.first_opens.send(FirstOpen { number, reply });
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read_at(number.0, offset, size) {
            Some(Ok(bytes)) => reply.data(&bytes),
            Some(Err(_)) => reply.error(Errno::EIO),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let Some(directory) = self.archive.tree.directory(number.0) else {
            return reply.error(Errno::ENOTDIR);
        };
        let own = [(number.0, "."), (directory.parent, "..")];
        let children = directory
            .children
            .iter()
            .map(|child| (child.number, child.name.as_str()));
        let all = own.into_iter().chain(children).enumerate();
        for (at, (number, name)) in all.skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
            let kind = match self.archive.tree.node(number) {
                Some(Node::File(_)) => FileType::RegularFile,
                _ => FileType::Directory,
            };
            // The offset of an entry is the position at which the next request continues.
            if reply.add(INodeNo(number), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = self.archive.listed.image_size().div_ceil(u64::from(BLOCK));
        let files = self.archive.tree.len() as u64;
        reply.statfs(blocks, 0, 0, files, 0, BLOCK, 255, BLOCK);
    }
}

const _: () = assert!(
    ROOT == INodeNo::ROOT.0,
    "the kernel asks for the root by this"
);
