//! The open connections of `solution status --listen`, of which each peer has few.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};

use tokio::task::AbortHandle;

/// The connections that are open at the same time.
pub(super) const CONNECTIONS: usize = 64;
/// The connections of one peer among them: a collector has one, and several may share an address.
const CONNECTIONS_OF_ONE: usize = 8;

/// The open connections with their peers, the oldest first.
#[derive(Default)]
pub(super) struct Connections(VecDeque<(IpAddr, AbortHandle)>);

impl Connections {
    /// Closes the oldest connection of a peer that has as many as it may, or of the peer that has most if all together are
    /// as many as may be. Returns the address by which the peer's connections are counted.
    pub(super) fn make_room(&mut self, address: IpAddr) -> IpAddr {
        let peer = peer(address);
        self.0.retain(|(_, task)| !task.is_finished());
        let crowded = if self.of(peer) >= CONNECTIONS_OF_ONE {
            Some(peer)
        } else if self.0.len() >= CONNECTIONS {
            let peers = self.0.iter().map(|(other, _)| *other);
            peers.max_by_key(|other| self.of(*other))
        } else {
            None
        };
        let oldest = self.0.iter().position(|(other, _)| Some(*other) == crowded);
        if let Some((_, task)) = oldest.and_then(|oldest| self.0.remove(oldest)) {
            task.abort();
        }
        peer
    }

    /// Adds the connection of a peer, and the task that answers it.
    pub(super) fn add(&mut self, peer: IpAddr, task: AbortHandle) {
        self.0.push_back((peer, task));
    }

    fn of(&self, peer: IpAddr) -> usize {
        self.0.iter().filter(|(other, _)| *other == peer).count()
    }
}

/// Returns the address by which a peer's connections are counted. One machine has all addresses of an IPv6 subnet.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_of_ipv6_is_one_peer() {
        let of = |address: &str| peer(address.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
