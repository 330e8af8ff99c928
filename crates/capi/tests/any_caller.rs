//! Random callers: they send requests, instants, controls and keys, well formed or not, to drives and stacks. No call may panic, each
//! request that was taken completes once, and equal calls give equal answers. So do calls of a disk that was copied, or saved and restored,
//! on the way; canaries lack its state, or one call.

use std::collections::BTreeSet;

use seekwise_capi::disk::Disk;
use seekwise_capi::saved_state::SavedState;
use seekwise_capi::values::{
    SEEKWISE_MOST_LBA, SEEKWISE_NEVER, SeekwiseCompletion, SeekwiseControl, SeekwiseLanding, SeekwiseRequest,
    SeekwiseStatus,
};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_drives::drives;

/// Layers above a drive.
const STACKS: [&str; 6] = [
    "driver = \"none\"\n",
    "driver = \"linux-mq-deadline\"\ncontroller = \"sii-3112\"\n",
    "driver = \"windows-xp\"\naccelerator = \"maxboost\"\n",
    "[array]\nname = \"raid-5\"\ndrives = 3\n",
    "driver = \"linux-bfq\"\n[array]\nname = \"raid-1\"\ndrives = 2\n",
    "processor = \"pentium-iii-800\"\ndriver = \"linux-none\"\n",
];

const KEYS: [(&str, &str); 9] = [
    ("landings", "on"),
    ("landings", "off"),
    ("drive.cache.write_back", "off"),
    ("drive.cache.write_back", "on"),
    ("driver.flush", "drop"),
    ("array.lose", "1"),
    ("array.replace", "1"),
    ("array.check", "on"),
    ("no.such.key", "\u{1}"),
];

/// An instant in ns, and what the disk answered then.
type Event = (u64, String);

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

/// A request that is well formed, or wrong in some of its members.
fn request(rng: &mut Rng, sectors: u64) -> SeekwiseRequest {
    let mut wild = || rng.draw_chance(3);
    let wild = [wild(), wild(), wild(), wild()];
    let op = if wild[0] { rng.below(7) as u32 } else { pick(rng, &[0, 0, 1, 1, 1, 3]) };
    let flags = if wild[1] { rng.below(32) as u32 } else { pick(rng, &[0, 0, 0, 1, 8]) };
    let lba = if wild[2] {
        pick(rng, &[sectors - 1, sectors, SEEKWISE_MOST_LBA - 256, u64::MAX])
    } else {
        rng.below(sectors)
    };
    let length = if wild[3] { pick(rng, &[0, 65_536, 65_537, u32::MAX]) } else { 8 << rng.below(8) };
    let (lba, length) = if op == 3 { (0, 0) } else { (lba, length) };
    SeekwiseRequest { tag: rng.below(64) as u32, op, flags, sectors: length, lba }
}

/// The next instant at which the caller does something: seldom before `now`.
fn instant(rng: &mut Rng, now: u64, disk: &Disk) -> u64 {
    match rng.below(20) {
        0 => now.saturating_sub(1),
        1 => now + rng.below(3_000_000_000),
        2..9 => now,
        9..14 => now + rng.below(5_000_000),
        _ => pick(rng, &[disk.next_event_ns(), now]),
    }
}

/// A call of a disk, with its instant.
#[derive(Clone, Copy, Debug)]
enum Call {
    Control(u64, u32),
    Abort(u64, u32),
    Set(u64, &'static str, &'static str),
    Submit(u64, SeekwiseRequest),
    Advance(u64),
}

impl Call {
    fn draw(rng: &mut Rng, now: u64, disk: &Disk) -> Call {
        let at = instant(rng, now, disk);
        match rng.below(200) {
            0 => Call::Control(at, rng.below(5) as u32),
            // The power comes back soon.
            1..8 => Call::Control(at, SeekwiseControl::PowerOn as u32),
            8..10 => Call::Abort(at, rng.below(64) as u32),
            10..14 => {
                let (key, value) = pick(rng, &KEYS);
                Call::Set(at, key, value)
            }
            14..100 => Call::Submit(at, request(rng, disk.limits().sectors)),
            _ => Call::Advance(at),
        }
    }

