//! A place that answers each request at once and keeps nothing, so that the measured time is the overhead of this
//! program, as with fio's engine `null`.
//!
//! A request is answered at the next call, so its time is one turn of the loop. Requests that are issued together are
//! answered together, and as many issued anew.

use std::collections::VecDeque;
use std::sync::Arc;

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{
    Completion, Control, ControlError, Device, Landing, LandingKind, Limits, Op, Queuing, Request, SECTOR, Status,
};
use seekwise_disk::engine::EngineError;
use seekwise_disk::record::{DriveLog, Effort, Part, Parts};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_run::outcome::RunError;
use seekwise_run::place::Place;

use crate::clock::Clock;
use crate::measured_place::Measured;
use crate::real_time::{RealTime, TimedDevice};

/// Default capacity of Linux's `null_blk` (`gb=250`).
const BYTES: u64 = 250 << 30;

/// Requests in flight, at most: as many as a worker may have.
const DEPTH: u32 = 65_535;

/// The place.
#[derive(Debug)]
pub struct NullPlace;

impl NullPlace {
    /// The name of the place.
    pub const NAME: &'static str = "null";

    /// Creates the place.
    pub(crate) fn new_place() -> Arc<dyn Place> {
        Arc::new(Measured(NullPlace))
    }
}

impl RealTime for NullPlace {
    fn name(&self) -> &'static str {
        NullPlace::NAME
    }

    fn full_name(&self) -> String {
        NullPlace::NAME.to_owned()
    }

    fn limits(&self) -> Limits {
        Limits {
            sectors: BYTES / SECTOR,
            logical: SECTOR as u32,
            physical: SECTOR as u32,
            max_transfer: u32::MAX,
            optimal_transfer: 0,
            depth: DEPTH,
            fua: true,
            volatile_cache: false,
            queuing: Queuing::Scsi,
            computes: false,
        }
    }

    fn open(&self, _: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
        Ok(Box::new(NullDevice { is_measured: true, ..NullDevice::new() }))
    }
}

/// A request until its completion is polled: smaller than a completion, so less is copied.
#[derive(Clone, Copy)]
struct NullRequest {
    tag: u32,
    status: Status,
    submitted: Instant,
}

/// Time that the device itself takes for a request: the shortest there is.
const RESPONSE: Span = Span::from_nanos(1);

/// The device of the place. Served to clients it takes next to no time (a nanosecond), however late it is called, so that the time of a
/// request is the machine's.
pub struct NullDevice {
    limits: Limits,
    /// A request ends when its completion is polled, so that its response time is the overhead of this program.
    is_measured: bool,
    in_flight: VecDeque<NullRequest>,
    now: Instant,
    /// Landings of writes, which land at once; `None` unless asked for.
    landings: Option<VecDeque<Landing>>,
}

impl NullDevice {
    /// Creates a device with nothing in flight.
    #[allow(clippy::new_without_default, reason = "a device is begun, there is no usual value of one")]
    pub fn new() -> NullDevice {
        NullDevice {
            limits: NullPlace.limits(),
            is_measured: false,
            in_flight: VecDeque::new(),
            now: Instant::ZERO,
            landings: None,
        }
    }
}

impl TimedDevice for NullDevice {
    fn wait_for_event(&mut self, clock: &Clock, until: Option<Instant>) -> Result<(), EngineError> {
        // Requests in flight are answered at the next call, whenever that is.
        if !self.in_flight.is_empty() {
            return Ok(());
        }
        clock.wait_until(until.ok_or(EngineError::Silent(self.now))?);
        Ok(())
    }
}

impl Device for NullDevice {
    fn limits(&self, _: u8) -> Limits {
        self.limits
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        if self.in_flight.len() >= DEPTH as usize {
            return Err(request);
        }
        let status = match request.op {
            Op::Compute => Status::Unsupported,
            op if op != Op::Flush && request.end() > self.limits.sectors => Status::OutOfRange,
            _ => Status::Done,
        };
        if let (Op::Write, Status::Done, Some(landings)) = (request.op, status, &mut self.landings) {
            let sectors = (request.lba, request.sectors);
            landings.push_back(Landing::new(sectors, request.stamp, (now, now), LandingKind::Landed));
        }
        self.in_flight.push_back(NullRequest { tag: request.tag, status, submitted: now });
        Ok(now)
    }

    /// Accepts cuts without effect: nothing in flight can be aborted, and no data are kept.
    fn control(&mut self, _: Instant, control: &Control) -> Result<(), ControlError> {
        match control {
            Control::Set(LayerSetting::Landings(true)) => {
                self.landings = Some(VecDeque::new());
                Ok(())
            }
            Control::Set(_) => Err(ControlError::UnknownKey),
            Control::Abort(_) => Err(ControlError::UnknownTag),
            Control::PowerCut | Control::PowerOff | Control::PowerOn | Control::Reset => Ok(()),
        }
    }

