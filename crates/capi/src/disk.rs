//! A disk that checks each call by what the [`Device`]'s contract expects of its user, for users whom no compiler checks. Tags
//! are unique, time does not run back, requests are within bounds, completions are drained at once.

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
    SeekwiseLimits, SeekwiseOp, SeekwiseRequest, SeekwiseStatus, flags,
};

/// Instants are at most this, 146 years: what the model adds to one stays in range.
const LAST: Instant = Instant::from_nanos(1 << 62);

/// Requests whose completions were not collected, at most.
const MOST_OUT: usize = 65_536;

/// A modelled disk.
pub struct Disk {
    device: Box<dyn Device>,
    limits: Limits,
    now: Instant,
    stamp: u64,
    /// Tags of requests whose completions were not collected.
    out: BTreeSet<u32>,
    ready: VecDeque<Completion>,
    /// A call panicked.
    pub(crate) broken: bool,
}

impl Disk {
    /// A built-in drive with nothing above it.
    pub fn drive(name: &str, seed: u64) -> Result<Disk, Vec<Diagnostic>> {
        let profile = drives::load(name)?.profile()?;
        Ok(Disk::new(Stack::bare(profile).build(Seed(seed))))
    }

    /// A stack, as a stack file describes it; its drive is a built-in one.
    pub fn stack(text: &str, seed: u64) -> Result<Disk, Vec<Diagnostic>> {
        const FILE: &str = "stack.toml";
        let built = stack::StackFile::parse(FILE, text)?.build(&drives::read)?;
        if !built.stack.changes.is_empty() {
            let wrong = Diagnostic::at(FILE, 0, "changes during a run are the caller's here").with_key("at");
            return Err(vec![wrong.with_expected("a call that sets the key at its instant (seekwise_set)")]);
        }
        Ok(Disk::new(built.stack.build(Seed(seed))))
    }

    pub(crate) fn new(device: Box<dyn Device>) -> Disk {
        let limits = device.limits(0);
        let (out, ready) = (BTreeSet::new(), VecDeque::new());
        Disk { device, limits, now: Instant::ZERO, stamp: 0, out, ready, broken: false }
    }

    /// The limits of the disk.
    pub fn limits(&self) -> SeekwiseLimits {
        self.limits.into()
    }

    /// Takes a request at `now`; returns its stamp, which is the number of requests taken, this one included.
    pub fn submit(&mut self, now: u64, request: &SeekwiseRequest) -> Result<u64, SeekwiseStatus> {
        let request = self.check_request(request)?;
        self.advance(now)?;
        if self.out.len() >= MOST_OUT {
            return Err(SeekwiseStatus::Busy);
        }
        self.device.submit(self.now, request).map_err(|_| SeekwiseStatus::Busy)?;
        self.stamp = request.stamp;
        self.out.insert(request.tag);
        self.drain_completions();
        Ok(self.stamp)
    }

