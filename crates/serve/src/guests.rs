//! How many connections come from where, so that one client cannot take all that there are.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bits of an IPv6 address behind those of its network: whoever has one address has all of these.
const HOST_BITS: u32 = 64;

/// Those who are connected.
#[derive(Debug)]
pub(crate) struct Guests {
    most: usize,
    connections: Mutex<HashMap<IpAddr, usize>>,
}

/// One connection, until the value is dropped.
#[derive(Debug)]
pub(crate) struct Guest {
    guests: Arc<Guests>,
    from: IpAddr,
}

impl Guests {
    /// Takes so many connections of one client.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let connections = Mutex::default();
        Arc::new(Self { most, connections })
    }

    /// Takes a connection; none if the client has enough of them.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Guest> {
        let from = client(address);
        let mut connections = self.connections();
        let count = connections.entry(from).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        let guests = Arc::clone(self);
        Some(Guest { guests, from })
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        let connections = self.connections.lock();
        connections.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut connections = self.guests.connections();
        if let Some(count) = connections.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                connections.remove(&self.from);
            }
        }
    }
}

/// What stands for a client: an IPv4 address, or an IPv6 network.
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
    use super::*;

    fn enter(guests: &Arc<Guests>, address: &str) -> Option<Guest> {
        guests.enter(address.parse().unwrap())
    }

    #[test]
    fn nobody_takes_more_than_their_share_and_each_end_makes_room() {
        let guests = Guests::new(2);
        let first = enter(&guests, "10.0.0.1");
        let second = enter(&guests, "::ffff:10.0.0.1");
        assert!(first.is_some() && second.is_some());
        assert!(enter(&guests, "10.0.0.1").is_none());
        assert!(enter(&guests, "10.0.0.2").is_some());
        drop(second);
        let third = enter(&guests, "10.0.0.1");
        assert!(third.is_some());
        drop((first, third));
        assert!(guests.connections().is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let guests = Guests::new(1);
        let first = enter(&guests, "2001:db8::1");
        assert!(first.is_some());
        assert!(enter(&guests, "2001:db8::ffff:1").is_none());
        assert!(enter(&guests, "2001:db8:0:1::1").is_some());
    }
}