    /// Returns the next nanosecond: at once, but not within the call that submitted the request.
    fn poll_timeout(&self) -> Option<Instant> {
        self.in_flight.front().map(|request| request.submitted + RESPONSE)
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.in_flight.front().filter(|request| request.submitted < self.now)?;
        let NullRequest { tag, status, submitted } = self.in_flight.pop_front()?;
        let finished = if self.is_measured { self.now } else { submitted + RESPONSE };
        let (effort, mut parts) = (Effort::COMMAND, Parts::default());
        parts.add(Part::Driver, finished.since(submitted));
        Some(Completion { tag, status, submitted, finished, parts, effort })
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.landings.as_mut()?.pop_front()
    }

    /// Reports nothing: no data are kept.
    fn report_unsettled(&self, _: &mut dyn FnMut(u64)) {}

    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured_place::run_on_this_thread;
    use seekwise_disk::record::Record;
    use seekwise_run::cutoff::RunCutoff;
    use seekwise_run::work::Work;
    use seekwise_work::workload::replay::{Replay, ReplayRow, Timing};

    fn rows(count: u64) -> Vec<ReplayRow> {
        let arrival = |i| Span::from_micros(i * 20);
        let row = |i| ReplayRow { op: Op::Write, lba: i * 8, sectors: 8, arrival: arrival(i), think: Span::ZERO };
        (0..count).map(row).collect()
    }

    /// Times are the machine's and are not judged, but for what holds of any.
    #[test]
    fn each_request_is_answered_once_and_in_real_time() {
        for timing in [Timing::Think, Timing::Arrival] {
            let rows = rows(1_000);
            let mut records: Vec<Record> = Vec::new();
            let replay = |_: &Limits| Ok::<_, RunError>(Replay::new(&rows, timing));
            let outcome =
                run_on_this_thread(&NullPlace, replay, RunCutoff::NEVER, Seed(1), &mut |record| records.push(*record))
                    .unwrap();
            assert_eq!((outcome.figures.issued, outcome.figures.failures, records.len()), (1_000, 0, 1_000));
            let cost = outcome.figures.cost.expect("a place in real time costs something");
            assert!(cost.wall >= outcome.figures.end.since(Instant::ZERO));
            for record in &records {
                assert!(record.response_time() > Span::ZERO);
                assert_eq!(record.completion.parts.total(), record.response_time());
                let due = rows[record.request.stamp as usize - 1].arrival;
                assert!(timing == Timing::Think || record.intended >= Instant::ZERO + due);
            }
        }
    }

    #[test]
    fn a_served_one_takes_no_time_however_late_it_is_called() {
        let at = Instant::from_nanos;
        for (is_measured, expected) in [(false, 101), (true, 5_000)] {
            let mut device = NullDevice { is_measured, ..NullDevice::new() };
            device.submit(at(100), Request { op: Op::Flush, ..Request::NONE }).unwrap();
            assert_eq!(device.poll_timeout(), Some(at(101)));
            device.handle_timeout(at(5_000));
            let completion = device.poll_completion().unwrap();
            assert_eq!(
                (completion.finished, completion.parts.total()),
                (at(expected), completion.finished.since(at(100)))
            );
        }
    }

    #[test]
    fn a_write_lands_whole_and_at_once_where_landings_are_asked_for() {
        let mut device = NullDevice::new();
        let (mut stamp, end) = (0, BYTES / SECTOR);
        let mut landing = |device: &mut NullDevice, op: Op, lba: u64| {
            stamp += 1;
            let sectors = if op == Op::Flush { 0 } else { 8 };
            let request = Request { tag: stamp as u32, op, lba, sectors, stamp, ..Request::NONE };
            device.submit(Instant::from_nanos(10 * stamp), request).unwrap();
            device.poll_landing()
        };
        assert_eq!(landing(&mut device, Op::Write, 0), None, "nobody asked");
        device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
        for (op, lba) in [(Op::Read, 0), (Op::Flush, 0), (Op::Trim, 0), (Op::Write, end - 7)] {
            assert_eq!(landing(&mut device, op, lba), None, "{op:?} at {lba}");
        }
        for (stamp, lba) in [(6, 0), (7, 16), (8, end - 8)] {
            let at = Instant::from_nanos(10 * stamp);
            let expected = Landing::new((lba, 8), stamp, (at, at), LandingKind::Landed);
            assert_eq!(landing(&mut device, Op::Write, lba), Some(expected));
        }
        assert_eq!(device.poll_landing(), None, "each is told once");
    }

    #[test]
    fn what_does_not_fit_is_refused_as_everywhere() {
        let rows =
            [ReplayRow { op: Op::Read, lba: BYTES / SECTOR, sectors: 8, arrival: Span::ZERO, think: Span::ZERO }];
        let replay = |_: &Limits| Ok::<_, RunError>(Replay::new(&rows, Timing::Think));
        let outcome = run_on_this_thread(&NullPlace, replay, RunCutoff::NEVER, Seed(1), &mut |_| ()).unwrap();
        assert_eq!(outcome.figures.failures, 1);
        let nobody = Work::from(seekwise_work::workload::Job::default());
        let refused = NullPlace::new_place().run(&nobody, RunCutoff::NEVER, Seed(1), None, &mut |_| ());
        assert!(matches!(refused.map(|_| ()), Err(RunError::Unfit(_))));
    }
}