    fn check_request(&self, request: &SeekwiseRequest) -> Result<Request, SeekwiseStatus> {
        let SeekwiseRequest { tag, op, flags: marks, sectors, lba } = *request;
        let (Some(op), Some(flags)) = (SeekwiseOp::from_number(op), flags(marks)) else {
            return Err(SeekwiseStatus::BadArgument);
        };
        let fits = match op {
            Op::Flush => sectors == 0 && lba == 0,
            _ => (1..=SEEKWISE_MOST_SECTORS).contains(&sectors) && self.is_whole(lba, sectors),
        };
        if !fits {
            return Err(SeekwiseStatus::BadArgument);
        }
        if self.out.contains(&tag) {
            return Err(SeekwiseStatus::TagInUse);
        }
        Ok(Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp: self.stamp + 1 })
    }

    /// True for whole logical sectors, whose numbers are far from wrapping in any layer.
    fn is_whole(&self, lba: u64, sectors: u32) -> bool {
        let logical = u64::from(self.limits.logical) / 512;
        let end = lba.checked_add(u64::from(sectors));
        end.is_some_and(|end| end <= SEEKWISE_MOST_LBA && lba.is_multiple_of(logical) && end.is_multiple_of(logical))
    }

    /// The instant to call [`Disk::advance`] at; `SEEKWISE_NEVER` where nothing happens by itself.
    pub fn next(&self) -> u64 {
        self.device.poll_timeout().map_or(SEEKWISE_NEVER, Instant::nanos)
    }

    /// Does all that is due by `now`.
    pub fn advance(&mut self, now: u64) -> Result<(), SeekwiseStatus> {
        let now = Instant::from_nanos(now);
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
            self.ready.push_back(completion);
        }
    }

    /// The next completion that was not collected.
    pub fn completion(&mut self) -> Option<SeekwiseCompletion> {
        let completion = self.ready.pop_front()?;
        self.out.remove(&completion.tag);
        Some(completion.into())
    }

    /// The next landing that was not collected.
    pub fn landing(&mut self) -> Option<SeekwiseLanding> {
        self.device.poll_landing().map(SeekwiseLanding::from)
    }

    /// Applies a control at `now`, such as a power cut.
    pub fn control(&mut self, now: u64, control: u32) -> Result<(), SeekwiseStatus> {
        let control = match control {
            _ if control == SeekwiseControl::PowerCut as u32 => Control::PowerCut,
            _ if control == SeekwiseControl::PowerOff as u32 => Control::PowerOff,
            _ if control == SeekwiseControl::PowerOn as u32 => Control::PowerOn,
            _ if control == SeekwiseControl::Reset as u32 => Control::Reset,
            _ => return Err(SeekwiseStatus::BadArgument),
        };
        self.apply_control(now, &control)
    }

    /// Aborts the request with this tag.
    pub fn abort(&mut self, now: u64, tag: u32) -> Result<(), SeekwiseStatus> {
        self.apply_control(now, &Control::Abort(tag))
    }

    /// Sets a dotted key of the stack.
    pub fn set(&mut self, now: u64, key: &str, value: &str) -> Result<(), SeekwiseStatus> {
        match parse_setting(key, value, &|_| true) {
            Ok(setting) => self.apply_control(now, &Control::Set(setting)),
            Err(_) => self.advance(now).and(Err(SeekwiseStatus::Unknown)),
        }
    }

    fn apply_control(&mut self, now: u64, control: &Control) -> Result<(), SeekwiseStatus> {
        self.advance(now)?;
        let done = self.device.control(self.now, control);
        self.drain_completions();
        done.map_err(|error| match error {
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
        Disk::drive(DRIVE, 1).unwrap()
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
        assert_eq!(disk.next(), SEEKWISE_NEVER);
        assert_eq!(disk.submit(0, &read(0, SEEKWISE_MOST_LBA - 8, 8)), Ok(1));
        disk.advance(1_000_000_000).unwrap();
        assert_eq!(disk.completion().unwrap().outcome, 3, "past the end is the disk's to say");
    }

    #[test]
    fn a_tag_is_free_again_when_its_completion_is_collected() {
        let mut disk = disk();
        disk.submit(0, &read(7, 0, 8)).unwrap();
        assert_eq!(disk.submit(0, &read(7, 64, 8)), Err(SeekwiseStatus::TagInUse));
        disk.advance(1_000_000_000).unwrap();
        assert_eq!(disk.submit(1_000_000_000, &read(7, 64, 8)), Err(SeekwiseStatus::TagInUse));
        assert_eq!(disk.completion().unwrap().tag, 7);
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
        assert_eq!(disk.next() / LAST.nanos(), 1);
    }

    #[test]
    fn a_full_disk_says_so() {
        let mut disk = disk();
        let taken = (0..64).take_while(|&tag| disk.submit(0, &read(tag, u64::from(tag) << 16, 8)).is_ok()).count();
        assert_eq!(taken, disk.limits().depth as usize);
        assert_eq!(disk.submit(0, &read(99, 0, 8)), Err(SeekwiseStatus::Busy));
        let next = disk.next();
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
        let (one, three) = (disk().limits().sectors, Disk::stack(&raid, 1).unwrap().limits().sectors);
        assert_eq!((three / one, three.div_ceil(one)), (1, 2), "two drives' room, but for what an array leaves over");
        let errors = Disk::stack("drive = \"exos-x81\"\n", 1).err().unwrap();
        assert_eq!(errors[0].nearest.as_deref(), Some("exos-x18"));
        let changing = format!("drive = \"{DRIVE}\"\n[at.\"1 s\"]\ndrive.cache.write_back = false\n");
        assert_eq!(Disk::stack(&changing, 1).err().unwrap()[0].key.as_deref(), Some("at"));
    }
}
