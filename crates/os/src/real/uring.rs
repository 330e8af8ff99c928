//! The kernel's io_uring, a ring of requests and completions, and the memory that it reads and writes: the one file
//! with `unsafe` code, behind an interface that is safe to call. A request's purpose and duration are not known here.
//! Neither `IOPOLL` nor `SQPOLL` is used.
//!
//! Soundness: the [`Ring`] owns the memory and the files. A part of the memory is reached by its slot, and only while
//! the kernel has no request for that slot. A ring that is dropped waits until the kernel has no request any more, for
//! as long as a disk may take; memory that is not given back by then is leaked, and reported. Entries that were pushed
//! and never submitted are never carried out.
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

/// Entries of a submission queue, at most: more requests go to the kernel in several calls.
const MAX_ENTRIES: u32 = 4096;

/// How often a dropped ring waits for the next completion, each time for [`SETTLE_WAIT`], before it leaks the memory.
/// The kernel gives a disk's command 30 s (`/sys/block/*/device/timeout`), then ends it itself.
const SETTLE_WAITS: u32 = 30;
/// See [`SETTLE_WAITS`].
const SETTLE_WAIT: Duration = Duration::from_secs(1);

/// Flag of pwritev2(2): the write and all metadata are durable before it completes.
const RWF_SYNC: i32 = 4;
/// Flag of pwritev2(2): the write, and the metadata needed to read it back, are durable before it completes.
const RWF_DSYNC: i32 = 2;

/// `FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE` of fallocate(2).
const PUNCH_HOLE: i32 = 1 | 2;
/// `FALLOC_FL_KEEP_SIZE | FALLOC_FL_ZERO_RANGE`.
const ZERO_RANGE: i32 = 1 | 16;

/// Memory in slots, aligned to pages, zeroed at first.
pub(crate) struct SlotMemory {
    start: NonNull<u8>,
    layout: Layout,
    slot_bytes: usize,
}

// SAFETY: it owns its allocation, as a `Box<[u8]>` does, and hands out no other access to it: an address leaves this
// file only as a slice that borrows it.
unsafe impl Send for SlotMemory {}

impl SlotMemory {
    /// Allocates so many slots of `slot_bytes`, rounded up to whole pages.
    pub fn new(slots: usize, slot_bytes: usize) -> SlotMemory {
        let slot_bytes = slot_bytes.max(1).next_multiple_of(ALIGNMENT);
        let bytes = slot_bytes.checked_mul(slots.max(1)).expect("checked before");
        let layout = Layout::from_size_align(bytes, ALIGNMENT).expect("a page is a power of two");
        // SAFETY: the layout is not empty: a slot at least, of a page at least.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        SlotMemory { start, layout, slot_bytes }
    }

    /// The bytes of a slot.
    pub fn slot(&mut self, slot: usize) -> &mut [u8] {
        let address = self.byte_address(slot, 0, self.slot_bytes);
        // SAFETY: `byte_address` has checked that so many bytes from there on lie within the allocation. All of it was
        // zeroed, so they are initialised, and `self` is borrowed as a whole for as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(address, self.slot_bytes) }
    }

    /// Returns the address of a byte of a slot; panics unless so many bytes from there lie in the slot.
    fn byte_address(&self, slot: usize, slot_offset: usize, bytes: usize) -> *mut u8 {
        let slot_start = slot.checked_mul(self.slot_bytes).filter(|start| *start < self.layout.size());
        let slot_start = slot_start.expect("no such slot");
        assert!(slot_offset.checked_add(bytes).is_some_and(|end| end <= self.slot_bytes), "past the slot");
        // SAFETY: the allocation holds whole slots, so that all of one lies in it that begins in it;
        // `slot_offset` and `bytes` stay in the slot.
        unsafe { self.start.as_ptr().add(slot_start + slot_offset) }
    }
}

impl Drop for SlotMemory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and dropped once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
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
    Sync { data_only: bool },
    /// Makes a hole, which reads as zeroes.
    Hole,
    /// Zeroes a range, which stays allocated.
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
    pub operation: RingOperation,
    /// First byte in the file.
    pub offset: u64,
    /// First byte in the slot.
    pub slot_offset: usize,
    pub bytes: u64,
}

