//! Stacks in the words of users, built with probes between their layers, and runs of jobs and scripts on them. Laws share runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use seekwise_disk::block::{Completion, Device, Flags, Op, Request};
use seekwise_disk::host::accelerator::Accelerator;
use seekwise_disk::host::array::Array;
use seekwise_disk::host::controller::Controller;
use seekwise_disk::host::driver::Driver;
use seekwise_disk::host::processor::Processor;
use seekwise_disk::record::{DriveLog, Record};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::{Layer, Stack, build_below_array};
use seekwise_disk::time::Instant;
use seekwise_lab::inputs::{InputCache, Inputs};
use seekwise_lab::plan::{self, Cell};
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::outcome::join_source;
use seekwise_run::place::Target;
use seekwise_run::work::Work;

use super::probe::{Passage, Probe, SharedPassage};

/// The stack of a law that names no other: a drive with a queue of 32 below Linux.
const USUAL: &str = "drive=barracuda-7200.7-ncq driver=linux-mq-deadline controller=ahci";

/// A drive that serves one command at a time, first come, first served, and layers that do so too.
pub const FIRST_COME: &str = "drive=barracuda-7200.7 driver=linux-none";

/// A revolution of the usual drive, in seconds.
pub const TURN: f64 = 60.0 / 7200.0;

/// Sectors of md's usual chunk.
pub const CHUNK: u64 = 1024;

/// A run, and what passed the places of its stack.
pub struct Ran {
    pub records: Vec<Record>,
    /// When it ended, in nanoseconds.
    pub end: u64,
    pub log: DriveLog,
    /// What reached the stack.
    pub top: Passage,
    /// What reached the array.
    pub array: Passage,
    /// What the array sent, each with its member as the unit.
    pub members: Passage,
    /// What reached each drive.
    pub drives: Vec<Passage>,
    pub capacity: u64,
}

/// The places of a stack that are listened to.
struct Probes {
    top: SharedPassage,
    array: SharedPassage,
    members: SharedPassage,
    drives: Vec<SharedPassage>,
}

/// Makes runs and keeps them.
#[derive(Default)]
pub struct Bench {
    inputs: Arc<InputCache>,
    runs: RefCell<BTreeMap<String, Rc<Ran>>>,
    /// A setting that every stack gets which takes it.
    wrong: Option<(String, String)>,
}

/// A request of a script: when, in microseconds, and what.
pub type Scripted = (u64, Op, Flags, u64, u32);

/// Words of the form `key=value`, with blanks between.
fn pairs(words: &str) -> Vec<(String, String)> {
    let pair = |word: &str| {
        let (key, value) = word.split_once('=').unwrap_or_else(|| panic!("`{word}` is no setting"));
        // A time in a key: `at.1s.array.lose`.
        (key.to_owned(), value.to_owned())
    };
    words.split_whitespace().map(pair).collect()
}

/// A job file of options with blanks between; sections are words in brackets.
fn job_file(options: &str) -> String {
    let section = if options.starts_with('[') { "" } else { "[j]\n" };
    let lines = options.split_whitespace().collect::<Vec<_>>().join("\n");
    format!("[global]\nioengine=libaio\ndirect=1\nfilename=/dev/sdb\n{section}{lines}\n")
}

impl Bench {
    /// A bench whose stacks all get a setting, where they take it.
    pub fn with_wrong_setting(setting: &str) -> Bench {
        Bench { wrong: pairs(setting).pop(), ..Bench::default() }
    }

    /// Builds what the words say. The wrong setting is left out if the stack has no use for it.
    fn prepare(&self, words: &str, job: &str) -> Result<(Stack, Work), String> {
        let text = job_file(job);
        let load = |name: &str| match name {
            "j.fio" => Ok(text.clone()),
            name => Err(io::Error::other(format!("no file {name}"))),
        };
        let inputs = Inputs::from_today(&load).with_cache(Arc::clone(&self.inputs));
        let mut settings = pairs(&format!("job=j.fio {USUAL} {words}"));
        let prepare = |settings: &[(String, String)]| {
            let cell = Cell { levels: Vec::new(), settings: settings.to_vec() };
            plan::prepare_cell("laws", &cell, &inputs)
        };
        let plain = settings.clone();
        settings.extend(self.wrong.clone());
        let prepared = match prepare(&settings) {
            Ok(prepared) => prepared,
            Err(_) if self.wrong.is_some() => prepare(&plain).map_err(|faults| faults[0].to_string())?,
            Err(faults) => return Err(faults[0].to_string()),
        };
        match prepared.target {
            Target::Sim(stack, _) => Ok((*stack, prepared.job)),
            Target::Measured(_) => Err("not a modelled stack".to_owned()),
        }
    }

