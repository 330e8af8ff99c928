//! A disk that checks each call before it passes it to the [`Device`], because no compiler checks callers in C. It keeps the device's
//! contract for them: tags are unique, time does not run back, requests are within bounds, and completions are drained at once.
//!
//! A disk is saved as its calls ([`saved_state`](crate::saved_state)), if it was told to keep them: restoring repeats them.

use std::collections::{BTreeSet, VecDeque};

use seekwise_disk::block::{Completion, Control, ControlError, Device, Limits, Op, Request};
use seekwise_disk::time::Instant;
use seekwise_drives::change::{parse_setting, refusal_words};
use seekwise_drives::diagnostic::Diagnostic;

use crate::call_log::{CallLog, CallReader, LoggedCall, MOST_WORD_BYTES};
use crate::saved_state::{SavedState, StateError, VERSION};
use crate::source::DiskSource;
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
    origin: Option<DiskOrigin>,
    call_record: CallRecord,
    /// Why the last setting that was refused was refused.
    last_error: String,
    /// True after a call that panicked.
    pub(crate) has_panicked: bool,
}

/// The source of a disk and its seed: two disks of one origin that were not called yet are equal.
#[derive(Clone)]
struct DiskOrigin {
    source: DiskSource,
    seed: u64,
}

/// Whether the calls of a disk are kept.
#[derive(Clone)]
enum CallRecord {
    /// There was no call.
    Unused,
    /// There were calls, and nobody asked to keep them.
    Off,
    Kept(CallLog),
}

impl Disk {
    /// Opens a built-in drive with nothing above it.
    pub fn open_drive(name: &str, seed: u64) -> Result<Disk, Vec<Diagnostic>> {
        Disk::open(DiskSource::Drive(name.to_owned()), seed)
    }

    /// Opens a stack from the text of a stack file, whose drive is a built-in one.
    pub fn open_stack(stack_toml: &str, seed: u64) -> Result<Disk, Vec<Diagnostic>> {
        Disk::open(DiskSource::Stack(stack_toml.to_owned()), seed)
    }

    /// Opens what a source describes.
    pub fn open(source: DiskSource, seed: u64) -> Result<Disk, Vec<Diagnostic>> {
        let device = source.build(seed)?;
        Ok(Disk { origin: Some(DiskOrigin { source, seed }), ..Disk::new(device) })
    }

    pub(crate) fn new(device: Box<dyn Device>) -> Disk {
        Disk {
            limits: device.limits(0),
            device,
            now: Instant::ZERO,
            stamp: 0,
            tags_in_use: BTreeSet::new(),
            completions: VecDeque::new(),
            origin: None,
            call_record: CallRecord::Unused,
            last_error: String::new(),
            has_panicked: false,
        }
    }

    /// Copies the disk with all its state; `None` if its device cannot be copied.
    pub fn fork(&self) -> Option<Disk> {
        Some(Disk {
            device: self.device.fork()?,
            limits: self.limits,
            now: self.now,
            stamp: self.stamp,
            tags_in_use: self.tags_in_use.clone(),
            completions: self.completions.clone(),
            origin: self.origin.clone(),
            call_record: self.call_record.clone(),
            last_error: self.last_error.clone(),
            has_panicked: self.has_panicked,
        })
    }

    /// Keeps all calls from now on, for [`Disk::save`]. Refused after the first call.
    pub fn keep_log(&mut self) -> Result<(), SeekwiseStatus> {
        match &self.call_record {
            CallRecord::Unused if self.origin.is_some() => self.call_record = CallRecord::Kept(CallLog::default()),
            CallRecord::Unused | CallRecord::Off => return Err(SeekwiseStatus::NoLog),
            CallRecord::Kept(_) => {}
        }
        Ok(())
    }

    /// The state as bytes, if the calls are kept.
    pub fn save(&mut self) -> Result<Vec<u8>, SeekwiseStatus> {
        let (CallRecord::Kept(log), Some(DiskOrigin { source, seed })) = (&mut self.call_record, &self.origin) else {
            return Err(SeekwiseStatus::NoLog);
        };
        let (calls, answers) = log.finish();
        Ok(SavedState { version: VERSION, source: source.clone(), seed: *seed, calls, answers }.to_bytes())
    }

