//! The server: it accepts connections within the limits, serves the current content, and ends in an orderly way.
//! [`Server::run`] is its main loop, [`ServerHandle`] replaces the content while it runs.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::connection::serve_connection;
use crate::connections::{ClientConnection, ClientConnections};
use crate::content::Content;
use crate::limits;
use crate::shared::{Event, ServerListener, ServerOptions, SharedState};
use crate::tls::Tls;
use crate::wire::ServerWire;

/// A server that is bound to its address.
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
    /// Binds to `HOST:PORT`. Requests are only served once [`Server::run`] is called.
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

    /// Returns the bound address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the handle by which the caller replaces the served content.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        ServerHandle(Arc::clone(&self.shared))
    }

    /// Accepts connections until `end` completes. Then it lets active requests finish within [`limits::ENDING`].
    pub async fn run(self, end: impl Future<Output = ()>) {
        let room = Arc::new(Semaphore::new(limits::CONNECTIONS));
        let guests = ClientConnections::new(limits::CONNECTIONS_OF_ONE);
        let (tell_ending, ending) = watch::channel(false);
        let taking = async {
            loop {
                // The permit is taken before accepting, so that further clients wait in the queue of the kernel.
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
        // New connections are refused at once.
        drop(self.listener);
        tell_ending.send_replace(true);
        let all = u32::try_from(limits::CONNECTIONS).unwrap_or(u32::MAX);
        let _ = timeout(limits::ENDING, room.acquire_many(all)).await;
    }

    fn connection(
        &self,
        stream: TcpStream,
        guest: ClientConnection,
        ending: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        let tls = shared.tls().map(TlsAcceptor::from);
        async move {
            let _open = shared.metrics.connection();
            // The head and the content of an answer are written separately and must not be delayed by Nagle's
            // algorithm.
            let _ = stream.set_nodelay(true);
            let wire = match tls {
                None => ServerWire::Plain(Arc::new(stream)),
                Some(tls) => match timeout(limits::HEAD_WITHIN, tls.accept(stream)).await {
                    Ok(Ok(stream)) => ServerWire::Tls(Box::new(stream)),
                    Ok(Err(_)) | Err(_) => return,
                },
            };
            serve_connection(&shared, wire, guest, ending).await;
        }
    }
}

/// A handle for replacing the content and the certificate of a server while it runs.
#[derive(Clone)]
pub struct ServerHandle(Arc<SharedState>);

impl std::fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Content").finish_non_exhaustive()
    }
}

impl ServerHandle {
    /// Replaces the content for all following requests. `left_out` archives were found but are not part of it. Active
    /// requests continue with their previous content.
    pub fn put(&self, content: Content, left_out: usize) {
        self.0.replace_content(content, left_out);
    }

    /// Replaces the certificate for all following connections. It has no effect without TLS.
    pub fn speak(&self, tls: Tls) {
        self.0.speak(tls);
    }
}
