//! Random callers: they send requests, instants, controls and keys, well formed or not, to drives and stacks. No call may panic, each
//! request that was taken completes once, and equal calls give equal answers.

use std::collections::BTreeSet;

use seekwise_capi::disk::Disk;
use seekwise_capi::values::{SEEKWISE_MOST_LBA, SEEKWISE_NEVER, SeekwiseCompletion, SeekwiseControl, SeekwiseRequest};
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

/// The answers that a caller drawn from `seed` gets from a disk in `steps` steps.
fn called(disk: &mut Disk, seed: Seed, steps: u32) -> Vec<Event> {
    let rng = &mut seed.stream("caller");
    let (mut now, mut out, mut events) = (0, BTreeSet::new(), Vec::new());
    let sectors = disk.limits().sectors;
    for _ in 0..steps {
        let at = instant(rng, now, disk);
        let said = match rng.below(200) {
            0 => format!("{:?}", disk.control(at, rng.below(5) as u32)),
            // The power comes back soon.
            1..8 => format!("{:?}", disk.control(at, SeekwiseControl::PowerOn as u32)),
            8..10 => format!("{:?}", disk.abort(at, rng.below(64) as u32)),
            10..14 => {
                let (key, value) = pick(rng, &KEYS);
                format!("{:?}", disk.set(at, key, value))
            }
            14..100 => {
                let request = request(rng, sectors);
                let taken = disk.submit(at, &request);
                assert!(taken.is_err() || out.insert(request.tag), "a tag in use was taken");
                format!("{taken:?}")
            }
            _ => format!("{:?}", disk.advance(at)),
        };
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