    /// Restores a saved state by repeating its calls, which are kept on. Refuses other bytes, and answers that differ.
    pub fn restore(bytes: &[u8]) -> Result<Disk, StateError> {
        let SavedState { version, source, seed, calls, answers } = SavedState::parse(bytes)?;
        let mut disk = Disk::open(source, seed).map_err(StateError::Source)?;
        disk.call_record = CallRecord::Kept(CallLog::default());
        let mut reader = CallReader::new(calls);
        while !reader.is_at_end() {
            let call = reader.read().ok_or(StateError::Damaged)?;
            disk.repeat_call(&call).ok_or(StateError::Damaged)?;
            // Saving ends a count of collected answers, too.
            disk.finish_log();
        }
        // A call that was refused, or has found less to collect, has left out its bytes.
        match disk.finish_log() {
            Some((_, repeated_answers)) if repeated_answers != answers => {
                Err(StateError::OtherAnswers(version.to_owned()))
            }
            Some((repeated_calls, _)) if repeated_calls == calls => Ok(disk),
            _ => Err(StateError::Damaged),
        }
    }

    /// The bytes of the calls that are kept, and the digest of their answers.
    fn finish_log(&mut self) -> Option<(&[u8], u64)> {
        if let CallRecord::Kept(log) = &mut self.call_record { Some(log.finish()) } else { None }
    }

    /// Repeats a call. `None` if its instant is out of range.
    fn repeat_call(&mut self, call: &LoggedCall<'_>) -> Option<()> {
        let at = |since: u64| self.now.nanos().checked_add(since);
        // Results are compared by the digest.
        let _ = match *call {
            LoggedCall::Advance { since } => self.advance(at(since)?),
            LoggedCall::AdvanceToNext => self.advance(self.next_event_ns()),
            LoggedCall::Submit { since, request } => self.submit(at(since)?, &request).map(|_| ()),
            LoggedCall::Control { since, number } => self.control(at(since)?, number),
            LoggedCall::Abort { since, tag } => self.abort(at(since)?, tag),
            LoggedCall::Set { since, key, value } => self.set(at(since)?, key, value),
            LoggedCall::Completions(count) => {
                (0..count).try_for_each(|_| self.pop_completion().map(|_| ())).ok_or(SeekwiseStatus::None)
            }
            LoggedCall::Landings(count) => {
                (0..count).try_for_each(|_| self.pop_landing().map(|_| ())).ok_or(SeekwiseStatus::None)
            }
        };
        Some(())
    }

