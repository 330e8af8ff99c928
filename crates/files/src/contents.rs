//! The bytes of a file as programs see them, in pages that were written or found. Other bytes are zeros. Which pages
//! are in the page cache is not known here: that decides about time, not about bytes.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use crate::operation::FileError;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// The bytes of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileBytes {
    pub(crate) len: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE]>>,
    /// Pages with a torn sector.
    unreadable: BTreeSet<u64>,
}

/// The parts of bytes `from..from + len` by page: page, offset in it, length.
fn parts_by_page(from: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut done = 0;
    core::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let at = from + done as u64;
        let offset = (at % PAGE as u64) as usize;
        let count = (PAGE - offset).min(len - done);
        done += count;
        Some((at / PAGE as u64, offset, count))
    })
}

impl FileBytes {
    /// A file of so many zeros.
    pub(crate) fn zeros(len: u64) -> FileBytes {
        FileBytes { len, ..FileBytes::default() }
    }

    /// Adds a page that a mount found.
    pub(crate) fn insert_found_page(&mut self, page: u64, bytes: [u8; PAGE], is_readable: bool) {
        self.pages.insert(page, Box::new(bytes));
        if !is_readable {
            self.unreadable.insert(page);
        }
    }

    /// An error if a write of these bytes would have to read a torn page first.
    pub(crate) fn check_write(&self, from: u64, len: usize) -> Result<(), FileError> {
        let tears = |(page, _, count): (u64, usize, usize)| count < PAGE && self.unreadable.contains(&page);
        match !self.unreadable.is_empty() && parts_by_page(from, len).any(tears) {
            true => Err(FileError::Unreadable),
            false => Ok(()),
        }
    }

    /// Writes bytes; the file grows as needed.
    pub(crate) fn write(&mut self, from: u64, data: &[u8]) {
        let mut rest = data;
        for (page, offset, count) in parts_by_page(from, data.len()) {
            let (now, later) = rest.split_at(count);
            rest = later;
            if count == PAGE && !self.unreadable.is_empty() {
                self.unreadable.remove(&page);
            }
            let bytes = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE]));
            bytes[offset..offset + count].copy_from_slice(now);
        }
        self.len = self.len.max(from + data.len() as u64);
    }

    /// Cuts the file to `len` bytes.
    pub(crate) fn truncate(&mut self, len: u64) {
        self.len = len;
        let kept = len.div_ceil(PAGE as u64);
        self.pages.split_off(&kept);
        self.unreadable.split_off(&kept);
        if let Some(last) = self.pages.get_mut(&(len / PAGE as u64)) {
            last[(len % PAGE as u64) as usize..].fill(0);
        }
    }

    /// Reads bytes up to the end of the file.
    pub(crate) fn read(&self, from: u64, bytes: u64) -> Result<Vec<u8>, FileError> {
        let len = bytes.min(self.len.saturating_sub(from)) as usize;
        if !self.unreadable.is_empty() && parts_by_page(from, len).any(|part| self.unreadable.contains(&part.0)) {
            return Err(FileError::Unreadable);
        }
        Ok(self.copy(from, len))
    }

    /// Copies `len` bytes, with zeros beyond the end.
    pub(crate) fn copy(&self, from: u64, len: usize) -> Vec<u8> {
        let (mut copied, mut at) = (vec![0; len], 0);
        for (page, offset, count) in parts_by_page(from, len) {
            if let Some(bytes) = self.pages.get(&page) {
                copied[at..at + count].copy_from_slice(&bytes[offset..offset + count]);
            }
            at += count;
        }
        copied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_written_and_zeros_fill_gaps() {
        let mut file = FileBytes::default();
        file.write(4090, b"0123456789");
        file.write(9000, b"z");
        assert_eq!(file.read(4088, 14), Ok(b"\0\x000123456789\0\0".to_vec()));
        assert_eq!((file.len, file.read(8999, 9)), (9001, Ok(b"\0z".to_vec())));
        file.truncate(4092);
        assert_eq!(file.read(4090, 9), Ok(b"01".to_vec()));
        file.write(4099, b"x");
        assert_eq!(file.read(4090, 99), Ok(b"01\0\0\0\0\0\0\0x".to_vec()));
    }

    #[test]
    fn a_torn_page_is_unreadable_until_it_is_written_as_a_whole() {
        let mut file = FileBytes::zeros(8192);
        file.insert_found_page(1, [7; PAGE], false);
        assert_eq!((file.read(0, 4096).is_ok(), file.read(4000, 200)), (true, Err(FileError::Unreadable)));
        assert_eq!((file.check_write(4096, 4095), file.check_write(4096, 4096)), (Err(FileError::Unreadable), Ok(())));
        file.write(4096, &[1; PAGE]);
        assert_eq!(file.read(8191, 1), Ok(vec![1]));
    }
}
