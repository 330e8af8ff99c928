//! The functions that C calls: the one file of this crate with `unsafe` code. Each checks its pointers, catches panics, and leaves the rest
//! to [`Disk`].
//!
//! Why it is sound: only the functions that open, copy or restore one make a disk, and only [`seekwise_free`] frees it. Through any other
//! pointer a function reads or writes one value of its type, or texts, bytes and values within their bounds. As everywhere in C, the caller guarantees the
//! rest, and the header says so: a pointer that is not null points to such a value, and a disk is used by one thread at a time and never
//! after it was freed.
#![allow(unsafe_code, reason = "C gives addresses; the rest of the crate sees none")]
#![allow(clippy::missing_safety_doc, reason = "the caller guarantees the same everywhere, as said above")]

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use seekwise_disk::record::Part;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::drives;

use crate::call_log::MOST_WORD_BYTES;
use crate::disk::Disk;
use crate::saved_state::MOST_TEXT_BYTES;
use crate::source::DiskSource;
use crate::values::{
    SEEKWISE_NEVER, SeekwiseCompletion, SeekwiseLanding, SeekwiseLimits, SeekwiseRequest, SeekwiseStatus,
};

/// Opens a built-in drive by name, with nothing above it. The platters' phase at instant 0 is drawn from seed: the same name and
/// seed give the same disk. If there is no such drive, why gets the reason, cut to why_size bytes; it may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_open(
    drive: *const c_char,
    seed: u64,
    disk: *mut *mut Disk,
    why: *mut c_char,
    why_size: usize,
) -> SeekwiseStatus {
    let reason = TextBuffer { start: why, size: why_size };
    let open = || Ok(DiskSource::Drive(unsafe { read_text(drive, MOST_WORD_BYTES) }?.to_owned()));
    unsafe { open_source(open, seed, disk, reason) }
}

/// Opens a stack like a drive, from the text of a stack file (docs/stack.md), whose drive is a built-in one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_open_stack(
    stack_toml: *const c_char,
    seed: u64,
    disk: *mut *mut Disk,
    why: *mut c_char,
    why_size: usize,
) -> SeekwiseStatus {
    let reason = TextBuffer { start: why, size: why_size };
    let open = || Ok(DiskSource::Stack(unsafe { read_text(stack_toml, MOST_TEXT_BYTES) }?.to_owned()));
    unsafe { open_source(open, seed, disk, reason) }
}

/// Opens a drive of your own from the text of its profile (docs/how-to/own-drive.md). stack_toml is the text of a stack file whose drive is
/// "profile.toml", or null for the drive with nothing above it. An error names line, key, what was expected and the nearest word.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_open_profile(
    profile_toml: *const c_char,
    stack_toml: *const c_char,
    seed: u64,
    disk: *mut *mut Disk,
    why: *mut c_char,
    why_size: usize,
) -> SeekwiseStatus {
    let reason = TextBuffer { start: why, size: why_size };
    let open = || {
        let profile = unsafe { read_text(profile_toml, MOST_TEXT_BYTES) }?.to_owned();
        let stack = match stack_toml.is_null() {
            true => None,
            false => Some(unsafe { read_text(stack_toml, MOST_TEXT_BYTES) }?.to_owned()),
        };
        Ok(DiskSource::Profile { profile, stack })
    };
    unsafe { open_source(open, seed, disk, reason) }
}

/// Copies a disk with all its state. Equal calls of both give equal answers; free both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_fork(disk: *mut Disk, copy: *mut *mut Disk) -> SeekwiseStatus {
    let fork = |disk: &mut Disk| {
        unsafe { write_value(copy, std::ptr::null_mut()) }?;
        let forked = disk.fork().ok_or(SeekwiseStatus::Unknown)?;
        unsafe { write_value(copy, Box::into_raw(Box::new(forked))) }
    };
    unsafe { with_disk(disk, fork) }
}

/// Keeps a log of all calls, which seekwise_save needs; SEEKWISE_STATUS_NO_LOG after the first call. A call takes a few bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_keep_log(disk: *mut Disk) -> SeekwiseStatus {
    unsafe { with_disk(disk, Disk::keep_log) }
}

