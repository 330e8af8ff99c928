//! Bad arguments from C: null, addresses out of line, texts without an end; and panics of the model.

use std::ffi::CString;
use std::ptr::{null, null_mut};

use seekwise_disk::block::{Completion, Control, ControlError, Device, Landing, Limits, Request};
use seekwise_disk::record::DriveLog;
use seekwise_disk::time::Instant;

use super::*;

/// An opened drive, freed at its end.
struct Opened(*mut Disk);

impl Drop for Opened {
    fn drop(&mut self) {
        unsafe { seekwise_free(self.0) }
    }
}

fn opened(name: &CStr) -> (SeekwiseStatus, Opened, String) {
    let (mut disk, mut why) = (null_mut(), [1 as c_char; 80]);
    let status = unsafe { seekwise_open(name.as_ptr(), 1, &mut disk, why.as_mut_ptr(), why.len()) };
    let said = if status == SeekwiseStatus::Ok { "" } else { unsafe { read_text(why.as_ptr(), 80) }.unwrap() };
    (status, Opened(disk), said.to_owned())
}

#[test]
fn a_reason_is_given_as_far_as_it_fits() {
    let (status, disk, why) = opened(c"exos-x81");
    assert_eq!((status, disk.0), (SeekwiseStatus::Unknown, null_mut()));
    assert!(why.starts_with("exos-x81: no such built-in drive; expected a name") && why.len() == 79, "{why}");
    let mut place = [1 as c_char; 4];
    let cut = unsafe { write_text("abé", TextBuffer { start: place.as_mut_ptr(), size: 4 }) };
    assert_eq!((cut, place), (Ok(()), [b'a' as c_char, b'b' as c_char, 0, 1]), "a letter is whole or not there");
}

/// A text takes its bytes and one for its end; beyond the size that is given nothing is touched.
#[test]
fn a_text_is_cut_to_any_size_from_its_end_alone_on() {
    let written = |size: usize| {
        let mut place = [1 as c_char; 7];
        let status = unsafe { write_text("abé", TextBuffer { start: place.as_mut_ptr(), size }) };
        (status, place)
    };
    assert_eq!(written(0), (Err(SeekwiseStatus::BadArgument), [1; 7]), "there is no room for the end");
    for (size, held) in [(1, ""), (2, "a"), (3, "ab"), (4, "ab"), (5, "abé"), (6, "abé")] {
        let mut wanted = [1 as c_char; 7];
        for (to, from) in wanted.iter_mut().zip(held.bytes().chain([0])) {
            *to = from as c_char;
        }
        assert_eq!(written(size), (Ok(()), wanted), "{size} bytes");
    }
}

#[test]
fn null_is_refused_everywhere() {
    let bad = SeekwiseStatus::BadArgument;
    let (_, disk, _) = opened(c"exos-x18");
    let (mut other, mut completion) = (null_mut(), SeekwiseCompletion::default());
    unsafe {
        assert_eq!(seekwise_open(null(), 1, &mut other, null_mut(), 0), bad);
        assert_eq!(seekwise_open(c"exos-x18".as_ptr(), 1, null_mut(), null_mut(), 0), bad);
        assert_eq!(seekwise_open(c"exos-x81".as_ptr(), 1, &mut other, null_mut(), 0), SeekwiseStatus::Unknown);
        assert_eq!(seekwise_open_stack(null(), 1, &mut other, null_mut(), 0), bad);
        assert_eq!(seekwise_limits(disk.0, null_mut()), bad);
        assert_eq!(seekwise_submit(disk.0, 0, null(), null_mut()), bad);
        assert_eq!(seekwise_completion(disk.0, null_mut()), bad);
        assert_eq!(seekwise_landing(disk.0, null_mut()), bad);
        assert_eq!(seekwise_set(disk.0, 0, null(), c"on".as_ptr()), bad);
        assert_eq!(seekwise_drive_name(0, null_mut(), 9), bad);
        assert_eq!(seekwise_part_name(0, null_mut(), 9), bad);
        assert_eq!(seekwise_advance(null_mut(), 0), bad);
        assert_eq!(seekwise_control(null_mut(), 0, 0), bad);
        assert_eq!(seekwise_abort(null_mut(), 0, 0), bad);
        assert_eq!(seekwise_next(null_mut()), SEEKWISE_NEVER);
        let askew = (&raw mut completion).byte_add(1);
        assert_eq!(seekwise_completion(disk.0, askew), bad);
        assert_eq!(seekwise_completion(disk.0, &mut completion), SeekwiseStatus::None);
        seekwise_free(null_mut());
    }
}

