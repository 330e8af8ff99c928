//! The bytes of a file as programs see them, in pages that were written or found. Other bytes are zeros. Which pages
//! are in the page cache is not known here: that decides about time, not about bytes.
//!
//! A file has parts: a cut ends one, and pages behind it belong to the next. So bytes that a block held before a cut are
//! told from those after it, though the block may be the same one. Pages that were cut off are kept until the cut is
//! committed, for writes that were planned before it.

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
    /// First page and number of each part but the first, in order of both.
    parts: Vec<(u64, u32)>,
    /// Number of cuts.
    cuts: u32,
    /// Cuts that are not committed, in order.
    kept: Vec<Cut>,
}

/// Pages that were cut off.
#[derive(Clone, Debug)]
struct Cut {
    /// The number of the last plan before it.
    plan: u64,
    number: u32,
    /// The first page that was cut off.
    first: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE]>>,
    /// The parts before it.
    parts: Vec<(u64, u32)>,
}

/// The number of the part that holds a page, and the page at which the next part begins.
fn find_part(parts: &[(u64, u32)], page: u64) -> (u32, u64) {
    let next = parts.partition_point(|part| part.0 <= page);
    let number = next.checked_sub(1).map_or(0, |at| parts[at].1);
    (number, parts.get(next).map_or(u64::MAX, |part| part.0))
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

    /// The number of the part that holds a page, and the page at which the next part begins.
    pub(crate) fn part_of(&self, page: u64) -> (u32, u64) {
        find_part(&self.parts, page)
    }

    /// The first cut after a plan that took this page.
    fn cut_after(&self, plan: u64, page: u64) -> Option<&Cut> {
        self.kept.iter().find(|cut| plan <= cut.plan && cut.first <= page)
    }

    /// The part of a page when the plan was begun, and a page up to which the part is the same.
    pub(crate) fn planned_part(&self, plan: u64, page: u64) -> (u32, u64) {
        match self.cut_after(plan, page) {
            Some(cut) => (find_part(&cut.parts, page).0, page + 1),
            None if self.kept.is_empty() => self.part_of(page),
            None => (self.part_of(page).0, page + 1),
        }
    }

    /// The bytes of a plan's write of `len` bytes from byte `from` on, with zeros beyond the end: the present ones, but for
    /// pages that were cut off since.
    pub(crate) fn planned_bytes(&self, plan: u64, from: u64, len: usize) -> Vec<u8> {
        self.copy_pages(from, len, |page| match self.cut_after(plan, page) {
            Some(cut) => cut.pages.get(&page),
            None => self.pages.get(&page),
        })
    }

    /// Cuts the file to `len` bytes, or extends it, after `plan` plans were begun. Returns the number of the cut, if it is one;
    /// an error if it is within a torn page.
    pub(crate) fn set_len(&mut self, len: u64, plan: u64) -> Result<Option<u32>, FileError> {
        if len >= self.len {
            self.len = len;
            return Ok(None);
        }
        if !len.is_multiple_of(PAGE as u64) && self.unreadable.contains(&(len / PAGE as u64)) {
            return Err(FileError::Unreadable);
        }
        let first = len.div_ceil(PAGE as u64);
        self.cuts += 1;
        let (number, pages, parts) = (self.cuts, self.pages.split_off(&first), self.parts.clone());
        self.kept.push(Cut { plan, number, first, pages, parts });
        self.truncate(len);
        self.parts.retain(|part| part.0 < first);
        self.parts.push((first, number));
        Ok(Some(number))
    }

    /// Number of cuts.
    pub(crate) fn cut_count(&self) -> u32 {
        self.cuts
    }

    /// Forgets what the cuts up to this number took: they are committed.
    pub(crate) fn forget_cuts(&mut self, number: u32) {
        self.kept.retain(|cut| number < cut.number);
    }

    /// Forgets bytes after the first `len` bytes, which the volume has not admitted.
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
    fn copy(&self, from: u64, len: usize) -> Vec<u8> {
        self.copy_pages(from, len, |page| self.pages.get(&page))
    }

    fn copy_pages<'a>(&self, from: u64, len: usize, find: impl Fn(u64) -> Option<&'a Box<[u8; PAGE]>>) -> Vec<u8> {
        let (mut copied, mut at) = (vec![0; len], 0);
        for (page, offset, count) in parts_by_page(from, len) {
            if let Some(bytes) = find(page) {
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
        assert_eq!((file.set_len(5000, 0), file.len), (Err(FileError::Unreadable), 8192));
        file.write(4096, &[1; PAGE]);
        assert_eq!(file.read(8191, 1), Ok(vec![1]));
    }

    #[test]
    fn a_cut_begins_a_part_and_keeps_what_was_planned_before() {
        let mut file = FileBytes::default();
        file.write(0, &[1; 5 * PAGE]);
        let page = |page: u64| page * PAGE as u64;
        assert_eq!((file.set_len(page(2), 7), file.set_len(page(9), 7)), (Ok(Some(1)), Ok(None)));
        assert_eq!((file.part_of(1), file.part_of(2)), ((0, 2), (1, u64::MAX)));
        file.write(page(2), &[2; 3 * PAGE]);
        assert_eq!(file.set_len(page(4) + 1, 8), Ok(Some(2)));
        assert_eq!((file.part_of(4), file.part_of(5)), ((1, 5), (2, u64::MAX)));
        let planned = |file: &FileBytes, plan, page: u64| {
            (file.planned_part(plan, page).0, file.planned_bytes(plan, page * PAGE as u64 + 5, 1)[0])
        };
        assert_eq!([1, 3, 4, 5].map(|at| planned(&file, 7, at)), [(0, 1), (0, 1), (0, 1), (0, 0)]);
        assert_eq!([1, 3, 4, 5].map(|at| planned(&file, 8, at)), [(0, 1), (1, 2), (1, 0), (1, 0)]);
        file.forget_cuts(1);
        assert_eq!([3, 5].map(|at| planned(&file, 7, at)), [(1, 2), (1, 0)]);
        assert_eq!((file.set_len(0, 9), file.part_of(0), file.len), (Ok(Some(3)), (3, u64::MAX), 0));
        assert_eq!((file.set_len(2, 9), file.read(0, 9)), (Ok(None), Ok(vec![0, 0])));
    }
}