/// Saves the whole state: what the disk was opened from, and its log. size gets the bytes that it takes; with fewer than that in
/// capacity nothing is written (SEEKWISE_STATUS_NO_ROOM). bytes may be null if capacity is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_save(
    disk: *mut Disk,
    bytes: *mut u8,
    capacity: usize,
    size: *mut usize,
) -> SeekwiseStatus {
    let save = |disk: &mut Disk| unsafe { write_values(&disk.save()?, bytes, capacity, size) };
    unsafe { with_disk(disk, save) }
}

/// Restores a saved state as a new disk, by repeating its calls: later calls get the answers that the saved disk would have given. It
/// keeps its log on. Other bytes, and a state that this build of the model answers otherwise, are SEEKWISE_STATUS_BAD_STATE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_restore(
    bytes: *const u8,
    size: usize,
    disk: *mut *mut Disk,
    why: *mut c_char,
    why_size: usize,
) -> SeekwiseStatus {
    let reason = TextBuffer { start: why, size: why_size };
    catch_panics(|| {
        unsafe { write_value(disk, std::ptr::null_mut()) }?;
        let restored = Disk::restore(unsafe { read_bytes(bytes, size) }?)
            .map_err(|error| unsafe { report_error(&error.to_string(), reason, SeekwiseStatus::BadState) })?;
        unsafe { write_value(disk, Box::into_raw(Box::new(restored))) }
    })
}

/// Frees a disk. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_free(disk: *mut Disk) {
    if !disk.is_null() {
        // After a panic the memory is lost.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(disk) })));
    }
}

/// Gets the limits of a disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_limits(disk: *mut Disk, limits: *mut SeekwiseLimits) -> SeekwiseStatus {
    unsafe { with_disk(disk, |disk| write_value(limits, disk.limits())) }
}

/// Submits a request at now_ns, after doing all that is due by then. stamp gets the number of the request among all that the disk
/// has taken, from 1, by which landings name it; it may be null. Collect completions afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_submit(
    disk: *mut Disk,
    now_ns: u64,
    request: *const SeekwiseRequest,
    stamp: *mut u64,
) -> SeekwiseStatus {
    let submit = |disk: &mut Disk| {
        if !stamp.is_null() && !is_place(stamp) {
            return Err(SeekwiseStatus::BadArgument);
        }
        let new_stamp = disk.submit(now_ns, unsafe { read_value(request) }?)?;
        if stamp.is_null() { Ok(()) } else { unsafe { write_value(stamp, new_stamp) } }
    };
    unsafe { with_disk(disk, submit) }
}

/// When something happens next by itself: the instant to call seekwise_advance at. SEEKWISE_NEVER without a disk, or while nothing
/// is going on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_next(disk: *mut Disk) -> u64 {
    let mut next = SEEKWISE_NEVER;
    let read_next = |disk: &mut Disk| {
        next = disk.next_event_ns();
        Ok(())
    };
    let _ = unsafe { with_disk(disk, read_next) };
    next
}

/// Does all that is due by now_ns, each thing at its own instant: late calls change no figure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_advance(disk: *mut Disk, now_ns: u64) -> SeekwiseStatus {
    unsafe { with_disk(disk, |disk| disk.advance(now_ns)) }
}

/// Collects the next completion; SEEKWISE_STATUS_NONE when there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_completion(disk: *mut Disk, completion: *mut SeekwiseCompletion) -> SeekwiseStatus {
    unsafe { collect_next(disk, completion, Disk::pop_completion) }
}

/// Collects the next landing; SEEKWISE_STATUS_NONE when there is none. Set landings to on first. Landings are kept until they
/// are collected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_landing(disk: *mut Disk, landing: *mut SeekwiseLanding) -> SeekwiseStatus {
    unsafe { collect_next(disk, landing, Disk::pop_landing) }
}

/// Gets the stamps of the writes that may still land, and possibly of others, rising: keep their data. count gets how many there are;
/// with fewer than that in capacity none is written (SEEKWISE_STATUS_NO_ROOM). stamps may be null if capacity is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_unsettled(
    disk: *mut Disk,
    stamps: *mut u64,
    capacity: usize,
    count: *mut usize,
) -> SeekwiseStatus {
    let report = |disk: &mut Disk| {
        let unsettled: Vec<u64> = disk.unsettled().into_iter().collect();
        unsafe { write_values(&unsettled, stamps, capacity, count) }
    };
    unsafe { with_disk(disk, report) }
}

