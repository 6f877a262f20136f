//! The server: who may connect, what is served at the moment, and how it ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::content::Content;
use crate::converse::converse;
use crate::guests::{Guest, Guests};
use crate::limits;
use crate::shared::{Event, ServerListener, ServerOptions, SharedState};
use crate::tls::Tls;
use crate::wire::ServerWire;

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    shared: Arc<SharedState>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl Server {
    /// Listens at `HOST:PORT`. Nothing is served yet.
    pub async fn listen(
        address: &str,
        options: ServerOptions,
        tell: ServerListener,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self {
            listener,
            shared: Arc::new(SharedState::new(options, tell)),
        })
    }

    /// Returns the address that it listens at.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the shelf, which decides what it serves.
    #[must_use]
    pub fn shelf(&self) -> Shelf {
        Shelf(Arc::clone(&self.shared))
    }

    /// Takes connections until it is to end, then lets requests under way finish within [`limits::ENDING`].
    pub async fn run(self, end: impl Future<Output = ()>) {
        let room = Arc::new(Semaphore::new(limits::CONNECTIONS));
        let guests = Guests::new(limits::CONNECTIONS_OF_ONE);
        let (tell_ending, ending) = watch::channel(false);
        let taking = async {
            loop {
                let permit = Arc::clone(&room).acquire_owned().await;
                match self.listener.accept().await {
                    Ok((stream, peer)) => {
                        let Some(guest) = guests.enter(peer) else {
                            self.shared.metrics.refused();
                            continue;
                        };
                        let connection = self.connection(stream, guest, ending.clone());
                        tokio::spawn(async move {
                            connection.await;
                            drop(permit);
                        });
                    }
                    Err(error) => {
                        (self.shared.tell)(Event::NoRoom(&error));
                        tokio::time::sleep(limits::NO_ROOM).await;
                    }
                }
            }
        };
        tokio::select! {
            () = taking => {}
            () = end => {}
        }
        // Whoever comes now is refused at once.
        drop(self.listener);
        tell_ending.send_replace(true);
        let all = u32::try_from(limits::CONNECTIONS).unwrap_or(u32::MAX);
        let _ = timeout(limits::ENDING, room.acquire_many(all)).await;
    }

    fn connection(
        &self,
        stream: TcpStream,
        guest: Guest,
        ending: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        let tls = shared.tls().map(TlsAcceptor::from);
        async move {
            let _open = shared.metrics.connection();
            // A head and what follows are written one after the other.
            let _ = stream.set_nodelay(true);
            let wire = match tls {
                None => ServerWire::Plain(Arc::new(stream)),
                Some(tls) => match timeout(limits::HEAD_WITHIN, tls.accept(stream)).await {
                    Ok(Ok(stream)) => ServerWire::Tls(Box::new(stream)),
                    Ok(Err(_)) | Err(_) => return,
                },
            };
            converse(&shared, wire, guest, ending).await;
        }
    }
}

/// The shelf that decides what a server serves, also while it runs.
#[derive(Clone)]
pub struct Shelf(Arc<SharedState>);

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

impl Shelf {
    /// Serves this from the next request on; `left_out` archives were found that are not in it. Answers under way go on
    /// with what they began with.
    pub fn put(&self, content: Content, left_out: usize) {
        self.0.put(content, left_out);
    }

    /// Shows another certificate from the next connection on. Nothing changes where TLS is not spoken.
    pub fn speak(&self, tls: Tls) {
        self.0.speak(tls);
    }
}