/// A ring with its files and its memory.
pub struct Ring {
    ring: IoUring,
    memory: Option<SlotMemory>,
    /// Kept open.
    _files: Vec<File>,
    /// By slot: whether the kernel has it.
    is_with_kernel: Vec<bool>,
    /// Number of slots that the kernel has.
    in_flight: usize,
    /// Whether the memory is registered with the kernel; otherwise its pages are looked up for each request.
    registered: bool,
}

impl Ring {
    /// Creates a ring for these files, with so many slots of so many bytes.
    pub fn new(files: Vec<File>, slots: usize, slot_bytes: usize) -> io::Result<Ring> {
        let ring = build_ring(u32::try_from(slots).map_err(|_| ErrorKind::InvalidInput)?)?;
        let memory = SlotMemory::new(slots, slot_bytes);
        let raw: Vec<i32> = files.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&raw)?;
        let whole = whole_memory(&memory);
        // SAFETY: the memory stays where it is until the ring is gone: it is freed when the kernel has nothing of it
        // any more, or never (see `Drop`).
        let registered = unsafe { ring.submitter().register_buffers(&[whole]) }.is_ok();
        let is_with_kernel = vec![false; slots];
        Ok(Ring { ring, memory: Some(memory), _files: files, is_with_kernel, in_flight: 0, registered })
    }

    /// Returns the bytes of a slot; panics while the kernel has it.
    pub fn slot(&mut self, slot: usize) -> &mut [u8] {
        assert!(!self.is_with_kernel[slot], "the kernel has this slot");
        self.memory.as_mut().expect("there until the ring goes away").slot(slot)
    }

    /// Number of requests that the kernel has, or gets with the next [`Ring::submit`].
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Puts an entry into the queue under the slot's number. The kernel sees it at the next [`Ring::submit`].
    pub fn push(&mut self, slot: usize, entry: &RingEntry) -> io::Result<()> {
        assert!(!self.is_with_kernel[slot], "the kernel has this slot");
        let made = self.build_entry(slot, entry).user_data(slot as u64);
        if self.ring.submission().is_full() {
            self.submit()?;
        }
        // SAFETY: what the entry points to is within one slot (`byte_address` has checked it) that nothing else sees
        // until its completion was reaped, in memory that outlives what the kernel does with it; its file is registered
        // with the ring.
        unsafe { self.ring.submission().push(&made) }.map_err(|_| ErrorKind::WouldBlock)?;
        self.is_with_kernel[slot] = true;
        self.in_flight += 1;
        Ok(())
    }

    fn build_entry(&self, slot: usize, entry: &RingEntry) -> squeue::Entry {
        let &RingEntry { file, operation, offset, slot_offset, bytes } = entry;
        let file = Fixed(file as u32);
        let memory = self.memory.as_ref().expect("there until the ring goes away");
        let (address, length) = match operation {
            RingOperation::Read | RingOperation::Write(_) => {
                let length = u32::try_from(bytes).expect("checked before");
                (memory.byte_address(slot, slot_offset, length as usize), length)
            }
            _ => (std::ptr::null_mut(), 0),
        };
        let flags = |durability| match durability {
            RingDurability::Not => 0,
            RingDurability::Data => RWF_DSYNC,
            RingDurability::Whole => RWF_SYNC,
        };
        match operation {
            RingOperation::Read if self.registered => {
                opcode::ReadFixed::new(file, address, length, 0).offset(offset).build()
            }
            RingOperation::Read => opcode::Read::new(file, address, length).offset(offset).build(),
            RingOperation::Write(durability) if self.registered => {
                opcode::WriteFixed::new(file, address, length, 0).offset(offset).rw_flags(flags(durability)).build()
            }
            RingOperation::Write(durability) => {
                opcode::Write::new(file, address, length).offset(offset).rw_flags(flags(durability)).build()
            }
            RingOperation::Sync { data_only } => {
                let flags = if data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
                opcode::Fsync::new(file).flags(flags).build()
            }
            RingOperation::Hole => opcode::Fallocate::new(file, bytes).offset(offset).mode(PUNCH_HOLE).build(),
            RingOperation::Zeroes => opcode::Fallocate::new(file, bytes).offset(offset).mode(ZERO_RANGE).build(),
        }
    }

    /// Submits all pushed entries to the kernel. Waits only while the kernel has no room and no completion can be
    /// reaped.
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

    /// Waits until there is a completion, `limit` is over, or a signal comes.
    pub(crate) fn wait_for_completion(&mut self, limit: Option<Duration>) -> io::Result<()> {
        let waited = match limit {
            None => self.ring.submit_and_wait(1),
            Some(limit) => {
                let limit = Timespec::from(limit);
                self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&limit))
            }
        };
        accept_early_end(waited)
    }

    /// Takes the next completion, and its slot back from the kernel.
    pub(crate) fn reap(&mut self) -> Option<RingCompletion> {
        let completion = self.ring.completion().next()?;
        let slot = completion.user_data() as usize;
        self.is_with_kernel[slot] = false;
        self.in_flight -= 1;
        Some(RingCompletion { slot, result: completion.result() })
    }
}