    /// Notes a call that nothing can refuse any more before it reaches the device. `to_call` gets the time since the last call.
    #[inline]
    fn note_call<'a>(&mut self, now: Instant, to_call: impl FnOnce(u64) -> LoggedCall<'a>) {
        match &mut self.call_record {
            CallRecord::Kept(log) => log.note(&to_call(now.since(self.now).nanos())),
            record @ CallRecord::Unused => *record = CallRecord::Off,
            CallRecord::Off => {}
        }
    }

    /// Notes how a call ended, if calls are kept.
    #[inline]
    fn note_result(&mut self, result: u64) {
        if let CallRecord::Kept(log) = &mut self.call_record {
            log.note_result(result);
        }
    }

    /// The limits of the disk.
    pub fn limits(&self) -> SeekwiseLimits {
        self.limits.into()
    }

    /// The stamps of the writes that may still land, and possibly of others, rising.
    pub fn unsettled(&self) -> BTreeSet<u64> {
        let mut stamps = BTreeSet::new();
        self.device.report_unsettled(&mut |stamp| stamps.extend((1..=self.stamp).contains(&stamp).then_some(stamp)));
        stamps
    }

    /// Takes a request at `now_ns`; returns its stamp, which is the number of requests taken, this one included.
    pub fn submit(&mut self, now_ns: u64, request: &SeekwiseRequest) -> Result<u64, SeekwiseStatus> {
        let device_request = self.to_device_request(request)?;
        let now = self.check_instant(now_ns)?;
        self.note_call(now, |since| LoggedCall::Submit { since, request: *request });
        self.advance_to(now);
        if self.tags_in_use.len() >= MOST_OUTSTANDING || self.device.submit(now, device_request).is_err() {
            self.note_result(SeekwiseStatus::Busy as u64);
            return Err(SeekwiseStatus::Busy);
        }
        self.stamp = device_request.stamp;
        self.tags_in_use.insert(device_request.tag);
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
        let now = self.check_instant(now_ns)?;
        let is_next = matches!(self.call_record, CallRecord::Kept(_)) && self.device.poll_timeout() == Some(now);
        self.note_call(now, |since| if is_next { LoggedCall::AdvanceToNext } else { LoggedCall::Advance { since } });
        self.advance_to(now);
        Ok(())
    }

    /// The instant, if it is neither before an earlier call's nor out of range.
    fn check_instant(&self, now_ns: u64) -> Result<Instant, SeekwiseStatus> {
        match Instant::from_nanos(now_ns) {
            now if now < self.now => Err(SeekwiseStatus::TimeRanBack),
            now if now > LAST => Err(SeekwiseStatus::BadArgument),
            now => Ok(now),
        }
    }

    fn advance_to(&mut self, now: Instant) {
        self.now = now;
        self.device.handle_timeout(now);
        self.drain_completions();
    }

    fn drain_completions(&mut self) {
        while let Some(completion) = self.device.poll_completion() {
            if let CallRecord::Kept(log) = &mut self.call_record {
                log.note_completion(&completion);
            }
            self.completions.push_back(completion);
        }
    }

    /// Collects the next completion.
    pub fn pop_completion(&mut self) -> Option<SeekwiseCompletion> {
        let completion = self.completions.pop_front()?;
        self.tags_in_use.remove(&completion.tag);
        if let CallRecord::Kept(log) = &mut self.call_record {
            log.note_collected_completion();
        }
        Some(completion.into())
    }

    /// Collects the next landing.
    pub fn pop_landing(&mut self) -> Option<SeekwiseLanding> {
        let landing = self.device.poll_landing();
        if let CallRecord::Kept(log) = &mut self.call_record {
            log.note_landing(landing.as_ref());
        }
        landing.map(SeekwiseLanding::from)
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
        self.apply_control(now_ns, &control, |since| LoggedCall::Control { since, number })?.map_err(refusal_status)
    }

    /// Aborts the request with this tag.
    pub fn abort(&mut self, now_ns: u64, tag: u32) -> Result<(), SeekwiseStatus> {
        self.apply_control(now_ns, &Control::Abort(tag), |since| LoggedCall::Abort { since, tag })?
            .map_err(refusal_status)
    }

    /// Sets a dotted key of the stack.
    pub fn set(&mut self, now_ns: u64, key: &str, value: &str) -> Result<(), SeekwiseStatus> {
        if key.len().max(value.len()) > MOST_WORD_BYTES {
            return Err(SeekwiseStatus::BadArgument);
        }
        let outcome = match parse_setting(key, value, &|_| true) {
            Ok(setting) => {
                self.apply_control(now_ns, &Control::Set(setting), |since| LoggedCall::Set { since, key, value })?
            }
            Err(error) => self.advance(now_ns).and(Ok(Err(error)))?,
        };
        outcome.map_err(|error| {
            self.last_error = format!("{key} = {value}: {}", refusal_words(error, key));
            refusal_status(error)
        })
    }

    /// Why the last setting that was refused was refused, and what was expected; empty if none was.
    pub fn last_error(&self) -> &str {
        &self.last_error
    }

    /// Applies a control at an instant; the inner result is the device's.
    fn apply_control<'a>(
        &mut self,
        now_ns: u64,
        control: &Control,
        to_call: impl FnOnce(u64) -> LoggedCall<'a>,
    ) -> Result<Result<(), ControlError>, SeekwiseStatus> {
        let now = self.check_instant(now_ns)?;
        self.note_call(now, to_call);
        self.advance_to(now);
        let outcome = self.device.control(now, control);
        self.drain_completions();
        self.note_result(outcome.err().map_or(0, |error| refusal_status(error) as u64));
        Ok(outcome)
    }
}

