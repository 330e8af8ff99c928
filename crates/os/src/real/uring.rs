//! The kernel's ring, and the memory that it reads and writes: the one file with `unsafe` code, behind an interface
//! that is safe to call. A request's purpose and duration are not known here. Not `IOPOLL`, not `SQPOLL`.
//!
//! Soundness: the [`Ring`] owns the memory and the files. A place of the memory is reached by its slot, and only while
//! the kernel has nothing of that slot. A ring that is dropped waits until the kernel has nothing any more, for so long
//! as a disk may take; memory that does not come back by then is leaked, and reported. Entries that were pushed and
//! never submitted are never carried out.
//!
//! Source: io_uring_setup(2), io_uring_enter(2), io_uring_register(2).
#![allow(unsafe_code, reason = "the kernel takes addresses; the rest of the crate sees none")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::time::Duration;

use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};

/// Alignment of memory: a page, which suits every device's `O_DIRECT`.
pub const ALIGNMENT: usize = 4096;

/// Most entries of a submission queue: more requests go to the kernel in several calls.
const MOST_ENTRIES: u32 = 4096;

/// How often a dropped ring waits for the next completion before it gives up, and how long each time: the kernel
/// gives a disk's command 30 s (`/sys/block/*/device/timeout`), then ends it itself.
const PATIENCE: u32 = 30;
const SLICE: Duration = Duration::from_secs(1);

/// `RWF_SYNC` of pwritev2(2): the write and all metadata are durable before it completes.
const WHOLE: i32 = 4;
/// `RWF_DSYNC`: the write and what is needed to read it back.
const DATA: i32 = 2;

/// `FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE` of fallocate(2).
const HOLE: i32 = 1 | 2;
/// `FALLOC_FL_KEEP_SIZE | FALLOC_FL_ZERO_RANGE`.
const ZEROES: i32 = 1 | 16;

/// Memory in slots, aligned to pages, zeroed at first.
pub(crate) struct SlotMemory {
    at: NonNull<u8>,
    layout: Layout,
    size: usize,
}

// SAFETY: it owns its allocation, as a `Box<[u8]>` does, and hands out no other access to it: an address leaves this
// file only as a slice that borrows it.
unsafe impl Send for SlotMemory {}

impl SlotMemory {
    /// Allocates so many slots of `size` bytes, rounded up to whole pages.
    pub fn new(slots: usize, size: usize) -> SlotMemory {
        let size = size.max(1).next_multiple_of(ALIGNMENT);
        let bytes = size.checked_mul(slots.max(1)).expect("checked before");
        let layout = Layout::from_size_align(bytes, ALIGNMENT).expect("a page is a power of two");
        // SAFETY: the layout is not empty: a slot at least, of a page at least.
        let at = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        SlotMemory { at, layout, size }
    }

    /// The bytes of a slot.
    pub fn slot(&mut self, slot: usize) -> &mut [u8] {
        let at = self.byte_address(slot, 0, self.size);
        // SAFETY: `byte_address` has checked that so many bytes from there on lie within the allocation. All of it was
        // zeroed, so they are initialised, and `self` is borrowed as a whole for as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(at, self.size) }
    }

    /// Returns the address of a byte of a slot, from which so many bytes are to be used.
    fn byte_address(&self, slot: usize, from: usize, bytes: usize) -> *mut u8 {
        let begins = slot.checked_mul(self.size).filter(|begins| *begins < self.layout.size());
        let begins = begins.expect("no such slot");
        assert!(from.checked_add(bytes).is_some_and(|end| end <= self.size), "past the slot");
        // SAFETY: the allocation holds whole slots, so that all of one lies in it that begins in it; `from` and `bytes`
        // stay in the slot.
        unsafe { self.at.as_ptr().add(begins + from) }
    }
}

impl Drop for SlotMemory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and dropped once.
        unsafe { dealloc(self.at.as_ptr(), self.layout) }
    }
}

/// Operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RingOperation {
    /// Bytes of the file into the slot.
    Read,
    /// Bytes of the slot to the file.
    Write(RingDurability),
    /// `fsync`, or `fdatasync` for data alone.
    Sync {
        /// `fdatasync`.
        data: bool,
    },
    /// A hole, which reads as zeroes.
    Hole,
    Zeroes,
}

/// Durability of a write when it completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RingDurability {
    /// None is asked for.
    #[default]
    Not,
    /// With what is needed to read it back (`O_DSYNC`).
    Data,
    /// With all metadata (`O_SYNC`).
    Whole,
}

/// An operation on a part of a file, with a part of a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingEntry {
    /// Index of the ring's file.
    pub file: usize,
    /// The operation.
    pub ask: RingOperation,
    /// First byte in the file.
    pub offset: u64,
    /// First byte in the slot.
    pub from: usize,
    pub bytes: u64,
}

/// A ring with its files and its memory.
pub struct Ring {
    ring: IoUring,
    memory: Option<SlotMemory>,
    /// Kept open.
    _files: Vec<File>,
    /// By slot: whether the kernel has it.
    flying: Vec<bool>,
    in_flight: usize,
    /// Whether the memory is registered with the kernel; otherwise its pages are looked up for each request.
    registered: bool,
}