/// A completed entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingCompletion {
    pub slot: usize,
    /// Bytes done, or the number of the error, negated.
    pub result: i32,
}

/// Requests and memory of a dropped ring that the kernel did not give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingRemainder {
    /// Requests that were not completed.
    pub requests: usize,
    /// Bytes of memory that are leaked: the kernel may still write to them.
    pub bytes: usize,
}

impl fmt::Display for RingRemainder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RingRemainder { requests, bytes } = self;
        write!(
            f,
            "{requests} of its requests have not come back in {SETTLE_WAITS} s; {bytes} bytes of memory stay the kernel's"
        )
    }
}

impl Ring {
    /// Waits until the kernel has no request for the memory any more. If it keeps one, the memory is leaked for ever.
    /// Entries that were not submitted are dropped. The ring is not to be used after this.
    pub fn settle(&mut self) -> Result<(), RingRemainder> {
        self.settle_within(SETTLE_WAITS, SETTLE_WAIT)
    }

    fn settle_within(&mut self, max_waits: u32, wait: Duration) -> Result<(), RingRemainder> {
        let mut idle_waits = 0;
        while self.memory.is_some() {
            while self.reap().is_some() {
                idle_waits = 0;
            }
            let requests = self.in_flight - self.ring.submission().len();
            if requests == 0 {
                return Ok(());
            }
            if idle_waits == max_waits || self.wait_without_submit(wait).is_err() {
                let bytes = self.memory.take().map_or(0, |memory| {
                    let bytes = memory.layout.size();
                    std::mem::forget(memory);
                    bytes
                });
                return Err(RingRemainder { requests, bytes });
            }
            idle_waits += 1;
        }
        Ok(())
    }

    /// Waits as `wait_for_completion` does, but submits nothing.
    fn wait_without_submit(&mut self, limit: Duration) -> io::Result<()> {
        let limit = Timespec::from(limit);
        let arguments = SubmitArgs::new().timespec(&limit);
        let flags = (EnterFlags::EXT_ARG | EnterFlags::GETEVENTS).bits();
        // SAFETY: with `EXT_ARG` the kernel reads an `io_uring_getevents_arg`, which `SubmitArgs` is
        // (`repr(transparent)`); it and the time that it points to live until the call returns. No entry is given:
        // `to_submit` is 0.
        let waited = unsafe { self.ring.submitter().enter(0, 1, flags, Some(&arguments)) };
        accept_early_end(waited)
    }
}

impl Drop for Ring {
    /// Settles first: the kernel must have no request for the memory when that is freed.
    fn drop(&mut self) {
        if let Err(remainder) = self.settle() {
            // Standard error is the last way to report it, and may be closed.
            let _ = writeln!(io::stderr(), "io_uring: {remainder}");
        }
    }
}

