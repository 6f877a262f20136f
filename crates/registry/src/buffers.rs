//! Buffers that are used again: to ask the system for each anew would cost a fifth of the time of sending it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use crate::limits;

/// Buffers of [`limits::BUFFER`] bytes, as many as were ever needed at a time.
#[derive(Default)]
pub(crate) struct Buffers {
    free: Mutex<Vec<Box<[u8]>>>,
}

impl Buffers {
    /// A buffer with any bytes in it, of which `length` count; at most [`limits::BUFFER`].
    pub(crate) fn take(self: &Arc<Self>, length: usize) -> Buffer {
        let free = self.free.lock().expect("no panic while held").pop();
        Buffer {
            bytes: free.unwrap_or_else(|| vec![0; limits::BUFFER].into()),
            length,
            home: Arc::clone(self),
        }
    }
}

/// A buffer that is taken, until nobody needs its bytes.
pub(crate) struct Buffer {
    bytes: Box<[u8]>,
    length: usize,
    home: Arc<Buffers>,
}

impl From<Buffer> for Bytes {
    fn from(buffer: Buffer) -> Self {
        Self::from_owner(buffer)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl AsMut<[u8]> for Buffer {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut free = self.home.free.lock().expect("no panic while held");
        free.push(bytes);
    }
}
