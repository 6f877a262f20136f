//! Reusable buffers. Allocating each buffer from the system costs a fifth of the time it takes to send it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use crate::limits;

/// A pool of buffers of [`limits::BUFFER`] bytes. It grows to the largest number used at the same time.
#[derive(Default)]
pub(crate) struct Buffers {
    free: Mutex<Vec<Box<[u8]>>>,
}

impl Buffers {
    /// Takes a buffer of which `length` bytes are used, at most [`limits::BUFFER`]. Its content is arbitrary.
    pub(crate) fn take(self: &Arc<Self>, length: usize) -> Buffer {
        let free = self.free.lock().expect("no panic while held").pop();
        Buffer {
            bytes: free.unwrap_or_else(|| vec![0; limits::BUFFER].into()),
            length,
            home: Arc::clone(self),
        }
    }
}

/// A buffer in use. It returns to the pool when it is dropped.
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
