//! The modelled disk for simulators in Python: requests in, completions and landings out, in the caller's own time. Each
//! call is checked, then passed to the [`Device`], whose contract is kept: drained after every call, time that never
//! runs back, requests within bounds. Nothing is computed here, and nothing is stored but the log of calls.
//!
//! | file | what it holds |
//! |---|---|
//! | [`values`] | completions and landings as Python values |
//! | `log` | the calls of a disk as bytes, to make its state again |

mod log;
pub mod values;

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;
use seekwise::device::{Completion, Control, ControlError, Device, Flags, Op, Request, parse_setting, refusal_words};
use seekwise::drives::find_text;
use seekwise::reading::FileKind;
use seekwise::setup::{Seed, build_stack};
use seekwise::time::Instant;
use seekwise::{Error, Files};

use self::log::{Call, CallLog};
use self::values::{DiskCompletion, DiskLanding};
use crate::boundary::fault;
use crate::boundary::watch::run_watched;
use crate::calls::process_files;

/// The last instant that a call may have, 146 years: times that the model adds to it stay in range.
const LAST: Instant = Instant::from_nanos(1 << 62);

/// The most sectors of a request.
const MOST_SECTORS: u64 = 65_536;

/// No request ends beyond this sector.
const MOST_LBA: u64 = 1 << 48;

/// Calls that are made again between two checks for Ctrl-C.
const CALLS_PER_CHECK: usize = 4096;

/// The words for operations.
const OPERATIONS: [(&str, Op); 5] = [
    ("read", Op::Read),
    ("write", Op::Write),
    ("write-zeroes", Op::WriteZeroes),
    ("flush", Op::Flush),
    ("trim", Op::Trim),
];

/// The words for controls.
const CONTROLS: [(&str, Control); 4] = [
    ("power-cut", Control::PowerCut),
    ("power-off", Control::PowerOff),
    ("power-on", Control::PowerOn),
    ("reset", Control::Reset),
];

/// The limits of a disk as a Python tuple: sectors, bytes of a logical and of a physical sector, sectors of the longest
/// request, requests at once, whether it knows forced writes, whether it acknowledges writes before they are durable.
type LimitsTuple = (u64, u32, u32, u32, u32, bool, bool);

/// The calls of a disk: its log, the present, and how many completions and landings were collected.
type SavedTuple<'py> = (Bound<'py, PyBytes>, u64, u64, u64);

/// A modelled disk.
#[pyclass(subclass, unsendable, module = "seekwise._native")]
pub struct ModelDisk {
    device: Box<dyn Device>,
    /// The names of the layers, by which keys are set; `drive` is one of them.
    levels: Vec<String>,
    now: Instant,
    /// The tag of the last request that was offered and taken: the number of requests taken so far.
    tag: u64,
    completions: VecDeque<Completion>,
    collected_completions: u64,
    collected_landings: u64,
    has_landings: bool,
    log: Option<CallLog>,
    /// A hash of the stack.
    fingerprint: u64,
    has_panicked: bool,
}

#[pymethods]
impl ModelDisk {
    #[new]
    fn new(
        py: Python<'_>,
        target: String,
        settings: Vec<(String, String)>,
        seed: u64,
        landings: bool,
        savable: bool,
    ) -> PyResult<ModelDisk> {
        let stack = run_watched(py, None, None, |_| {
            let files = process_files();
            let mut all_settings = settings.clone();
            let names_driver = settings.iter().any(|(key, _)| key == "driver" || key.starts_with("driver."));
            if !names_driver && is_drive(&files, &target) {
                // A drive by itself has nothing above it here; for jobs a driver without a limit is.
                all_settings.push(("driver".to_owned(), "none".to_owned()));
            }
            let (stack, changes, warnings) = build_stack(&files, &target, &all_settings)?;
            if !changes.is_empty() {
                let why = "changes during a run are the caller's here; expected a call of set() at each instant";
                return Err(Error::new(format!("{target}: {why}")));
            }
            warnings.iter().for_each(|warning| ::log::warn!(target: "seekwise", "{warning}"));
            Ok(stack)
        })?;
        let mut levels = stack.layer_names();
        levels.push("drive".to_owned());
        let mut hasher = DefaultHasher::new();
        stack.hash(&mut hasher);
        let fingerprint = hasher.finish();
        let mut disk = ModelDisk {
            device: stack.build(Seed(seed)),
            levels,
            now: Instant::ZERO,
            tag: 0,
            completions: VecDeque::new(),
            collected_completions: 0,
            collected_landings: 0,
            has_landings: landings,
            log: savable.then(CallLog::default),
            fingerprint,
            has_panicked: false,
        };
        if landings {
            let setting =
                parse_setting("landings", "on", &|_| true).map_err(|_| disk.error(py, "landings", "refused"))?;
            disk.device
                .control(Instant::ZERO, &Control::Set(setting))
                .map_err(|_| disk.error(py, "landings", "refused"))?;
        }
        Ok(disk)
    }

