//! A medium that loses a tenth of a second by every seek, as a FUSE file. It has no property that reveals this, and the
//! push still ends up with one reader.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation,
    INodeNo, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, Request,
};
use registry::{BlobContent, BlobPush, Credentials, PushJob, push};
use tempfile::TempDir;

use crate::images::{MIB, digest_of, noise, repository, silent};
use crate::server::{Protection, Server, client_for};

const JUMP: Duration = Duration::from_millis(120);
const NAME: &str = "medium";
const INODE: INodeNo = INodeNo(2);
const BLOBS: u64 = 8;

/// The position of the disk's heads.
#[derive(Default)]
struct Heads {
    position: u64,
    jumps: u64,
}

/// A file system with one file.
struct Medium {
    bytes: Vec<u8>,
    heads: Arc<Mutex<Heads>>,
}

impl Medium {
    /// Mounts it until the session ends.
    fn mount(bytes: Vec<u8>, at: &Path) -> (BackgroundSession, Arc<Mutex<Heads>>) {
        let heads = Arc::default();
        let medium = Self {
            bytes,
            heads: Arc::clone(&heads),
        };
        let session = fuser::spawn_mount(medium, at, &Config::default());
        (session.expect("FUSE: /dev/fuse, as root"), heads)
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let (kind, size) = match inode {
            INODE => (FileType::RegularFile, self.bytes.len() as u64),
            _ => (FileType::Directory, 0),
        };
        FileAttr {
            ino: inode,
            size,
            blocks: size.div_ceil(512),
            atime: SystemTime::UNIX_EPOCH,
            mtime: SystemTime::UNIX_EPOCH,
            ctime: SystemTime::UNIX_EPOCH,
            crtime: SystemTime::UNIX_EPOCH,
            kind,
            perm: 0o555,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 512,
            flags: 0,
        }
    }
}

impl Filesystem for Medium {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&JUMP, &self.attributes(INODE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&JUMP, &self.attributes(inode));
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut heads = self.heads.lock().unwrap();
        if heads.position != offset {
            heads.jumps += 1;
            // The sleep simulates the time of a seek.
            std::thread::sleep(JUMP);
        }
        let from = usize::try_from(offset).unwrap().min(self.bytes.len());
        let to = (from + usize::try_from(size).unwrap()).min(self.bytes.len());
        heads.position = to as u64;
        reply.data(&self.bytes[from..to]);
    }
}

/// A blob on the medium, at this offset.
struct Extent {
    file: Arc<File>,
    from: u64,
}

impl BlobContent for Extent {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.file.read_exact_at(buffer, self.from + offset)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_medium_that_jumps_is_hardly_made_to() {
    let server = Server::start(&Protection::None);
    let blobs: Vec<Bytes> = (1..=BLOBS).map(|seed| noise(seed, 12 * MIB)).collect();
    let mount = TempDir::new().unwrap();
    let (_session, heads) = Medium::mount(blobs.concat(), mount.path());
    let file = Arc::new(File::open(mount.path().join(NAME)).unwrap());
    let mut from = 0;
    let mut on_medium = |bytes: &Bytes| {
        let content = Extent {
            file: Arc::clone(&file),
            from,
        };
        from += bytes.len() as u64;
        BlobPush {
            digest: digest_of(bytes),
            size: bytes.len() as u64,
            repositories: vec![repository("app")],
            content: Arc::new(content),
        }
    };
    let job = PushJob {
        blobs: blobs.iter().map(&mut on_medium).collect(),
        ..PushJob::default()
    };
    let report = push(
        &client_for(&server.host(), Credentials::Anonymous),
        job,
        silent(),
    )
    .await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(report.uploaded.count, BLOBS);
    let jumps = heads.lock().unwrap().jumps;
    assert!(jumps <= BLOBS + 10, "{jumps} jumps");
}
