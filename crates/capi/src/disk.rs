//! A disk that checks each call before it passes it to the [`Device`], because no compiler checks callers in C. It keeps the device's
//! contract for them: tags are unique, time does not run back, requests are within bounds, and completions are drained at once.

use std::collections::{BTreeSet, VecDeque};

use seekwise_disk::block::{Completion, Control, ControlError, Device, Limits, Op, Request};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;
use seekwise_drives::change::parse_setting;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::{drives, stack};

use crate::values::{
    SEEKWISE_MOST_LBA, SEEKWISE_MOST_SECTORS, SEEKWISE_NEVER, SeekwiseCompletion, SeekwiseControl, SeekwiseLanding,
    SeekwiseLimits, SeekwiseOp, SeekwiseRequest, SeekwiseStatus, parse_flags,
};

/// The last instant that a call may have, 146 years: times that the model adds to it stay in range.
const LAST: Instant = Instant::from_nanos(1 << 62);

/// The most requests whose completions were not collected.
const MOST_OUTSTANDING: usize = 65_536;

/// A modelled disk.
pub struct Disk {
    device: Box<dyn Device>,
    limits: Limits,
    now: Instant,
    /// The stamp of the last request that was taken.
    stamp: u64,
    /// Tags of requests whose completions were not collected.
    tags_in_use: BTreeSet<u32>,
    completions: VecDeque<Completion>,
    /// True after a call that panicked.
    pub(crate) has_panicked: bool,
}

impl Disk {
    /// Opens a built-in drive with nothing above it.
    pub fn open_drive(name: &str, seed: u64) -> Result<Disk, Vec<Diagnostic>> {
        let profile = drives::load(name)?.profile()?;
        Ok(Disk::new(Stack::bare(profile).build(Seed(seed))))
    }

    /// Opens a stack from the text of a stack file, whose drive is a built-in one.
    pub fn open_stack(stack_toml: &str, seed: u64) -> Result<Disk, Vec<Diagnostic>> {
        const FILE: &str = "stack.toml";
        let built = stack::StackFile::parse(FILE, stack_toml)?.build(&drives::read)?;
        if !built.stack.changes.is_empty() {
            let wrong = Diagnostic::at(FILE, 0, "changes during a run are the caller's here").with_key("at");
            return Err(vec![wrong.with_expected("a call that sets the key at its instant (seekwise_set)")]);
        }
        Ok(Disk::new(built.stack.build(Seed(seed))))
    }

    pub(crate) fn new(device: Box<dyn Device>) -> Disk {
        let limits = device.limits(0);
        let (tags_in_use, completions) = (BTreeSet::new(), VecDeque::new());
        Disk { device, limits, now: Instant::ZERO, stamp: 0, tags_in_use, completions, has_panicked: false }
    }

    /// The limits of the disk.
    pub fn limits(&self) -> SeekwiseLimits {
        self.limits.into()
    }

    /// Takes a request at `now_ns`; returns its stamp, which is the number of requests taken, this one included.
    pub fn submit(&mut self, now_ns: u64, request: &SeekwiseRequest) -> Result<u64, SeekwiseStatus> {
        let request = self.to_device_request(request)?;
        self.advance(now_ns)?;
        if self.tags_in_use.len() >= MOST_OUTSTANDING {
            return Err(SeekwiseStatus::Busy);
        }
        self.device.submit(self.now, request).map_err(|_| SeekwiseStatus::Busy)?;
        self.stamp = request.stamp;
        self.tags_in_use.insert(request.tag);
        self.drain_completions();
        Ok(self.stamp)
    }