impl Ring {
    /// Creates a ring for these files, with so many slots of so many bytes.
    pub fn new(files: Vec<File>, slots: usize, size: usize) -> io::Result<Ring> {
        let ring = build_ring(u32::try_from(slots).map_err(|_| ErrorKind::InvalidInput)?)?;
        let memory = SlotMemory::new(slots, size);
        let raw: Vec<i32> = files.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&raw)?;
        let whole = libc_iovec(&memory);
        // SAFETY: the memory stays where it is until the ring is gone: it is freed when the kernel has nothing of it
        // any more, or never (see `Drop`).
        let registered = unsafe { ring.submitter().register_buffers(&[whole]) }.is_ok();
        let flying = vec![false; slots];
        Ok(Ring { ring, memory: Some(memory), _files: files, flying, in_flight: 0, registered })
    }

    /// Returns the bytes of a slot; panics while the kernel has it.
    pub fn slot(&mut self, slot: usize) -> &mut [u8] {
        assert!(!self.flying[slot], "the kernel has this slot");
        self.memory.as_mut().expect("there until the ring goes away").slot(slot)
    }

    /// Number of requests that the kernel has, or gets with the next [`Ring::submit`].
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Puts an entry into the queue, under the slot's number; the kernel sees it at the next [`Ring::submit`].
    pub fn push(&mut self, slot: usize, entry: &RingEntry) -> io::Result<()> {
        assert!(!self.flying[slot], "the kernel has this slot");
        let made = self.build_entry(slot, entry).user_data(slot as u64);
        if self.ring.submission().is_full() {
            self.submit()?;
        }
        // SAFETY: what the entry points to is within one slot (`byte_address` has checked it) that nothing else sees
        // until its completion was reaped, in memory that outlives what the kernel does with it; its file is registered
        // with the ring.
        unsafe { self.ring.submission().push(&made) }.map_err(|_| ErrorKind::WouldBlock)?;
        self.flying[slot] = true;
        self.in_flight += 1;
        Ok(())
    }

    fn build_entry(&self, slot: usize, entry: &RingEntry) -> squeue::Entry {
        let &RingEntry { file, ask, offset, from, bytes } = entry;
        let file = Fixed(file as u32);
        let memory = self.memory.as_ref().expect("there until the ring goes away");
        let (at, length) = match ask {
            RingOperation::Read | RingOperation::Write(_) => {
                let length = u32::try_from(bytes).expect("checked before");
                (memory.byte_address(slot, from, length as usize), length)
            }
            _ => (std::ptr::null_mut(), 0),
        };
        let flags = |through| match through {
            RingDurability::Not => 0,
            RingDurability::Data => DATA,
            RingDurability::Whole => WHOLE,
        };
        match ask {
            RingOperation::Read if self.registered => {
                opcode::ReadFixed::new(file, at, length, 0).offset(offset).build()
            }
            RingOperation::Read => opcode::Read::new(file, at, length).offset(offset).build(),
            RingOperation::Write(through) if self.registered => {
                opcode::WriteFixed::new(file, at, length, 0).offset(offset).rw_flags(flags(through)).build()
            }
            RingOperation::Write(through) => {
                opcode::Write::new(file, at, length).offset(offset).rw_flags(flags(through)).build()
            }
            RingOperation::Sync { data } => {
                let flags = if data { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
                opcode::Fsync::new(file).flags(flags).build()
            }
            RingOperation::Hole => opcode::Fallocate::new(file, bytes).offset(offset).mode(HOLE).build(),
            RingOperation::Zeroes => opcode::Fallocate::new(file, bytes).offset(offset).mode(ZEROES).build(),
        }
    }

    /// Gives the kernel all that was pushed. Waits only while the kernel has no room, and no completion can be reaped.
    pub fn submit(&mut self) -> io::Result<()> {
        while !self.ring.submission().is_empty() {
            match self.ring.submit() {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // No room for completions, or no memory just now: some must be reaped first.
                Err(error) if error.kind() == ErrorKind::WouldBlock || is_busy(&error) => {
                    if !self.ring.completion().is_empty() {
                        return Ok(());
                    }
                    self.wait_for_completion(Some(Duration::from_millis(1)))?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether a completion can be reaped without waiting.
    pub(crate) fn completions_ready(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// Waits until there is a completion, or for so long, or until a signal comes.
    pub(crate) fn wait_for_completion(&mut self, longest: Option<Duration>) -> io::Result<()> {
        let waited = match longest {
            None => self.ring.submit_and_wait(1),
            Some(longest) => {
                let longest = Timespec::from(longest);
                self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&longest))
            }
        };
        accept_early_end(waited)
    }

    /// Takes the next completion: its slot, and bytes done or the error's number, negated.
    pub(crate) fn reap(&mut self) -> Option<(usize, i32)> {
        let done = self.ring.completion().next()?;
        let slot = done.user_data() as usize;
        self.flying[slot] = false;
        self.in_flight -= 1;
        Some((slot, done.result()))
    }
}

/// Requests and memory of a dropped ring that the kernel did not give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingRemainder {
    /// Requests that did not come back.
    pub requests: usize,
    /// Bytes of memory that are leaked: the kernel may still write to them.
    pub bytes: usize,
}

impl fmt::Display for RingRemainder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RingRemainder { requests, bytes } = self;
        write!(
            f,
            "{requests} of its requests have not come back in {PATIENCE} s; {bytes} bytes of memory stay the kernel's"
        )
    }
}

impl Ring {
    /// Waits until the kernel has nothing of the memory; memory that it does not give back is leaked, for ever. Entries
    /// that were not submitted are dropped. The ring is not to be used after this.
    pub fn settle(&mut self) -> Result<(), RingRemainder> {
        self.settle_within(PATIENCE, SLICE)
    }

    fn settle_within(&mut self, patience: u32, slice: Duration) -> Result<(), RingRemainder> {
        let mut quiet = 0;
        while self.memory.is_some() {
            while self.reap().is_some() {
                quiet = 0;
            }
            let requests = self.in_flight - self.ring.submission().len();
            if requests == 0 {
                return Ok(());
            }
            if quiet == patience || self.wait_without_submit(slice).is_err() {
                let bytes = self.memory.take().map_or(0, |memory| {
                    let bytes = memory.layout.size();
                    std::mem::forget(memory);
                    bytes
                });
                return Err(RingRemainder { requests, bytes });
            }
            quiet += 1;
        }
        Ok(())
    }

