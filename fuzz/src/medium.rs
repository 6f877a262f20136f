//! Media in memory: one limits the bytes that are read, the other may be larger than the memory.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;

use iso9660::{ReadAt, WriteAt};

const SECTOR: u64 = iso9660::SECTOR_SIZE;
const SECTOR_LEN: usize = 2048;

/// A medium that panics when a reader exceeds its budget.
#[derive(Debug)]
pub struct Watched {
    bytes: Vec<u8>,
    left: Cell<u64>,
}

impl Watched {
    /// Creates a medium of which `budget` bytes may be read.
    #[must_use]
    pub fn new(bytes: Vec<u8>, budget: u64) -> Self {
        let left = Cell::new(budget);
        Self { bytes, left }
    }
}

impl ReadAt for Watched {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let left = self.left.get().checked_sub(buf.len() as u64);
        self.left
            .set(left.expect("no more is read than the limits allow"));
        self.bytes.read_exact_at(buf, offset)
    }
}

/// A medium that stores only the sectors that are not zero.
#[derive(Debug)]
pub struct Sparse {
    size: u64,
    sectors: RefCell<BTreeMap<u64, [u8; SECTOR_LEN]>>,
}

impl Sparse {
    /// Creates a medium of `size` zeros.
    #[must_use]
    pub fn new(size: u64) -> Self {
        let sectors = RefCell::default();
        Self { size, sectors }
    }

    fn check(&self, offset: u64, len: usize) -> io::Result<()> {
        match offset.checked_add(len as u64) {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Splits a run of bytes at sectors: the sector, the start in it, and the range of the run.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let position = offset + done as u64;
        let start = usize::try_from(position % SECTOR).expect("less than a sector");
        let count = (SECTOR_LEN - start).min(len - done);
        let range = done..done + count;
        done += count;
        (count > 0).then_some((position / SECTOR, start, range))
    })
}

impl ReadAt for Sparse {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.check(offset, buf.len())?;
        buf.fill(0);
        let first = offset / SECTOR;
        let last = (offset + buf.len() as u64).div_ceil(SECTOR);
        let sectors = self.sectors.borrow();
        // Most of the medium is zero, which takes no memory.
        if sectors.range(first..last).next().is_none() {
            return Ok(());
        }
        for (sector, start, range) in pieces(offset, buf.len()) {
            if let Some(bytes) = sectors.get(&sector) {
                let len = range.len();
                buf[range].copy_from_slice(&bytes[start..start + len]);
            }
        }
        Ok(())
    }
}

impl WriteAt for Sparse {
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check(offset, buf.len())?;
        let mut sectors = self.sectors.borrow_mut();
        for (sector, start, range) in pieces(offset, buf.len()) {
            let bytes = sectors.entry(sector).or_insert([0; SECTOR_LEN]);
            bytes[start..start + range.len()].copy_from_slice(&buf[range]);
        }
        Ok(())
    }
}
