//! Connected clients by address: [`ClientConnections`]. It prevents a client from using all connections, and from trying passwords
//! on many connections in parallel.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits;
use crate::login::ReaderLogin;

/// The number of bits of an IPv6 address after the network prefix. A client with one address controls all addresses of
/// its network.
const HOST_BITS: u32 = 64;

/// The connected clients.
#[derive(Debug)]
pub(crate) struct ClientConnections {
    most: usize,
    clients: Mutex<HashMap<IpAddr, GuestConnections>>,
}

/// A client with at least one connection.
#[derive(Debug, Default)]
struct GuestConnections {
    connections: usize,
    turn: LoginTurn,
}

/// The lock for checking a login. Waiting connections receive it in the order of their arrival.
type LoginTurn = Arc<tokio::sync::Mutex<()>>;

/// A connection of a client, which is counted until the value is dropped.
#[derive(Debug)]
pub(crate) struct ClientConnection {
    guests: Arc<ClientConnections>,
    peer: SocketAddr,
    turn: LoginTurn,
    has_logged_in: bool,
}

impl ClientConnections {
    /// Creates the set with a limit for the connections of each client.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let clients = Mutex::default();
        Arc::new(Self { most, clients })
    }

    /// Registers a connection; none if its client has reached the limit.
    pub(crate) fn enter(self: &Arc<Self>, peer: SocketAddr) -> Option<ClientConnection> {
        let mut clients = self.clients();
        let client = clients.entry(client(peer.ip())).or_default();
        if client.connections >= self.most {
            return None;
        }
        client.connections += 1;
        Some(ClientConnection {
            guests: Arc::clone(self),
            peer,
            turn: Arc::clone(&client.turn),
            has_logged_in: false,
        })
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<IpAddr, GuestConnections>> {
        let clients = self.clients.lock();
        clients.unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientConnection {
    /// The address of the client.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Checks whether `Authorization` contains the login. For each client, only one connection is checked at a time,
    /// and a wrong login delays all logins that wait after it, including correct ones. Otherwise, a client could
    /// conclude from a missing immediate answer that its guess was wrong, and try the next one. A connection that has
    /// logged in does not wait.
    pub(crate) async fn logs_in(
        &mut self,
        login: &ReaderLogin,
        authorization: Option<&str>,
    ) -> bool {
        if authorization.is_none() {
            return false;
        }
        let is_right = || login.is_in(authorization);
        if self.has_logged_in && is_right() {
            return true;
        }
        let _turn = self.turn.lock().await;
        self.has_logged_in = is_right();
        if !self.has_logged_in {
            tokio::time::sleep(limits::WRONG_LOGIN).await;
        }
        self.has_logged_in
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        let mut clients = self.guests.clients();
        let from = client(self.peer.ip());
        if let Some(client) = clients.get_mut(&from) {
            client.connections -= 1;
            if client.connections == 0 {
                clients.remove(&from);
            }
        }
    }
}

/// Returns the key of a client: an IPv4 address or an IPv6 network.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> HOST_BITS << HOST_BITS;
            Ipv6Addr::from_bits(network).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;

    fn enter(guests: &Arc<ClientConnections>, address: &str) -> Option<ClientConnection> {
        guests.enter(SocketAddr::new(address.parse().unwrap(), 0))
    }

    #[test]
    fn nobody_takes_more_than_their_share_and_each_end_makes_room() {
        let guests = ClientConnections::new(2);
        let first = enter(&guests, "10.0.0.1");
        let second = enter(&guests, "::ffff:10.0.0.1");
        assert!(first.is_some() && second.is_some());
        assert!(enter(&guests, "10.0.0.1").is_none());
        assert!(enter(&guests, "10.0.0.2").is_some());
        drop(second);
        let third = enter(&guests, "10.0.0.1");
        assert!(third.is_some());
        drop((first, third));
        assert!(guests.clients().is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let guests = ClientConnections::new(1);
        let first = enter(&guests, "2001:db8::1");
        assert!(first.is_some());
        assert!(enter(&guests, "2001:db8::ffff:1").is_none());
        assert!(enter(&guests, "2001:db8:0:1::1").is_some());
    }
    const RIGHT: &str = "Basic cmVhZGVyOmE=";

    /// Attempts a login. Returns the time until the answer, and whether the login was accepted.
    fn try_login(
        mut guest: ClientConnection,
        authorization: &'static str,
    ) -> impl Future<Output = (Duration, bool)> {
        let begin = Instant::now();
        async move {
            let login = ReaderLogin::new("reader", b"a").unwrap();
            let is_right = guest.logs_in(&login, Some(authorization)).await;
            (begin.elapsed(), is_right)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_tries_one_password_at_a_time_on_all_its_connections() {
        let guests = ClientConnections::new(1000);
        let enter = |address: &str| enter(&guests, address).unwrap();
        // Without wrong logins, there is no delay.
        let alone = try_login(enter("10.0.0.1"), RIGHT).await;
        assert_eq!(alone, (Duration::ZERO, true));
        let wrong: Vec<_> = (0..390)
            .map(|_| tokio::spawn(try_login(enter("10.0.0.1"), "Basic cmVhZGVyOg==")))
            .collect();
        tokio::task::yield_now().await;
        let right = tokio::spawn(try_login(enter("10.0.0.1"), RIGHT));
        let other = try_login(enter("10.0.0.2"), RIGHT).await;
        assert_eq!(other, (Duration::ZERO, true));
        let all = limits::WRONG_LOGIN * 390;
        assert_eq!(right.await.unwrap(), (all, true));
        for (count, attempt) in (1..).zip(wrong) {
            let (answered, is_right) = attempt.await.unwrap();
            assert_eq!((answered, is_right), (limits::WRONG_LOGIN * count, false));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_has_logged_in_waits_for_no_guess_of_another() {
        let guests = ClientConnections::new(2);
        let login = ReaderLogin::new("reader", b"a").unwrap();
        let mut pulling = enter(&guests, "10.0.0.1").unwrap();
        assert!(pulling.logs_in(&login, Some(RIGHT)).await);
        let attempt = tokio::spawn(try_login(enter(&guests, "10.0.0.1").unwrap(), "Basic a"));
        tokio::task::yield_now().await;
        let begin = Instant::now();
        assert!(pulling.logs_in(&login, Some(RIGHT)).await);
        assert!(!pulling.logs_in(&login, None).await);
        assert_eq!(begin.elapsed(), Duration::ZERO);
        // A wrong login on this connection waits as well.
        assert!(!pulling.logs_in(&login, Some("Basic a")).await);
        assert_eq!(begin.elapsed(), limits::WRONG_LOGIN * 2);
        assert!(!attempt.await.unwrap().1);
    }
}