    /// Waits as `wait_for_completion` does, but submits nothing.
    fn wait_without_submit(&mut self, longest: Duration) -> io::Result<()> {
        let longest = Timespec::from(longest);
        let arguments = SubmitArgs::new().timespec(&longest);
        let flags = (EnterFlags::EXT_ARG | EnterFlags::GETEVENTS).bits();
        // SAFETY: with `EXT_ARG` the kernel reads an `io_uring_getevents_arg`, which `SubmitArgs` is
        // (`repr(transparent)`); it and the time that it points to live until the call returns. No entry is given:
        // `to_submit` is 0.
        let waited = unsafe { self.ring.submitter().enter(0, 1, flags, Some(&arguments)) };
        accept_early_end(waited)
    }
}

impl Drop for Ring {
    /// The kernel must have nothing of the memory when that is freed.
    fn drop(&mut self) {
        if let Err(left) = self.settle() {
            // Standard error is the last way to report it, and may be closed.
            let _ = writeln!(io::stderr(), "io_uring: {left}");
        }
    }
}

/// Accepts a wait that ended without a completion.
fn accept_early_end(waited: io::Result<usize>) -> io::Result<()> {
    match waited {
        Ok(_) => Ok(()),
        // ETIME, and EBUSY where completions must be reaped first.
        Err(error) if error.raw_os_error() == Some(62) || is_busy(&error) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => Ok(()),
        Err(error) => Err(error),
    }
}

/// `EBUSY`.
fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(16)
}

/// Returns all of the memory, as the kernel takes it.
fn libc_iovec(memory: &SlotMemory) -> nix::libc::iovec {
    nix::libc::iovec { iov_base: memory.at.as_ptr().cast(), iov_len: memory.layout.size() }
}

/// Creates the best ring that this kernel offers: one thread submits, and completions wait until that thread asks for
/// them; older kernels offer less.
fn build_ring(slots: u32) -> io::Result<IoUring> {
    let entries = slots.clamp(1, MOST_ENTRIES).next_power_of_two();
    // As many completions as can be in flight: none is ever dropped.
    let completions = slots.max(2 * entries).next_power_of_two();
    let builder = |newest: u32| {
        let mut builder = IoUring::builder();
        builder.setup_cqsize(completions).setup_clamp().dontfork();
        if newest >= 1 {
            builder.setup_coop_taskrun();
        }
        if newest >= 2 {
            builder.setup_single_issuer().setup_defer_taskrun();
        }
        builder.build(entries)
    };
    match builder(2) {
        Err(error) if error.kind() == ErrorKind::InvalidInput => builder(1).or_else(|_| builder(0)),
        built => built,
    }
}