/// Does at now_ns what control (one of SeekwiseControl) says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_control(disk: *mut Disk, now_ns: u64, control: u32) -> SeekwiseStatus {
    unsafe { with_disk(disk, |disk| disk.control(now_ns, control)) }
}

/// Aborts a request in flight, which completes as aborted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_abort(disk: *mut Disk, now_ns: u64, tag: u32) -> SeekwiseStatus {
    unsafe { with_disk(disk, |disk| disk.abort(now_ns, tag)) }
}

/// Sets a dotted key of the stack: landings to on, drive.cache.write_back to off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_set(
    disk: *mut Disk,
    now_ns: u64,
    key: *const c_char,
    value: *const c_char,
) -> SeekwiseStatus {
    let set = |disk: &mut Disk| {
        let (key, value) = (unsafe { read_text(key, MOST_WORD_BYTES) }?, unsafe { read_text(value, MOST_WORD_BYTES) }?);
        disk.set(now_ns, key, value)
    };
    unsafe { with_disk(disk, set) }
}

/// The name of the built-in drive at index, from 0; SEEKWISE_STATUS_NONE past the last. A name longer than size - 1 bytes is cut.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_drive_name(index: usize, name: *mut c_char, size: usize) -> SeekwiseStatus {
    unsafe { write_name(drives::names().nth(index), TextBuffer { start: name, size }) }
}

/// The name of a part of a response, in the order of parts_ns; SEEKWISE_STATUS_NONE past the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_part_name(part: usize, name: *mut c_char, size: usize) -> SeekwiseStatus {
    unsafe { write_name(Part::ALL.get(part).map(|part| part.name()), TextBuffer { start: name, size }) }
}

/// Why the last seekwise_set that the disk refused was refused, and what was expected. Nothing if none was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_last_error(disk: *mut Disk, text: *mut c_char, size: usize) -> SeekwiseStatus {
    unsafe { with_disk(disk, |disk| write_text(disk.last_error(), TextBuffer { start: text, size })) }
}

/// The version of the library that runs, such as 0.2.0. SEEKWISE_VERSION_MAJOR and the like are those of this header.
#[unsafe(no_mangle)]
pub extern "C" fn seekwise_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no 0"),
    };
    VERSION.as_ptr()
}

/// The meaning of a status (one of SeekwiseStatus), in words.
#[unsafe(no_mangle)]
pub extern "C" fn seekwise_status_text(status: u32) -> *const c_char {
    const TEXTS: [&CStr; 12] = [
        c"done",
        c"nothing to hand over",
        c"the disk has no room now",
        c"a null pointer, or a number out of range",
        c"time ran back",
        c"the tag is in use",
        c"no such drive, layer, key, value or tag",
        c"the disk is off",
        c"a fault of the model; free the disk",
        c"the memory is too small",
        c"no log of the calls is kept",
        c"no saved state of this version",
    ];
    TEXTS.get(status as usize).unwrap_or(&c"no such status").as_ptr()
}

/// The caller's memory for a text, or null.
#[derive(Clone, Copy)]
struct TextBuffer {
    start: *mut c_char,
    size: usize,
}

/// Runs `act` on the disk at an address; a disk whose call panicked answers nothing else any more.
unsafe fn with_disk(disk: *mut Disk, act: impl FnOnce(&mut Disk) -> Result<(), SeekwiseStatus>) -> SeekwiseStatus {
    let Some(disk) = (unsafe { disk.as_mut() }) else {
        return SeekwiseStatus::BadArgument;
    };
    if disk.has_panicked {
        return SeekwiseStatus::Panicked;
    }
    let status = catch_panics(|| act(disk));
    disk.has_panicked = status == SeekwiseStatus::Panicked;
    status
}

/// Runs `act`; returns how it ended, also by a panic.
fn catch_panics(act: impl FnOnce() -> Result<(), SeekwiseStatus>) -> SeekwiseStatus {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(())) => SeekwiseStatus::Ok,
        Ok(Err(status)) => status,
        Err(_) => SeekwiseStatus::Panicked,
    }
}

