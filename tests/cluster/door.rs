//! A TCP proxy to an API server that can be closed: its cluster is unreachable until it is opened again.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The door in front of a server on this machine. It starts closed.
pub(crate) struct Door {
    pub(crate) port: u16,
    state: Arc<Mutex<DoorState>>,
}

#[derive(Default)]
struct DoorState {
    is_open: bool,
    /// The open connections.
    connections: Vec<TcpStream>,
}

impl Door {
    /// Creates a door in front of a port.
    pub(crate) fn new(behind: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<Mutex<DoorState>>::default();
        let of_thread = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming() {
                let mut state = of_thread.lock().unwrap();
                if state.is_open {
                    let server = TcpStream::connect(("127.0.0.1", behind)).unwrap();
                    let client = client.unwrap();
                    state.connections.push(client.try_clone().unwrap());
                    pass(client.try_clone().unwrap(), server.try_clone().unwrap());
                    pass(server, client);
                }
            }
        });
        Self { port, state }
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().is_open = true;
    }

    /// Closes the door and its open connections.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_open = false;
        for connection in state.connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}