    /// Offers a request at an instant, after doing all that is due by then. Collect completions afterwards.
    ///
    /// Args:
    ///     now_ns: the instant in nanoseconds, not before the last one.
    ///     op: "read", "write", "write-zeroes", "flush" or "trim".
    ///     lba: the first sector of 512 bytes; none for a flush.
    ///     sectors: sectors of 512 bytes, 1 to 65536; none for a flush.
    ///     fua: True forces a write to the medium.
    ///     ordered: True serves it after all earlier requests and before all later ones (SCSI).
    ///     head_of_queue: True serves it next (SCSI).
    ///     priority: True serves it before requests without (NCQ, SCSI).
    ///
    /// Returns:
    ///     The request's tag, or None if the disk is full: offer it again after a completion or `next()`.
    ///
    /// Raises:
    ///     SeekwiseError: an argument does not fit, or time runs back; nothing has changed.
    ///
    /// Example:
    ///     >>> disk.submit(disk.now_ns, "write", lba=0, sectors=8, fua=True)
    ///     1
    #[pyo3(signature = (now_ns, op, lba = None, sectors = None, *, fua = false, ordered = false, head_of_queue = false, priority = false))]
    #[allow(clippy::too_many_arguments, reason = "the arguments of a request, by name in Python")]
    fn submit(
        &mut self,
        py: Python<'_>,
        now_ns: &Bound<'_, PyAny>,
        op: &Bound<'_, PyAny>,
        lba: Option<&Bound<'_, PyAny>>,
        sectors: Option<&Bound<'_, PyAny>>,
        fua: bool,
        ordered: bool,
        head_of_queue: bool,
        priority: bool,
    ) -> PyResult<Option<u64>> {
        let op = word_value(py, "op", op, &OPERATIONS)?;
        let (lba, sectors) = self.checked_place(py, op, lba, sectors)?;
        let set = [
            (fua, Flags::FUA),
            (ordered, Flags::ORDERED),
            (head_of_queue, Flags::HEAD_OF_QUEUE),
            (priority, Flags::PRIORITY),
        ];
        let flags = set.iter().filter(|(is_set, _)| *is_set).fold(Flags::NONE, |flags, (_, flag)| flags.with(*flag));
        let at = self.checked_instant(py, Some(now_ns))?;
        let is_taken = self.act(at, &Call::Submit { op, flags, lba, sectors })?.is_ok();
        Ok(is_taken.then_some(self.tag))
    }

    /// When something happens next by itself.
    ///
    /// Returns:
    ///     The instant in nanoseconds at which to call `advance`; None if nothing is going on.
    ///
    /// Raises:
    ///     Nothing.
    ///
    /// Example:
    ///     >>> disk.next() is None
    ///     True
    fn next(&self) -> Option<u64> {
        self.device.poll_timeout().map(Instant::nanos)
    }

    /// Does all that is due by an instant, each thing at its own: late calls change nothing.
    ///
    /// Args:
    ///     now_ns: the instant in nanoseconds, not before the last one.
    ///
    /// Returns:
    ///     None.
    ///
    /// Raises:
    ///     SeekwiseError: time runs back.
    ///
    /// Example:
    ///     >>> disk.advance(disk.now_ns + 1_000_000)
    fn advance(&mut self, py: Python<'_>, now_ns: &Bound<'_, PyAny>) -> PyResult<()> {
        let at = self.checked_instant(py, Some(now_ns))?;
        self.guarded(|disk| disk.advance_to(at))
    }