/// Passes on the error of a wait, except those of a wait that ended without a completion.
fn accept_early_end(waited: io::Result<usize>) -> io::Result<()> {
    match waited {
        Ok(_) => Ok(()),
        // ETIME, and EBUSY where completions must be reaped first.
        Err(error) if error.raw_os_error() == Some(62) || is_busy(&error) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether an error is `EBUSY`.
fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(16)
}

/// Returns the address and length of all of the memory, as the kernel takes them.
fn whole_memory(memory: &SlotMemory) -> nix::libc::iovec {
    nix::libc::iovec { iov_base: memory.start.as_ptr().cast(), iov_len: memory.layout.size() }
}

/// Creates the best ring that this kernel offers. With the newest, one thread submits, and completions wait until that
/// thread asks for them.
fn build_ring(slots: u32) -> io::Result<IoUring> {
    let entries = slots.clamp(1, MAX_ENTRIES).next_power_of_two();
    // As many completions as can be in flight: none is ever dropped.
    let completions = slots.max(2 * entries).next_power_of_two();
    let build = |level: u32| {
        let mut builder = IoUring::builder();
        builder.setup_cqsize(completions).setup_clamp().dontfork();
        if level >= 1 {
            builder.setup_coop_taskrun();
        }
        if level >= 2 {
            builder.setup_single_issuer().setup_defer_taskrun();
        }
        builder.build(entries)
    };
    match build(2) {
        Err(error) if error.kind() == ErrorKind::InvalidInput => build(1).or_else(|_| build(0)),
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
        let at = |page: u64, bytes| RingEntry {
            file: 0,
            operation: RingOperation::Read,
            offset: page * 4096,
            slot_offset: 0,
            bytes,
        };
        ring.push(0, &at(5, 4096)).unwrap();
        ring.push(1, &at(7, 8192)).unwrap();
        ring.push(2, &at(8, 4096)).unwrap();
        // All of the first, the half that there is of the second, nothing past the end.
        assert_eq!(all(&mut ring), [(0, 4096), (1, 4096), (2, 0)]);
        assert_eq!((ring.slot(0)[0], ring.slot(1)[4095]), (5, 7));
        ring.slot(2).fill(9);
        let write = RingEntry { operation: RingOperation::Write(RingDurability::Data), ..at(5, 4096) };
        ring.push(2, &write).unwrap();
        ring.push(0, &RingEntry { operation: RingOperation::Sync { data_only: true }, bytes: 0, ..write }).unwrap();
        assert_eq!(all(&mut ring), [(0, 0), (2, 4096)]);
        ring.push(0, &at(5, 4096)).unwrap();
        assert_eq!((all(&mut ring), ring.slot(0)[4095]), (vec![(0, 4096)], 9));
    }

    #[test]
    fn a_wait_ends_and_a_ring_goes_away_with_work_in_flight() {
        let Some(mut ring) = ring(2) else { return };
        ring.wait_for_completion(Some(Duration::from_millis(1))).unwrap();
        assert_eq!(ring.reap(), None);
        let read = RingEntry { file: 0, operation: RingOperation::Read, offset: 0, slot_offset: 0, bytes: 4096 };
        ring.push(1, &read).unwrap();
        drop(ring);
    }

    #[test]
    fn what_was_never_submitted_is_not_done_when_the_ring_goes() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 4096]).unwrap();
        let Ok(mut ring) = Ring::new(vec![file.try_clone().unwrap()], 2, 4096) else { return };
        ring.slot(0).fill(9);
        let write = RingEntry {
            file: 0,
            operation: RingOperation::Write(RingDurability::Not),
            offset: 0,
            slot_offset: 0,
            bytes: 4096,
        };
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
        let read = RingEntry { file: 0, operation: RingOperation::Read, offset: 0, slot_offset: 0, bytes: 4096 };
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
        ring.push(1, &RingEntry { file: 0, operation: RingOperation::Read, offset: 0, slot_offset: 0, bytes: 4096 })
            .unwrap();
        ring.slot(1);
    }
}
