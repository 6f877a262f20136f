//! A connection: plain, where the system sends files by itself, or with TLS.
//!
//! A plain one is shared with the thread that sends a file: reading a file can wait for a disc, and must not hold up the
//! threads that all other connections live on. No thread ever waits for a client.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::limits;

/// A connection.
pub(crate) enum ServerWire {
    Plain(Arc<TcpStream>),
    Tls(Box<TlsStream<TcpStream>>),
}

impl ServerWire {
    /// Adds what comes next, at most so many bytes; none once the peer has ended.
    pub(crate) async fn read(&mut self, came: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        let before = came.len();
        came.resize(before + most, 0);
        let read = self.read_some(&mut came[before..]).await;
        came.truncate(before + read.as_ref().copied().unwrap_or_default());
        read
    }

    async fn read_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tls(stream) => stream.read(buffer).await,
            Self::Plain(stream) => loop {
                stream.readable().await?;
                match stream.try_read(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    other => return other,
                }
            },
        }
    }

    /// Sends bytes.
    pub(crate) async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
            Self::Plain(stream) => {
                while !bytes.is_empty() {
                    stream.writable().await?;
                    match stream.try_write(bytes) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(error),
                        Ok(sent) => bytes = &bytes[sent..],
                    }
                }
                Ok(())
            }
        }
    }

    /// Tells the peer that nothing more comes.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Tls(stream) => stream.shutdown().await,
            Self::Plain(stream) => Ok(rustix::net::shutdown(
                &**stream,
                rustix::net::Shutdown::Write,
            )?),
        }
    }
}

/// Has the system send bytes of a file and returns how many it took. A file that ends early is an error.
pub(crate) async fn send_file(
    stream: &Arc<TcpStream>,
    file: &Arc<File>,
    offset: u64,
    left: u64,
) -> io::Result<u64> {
    let count = usize::try_from(left).unwrap_or(usize::MAX);
    let count = count.min(limits::SENDFILE);
    loop {
        stream.writable().await?;
        let (to, from) = (Arc::clone(stream), Arc::clone(file));
        let sent = tokio::task::spawn_blocking(move || {
            to.try_io(Interest::WRITABLE, || {
                let mut offset = offset;
                Ok(rustix::fs::sendfile(
                    &*to,
                    &*from,
                    Some(&mut offset),
                    count,
                )?)
            })
        });
        match sent.await.map_err(io::Error::other)? {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(sent) => return Ok(sent as u64),
        }
    }
}

/// Reads bytes of a file into a buffer, which comes back with exactly as many.
pub(crate) async fn read_file(
    mut buffer: Vec<u8>,
    file: &Arc<File>,
    offset: u64,
    left: u64,
) -> io::Result<Vec<u8>> {
    let count = usize::try_from(left).unwrap_or(usize::MAX);
    let file = Arc::clone(file);
    let read = tokio::task::spawn_blocking(move || {
        buffer.resize(count.min(limits::PIECE), 0);
        file.read_exact_at(&mut buffer, offset)?;
        Ok(buffer)
    });
    read.await.map_err(io::Error::other)?
}