    /// The run of a job on a stack, made once.
    pub fn run(&self, words: &str, job: &str) -> Result<Rc<Ran>, String> {
        self.run_seeded(words, job, 1)
    }

    /// As [`Bench::run`], with a seed.
    pub fn run_seeded(&self, words: &str, job: &str, seed: u64) -> Result<Rc<Ran>, String> {
        let key = format!("{words} | {job} | {seed}");
        if let Some(ran) = self.runs.borrow().get(&key) {
            return Ok(Rc::clone(ran));
        }
        let ran = Rc::new(self.run_again(words, job, seed)?);
        self.runs.borrow_mut().insert(key, Rc::clone(&ran));
        Ok(ran)
    }

    /// Makes a run anew.
    pub fn run_again(&self, words: &str, job: &str, seed: u64) -> Result<Ran, String> {
        let (stack, work) = self.prepare(words, job)?;
        let (device, probes) = build(&stack, Seed(seed));
        let source = work.make_source(Seed(seed));
        let mut engine = join_source(device, source, RunCutoff::NEVER).map_err(|error| error.to_string())?;
        let mut records = Vec::new();
        let mut recorder = |record: &Record| records.push(*record);
        for change in &stack.changes {
            engine.run(change.at, &mut recorder).map_err(|error| error.to_string())?;
            engine.device_mut().control(change.at, &change.control).map_err(|error| format!("{error:?}"))?;
        }
        engine.run(Instant::FAR, &mut recorder).map_err(|error| error.to_string())?;
        let end = engine.now().nanos();
        let (_, device) = engine.into_parts();
        Ok(probes.into_ran(&*device, records, end))
    }

    /// Submits the requests at their times to a stack, and runs it until all are answered.
    pub fn script(&self, words: &str, requests: &[Scripted]) -> Result<Ran, String> {
        let (stack, _) = self.prepare(words, "rw=read number_ios=1")?;
        let (mut device, probes) = build(&stack, Seed(1));
        let (mut answered, mut last) = (0, Instant::ZERO);
        let mut drain = |device: &mut Box<dyn Device>| {
            while let Some(Completion { finished, .. }) = device.poll_completion() {
                (answered, last) = (answered + 1, finished);
            }
        };
        for (number, &(at, op, flags, lba, sectors)) in (0..).zip(requests) {
            let at = Instant::from_nanos(at * 1000);
            while let Some(next) = device.poll_timeout().filter(|next| *next <= at) {
                device.handle_timeout(next);
                drain(&mut device);
            }
            device.handle_timeout(at);
            drain(&mut device);
            let request =
                Request { tag: number, op, flags, lba, sectors, stamp: u64::from(number) + 1, ..Request::NONE };
            device.submit(at, request).map_err(|_| format!("no room for request {number}"))?;
            drain(&mut device);
        }
        while let Some(next) = device.poll_timeout().filter(|next| next.nanos() < 60_000_000_000) {
            device.handle_timeout(next);
            drain(&mut device);
        }
        if answered < requests.len() {
            return Err(format!("{answered} of {} requests were answered", requests.len()));
        }
        Ok(probes.into_ran(&*device, Vec::new(), last.nanos()))
    }
}

