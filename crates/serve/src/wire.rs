//! Connections: [`ServerWire`] is a plain connection, over which files are sent with `sendfile`, or one with TLS.
//!
//! A thread that sends a file shares the plain connection. Reading a file can block on a slow disc, so it must not run
//! on the threads that serve all other connections. No thread ever waits for a client.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::limits;

/// A connection to a client.
pub(crate) enum ServerWire {
    Plain(Arc<TcpStream>),
    Tls(Box<TlsStream<TcpStream>>),
}

impl ServerWire {
    /// Appends the next received bytes, at most `most`. Returns their number; zero if the client has closed its side.
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

    /// Sends all bytes.
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

    /// Closes the sending side.
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

/// Sends bytes of a file with `sendfile` and returns how many were sent. Fails if the file ends early.
pub(crate) async fn send_file(
    stream: &Arc<TcpStream>,
    file: &Arc<File>,
    offset: u64,
    left: u64,
) -> io::Result<u64> {
    let count = usize::try_from(left)
        .unwrap_or(usize::MAX)
        .min(limits::SENDFILE);
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
        // If the socket is full again, the loop waits for it without occupying a thread.
        match sent.await.map_err(io::Error::other)? {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(sent) => return Ok(sent as u64),
        }
    }
}

/// Reads bytes of a file. The returned buffer has the length of the piece that was read.
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
