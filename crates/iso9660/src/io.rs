//! Positioned reads and writes, the only operations that the crate needs of a medium. They move no cursor, so that
//! threads can share one open file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A medium that can be read at any offset.
pub trait ReadAt {
    /// Fills `buf` from `offset` (bytes from the start). Fails with [`io::ErrorKind::UnexpectedEof`] if the medium ends
    /// first.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
}

/// A medium that can be written at any offset. Bytes that were not written read as zeros.
pub trait WriteAt {
    /// Writes all of `buf` at `offset` (bytes from the start).
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buf, offset)
    }
}

impl WriteAt for File {
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, buf, offset)
    }
}

impl ReadAt for [u8] {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let source = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..start.checked_add(buf.len())?))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(source);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.as_slice().read_exact_at(buf, offset)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        (**self).read_exact_at(buf, offset)
    }
}

impl<T: WriteAt + ?Sized> WriteAt for &T {
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        (**self).write_all_at(buf, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_refuse_to_read_past_their_end() {
        let bytes = vec![1u8, 2, 3];
        let mut buf = [0; 2];
        bytes.read_exact_at(&mut buf, 1).unwrap();
        assert_eq!(buf, [2, 3]);
        for offset in [2, 3, u64::MAX] {
            let error = bytes.read_exact_at(&mut buf, offset).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn files_are_read_and_written_in_place() {
        let file = tempfile::tempfile().unwrap();
        WriteAt::write_all_at(&file, b"abc", 10).unwrap();
        let mut buf = [9; 4];
        ReadAt::read_exact_at(&file, &mut buf, 9).unwrap();
        assert_eq!(&buf, b"\0abc");
    }
}
