//! A wrapper of a device that reports its traffic to a witness: requests as they are accepted, completions as they are
//! polled, landings as they are reported. The traffic is not changed, and only requests in flight are kept.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::block::array_load::ArrayLoad;
use crate::block::busy_curve::BusyCurve;
use crate::block::setting::LayerSetting;
use crate::block::setting_use::SettingUse;
use crate::block::{
    Completion, Control, ControlError, Device, DeviceProgress, Flags, Landing, Limits, Request, Status,
};
use crate::record::DriveLog;
use crate::time::Instant;

/// Observes the traffic between a job and its device. Calls come in the order of their instants, except landings: they
/// are reported when their access has ended, so one may have begun before an event that was reported earlier.
///
/// The traffic is that which the program sees: a write that a flush of its own follows ([`Flags::FLUSH_FOLLOWS`]) is
/// marked as forced, and completes with that flush.
pub trait Witness {
    /// The device accepted `request` at `now`.
    fn note_submission(&mut self, now: Instant, request: &Request);
    /// `request` completed.
    fn note_completion(&mut self, request: &Request, completion: &Completion);
    /// A landing was reported: the fate of a written run, or an event of an array.
    fn note_landing(&mut self, landing: &Landing);
    /// A setting was changed at `now`.
    fn note_change(&mut self, now: Instant, setting: LayerSetting) {
        let _ = (now, setting);
    }
    /// Decides whether the device, whose next event is at `next_event`, runs on after the job's end at `job_end`.
    fn should_linger(&mut self, job_end: Instant, next_event: Instant) -> bool;
}

impl<W: Witness> Witness for &mut W {
    fn note_submission(&mut self, now: Instant, request: &Request) {
        (**self).note_submission(now, request);
    }
    fn note_completion(&mut self, request: &Request, completion: &Completion) {
        (**self).note_completion(request, completion);
    }
    fn note_landing(&mut self, landing: &Landing) {
        (**self).note_landing(landing);
    }
    fn note_change(&mut self, now: Instant, setting: LayerSetting) {
        (**self).note_change(now, setting);
    }
    fn should_linger(&mut self, job_end: Instant, next_event: Instant) -> bool {
        (**self).should_linger(job_end, next_event)
    }
}

/// A device and its witness. The witness receives the landings, so callers get none.
pub struct WatchedDevice<D, W> {
    device: D,
    witness: W,
    /// By tag.
    in_flight: Vec<Option<WatchedRequest>>,
    /// By tag: writes that are done below and wait for their flush.
    unflushed: BTreeMap<u32, Request>,
}

/// A request in flight, as the witness sees it.
#[derive(Clone, Copy)]
struct WatchedRequest {
    request: Request,
    /// A flush of its own follows under the same tag.
    flush_follows: bool,
}

impl<D: Device, W: Witness> WatchedDevice<D, W> {
    /// Switches on the landings of `device`, which has done nothing yet. Panics if it has no such setting.
    pub fn new(mut device: D, witness: W) -> WatchedDevice<D, W> {
        let landings_on = Control::Set(LayerSetting::Landings(true));
        device.control(Instant::ZERO, &landings_on).expect("every device reports landings when asked");
        WatchedDevice { device, witness, in_flight: Vec::new(), unflushed: BTreeMap::new() }
    }

    /// Runs the device on after the job's end, for as long as the witness wants.
    pub fn linger(&mut self, job_end: Instant) {
        while let Some(next) = self.device.poll_timeout() {
            if !self.witness.should_linger(job_end, next) {
                return;
            }
            self.handle_timeout(next);
        }
    }

    /// Powers the device off in order at `now` and runs it until it has nothing left to do. Returns that instant.
    pub fn power_off(&mut self, now: Instant) -> Result<Instant, ControlError> {
        self.control(now, &Control::PowerOff)?;
        let mut last = now;
        while let Some(next) = self.device.poll_timeout() {
            self.handle_timeout(next);
            last = next;
        }
        Ok(last)
    }

    fn report_landings(&mut self) {
        while let Some(landing) = self.device.poll_landing() {
            self.witness.note_landing(&landing);
        }
    }

    fn report_completion(&mut self, completion: &Completion) {
        let watched = self.in_flight.get_mut(completion.tag as usize).and_then(Option::take);
        let WatchedRequest { request, flush_follows } = watched.expect("a completion of something in flight");
        if flush_follows && completion.status == Status::Done {
            self.unflushed.insert(request.tag, request);
            return;
        }
        if let Some(write) = self.unflushed.remove(&request.tag) {
            self.witness.note_completion(&write, completion);
        }
        self.witness.note_completion(&request, completion);
    }
}