/// Opens a disk from the source that `read_source` reads, and writes its address to `disk`; after an error, the reasons to `reason`.
unsafe fn open_source(
    read_source: impl FnOnce() -> Result<DiskSource, SeekwiseStatus>,
    seed: u64,
    disk: *mut *mut Disk,
    reason: TextBuffer,
) -> SeekwiseStatus {
    catch_panics(|| {
        unsafe { write_value(disk, std::ptr::null_mut()) }?;
        let opened = Disk::open(read_source()?, seed).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(Diagnostic::to_string).collect();
            unsafe { report_error(&lines.join("\n"), reason, SeekwiseStatus::Unknown) }
        })?;
        unsafe { write_value(disk, Box::into_raw(Box::new(opened))) }
    })
}

/// Writes why a call fails to `reason`, which may be null: a caller need not ask. Returns the call's status.
unsafe fn report_error(why: &str, reason: TextBuffer, status: SeekwiseStatus) -> SeekwiseStatus {
    let _ = unsafe { write_text(why, reason) };
    status
}

/// Writes the value that `pop` takes from the disk to `out`.
unsafe fn collect_next<T>(disk: *mut Disk, out: *mut T, pop: impl FnOnce(&mut Disk) -> Option<T>) -> SeekwiseStatus {
    let hand_over = |disk: &mut Disk| {
        // Checked first, so that no value is taken that cannot be handed over.
        if !is_place(out) {
            return Err(SeekwiseStatus::BadArgument);
        }
        unsafe { write_value(out, pop(disk).ok_or(SeekwiseStatus::None)?) }
    };
    unsafe { with_disk(disk, hand_over) }
}

/// Writes a name, if there is one.
unsafe fn write_name(name: Option<&str>, buffer: TextBuffer) -> SeekwiseStatus {
    catch_panics(|| unsafe { write_text(name.ok_or(SeekwiseStatus::None)?, buffer) })
}

/// True if a value can be at this address: it is not null, and aligned.
fn is_place<T>(address: *const T) -> bool {
    !address.is_null() && address.is_aligned()
}

/// Reads the value at an address.
unsafe fn read_value<'a, T>(address: *const T) -> Result<&'a T, SeekwiseStatus> {
    if is_place(address) { Ok(unsafe { &*address }) } else { Err(SeekwiseStatus::BadArgument) }
}

/// Writes a value to an address.
unsafe fn write_value<T>(address: *mut T, value: T) -> Result<(), SeekwiseStatus> {
    if !is_place(address) {
        return Err(SeekwiseStatus::BadArgument);
    }
    unsafe { address.write(value) };
    Ok(())
}

/// Writes how many values there are to `count`, and the values to `out` if `capacity` holds them all.
unsafe fn write_values<T: Copy>(
    values: &[T],
    out: *mut T,
    capacity: usize,
    count: *mut usize,
) -> Result<(), SeekwiseStatus> {
    if capacity > 0 && !is_place(out) {
        return Err(SeekwiseStatus::BadArgument);
    }
    unsafe { write_value(count, values.len()) }?;
    if capacity < values.len() {
        return Err(SeekwiseStatus::NoRoom);
    }
    if !values.is_empty() {
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), out, values.len()) };
    }
    Ok(())
}

/// Reads so many bytes at an address.
unsafe fn read_bytes<'a>(start: *const u8, size: usize) -> Result<&'a [u8], SeekwiseStatus> {
    if start.is_null() || isize::try_from(size).is_err() {
        return Err(SeekwiseStatus::BadArgument);
    }
    Ok(unsafe { std::slice::from_raw_parts(start, size) })
}

/// Reads the text at an address, which ends in 0 after at most `most_bytes` bytes.
unsafe fn read_text<'a>(start: *const c_char, most_bytes: usize) -> Result<&'a str, SeekwiseStatus> {
    if start.is_null() {
        return Err(SeekwiseStatus::BadArgument);
    }
    let length =
        (0..=most_bytes).find(|&offset| unsafe { *start.add(offset) } == 0).ok_or(SeekwiseStatus::BadArgument)?;
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    std::str::from_utf8(bytes).map_err(|_| SeekwiseStatus::BadArgument)
}

/// Writes as much of a text as fits into a buffer with its final 0; a character is whole or left out.
unsafe fn write_text(text: &str, buffer: TextBuffer) -> Result<(), SeekwiseStatus> {
    let TextBuffer { start, size } = buffer;
    if start.is_null() || size == 0 {
        return Err(SeekwiseStatus::BadArgument);
    }
    let end = (0..=text.len().min(size - 1)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), start.cast::<u8>(), end);
        start.add(end).write(0);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