    /// Collects the completions that are ready, in order.
    ///
    /// Returns:
    ///     A list of `Completion`.
    ///
    /// Raises:
    ///     Nothing.
    ///
    /// Example:
    ///     >>> disk.completions()
    ///     []
    fn completions(&mut self) -> Vec<DiskCompletion> {
        self.collected_completions += self.completions.len() as u64;
        let last_tag = self.tag;
        self.completions.drain(..).map(|completion| DiskCompletion::new(&completion, last_tag)).collect()
    }

    /// Collects what became of written sectors since the last call. They come as heads write, and wait until then.
    ///
    /// Returns:
    ///     A list of `Landing`.
    ///
    /// Raises:
    ///     SeekwiseError: the disk was made without `landings=True`.
    ///
    /// Example:
    ///     >>> sw.Disk("exos-x18", landings=True).landings()
    ///     []
    fn landings(&mut self, py: Python<'_>) -> PyResult<Vec<DiskLanding>> {
        if !self.has_landings {
            return Err(self.error(py, "landings", "are off; expected Disk(…, landings=True)"));
        }
        let landings: Vec<DiskLanding> = std::iter::from_fn(|| self.device.poll_landing()).map(DiskLanding).collect();
        self.collected_landings += landings.len() as u64;
        Ok(landings)
    }

    /// Does what a word says.
    ///
    /// Args:
    ///     control: "power-cut", "power-off" (in order), "power-on" or "reset".
    ///     now_ns: the instant in nanoseconds; by default the present.
    ///
    /// Returns:
    ///     None.
    ///
    /// Raises:
    ///     SeekwiseError: no such control, or the disk refuses it.
    ///
    /// Example:
    ///     >>> disk.control("power-cut")
    #[pyo3(signature = (control, now_ns = None))]
    fn control(
        &mut self,
        py: Python<'_>,
        control: &Bound<'_, PyAny>,
        now_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let control_value = word_value(py, "control", control, &CONTROLS)?;
        let at = self.checked_instant(py, now_ns)?;
        let outcome = self.act(at, &Call::Control(control_value))?;
        outcome.map_err(|why| self.error(py, "control", &format!("{control}: {}", control_refusal(why))))
    }

    /// Aborts a request in flight, which completes as aborted.
    ///
    /// Args:
    ///     tag: the request's.
    ///     now_ns: the instant in nanoseconds; by default the present.
    ///
    /// Returns:
    ///     None.
    ///
    /// Raises:
    ///     SeekwiseError: no such request is in flight.
    ///
    /// Example:
    ///     >>> tag = disk.submit(disk.now_ns, "read", lba=0, sectors=8)
    ///     >>> disk.abort(tag)
    #[pyo3(signature = (tag, now_ns = None))]
    fn abort(&mut self, py: Python<'_>, tag: &Bound<'_, PyAny>, now_ns: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let number = whole_number(py, "tag", tag)?;
        let at = self.checked_instant(py, now_ns)?;
        // Tags count up, and a device knows their lowest 32 bits: an older one may be another request's.
        let is_known = (1..=self.tag).contains(&number) && self.tag - number <= u64::from(u32::MAX);
        let outcome = if is_known { self.act(at, &Call::Abort(number))? } else { Err(ControlError::UnknownTag) };
        outcome.map_err(|why| self.error(py, "tag", &format!("{number}: {}", control_refusal(why))))
    }

    /// Sets a dotted key of the running stack; the value is a word.
    #[pyo3(signature = (key, value, now_ns = None))]
    fn set_word(&mut self, py: Python<'_>, key: &str, value: &str, now_ns: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let at = self.checked_instant(py, now_ns)?;
        let has_level = |level: &str| self.levels.iter().any(|known| known == level);
        if key == "landings" {
            return Err(self.error(py, "landings", "are chosen at the beginning; expected Disk(…, landings=True)"));
        }
        let refused = |why| self.error(py, key, &format!("{value}: {}", refusal_words(why, key)));
        let setting = parse_setting(key, value, &has_level).map_err(refused)?;
        let outcome = self.act(at, &Call::Set { key: key.to_owned(), value: value.to_owned(), setting })?;
        outcome.map_err(|why| self.error(py, key, &format!("{value}: {}", refusal_words(why, key))))
    }