    fn at(&self) -> u64 {
        let (Call::Control(at, _) | Call::Abort(at, _) | Call::Set(at, ..) | Call::Submit(at, _) | Call::Advance(at)) =
            self;
        *at
    }

    /// Makes the call; returns the stamp of a request.
    fn make(&self, disk: &mut Disk) -> Result<u64, SeekwiseStatus> {
        match *self {
            Call::Control(at, number) => disk.control(at, number).map(|()| 0),
            Call::Abort(at, tag) => disk.abort(at, tag).map(|()| 0),
            Call::Set(at, key, value) => disk.set(at, key, value).map(|()| 0),
            Call::Submit(at, ref request) => disk.submit(at, request),
            Call::Advance(at) => disk.advance(at).map(|()| 0),
        }
    }
}

/// The answers that a caller drawn from `seed` gets from a disk in `steps` steps.
fn called(disk: &mut Disk, seed: Seed, steps: u32) -> Vec<Event> {
    let rng = &mut seed.stream("caller");
    let (mut now, mut out, mut events) = (0, BTreeSet::new(), Vec::new());
    for _ in 0..steps {
        let call = Call::draw(rng, now, disk);
        let (at, answer) = (call.at(), call.make(disk));
        if let (Call::Submit(_, request), Ok(_)) = (&call, answer) {
            assert!(out.insert(request.tag), "a tag in use was taken");
        }
        let said = format!("{answer:?}");
        now = now.max(if at == SEEKWISE_NEVER || at > 1 << 62 { 0 } else { at });
        events.push((at, said));
        events.extend(collected(disk, &mut out));
    }
    // All comes to an end by itself, power or not.
    while disk.next_event_ns() != SEEKWISE_NEVER && !out.is_empty() {
        let next = disk.next_event_ns();
        disk.advance(next).unwrap();
        events.extend(collected(disk, &mut out));
    }
    assert!(out.is_empty(), "never answered: {out:?}");
    assert_eq!(disk.advance(1 << 62), Ok(()), "the last instant that there is");
    // The caller gets through to the disk: most requests are done, each other end is met, and writes land.
    let with = |what: &str| events.iter().filter(|event| event.1.contains(what)).count();
    assert!(with("outcome: 0") > steps as usize / 10, "{} done", with("outcome: 0"));
    assert!(["outcome: 1", "outcome: 2", "outcome: 3", "kind: 0", "kind: 2"].iter().all(|what| with(what) > 0));
    events
}

fn collected(disk: &mut Disk, out: &mut BTreeSet<u32>) -> Vec<Event> {
    let completions: Vec<SeekwiseCompletion> = std::iter::from_fn(|| disk.pop_completion()).collect();
    for done in &completions {
        assert!(out.remove(&done.tag), "{done:?} was not in flight");
        assert_eq!(done.parts_ns.iter().sum::<u64>(), done.finished_ns - done.submitted_ns);
    }
    let landings = std::iter::from_fn(|| disk.pop_landing());
    let landings = landings.map(|landing| (landing.to_ns, format!("{landing:?}")));
    completions.iter().map(|done| (done.finished_ns, format!("{done:?}"))).chain(landings).collect()
}

