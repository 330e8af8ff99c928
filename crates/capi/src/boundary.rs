//! The functions that C calls: the one file of this crate with `unsafe` code. Each checks its pointers, catches panics, and
//! leaves the rest to [`Disk`].
//!
//! Why it is sound: a disk is made by [`seekwise_open`] or [`seekwise_open_stack`] and taken apart by [`seekwise_free`] alone;
//! what is read or written through any other pointer is one value of its type, or a text within its bounds. The caller has to
//! see to it that pointers which are not null point to such values, and that a disk is used by one thread at a time and never
//! after it was freed, as everywhere in C; the header says so.
#![allow(unsafe_code, reason = "C gives addresses; the rest of the crate sees none")]
#![allow(clippy::missing_safety_doc, reason = "what the caller must keep is the same everywhere, and said above")]

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use seekwise_disk::record::Part;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::drives;

use crate::disk::Disk;
use crate::values::{
    SEEKWISE_NEVER, SeekwiseCompletion, SeekwiseLanding, SeekwiseLimits, SeekwiseRequest, SeekwiseStatus,
};

/// Bytes of a name, key or value at most.
const WORD: usize = 4096;

/// Bytes of a stack's text at most.
const TEXT: usize = 1 << 20;

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
    unsafe { open_from_text(drive, WORD, disk, (why, why_size), |name| Disk::drive(name, seed)) }
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
    unsafe { open_from_text(stack_toml, TEXT, disk, (why, why_size), |text| Disk::stack(text, seed)) }
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
        let taken = disk.submit(now_ns, unsafe { read_value(request) }?)?;
        if stamp.is_null() { Ok(()) } else { unsafe { write_value(stamp, taken) } }
    };
    unsafe { with_disk(disk, submit) }
}

/// When something happens next by itself: the instant to call seekwise_advance at. SEEKWISE_NEVER without a disk, or while nothing
/// is going on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_next(disk: *mut Disk) -> u64 {
    let mut next = SEEKWISE_NEVER;
    let ask = |disk: &mut Disk| {
        next = disk.next();
        Ok(())
    };
    let _ = unsafe { with_disk(disk, ask) };
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
    unsafe { collect_next(disk, completion, Disk::completion) }
}

/// Collects the next landing; SEEKWISE_STATUS_NONE when there is none. Set landings to on first. Landings are kept until they
/// are collected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_landing(disk: *mut Disk, landing: *mut SeekwiseLanding) -> SeekwiseStatus {
    unsafe { collect_next(disk, landing, Disk::landing) }
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
    let set = |disk: &mut Disk| disk.set(now_ns, unsafe { read_text(key, WORD) }?, unsafe { read_text(value, WORD) }?);
    unsafe { with_disk(disk, set) }
}

/// The name of the built-in drive at index, from 0; SEEKWISE_STATUS_NONE past the last. A name longer than size - 1 bytes is cut.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_drive_name(index: usize, name: *mut c_char, size: usize) -> SeekwiseStatus {
    unsafe { put_name(drives::names().nth(index), name, size) }
}

/// The name of a part of a response, in the order of parts_ns; SEEKWISE_STATUS_NONE past the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekwise_part_name(part: usize, name: *mut c_char, size: usize) -> SeekwiseStatus {
    unsafe { put_name(Part::ALL.get(part).map(|part| part.name()), name, size) }
}

/// The meaning of a status (one of SeekwiseStatus), in words.
#[unsafe(no_mangle)]
pub extern "C" fn seekwise_status_text(status: u32) -> *const c_char {
    const TEXTS: [&CStr; 9] = [
        c"done",
        c"nothing to hand over",
        c"the disk has no room now",
        c"a null pointer, or a number out of range",
        c"time ran back",
        c"the tag is in use",
        c"no such drive, layer, key, value or tag",
        c"the disk is off",
        c"a fault of the model; free the disk",
    ];
    TEXTS.get(status as usize).unwrap_or(&c"no such status").as_ptr()
}