#[test]
fn a_text_without_an_end_is_read_no_farther_than_its_bound() {
    let long = vec![b'a' as c_char; MOST_WORD_BYTES + 1];
    assert_eq!(unsafe { read_text(long.as_ptr(), MOST_WORD_BYTES) }, Err(SeekwiseStatus::BadArgument));
    assert_eq!(unsafe { read_text(c"\xff".as_ptr(), MOST_WORD_BYTES) }, Err(SeekwiseStatus::BadArgument));
}

#[test]
fn names_go_up_to_the_last() {
    let mut name = [0 as c_char; 64];
    let mut names = Vec::new();
    while unsafe { seekwise_drive_name(names.len(), name.as_mut_ptr(), name.len()) } == SeekwiseStatus::Ok {
        names.push(unsafe { read_text(name.as_ptr(), name.len()) }.unwrap().to_owned());
    }
    assert!(names.iter().map(String::as_str).eq(drives::names()));
    assert_eq!(unsafe { seekwise_part_name(12, name.as_mut_ptr(), name.len()) }, SeekwiseStatus::None);
    let says = |status: u32| unsafe { CStr::from_ptr(seekwise_status_text(status)) };
    assert_eq!((says(0), says(8)), (c"done", c"a fault of the model; free the disk"));
    assert_eq!((says(11), says(12)), (c"no saved state of this version", c"no such status"));
}

/// Panics as soon as time passes.
struct Faulty;

impl Device for Faulty {
    fn limits(&self, _unit: u8) -> Limits {
        let drive = drives::load("exos-x18").unwrap().profile().unwrap();
        seekwise_disk::stack::Stack::bare(drive).build(seekwise_disk::rng::Seed(1)).limits(0)
    }
    fn submit(&mut self, _now: Instant, request: Request) -> Result<Instant, Request> {
        Err(request)
    }
    fn control(&mut self, _now: Instant, _control: &Control) -> Result<(), ControlError> {
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn handle_timeout(&mut self, _now: Instant) {
        panic!("as this test wants it");
    }
    fn poll_completion(&mut self) -> Option<Completion> {
        None
    }
    fn poll_landing(&mut self) -> Option<Landing> {
        None
    }
    fn report_unsettled(&self, _tell: &mut dyn FnMut(u64)) {}
    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }
}

#[test]
fn a_panic_ends_at_the_boundary_and_the_disk_with_it() {
    let disk = Opened(Box::into_raw(Box::new(Disk::new(Box::new(Faulty)))));
    let mut limits = SeekwiseLimits::default();
    unsafe {
        assert_eq!(seekwise_limits(disk.0, &mut limits), SeekwiseStatus::Ok);
        assert_eq!(seekwise_advance(disk.0, 1), SeekwiseStatus::Panicked);
        assert_eq!(seekwise_limits(disk.0, &mut limits), SeekwiseStatus::Panicked);
    }
}

/// The text that `write` writes to memory of so many bytes.
fn text_of(write: impl FnOnce(*mut c_char, usize) -> SeekwiseStatus) -> (SeekwiseStatus, String) {
    let mut text = [0 as c_char; 400];
    let status = write(text.as_mut_ptr(), text.len());
    (status, unsafe { read_text(text.as_ptr(), text.len()) }.unwrap().to_owned())
}