/// Checks whether this kernel grants a ring.
pub(crate) fn probe_ring() -> io::Result<()> {
    build_ring(1).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring over a file of eight pages, each full of its number; nothing where the kernel forbids rings.
    fn ring(slots: usize) -> Option<Ring> {
        let mut file = tempfile::tempfile().unwrap();
        (0..8u8).for_each(|page| file.write_all(&[page; 4096]).unwrap());
        match Ring::new(vec![file], slots, 8192) {
            Ok(ring) => Some(ring),
            Err(error) => {
                println!("skipped: no io_uring here ({error})");
                None
            }
        }
    }

    fn all(ring: &mut Ring) -> Vec<(usize, i32)> {
        ring.submit().unwrap();
        let mut done = Vec::new();
        while ring.in_flight() > 0 {
            match ring.reap() {
                Some(one) => done.push(one),
                None => ring.wait_for_completion(None).unwrap(),
            }
        }
        done.sort_unstable();
        done
    }

    #[test]
    fn what_is_asked_comes_back_under_its_slot() {
        let Some(mut ring) = ring(3) else { return };
        let at =
            |page: u64, bytes| RingEntry { file: 0, ask: RingOperation::Read, offset: page * 4096, from: 0, bytes };
        ring.push(0, &at(5, 4096)).unwrap();
        ring.push(1, &at(7, 8192)).unwrap();
        ring.push(2, &at(8, 4096)).unwrap();
        // All of the first, the half that there is of the second, nothing past the end.
        assert_eq!(all(&mut ring), [(0, 4096), (1, 4096), (2, 0)]);
        assert_eq!((ring.slot(0)[0], ring.slot(1)[4095]), (5, 7));
        ring.slot(2).fill(9);
        let write = RingEntry { ask: RingOperation::Write(RingDurability::Data), ..at(5, 4096) };
        ring.push(2, &write).unwrap();
        ring.push(0, &RingEntry { ask: RingOperation::Sync { data: true }, bytes: 0, ..write }).unwrap();
        assert_eq!(all(&mut ring), [(0, 0), (2, 4096)]);
        ring.push(0, &at(5, 4096)).unwrap();
        assert_eq!((all(&mut ring), ring.slot(0)[4095]), (vec![(0, 4096)], 9));
    }

    #[test]
    fn a_wait_ends_and_a_ring_goes_away_with_work_in_flight() {
        let Some(mut ring) = ring(2) else { return };
        ring.wait_for_completion(Some(Duration::from_millis(1))).unwrap();
        assert_eq!(ring.reap(), None);
        let read = RingEntry { file: 0, ask: RingOperation::Read, offset: 0, from: 0, bytes: 4096 };
        ring.push(1, &read).unwrap();
        drop(ring);
    }

    #[test]
    fn what_was_never_submitted_is_not_done_when_the_ring_goes() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 4096]).unwrap();
        let Ok(mut ring) = Ring::new(vec![file.try_clone().unwrap()], 2, 4096) else { return };
        ring.slot(0).fill(9);
        let write =
            RingEntry { file: 0, ask: RingOperation::Write(RingDurability::Not), offset: 0, from: 0, bytes: 4096 };
        ring.push(0, &write).unwrap();
        drop(ring);
        let mut read = [0; 4096];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut read, 0).unwrap();
        assert_eq!(read, [1; 4096]);
    }

    /// A pipe into which nobody writes: what is asked of it never comes back.
    #[test]
    fn what_does_not_come_back_keeps_its_memory_and_no_one_waiting() {
        let (pipe, writer) = io::pipe().unwrap();
        let Ok(mut ring) = Ring::new(vec![std::os::fd::OwnedFd::from(pipe).into()], 2, 8192) else { return };
        let read = RingEntry { file: 0, ask: RingOperation::Read, offset: 0, from: 0, bytes: 4096 };
        ring.push(0, &read).unwrap();
        ring.submit().unwrap();
        ring.push(1, &read).unwrap();
        let left = ring.settle_within(3, Duration::from_millis(5)).unwrap_err();
        assert_eq!(left, RingRemainder { requests: 1, bytes: 2 * 8192 });
        assert!(left.to_string().contains("1 of its requests have not come back"), "{left}");
        assert!(ring.memory.is_none(), "given up, not freed");
        assert_eq!(ring.settle(), Ok(()), "nothing more to wait for");
        drop(writer);
    }

    #[test]
    #[should_panic(expected = "past the slot")]
    fn no_sum_leads_past_a_slot() {
        SlotMemory::new(2, 4096).byte_address(0, usize::MAX - 4095, 4096);
    }

    #[test]
    #[should_panic(expected = "no such slot")]
    fn no_product_leads_past_the_memory() {
        SlotMemory::new(2, 4096).byte_address(usize::MAX / 4096 + 1, 0, 1);
    }

    #[test]
    #[should_panic(expected = "the kernel has this slot")]
    fn a_slot_in_flight_is_not_seen() {
        let Some(mut ring) = ring(2) else { panic!("the kernel has this slot: skipped") };
        ring.push(1, &RingEntry { file: 0, ask: RingOperation::Read, offset: 0, from: 0, bytes: 4096 }).unwrap();
        ring.slot(1);
    }
}