    /// Converts a request from C, if it is within bounds and its tag is free.
    fn to_device_request(&self, request: &SeekwiseRequest) -> Result<Request, SeekwiseStatus> {
        let SeekwiseRequest { tag, op, flags, sectors, lba } = *request;
        let (Some(op), Some(flags)) = (SeekwiseOp::from_number(op), parse_flags(flags)) else {
            return Err(SeekwiseStatus::BadArgument);
        };
        let is_within_bounds = match op {
            Op::Flush => sectors == 0 && lba == 0,
            _ => (1..=SEEKWISE_MOST_SECTORS).contains(&sectors) && self.are_whole_logical_sectors(lba, sectors),
        };
        if !is_within_bounds {
            return Err(SeekwiseStatus::BadArgument);
        }
        if self.tags_in_use.contains(&tag) {
            return Err(SeekwiseStatus::TagInUse);
        }
        Ok(Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp: self.stamp + 1 })
    }

    /// True if the run consists of whole logical sectors and ends at most at [`SEEKWISE_MOST_LBA`], far from overflow in any layer.
    fn are_whole_logical_sectors(&self, lba: u64, sectors: u32) -> bool {
        let logical = u64::from(self.limits.logical) / 512;
        let end = lba.checked_add(u64::from(sectors));
        end.is_some_and(|end| end <= SEEKWISE_MOST_LBA && lba.is_multiple_of(logical) && end.is_multiple_of(logical))
    }

    /// The instant of the next event, at which to call [`Disk::advance`]; `SEEKWISE_NEVER` if there is none.
    pub fn next_event_ns(&self) -> u64 {
        self.device.poll_timeout().map_or(SEEKWISE_NEVER, Instant::nanos)
    }

    /// Does all that is due by `now_ns`.
    pub fn advance(&mut self, now_ns: u64) -> Result<(), SeekwiseStatus> {
        let now = Instant::from_nanos(now_ns);
        match now {
            _ if now < self.now => return Err(SeekwiseStatus::TimeRanBack),
            _ if now > LAST => return Err(SeekwiseStatus::BadArgument),
            _ => self.now = now,
        }
        self.device.handle_timeout(now);
        self.drain_completions();
        Ok(())
    }

    fn drain_completions(&mut self) {
        while let Some(completion) = self.device.poll_completion() {
            self.completions.push_back(completion);
        }
    }

    /// Collects the next completion.
    pub fn pop_completion(&mut self) -> Option<SeekwiseCompletion> {
        let completion = self.completions.pop_front()?;
        self.tags_in_use.remove(&completion.tag);
        Some(completion.into())
    }

    /// Collects the next landing.
    pub fn pop_landing(&mut self) -> Option<SeekwiseLanding> {
        self.device.poll_landing().map(SeekwiseLanding::from)
    }

    /// Applies a control at `now_ns`, such as a power cut; `number` is that of a [`SeekwiseControl`].
    pub fn control(&mut self, now_ns: u64, number: u32) -> Result<(), SeekwiseStatus> {
        let control = match number {
            _ if number == SeekwiseControl::PowerCut as u32 => Control::PowerCut,
            _ if number == SeekwiseControl::PowerOff as u32 => Control::PowerOff,
            _ if number == SeekwiseControl::PowerOn as u32 => Control::PowerOn,
            _ if number == SeekwiseControl::Reset as u32 => Control::Reset,
            _ => return Err(SeekwiseStatus::BadArgument),
        };
        self.apply_control(now_ns, &control)
    }

    /// Aborts the request with this tag.
    pub fn abort(&mut self, now_ns: u64, tag: u32) -> Result<(), SeekwiseStatus> {
        self.apply_control(now_ns, &Control::Abort(tag))
    }

    /// Sets a dotted key of the stack.
    pub fn set(&mut self, now_ns: u64, key: &str, value: &str) -> Result<(), SeekwiseStatus> {
        match parse_setting(key, value, &|_| true) {
            Ok(setting) => self.apply_control(now_ns, &Control::Set(setting)),
            Err(_) => self.advance(now_ns).and(Err(SeekwiseStatus::Unknown)),
        }
    }

    fn apply_control(&mut self, now_ns: u64, control: &Control) -> Result<(), SeekwiseStatus> {
        self.advance(now_ns)?;
        let outcome = self.device.control(self.now, control);
        self.drain_completions();
        outcome.map_err(|error| match error {
            ControlError::UnknownKey | ControlError::BadValue | ControlError::UnknownTag => SeekwiseStatus::Unknown,
            ControlError::PoweredOff => SeekwiseStatus::Off,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: &str = "barracuda-7200.7-ncq";

    fn read(tag: u32, lba: u64, sectors: u32) -> SeekwiseRequest {
        SeekwiseRequest { tag, op: SeekwiseOp::Read as u32, flags: 0, sectors, lba }
    }

    fn disk() -> Disk {
        Disk::open_drive(DRIVE, 1).unwrap()
    }

    #[test]
    fn requests_out_of_bounds_are_refused_and_change_nothing() {
        let mut disk = disk();
        let flush = SeekwiseRequest { op: SeekwiseOp::Flush as u32, ..read(0, 0, 8) };
        let refused = [
            read(0, 0, 0),
            read(0, 0, SEEKWISE_MOST_SECTORS + 1),
            read(0, u64::MAX, 8),
            read(0, SEEKWISE_MOST_LBA, 8),
            SeekwiseRequest { op: 5, ..read(0, 0, 8) },
            SeekwiseRequest { flags: 16, ..read(0, 0, 8) },
            flush,
        ];
        for request in refused {
            assert_eq!(disk.submit(0, &request), Err(SeekwiseStatus::BadArgument), "{request:?}");
        }
        assert_eq!(disk.next_event_ns(), SEEKWISE_NEVER);
        assert_eq!(disk.submit(0, &read(0, SEEKWISE_MOST_LBA - 8, 8)), Ok(1));
        disk.advance(1_000_000_000).unwrap();
        assert_eq!(disk.pop_completion().unwrap().outcome, 3, "past the end is the disk's to say");
    }

    #[test]
    fn a_tag_is_free_again_when_its_completion_is_collected() {
        let mut disk = disk();
        disk.submit(0, &read(7, 0, 8)).unwrap();
        assert_eq!(disk.submit(0, &read(7, 64, 8)), Err(SeekwiseStatus::TagInUse));
        disk.advance(1_000_000_000).unwrap();
        assert_eq!(disk.submit(1_000_000_000, &read(7, 64, 8)), Err(SeekwiseStatus::TagInUse));
        assert_eq!(disk.pop_completion().unwrap().tag, 7);
        assert_eq!(disk.submit(1_000_000_000, &read(7, 64, 8)), Ok(2));
    }

    #[test]
    fn time_neither_runs_back_nor_out_of_range() {
        let mut disk = disk();
        disk.advance(5).unwrap();
        assert_eq!(disk.advance(4), Err(SeekwiseStatus::TimeRanBack));
        assert_eq!(disk.submit(4, &read(0, 0, 8)), Err(SeekwiseStatus::TimeRanBack));
        assert_eq!(disk.advance(SEEKWISE_NEVER), Err(SeekwiseStatus::BadArgument));
        disk.submit(LAST.nanos(), &read(0, 0, 8)).unwrap();
        assert_eq!(disk.next_event_ns() / LAST.nanos(), 1);
    }

    #[test]
    fn a_full_disk_says_so() {
        let mut disk = disk();
        let taken = (0..64).take_while(|&tag| disk.submit(0, &read(tag, u64::from(tag) << 16, 8)).is_ok()).count();
        assert_eq!(taken, disk.limits().depth as usize);
        assert_eq!(disk.submit(0, &read(99, 0, 8)), Err(SeekwiseStatus::Busy));
        let next = disk.next_event_ns();
        disk.advance(next).unwrap();
    }

    #[test]
    fn a_key_that_the_disk_does_not_know_is_refused_at_an_instant_that_time_has_reached() {
        let mut disk = disk();
        assert_eq!(disk.set(5, "drive.cache.write_back", "off"), Ok(()));
        for (key, value) in [("drive.cache.write_back", "maybe"), ("drive.colour", "on"), ("driver.flush", "drop")] {
            assert_eq!(disk.set(5, key, value), Err(SeekwiseStatus::Unknown), "{key}");
        }
        assert_eq!(disk.set(4, "drive.colour", "on"), Err(SeekwiseStatus::TimeRanBack));
    }

    #[test]
    fn texts_of_stacks_are_read_with_the_errors_of_stack_files() {
        let raid = format!("drive = \"{DRIVE}\"\n[array]\nname = \"raid-5\"\ndrives = 3\n");
        let (one, three) = (disk().limits().sectors, Disk::open_stack(&raid, 1).unwrap().limits().sectors);
        assert_eq!((three / one, three.div_ceil(one)), (1, 2), "two drives' room, but for what an array leaves over");
        let errors = Disk::open_stack("drive = \"exos-x81\"\n", 1).err().unwrap();
        assert_eq!(errors[0].nearest.as_deref(), Some("exos-x18"));
        let changing = format!("drive = \"{DRIVE}\"\n[at.\"1 s\"]\ndrive.cache.write_back = false\n");
        assert_eq!(Disk::open_stack(&changing, 1).err().unwrap()[0].key.as_deref(), Some("at"));
    }
}