    /// The present, in nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now.nanos()
    }

    /// The limits of the disk.
    fn limits_tuple(&self) -> LimitsTuple {
        let limits = self.device.limits(0);
        let (logical, physical) = (limits.logical, limits.physical);
        (limits.sectors, logical, physical, limits.max_transfer, limits.depth, limits.fua, limits.volatile_cache)
    }

    /// A hash of the stack.
    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The calls so far; `None` if they are not kept.
    fn saved_calls<'py>(&self, py: Python<'py>) -> Option<SavedTuple<'py>> {
        let calls = PyBytes::new(py, self.log.as_ref()?.bytes());
        Some((calls, self.now.nanos(), self.collected_completions, self.collected_landings))
    }

    /// Makes the calls of another disk on this one, which is new.
    fn make_calls(
        &mut self,
        py: Python<'_>,
        calls: &[u8],
        now_ns: u64,
        completions: u64,
        landings: u64,
    ) -> PyResult<()> {
        let damaged = |disk: &ModelDisk| disk.error(py, "data", "is damaged; expected the bytes of save()");
        for (index, entry) in log::entries(calls, &self.levels.clone()).enumerate() {
            let (at, call) = entry.ok_or_else(|| damaged(self))?;
            // A call that was refused is refused again, and changes nothing again.
            let _ = self.act(at, &call)?;
            if index % CALLS_PER_CHECK == 0 {
                py.check_signals()?;
            }
        }
        self.guarded(|disk| disk.advance_to(Instant::from_nanos(now_ns)))?;
        let collected = (0..completions).all(|_| self.completions.pop_front().is_some())
            && (0..landings).all(|_| self.device.poll_landing().is_some());
        (self.collected_completions, self.collected_landings) = (completions, landings);
        if collected { Ok(()) } else { Err(damaged(self)) }
    }
}

impl ModelDisk {
    /// Makes a call of the device at an instant, after all that is due by then. The inner result is the device's.
    fn act(&mut self, at: Instant, call: &Call) -> PyResult<Result<(), ControlError>> {
        self.guarded(|disk| {
            disk.advance_to(at);
            if let Some(log) = &mut disk.log {
                log.push(at, call);
            }
            let outcome = match call {
                Call::Submit { op, flags, lba, sectors } => {
                    let stamp = disk.tag + 1;
                    let (op, flags, lba, sectors) = (*op, *flags, *lba, *sectors);
                    let request = Request { tag: stamp as u32, unit: 0, origin: 0, op, flags, lba, sectors, stamp };
                    let is_taken = disk.device.submit(at, request).is_ok();
                    disk.tag += u64::from(is_taken);
                    // A request that is refused has no error of a control; any will do.
                    if is_taken { Ok(()) } else { Err(ControlError::BadValue) }
                }
                Call::Control(control) => disk.device.control(at, control),
                Call::Abort(tag) => disk.device.control(at, &Control::Abort(*tag as u32)),
                Call::Set { setting, .. } => disk.device.control(at, &Control::Set(*setting)),
            };
            disk.drain();
            outcome
        })
    }

    /// Does all that is due by an instant.
    fn advance_to(&mut self, at: Instant) {
        self.now = at;
        self.device.handle_timeout(at);
        self.drain();
    }

    fn drain(&mut self) {
        self.completions.extend(std::iter::from_fn(|| self.device.poll_completion()));
    }

    /// Runs `action`. A panic of the model becomes an exception, and the disk does nothing any more.
    fn guarded<T>(&mut self, action: impl FnOnce(&mut ModelDisk) -> T) -> PyResult<T> {
        if self.has_panicked {
            return Err(PyRuntimeError::new_err("a fault of the model ended this disk; open another"));
        }
        catch_unwind(AssertUnwindSafe(|| action(self))).map_err(|_| {
            self.has_panicked = true;
            PyRuntimeError::new_err("a fault of Seekwise itself; this disk has ended")
        })
    }