impl<D: Device, W: Witness> Device for WatchedDevice<D, W> {
    fn limits(&self, unit: u8) -> Limits {
        self.device.limits(unit)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let flush_follows = request.flags.has(Flags::FLUSH_FOLLOWS);
        let flags = request.flags.without(Flags::FLUSH_FOLLOWS);
        let next = self.device.submit(now, Request { flags, ..request }).map_err(|_| request)?;
        self.report_landings();
        let tag = request.tag as usize;
        if tag >= self.in_flight.len() {
            self.in_flight.resize(tag + 1, None);
        }
        let request = Request { flags: if flush_follows { flags.with(Flags::FUA) } else { flags }, ..request };
        self.in_flight[tag] = Some(WatchedRequest { request, flush_follows });
        self.witness.note_submission(now, &request);
        Ok(next)
    }

    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        let done = self.device.control(now, control);
        self.report_landings();
        if let (Control::Set(setting), Ok(())) = (control, done) {
            self.witness.note_change(now, *setting);
        }
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.device.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.device.handle_timeout(now);
        self.report_landings();
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        let completion = self.device.poll_completion()?;
        self.report_completion(&completion);
        Some(completion)
    }

    fn drive_log(&self) -> DriveLog {
        self.device.drive_log()
    }

    fn setting_use(&self, now: Instant) -> SettingUse {
        self.device.setting_use(now)
    }

    fn core_load(&self, now: Instant) -> Option<BusyCurve> {
        self.device.core_load(now)
    }

    fn array_load(&self, now: Instant) -> Option<ArrayLoad> {
        self.device.array_load(now)
    }

    /// None: the witness has them.
    fn poll_landing(&mut self) -> Option<Landing> {
        None
    }

    fn report_unsettled(&self, report_stamp: &mut dyn FnMut(u64)) {
        self.device.report_unsettled(report_stamp);
    }

    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> DeviceProgress {
        let reached = self.device.proceed_into(until, answer);
        self.report_landings();
        if reached.answered {
            self.report_completion(answer);
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::setting::ArraySetting;
    use crate::block::{LandingKind, Op};
    use crate::testing::SmallDrive;
    use crate::time::Span;

    #[derive(Default)]
    struct Notes {
        changes: Vec<(Instant, LayerSetting)>,
        /// Sectors told as lost.
        lost: u32,
        /// Sectors told as landed.
        landed: u32,
    }

    impl Witness for Notes {
        fn note_submission(&mut self, _: Instant, _: &Request) {}
        fn note_completion(&mut self, _: &Request, _: &Completion) {}
        fn note_landing(&mut self, landing: &Landing) {
            self.lost += if landing.kind == LandingKind::Discarded { landing.sectors } else { 0 };
            self.landed += if landing.kind == LandingKind::Landed { landing.sectors } else { 0 };
        }
        fn note_change(&mut self, now: Instant, setting: LayerSetting) {
            self.changes.push((now, setting));
        }
        fn should_linger(&mut self, _: Instant, _: Instant) -> bool {
            false
        }
    }

    /// A write is in a buffer that waits for a second before it writes out.
    #[test]
    fn controls_reach_the_device_and_what_they_did_is_told() {
        let mut small = SmallDrive::default().with_buffer(4, 64).with_write_back(4);
        small.cache.destage_idle = Span::from_secs(1);
        let mut device = WatchedDevice::new(small.drive(), Notes::default());
        let write = Request { op: Op::Write, lba: 32, sectors: 8, stamp: 1, ..Request::NONE };
        device.submit(Instant::ZERO, write).expect("room");
        let at = Instant::ZERO + Span::from_millis(1);
        let (lose, off) = (LayerSetting::Array(ArraySetting::Lose(0)), LayerSetting::WriteBack(false));
        assert_eq!(device.control(at, &Control::Set(lose)), Err(ControlError::UnknownKey));
        assert_eq!(device.control(at, &Control::Abort(9)), Err(ControlError::UnknownTag));
        assert_eq!((device.witness.changes.len(), device.witness.lost), (0, 0), "refused");
        assert_eq!(device.control(at, &Control::Set(off)), Ok(()));
        assert!(device.limits(0).volatile_cache, "until its dirty data are written");
        assert_eq!(device.witness.changes, [(at, off)]);
        assert_eq!(device.control(at, &Control::PowerCut), Ok(()));
        assert_eq!((device.witness.changes.len(), device.witness.lost), (1, 8));
    }

    /// A drive writes out when it was idle for a second, or when it is switched off.
    #[test]
    fn time_reaches_the_device_and_what_landed_is_told() {
        for off in [false, true] {
            let mut small = SmallDrive::default().with_buffer(4, 64).with_write_back(4);
            small.cache.destage_idle = Span::from_secs(1);
            let mut device = WatchedDevice::new(small.drive(), Notes::default());
            let write = Request { op: Op::Write, lba: 32, sectors: 8, stamp: 1, ..Request::NONE };
            device.submit(Instant::ZERO, write).expect("room");
            let at = Instant::ZERO + Span::from_millis(999);
            device.handle_timeout(at);
            assert!(device.poll_completion().is_some() && device.witness.landed == 0, "in the buffer");
            match off {
                true => assert!(device.power_off(at).expect("a control") > at),
                false => device.handle_timeout(at + Span::from_secs(1)),
            }
            assert_eq!((device.witness.landed, device.witness.lost), (8, 0), "off: {off}");
        }
    }
}