#[test]
fn errors_name_the_line_the_key_and_what_was_expected() {
    let (_, disk, _) = opened(c"exos-x18");
    let last_error = || text_of(|text, size| unsafe { seekwise_last_error(disk.0, text, size) });
    assert_eq!(last_error(), (SeekwiseStatus::Ok, String::new()));
    assert_eq!(unsafe { seekwise_set(disk.0, 0, c"drive.colour".as_ptr(), c"red".as_ptr()) }, SeekwiseStatus::Unknown);
    assert_eq!(last_error().1, "drive.colour = red: no layer of the stack can change it while it runs");
    let mut other = null_mut();
    let mut open = |profile: &CStr, stack: Option<&CStr>| {
        let (profile, stack) = (profile.as_ptr(), stack.map_or(null(), CStr::as_ptr));
        text_of(|why, size| unsafe { seekwise_open_profile(profile, stack, 1, &mut other, why, size) })
    };
    let (status, why) = open(c"name = 1", None);
    assert_eq!(status, SeekwiseStatus::Unknown);
    assert!(why.starts_with("profile.toml:1: `name`: has type integer; expected a string"), "{why}");
    let profile = CString::new(drives::find_text("exos-x18").unwrap()).unwrap();
    let (status, why) = open(&profile, Some(c"drive = \"exos-x18\""));
    assert_eq!(status, SeekwiseStatus::Unknown);
    assert!(why.ends_with("expected drive = \"profile.toml\""), "{why}");
    let (status, why) = open(&profile, Some(c"drive = \"profile.toml\"\ndriver = \"linux-nine\""));
    assert!(status == SeekwiseStatus::Unknown && why.ends_with("did you mean `linux-none`?"), "{why}");
    assert_eq!(open(&profile, Some(c"drive = \"profile.toml\"\ndriver = \"linux-none\"")).0, SeekwiseStatus::Ok);
    unsafe { seekwise_free(other) };
}

#[test]
fn a_disk_is_copied_saved_and_restored() {
    let (_, disk, _) = opened(c"barracuda-7200.7-ncq");
    let (mut size, mut bytes, mut stamps) = (0, vec![0; 4096], [0; 4]);
    let (mut copy, mut restored) = (null_mut(), null_mut());
    let write = |tag| SeekwiseRequest { tag, op: 1, flags: 0, sectors: 8, lba: u64::from(tag) << 20 };
    unsafe {
        assert_eq!(seekwise_save(disk.0, null_mut(), 0, &mut size), SeekwiseStatus::NoLog);
        assert_eq!(seekwise_keep_log(disk.0), SeekwiseStatus::Ok);
        for tag in 0..3 {
            assert_eq!(seekwise_submit(disk.0, 0, &write(tag), null_mut()), SeekwiseStatus::Ok);
        }
        assert_eq!(seekwise_unsettled(disk.0, stamps.as_mut_ptr(), 2, &mut size), SeekwiseStatus::NoRoom);
        assert_eq!((size, stamps), (3, [0; 4]), "none is written");
        assert_eq!(seekwise_unsettled(disk.0, stamps.as_mut_ptr(), 4, &mut size), SeekwiseStatus::Ok);
        assert_eq!((size, stamps), (3, [1, 2, 3, 0]));
        assert_eq!(seekwise_unsettled(disk.0, null_mut(), 4, &mut size), SeekwiseStatus::BadArgument);
        assert_eq!(seekwise_save(disk.0, null_mut(), 0, &mut size), SeekwiseStatus::NoRoom);
        assert_eq!(seekwise_save(disk.0, bytes.as_mut_ptr(), bytes.len(), &mut size), SeekwiseStatus::Ok);
        assert_eq!(seekwise_fork(disk.0, &mut copy), SeekwiseStatus::Ok);
        assert_eq!(seekwise_restore(bytes.as_ptr(), size, &mut restored, null_mut(), 0), SeekwiseStatus::Ok);
        let nexts = [disk.0, copy, restored].map(|disk| seekwise_next(disk));
        assert!(nexts[0] < SEEKWISE_NEVER && nexts[1..] == [nexts[0]; 2], "{nexts:?}");
        seekwise_free(copy);
        seekwise_free(restored);
        for (wrong, expected) in [
            (size - 1, "the saved state is damaged; expected all bytes of seekwise_save"),
            (7, "not a disk's saved state; expected the bytes of seekwise_save"),
        ] {
            let (status, why) =
                text_of(|why, why_size| seekwise_restore(bytes.as_ptr(), wrong, &mut restored, why, why_size));
            assert_eq!((status, why.as_str(), restored), (SeekwiseStatus::BadState, expected, null_mut()));
        }
        assert_eq!(seekwise_restore(null(), 9, &mut restored, null_mut(), 0), SeekwiseStatus::BadArgument);
        assert_eq!(CStr::from_ptr(seekwise_version()).to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }
}