/// As many steps on each disk; `SEEKWISE_CALLS` sets another number.
fn steps() -> u32 {
    std::env::var("SEEKWISE_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000)
}

#[test]
fn whatever_is_called_on_drives_no_call_panics() {
    for (number, name) in drives::names().enumerate() {
        let seed = Seed(number as u64);
        let [one, other] = [0, 0].map(|_| called(&mut Disk::open_drive(name, 1).unwrap(), seed, steps()));
        assert_eq!(one, other, "{name}");
    }
}

#[test]
fn whatever_is_called_on_stacks_no_call_panics() {
    for (number, layers) in STACKS.iter().enumerate() {
        let names = ["barracuda-7200.7-ncq", "cheetah-15k.4", "exos-x18"];
        let text = format!("drive = \"{}\"\n{layers}", names[number % names.len()]);
        let open = || Disk::open_stack(&text, 1).unwrap_or_else(|errors| panic!("{errors:?}"));
        let seed = Seed(100 + number as u64);
        assert_eq!(called(&mut open(), seed, steps()), called(&mut open(), seed, steps()), "{layers}");
    }
}

/// All that a caller learns by a call.
#[derive(Debug, PartialEq)]
struct Answers {
    result: Result<u64, SeekwiseStatus>,
    completions: Vec<SeekwiseCompletion>,
    landings: Vec<SeekwiseLanding>,
    next_ns: u64,
    unsettled: BTreeSet<u64>,
}

/// A caller of a disk and of its copies.
struct Caller {
    rng: Rng,
    now: u64,
}

impl Caller {
    /// Calls a disk so often; returns the first call that one of the copies answers otherwise.
    fn first_difference(&mut self, disk: &mut Disk, copies: &mut [Disk], calls: u32) -> Option<Call> {
        for _ in 0..calls {
            let call = Call::draw(&mut self.rng, self.now, disk);
            // Some answers stay where they are until later.
            let collects = self.rng.draw_chance(70);
            let answers = call_and_collect(disk, &call, collects);
            self.now = if call.at() > 1 << 62 { self.now } else { self.now.max(call.at()) };
            if copies.iter_mut().any(|copy| call_and_collect(copy, &call, collects) != answers) {
                return Some(call);
            }
        }
        None
    }
}

fn call_and_collect(disk: &mut Disk, call: &Call, collects: bool) -> Answers {
    let result = call.make(disk);
    let completions = if collects { std::iter::from_fn(|| disk.pop_completion()).collect() } else { Vec::new() };
    let landings = if collects { std::iter::from_fn(|| disk.pop_landing()).collect() } else { Vec::new() };
    Answers { result, completions, landings, next_ns: disk.next_event_ns(), unsettled: disk.unsettled() }
}

/// The calls of each disk that is saved: 10,000 with `SEEKWISE_DRAWS=all`.
fn saved_calls() -> u32 {
    let draws_all = std::env::var("SEEKWISE_DRAWS").is_ok_and(|draws| draws == "all");
    if draws_all { 10_000 } else { 1_000 }
}

/// Calls a disk; at random points it is copied, and saved and restored, and both copies must answer as it does until the next point.
/// Returns how many bytes its last state took for a call.
fn compare_copies(name: &str, mut disk: Disk, seed: u64) -> f64 {
    let mut caller = Caller { rng: Seed(seed).stream("caller"), now: 0 };
    let points = &mut Seed(seed).stream("points");
    let (mut left, mut copies, mut bytes) = (saved_calls(), Vec::new(), Vec::new());
    disk.keep_log().unwrap();
    while left > 0 {
        let calls = (1 + points.below(u64::from(saved_calls()) / 4) as u32).min(left);
        let difference = caller.first_difference(&mut disk, &mut copies, calls);
        assert!(difference.is_none(), "{name}, {left} calls before the end: {difference:?}");
        left -= calls;
        bytes = disk.save().unwrap();
        let mut restored = Disk::restore(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(restored.save().unwrap() == bytes, "{name}: the restored disk is saved as the first");
        copies = vec![disk.fork().expect("a modelled disk"), restored];
    }
    assert_eq!(caller.first_difference(&mut disk, &mut copies, 100).map(|call| call.at()), None, "{name}: at the end");
    bytes.len() as f64 / f64::from(saved_calls())
}

/// Arrays that are saved, with the keys that every test's caller sets.
const ARRAYS: [&str; 3] = [
    "driver = \"linux-bfq\"\n[array]\nname = \"raid-1\"\ndrives = 2\n",
    "[array]\nname = \"raid-5\"\ndrives = 3\n",
    "driver = \"linux-mq-deadline\"\n[array]\nname = \"raid-6\"\ndrives = 5\nbitmap = \"internal\"\n",
];

fn open_array(layers: &str) -> Disk {
    let text = format!("drive = \"barracuda-7200.7-ncq\"\n{layers}");
    Disk::open_stack(&text, 1).unwrap_or_else(|errors| panic!("{errors:?}"))
}

#[test]
fn saved_and_copied_drives_answer_as_those_that_ran_through() {
    for (number, name) in drives::names().enumerate() {
        let bytes = compare_copies(name, Disk::open_drive(name, 1).unwrap(), 200 + number as u64);
        println!("{name}: {bytes:.1} bytes a call");
    }
}

#[test]
fn saved_and_copied_arrays_answer_as_those_that_ran_through() {
    for (number, layers) in ARRAYS.iter().chain(&STACKS).enumerate() {
        let bytes = compare_copies(layers, open_array(layers), 300 + number as u64);
        println!("{layers:?}: {bytes:.1} bytes a call");
    }
}

/// Canaries: a copy that lacks the state, and one whose last read, now answered, was from another address. A power cut may hide that one.
#[test]
fn copies_that_lack_something_are_found() {
    for layers in ARRAYS {
        let (middle, mut found) = (open_array(layers).limits().sectors / 2 / 8 * 8, 0);
        for seed in 400..405 {
            let called_with_read = |lba: u64| {
                let mut caller = Caller { rng: Seed(seed).stream("caller"), now: 0 };
                let mut disk = open_array(layers);
                assert!(caller.first_difference(&mut disk, &mut [], 300).is_none());
                disk.control(caller.now, SeekwiseControl::PowerOn as u32).unwrap();
                let read = SeekwiseRequest { tag: 1_000, op: 0, flags: 0, sectors: 8, lba };
                disk.submit(caller.now, &read).unwrap();
                caller.now += 1_000_000_000;
                disk.advance(caller.now).unwrap();
                while disk.pop_completion().is_some() {}
                (disk, caller)
            };
            let (disk, Caller { rng, now }) = called_with_read(middle);
            let is_found = |mut canary: Disk| {
                let (mut disk, mut caller) = (disk.fork().unwrap(), Caller { rng: rng.clone(), now });
                caller.first_difference(&mut disk, std::slice::from_mut(&mut canary), 300).is_some()
            };
            assert!(is_found(open_array(layers)), "without the state, seed {seed}: {layers}");
            found += u32::from(is_found(called_with_read(0).0));
        }
        assert!(found >= 3, "another address: {found} of 5 found: {layers}");
    }
}

/// States whose calls were changed, with a sum that fits. None panics; a few change no answer, as a step while nothing goes on.
#[test]
fn changed_calls_are_refused() {
    let mut disk = open_array(ARRAYS[1]);
    disk.keep_log().unwrap();
    let mut caller = Caller { rng: Seed(500).stream("caller"), now: 0 };
    assert!(caller.first_difference(&mut disk, &mut [], 100).is_none());
    let bytes = disk.save().unwrap();
    let state = SavedState::parse(&bytes).unwrap();
    let (rng, mut refused) = (&mut Seed(500).stream("changes"), 0);
    for _ in 0..100 {
        let mut calls = state.calls.to_vec();
        for _ in 0..=rng.below(3) {
            let place = rng.below(calls.len() as u64) as usize;
            match rng.below(3) {
                0 => calls[place] = rng.below(256) as u8,
                1 => calls.insert(place, rng.below(256) as u8),
                _ => calls.truncate(place.max(1)),
            }
        }
        refused += u32::from(Disk::restore(&SavedState { calls: &calls, ..state.clone() }.to_bytes()).is_err());
    }
    assert!(refused > 90, "{refused} of 100");
}