/// Builds a stack with probes at its top, above and below its array, and above each drive.
fn build(stack: &Stack, seed: Seed) -> (Box<dyn Device>, Probes) {
    let drives: Vec<SharedPassage> = (0..stack.drives()).map(|_| SharedPassage::default()).collect();
    let probes = Probes { top: Rc::default(), array: Rc::default(), members: Rc::default(), drives };
    let mut drive =
        |number: u32| Probe::above(Box::new(stack.build_drive(seed, number)), &probes.drives[number as usize]);
    let array = stack.layers.iter().position(|layer| matches!(layer, Layer::Array(_)));
    let (mut device, above) = match array {
        Some(at) => {
            let members = build_below_array(&stack.layers[..at], stack.drives(), &mut drive);
            let Layer::Array(spec) = &stack.layers[at] else { unreachable!("found above") };
            let array = Array::build_above(spec.clone(), Probe::above(members, &probes.members));
            (Probe::above(Box::new(array), &probes.array), &stack.layers[at + 1..])
        }
        None => (drive(0), &stack.layers[..]),
    };
    for layer in above {
        device = match layer {
            Layer::Controller(spec) => Box::new(Controller::build_above(*spec, device)),
            Layer::Driver(spec) => Box::new(Driver::build_above(*spec, device)),
            Layer::Accelerator(spec) => Box::new(Accelerator::build_above(*spec, device)),
            Layer::Processor(spec) => Box::new(Processor::build_above(*spec, device)),
            other => panic!("a {} above an array or a drive", other.kind()),
        };
    }
    (Probe::above(device, &probes.top), probes)
}

impl Probes {
    fn into_ran(self, device: &dyn Device, records: Vec<Record>, end: u64) -> Ran {
        // Requests that are still in flight, such as those of a rebuild, count up to the end.
        let list = |passage: SharedPassage| {
            let mut passage = passage.borrow().clone();
            passage.0.iter_mut().for_each(|passed| passed.finished = passed.finished.min(end.max(passed.at)));
            passage
        };
        Ran {
            records,
            end,
            log: device.drive_log(),
            top: list(self.top),
            array: list(self.array),
            members: list(self.members),
            drives: self.drives.into_iter().map(list).collect(),
            capacity: device.limits(0).sectors,
        }
    }
}

impl Ran {
    /// Seconds from the start to the end.
    pub fn seconds(&self) -> f64 {
        self.end as f64 / 1e9
    }

    /// Bytes of the program's requests of a kind.
    pub fn asked(&self, op: Op) -> f64 {
        let of_kind = self.records.iter().filter(|record| record.request.op == op);
        of_kind.map(|record| f64::from(record.request.sectors) * 512.0).sum()
    }

    /// The number of the program's requests of a kind.
    pub fn requests(&self, op: Op) -> f64 {
        self.records.iter().filter(|record| record.request.op == op).count() as f64
    }

    /// Requests that ended in a span of seconds, a second.
    pub fn rate(&self, from: f64, to: f64) -> f64 {
        let ended = |record: &&Record| (from..to).contains(&(record.completion.finished.nanos() as f64 / 1e9));
        self.records.iter().filter(ended).count() as f64 / (to - from)
    }

    /// Bytes of requests that ended in a span of seconds, a second.
    pub fn byte_rate(&self, from: f64, to: f64) -> f64 {
        let ended = |record: &&Record| (from..to).contains(&(record.completion.finished.nanos() as f64 / 1e9));
        let bytes = |record: &Record| f64::from(record.request.sectors) * 512.0;
        self.records.iter().filter(ended).map(bytes).sum::<f64>() / (to - from)
    }

    /// Mean response in seconds.
    pub fn mean_response(&self) -> f64 {
        let sum: u64 = self.records.iter().map(|record| record.response_time().nanos()).sum();
        sum as f64 / 1e9 / self.records.len() as f64
    }

    /// The responses in nanoseconds, in order.
    pub fn responses(&self) -> Vec<u64> {
        self.records.iter().map(|record| record.response_time().nanos()).collect()
    }

    /// What the array read and wrote at its members for each byte that the program wrote.
    pub fn for_each_byte_written(&self) -> [f64; 2] {
        [Op::Read, Op::Write].map(|op| self.members.of(op).bytes() / self.asked(Op::Write))
    }

    /// What reached the drives, all together.
    pub fn all_drives(&self) -> Passage {
        Passage(self.drives.iter().flat_map(|drive| drive.0.iter().copied()).collect())
    }

    /// How far at most a read of the cache ends after what the reader had read when it was sent, in KiB. For one sequential
    /// reader from the device's first byte.
    pub fn farthest_ahead_kib(&self) -> f64 {
        let mut read = 0;
        let mut records = self.records.iter().peekable();
        let mut farthest: f64 = 0.0;
        for passed in self.top.of(Op::Read).0 {
            while let Some(record) = records.next_if(|record| record.completion.finished.nanos() <= passed.at) {
                read = record.request.end();
            }
            farthest = farthest.max(passed.request.end().saturating_sub(read) as f64 / 2.0);
        }
        farthest
    }
}