    /// The exception for an argument.
    fn error(&self, py: Python<'_>, name: &str, why: &str) -> PyErr {
        argument_error(py, name, why)
    }

    /// The instant of a call, which is the present without one.
    fn checked_instant(&self, py: Python<'_>, now_ns: Option<&Bound<'_, PyAny>>) -> PyResult<Instant> {
        let Some(now_ns) = now_ns else { return Ok(self.now) };
        let at = Instant::from_nanos(whole_number(py, "now_ns", now_ns)?);
        match at {
            _ if at < self.now => {
                let why = format!("{now_ns}: time never runs back; expected {} or later", self.now.nanos());
                Err(self.error(py, "now_ns", &why))
            }
            _ if at > LAST => Err(self.error(py, "now_ns", &format!("{now_ns}: expected at most {}", LAST.nanos()))),
            _ => Ok(at),
        }
    }

    /// The sectors of a request, whole logical ones; a flush has none.
    fn checked_place(
        &self,
        py: Python<'_>,
        op: Op,
        lba: Option<&Bound<'_, PyAny>>,
        sectors: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(u64, u32)> {
        let given =
            |name: &str, value: Option<&Bound<'_, PyAny>>| value.map_or(Ok(0), |value| whole_number(py, name, value));
        let (first, count) = (given("lba", lba)?, given("sectors", sectors)?);
        if op == Op::Flush {
            let has_place = first != 0 || count != 0;
            return if has_place {
                Err(self.error(py, "lba, sectors", "a flush has none of them"))
            } else {
                Ok((0, 0))
            };
        }
        if lba.is_none() {
            return Err(self.error(py, "lba", "is missing; expected the first sector of 512 bytes"));
        }
        if !(1..=MOST_SECTORS).contains(&count) {
            return Err(self.error(
                py,
                "sectors",
                &format!("{count}: expected 1 to {MOST_SECTORS}, of 512 bytes each"),
            ));
        }
        if first.checked_add(count).is_none_or(|end| end > MOST_LBA) {
            return Err(self.error(py, "lba", &format!("{first}: expected an end of at most {MOST_LBA}")));
        }
        let logical = u64::from(self.device.limits(0).logical) / 512;
        for (name, value) in [("lba", first), ("sectors", count)] {
            if !value.is_multiple_of(logical) {
                let why =
                    format!("{value}: expected a multiple of {logical}: a logical sector has {} bytes", logical * 512);
                return Err(self.error(py, name, &why));
            }
        }
        Ok((first, count as u32))
    }
}

/// True if a target is a drive by its name, or a profile's file.
fn is_drive(files: &Files, target: &str) -> bool {
    let is_profile = |text: &str| FileKind::of(text) == Some(FileKind::Profile);
    find_text(target).is_some() || files.find(target).ok().flatten().is_some_and(|text| is_profile(&text))
}

/// The exception for an argument of this name.
fn argument_error(py: Python<'_>, name: &str, why: &str) -> PyErr {
    fault::to_exception(py, &Error::new(format!("{name}: {why}")))
}

/// A whole number from 0.
fn whole_number(py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract().map_err(|_| {
        let shown = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
        argument_error(py, name, &format!("{shown}: expected a whole number from 0"))
    })
}

/// The value that a word stands for.
fn word_value<T: Copy>(py: Python<'_>, name: &str, word: &Bound<'_, PyAny>, known: &[(&str, T)]) -> PyResult<T> {
    let text: Option<PyBackedStr> = word.extract().ok();
    let found = text.and_then(|text| known.iter().find(|(known, _)| **known == *text));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        let shown = word.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
        argument_error(py, name, &format!("{shown}: expected one of {}", words.join(", ")))
    })
}

/// Why a control was refused, in words.
fn control_refusal(why: ControlError) -> &'static str {
    match why {
        ControlError::PoweredOff => "the disk is off; expected control(\"power-on\") before",
        ControlError::UnknownTag => "no such request is in flight",
        ControlError::UnknownKey | ControlError::BadValue => "refused in this state",
    }
}