/// Runs `act` on the disk at an address.
unsafe fn with_disk(disk: *mut Disk, act: impl FnOnce(&mut Disk) -> Result<(), SeekwiseStatus>) -> SeekwiseStatus {
    let Some(disk) = (unsafe { disk.as_mut() }) else {
        return SeekwiseStatus::BadArgument;
    };
    if disk.broken {
        return SeekwiseStatus::Panicked;
    }
    let status = catch_panics(|| act(disk));
    disk.broken = status == SeekwiseStatus::Panicked;
    status
}

/// Runs `act`; returns how it ended, by a panic too.
fn catch_panics(act: impl FnOnce() -> Result<(), SeekwiseStatus>) -> SeekwiseStatus {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(())) => SeekwiseStatus::Ok,
        Ok(Err(status)) => status,
        Err(_) => SeekwiseStatus::Panicked,
    }
}

/// Opens what `make` makes of the text at an address.
unsafe fn open_from_text(
    from: *const c_char,
    most: usize,
    to: *mut *mut Disk,
    (why, size): (*mut c_char, usize),
    make: impl FnOnce(&str) -> Result<Disk, Vec<Diagnostic>>,
) -> SeekwiseStatus {
    catch_panics(|| {
        unsafe { write_value(to, std::ptr::null_mut()) }?;
        let disk = make(unsafe { read_text(from, most) }?).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(Diagnostic::to_string).collect();
            // Nobody has to want the reason.
            let _ = unsafe { write_text(&lines.join("\n"), why, size) };
            SeekwiseStatus::Unknown
        })?;
        unsafe { write_value(to, Box::into_raw(Box::new(disk))) }
    })
}

/// Hands over what `next` takes from the disk.
unsafe fn collect_next<T>(disk: *mut Disk, to: *mut T, next: impl FnOnce(&mut Disk) -> Option<T>) -> SeekwiseStatus {
    let hand_over = |disk: &mut Disk| {
        // Nothing is taken that cannot be handed over.
        if !is_place(to) {
            return Err(SeekwiseStatus::BadArgument);
        }
        unsafe { write_value(to, next(disk).ok_or(SeekwiseStatus::None)?) }
    };
    unsafe { with_disk(disk, hand_over) }
}

/// Hands over a name, if there is one.
unsafe fn put_name(name: Option<&str>, to: *mut c_char, size: usize) -> SeekwiseStatus {
    catch_panics(|| unsafe { write_text(name.ok_or(SeekwiseStatus::None)?, to, size) })
}

/// Whether a value can be at this address.
fn is_place<T>(at: *const T) -> bool {
    !at.is_null() && at.is_aligned()
}

/// The value at an address.
unsafe fn read_value<'a, T>(from: *const T) -> Result<&'a T, SeekwiseStatus> {
    if is_place(from) { Ok(unsafe { &*from }) } else { Err(SeekwiseStatus::BadArgument) }
}

/// Writes a value to an address.
unsafe fn write_value<T>(to: *mut T, value: T) -> Result<(), SeekwiseStatus> {
    if !is_place(to) {
        return Err(SeekwiseStatus::BadArgument);
    }
    unsafe { to.write(value) };
    Ok(())
}

/// The text at an address, of at most `most` bytes before its end.
unsafe fn read_text<'a>(from: *const c_char, most: usize) -> Result<&'a str, SeekwiseStatus> {
    if from.is_null() {
        return Err(SeekwiseStatus::BadArgument);
    }
    let end = (0..=most).find(|&at| unsafe { *from.add(at) } == 0).ok_or(SeekwiseStatus::BadArgument)?;
    let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), end) };
    std::str::from_utf8(bytes).map_err(|_| SeekwiseStatus::BadArgument)
}

/// Writes as much of a text as goes into `size` bytes with its end.
unsafe fn write_text(text: &str, to: *mut c_char, size: usize) -> Result<(), SeekwiseStatus> {
    if to.is_null() || size == 0 {
        return Err(SeekwiseStatus::BadArgument);
    }
    let end = (0..=text.len().min(size - 1)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast::<u8>(), end);
        to.add(end).write(0);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