fn refusal_status(error: ControlError) -> SeekwiseStatus {
    match error {
        ControlError::UnknownKey | ControlError::BadValue | ControlError::UnknownTag => SeekwiseStatus::Unknown,
        ControlError::PoweredOff => SeekwiseStatus::Off,
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

    fn written() -> Disk {
        let mut disk = disk();
        disk.keep_log().unwrap();
        disk.set(0, "landings", "on").unwrap();
        for tag in 0..8 {
            let write = SeekwiseRequest { op: SeekwiseOp::Write as u32, ..read(tag, u64::from(tag) << 20, 64) };
            disk.submit(u64::from(tag) * 1_000, &write).unwrap();
        }
        disk.advance(9_000_000).unwrap();
        while disk.pop_completion().is_some() {}
        disk
    }

    #[test]
    fn a_state_is_kept_only_if_that_was_asked_for_before_the_first_call() {
        let mut disk = disk();
        assert_eq!(disk.save(), Err(SeekwiseStatus::NoLog));
        disk.advance(0).unwrap();
        assert_eq!(disk.keep_log(), Err(SeekwiseStatus::NoLog));
        let mut disk = written();
        assert_eq!(disk.keep_log(), Ok(()), "it does already");
        let bytes = disk.save().unwrap();
        let mut restored = Disk::restore(&bytes).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(restored.save().unwrap(), bytes);
        assert_eq!(restored.unsettled(), disk.unsettled());
        assert!(!disk.unsettled().is_empty() && disk.unsettled().iter().all(|stamp| (1..=8).contains(stamp)));
    }

    /// The bytes that were made of a log less one call have a sum that fits: the answers tell.
    #[test]
    fn a_log_without_one_of_its_calls_is_refused() {
        let bytes = written().save().unwrap();
        let state = SavedState::parse(&bytes).unwrap();
        let mut reader = CallReader::new(state.calls);
        let calls: Vec<LoggedCall<'_>> = std::iter::from_fn(|| reader.read()).collect();
        assert!(calls.len() > 9, "{calls:?}");
        let without = |left_out: Option<usize>| {
            let mut log = CallLog::default();
            for (number, call) in calls.iter().enumerate().filter(|(number, _)| Some(*number) != left_out) {
                match *call {
                    LoggedCall::Completions(count) => (0..count).for_each(|_| log.note_collected_completion()),
                    LoggedCall::Landings(_) => panic!("none were asked for: {number}"),
                    ref call => log.note(call),
                }
            }
            let calls = log.finish().0;
            Disk::restore(&SavedState { calls, ..state.clone() }.to_bytes()).err()
        };
        assert_eq!(without(None), None);
        let answers = Some(StateError::OtherAnswers(VERSION.to_owned()));
        // The last is the collection of answers, which has none of its own.
        for (left_out, call) in calls[..calls.len() - 1].iter().enumerate() {
            assert_eq!(without(Some(left_out)), answers, "{call:?}");
        }
    }

    #[test]
    fn calls_that_no_disk_takes_are_refused() {
        let bytes = written().save().unwrap();
        let state = SavedState::parse(&bytes).unwrap();
        let restore = |calls: &[u8]| Disk::restore(&SavedState { calls, ..state.clone() }.to_bytes()).err();
        let refusals: [&[u8]; 4] = [
            &[9],
            &[0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            &[2, 0, 0, 0],
            &[0xfe, 0xff, 0xff, 0xff, 0xff, 0x7f],
        ];
        for calls in refusals {
            assert!(restore(calls).is_some(), "{calls:?}");
        }
        let source = DiskSource::Drive("exos-x81".to_owned());
        let error = Disk::restore(&SavedState { source, ..state.clone() }.to_bytes()).err().unwrap().to_string();
        assert!(error.ends_with("did you mean `exos-x18`?"), "{error}");
    }

    #[test]
    fn a_copy_goes_its_own_way() {
        let mut disk = written();
        let (now, mut copy) = (disk.now.nanos(), disk.fork().unwrap());
        copy.control(now, SeekwiseControl::PowerCut as u32).unwrap();
        assert_eq!(copy.submit(now, &read(9, 0, 8)), Ok(9));
        assert_eq!(copy.pop_completion().unwrap().outcome, 2, "the power is off");
        disk.submit(now, &read(9, 0, 8)).unwrap();
        disk.advance(now + 1_000_000_000).unwrap();
        assert_eq!(disk.pop_completion().unwrap().outcome, 0);
    }
}
