//! Random operations, cut at random instants: everything synced before a cut is there, nothing that was never written
//! appears, names and lengths are old or new. Layers that break a promise must be caught.

use std::collections::BTreeMap;

use seekwise_disk::block::{CutSector, Device};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::{drives, stack};
use seekwise_files::layer::Files;
use seekwise_files::operation::{Answer, FileError, FileOp, Handle, OpId, RecoveredFile, Settings, SyncScope, Tear};

use crate::model::{Model, Node, PAGE};

/// A kind of layer or drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Honest,
    /// fsync and commits send no flush.
    ForgetsFlush,
    /// The drive acknowledges a flush at once.
    EarlyFlush,
}

const DRIVES: [&str; 4] = ["barracuda-7200.7-ncq", "cheetah-15k.4", "barracuda-2t-st2000dm006", "caviar-wd400jb"];

fn build_device(kind: Kind, seed: u64) -> Box<dyn Device> {
    if kind == Kind::Honest && seed % 4 == 3 {
        let name = if seed % 8 == 3 { "raid-1" } else { "raid-5" };
        let drives = if name == "raid-1" { 2 } else { 3 };
        let text = format!(
            "drive = \"{}\"\ndriver = \"linux-mq-deadline\"\n[array]\nname = \"{name}\"\ndrives = {drives}\n",
            DRIVES[0]
        );
        let built = stack::StackFile::parse("stack.toml", &text).unwrap().build(&drives::read).unwrap();
        return built.stack.build(Seed(seed));
    }
    let name = DRIVES[seed as usize / 4 % DRIVES.len()];
    let mut profile = drives::load(name).unwrap().profile().unwrap();
    profile.faults.early_flush = kind == Kind::EarlyFlush;
    if seed % 4 == 1 {
        profile.cut_sector = CutSector::Unreadable;
    }
    Stack::bare(profile).build(Seed(seed))
}

/// An operation in flight: its promise once it has ended, or the answer that it must give.
enum Expected {
    Nothing,
    /// A write or a new length, by the model's step.
    Change {
        file: u32,
        step: u64,
    },
    Promise {
        file: u32,
        step: u64,
        with_names: bool,
    },
    PromiseAll {
        step: u64,
    },
    Read {
        file: u32,
        from: u64,
        bytes: u64,
    },
    Opened {
        file: u32,
    },
    Len(u64),
}

/// A case: the layer, the model, and the operations in flight.
struct Case {
    files: Files<Box<dyn Device>>,
    model: Model,
    rng: Rng,
    now: Instant,
    expected: BTreeMap<OpId, Expected>,
    handles: BTreeMap<u32, Handle>,
    directories: u64,
    /// A digest of all that happened.
    digest: u64,
}

impl Case {
    fn new(kind: Kind, seed: u64) -> Case {
        let mut rng = Seed(seed).stream("laws");
        let tear = if rng.below(2) == 0 { Tear::Sector } else { Tear::Page };
        let settings = Settings {
            memory: 8 << 20 << rng.below(4),
            write_back_interval: Span::from_millis(50 + rng.below(1000)),
            write_back_age: Span::from_millis(100 + rng.below(2000)),
            commit_interval: Span::from_millis(100 + rng.below(3000)),
            barrier: kind != Kind::ForgetsFlush,
            tear,
            seed,
            ..Settings::default()
        };
        let files = Files::format(build_device(kind, seed), settings).expect("the drive is large enough");
        let (now, expected, handles) = (Instant::ZERO, BTreeMap::new(), BTreeMap::new());
        Case { files, model: Model::new(tear), rng, now, expected, handles, directories: 0, digest: 0 }
    }

    /// Adds bytes to the digest (FNV-1a).
    fn digest(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Takes completions, and checks them.
    fn poll(&mut self) {
        while let Some(completion) = self.files.poll_completion() {
            self.digest(&completion.finished.nanos().to_le_bytes());
            let result = completion.result;
            match &result {
                Ok(Answer::Bytes(bytes)) => self.digest(bytes),
                result => self.digest(format!("{result:?}").as_bytes()),
            }
            match (self.expected.remove(&completion.op).expect("it is in flight"), result) {
                (Expected::Promise { file, step, with_names }, Ok(_)) => self.model.promise(file, step, with_names),
                (Expected::PromiseAll { step }, Ok(_)) => self.model.promise_all(step),
                (Expected::Read { file, from, bytes }, Ok(Answer::Bytes(read))) => {
                    let held = &self.model.files[&file].bytes;
                    let from = (from as usize).min(held.len());
                    assert!(read == held[from..held.len().min(from + bytes as usize)], "a read of {file} at {from}");
                }
                (Expected::Opened { file }, Ok(Answer::Opened(handle))) => _ = self.handles.insert(file, handle),
                (Expected::Len(len), result) => assert_eq!(result, Ok(Answer::Len(len))),
                (Expected::Nothing | Expected::Change { .. }, Ok(_)) => {}
                // Removed while it was read or opened.
                (_, Err(FileError::NotFound)) => {}
                (_, result) => panic!("{result:?}"),
            }
        }
    }

    fn submit(&mut self, op: FileOp<'_>, expected: Expected) {
        let id = self.files.submit(self.now, op);
        self.expected.insert(id, expected);
        self.poll();
    }

    fn advance(&mut self, span: Span) {
        let until = self.now + span;
        while let Some(next) = self.files.poll_timeout().filter(|next| *next <= until) {
            self.files.handle_timeout(next);
            self.now = next;
            self.poll();
        }
        self.now = until;
        self.files.handle_timeout(until);
        self.poll();
    }

    fn random_path(&mut self) -> String {
        let directories: Vec<String> =
            self.model.tree().iter().filter(|it| *it.1 == Node::Directory).map(|it| it.0.clone()).collect();
        let directory = match directories.len() {
            0 => String::new(),
            count if self.rng.below(2) == 0 => directories[self.rng.below(count as u64) as usize].clone(),
            _ => String::new(),
        };
        format!("{directory}/f{}", self.rng.below(12))
    }

    /// A random file with its path.
    fn random_file(&mut self) -> Option<(String, u32)> {
        let all: Vec<(String, u32)> = self
            .model
            .tree()
            .iter()
            .filter_map(|(path, node)| match node {
                Node::File(file) => Some((path.clone(), *file)),
                Node::Directory => None,
            })
            .collect();
        let count = all.len() as u64;
        if count == 0 { None } else { all.into_iter().nth(self.rng.below(count) as usize) }
    }

    fn write(&mut self, file: u32, handle: Handle) {
        let len = self.model.files[&file].bytes.len() as u64;
        let from = match self.rng.below(4) {
            0 => len,
            1 => self.rng.below(len + 1),
            2 => self.rng.below(len + 1) / PAGE as u64 * PAGE as u64,
            _ => len + self.rng.below(9000),
        };
        let bytes = match self.rng.below(4) {
            0 => 1 + self.rng.below(600),
            1 => PAGE as u64,
            2 => PAGE as u64 * (1 + self.rng.below(16)),
            _ => 1 + self.rng.below(100_000),
        };
        let from = from.min(4 << 20);
        let mut noise = Seed(self.rng.next_u64()).stream("noise");
        let data: Vec<u8> = (0..bytes).map(|_| noise.next_u64() as u8).collect();
        self.model.write(file, from as usize, &data);
        let change = Expected::Change { file, step: self.model.step };
        let op = match self.rng.below(8) {
            0 => FileOp::WriteDirect { file: handle, from, data: &data },
            _ => FileOp::Write { file: handle, from, data: &data },
        };
        self.submit(op, change);
    }

    fn set_len(&mut self, file: u32, handle: Handle) {
        let len = self.model.files[&file].bytes.len() as u64;
        let to = match self.rng.below(5) {
            0 => 0,
            1 => self.rng.below(len + 1),
            2 => self.rng.below(len + 1) / PAGE as u64 * PAGE as u64,
            3 => len.saturating_sub(1 + self.rng.below(PAGE as u64)),
            _ => len + self.rng.below(50_000),
        };
        self.model.set_len(file, to as usize);
        let change = Expected::Change { file, step: self.model.step };
        self.submit(FileOp::SetLen { file: handle, len: to }, change);
    }

    /// The step that a sync of a file, or of all, promises if it is submitted now: it does not wait for changes in flight.
    fn synced_step(&self, synced: Option<u32>) -> u64 {
        let in_flight = self.expected.values().filter_map(|expected| match expected {
            Expected::Change { file, step } if synced.is_none_or(|synced| synced == *file) => Some(step - 1),
            _ => None,
        });
        in_flight.min().unwrap_or(self.model.step)
    }

    /// One random operation.
    fn act(&mut self) {
        let file = self.random_file();
        let handle = file.as_ref().and_then(|(_, file)| Some((*file, *self.handles.get(file)?)));
        match (self.rng.below(23), file, handle) {
            (0..=2, ..) => {
                let path = self.random_path();
                if !self.model.tree().contains_key(&path) {
                    let file = self.model.create(&path, false).expect("a file");
                    self.submit(FileOp::Create { path: &path }, Expected::Opened { file });
                }
            }
            (3, ..) if self.directories < 4 => {
                self.directories += 1;
                let path = format!("/d{}-{}", self.directories, self.rng.below(1000));
                self.model.create(&path, true);
                self.submit(FileOp::CreateDirectory { path: &path }, Expected::Nothing);
            }
            (4..=9, _, Some((file, handle))) => self.write(file, handle),
            (10..=12, _, Some((file, handle))) => {
                let scope = if self.rng.below(3) == 0 { SyncScope::Data } else { SyncScope::All };
                let with_names = scope == SyncScope::All;
                let promise = Expected::Promise { file, step: self.synced_step(Some(file)), with_names };
                self.submit(FileOp::Sync { file: handle, scope }, promise);
            }
            (13, ..) if self.rng.below(4) == 0 => {
                let step = self.synced_step(None);
                self.submit(FileOp::SyncAll, Expected::PromiseAll { step });
            }
            (14..=15, Some((from, _)), _) => {
                let to = self.random_path();
                if !matches!(self.model.tree().get(&to), Some(Node::Directory)) && from != to {
                    self.model.rename(&from, &to);
                    self.submit(FileOp::Rename { from: &from, to: &to }, Expected::Nothing);
                }
            }
            (16, Some((path, _)), _) => {
                self.model.remove(&path);
                self.submit(FileOp::Remove { path: &path }, Expected::Nothing);
            }
            (17, _, Some((file, handle))) => {
                let len = self.model.files[&file].bytes.len() as u64;
                self.submit(FileOp::Len { file: handle }, Expected::Len(len));
            }
            (18..=20, _, Some((file, handle))) => self.set_len(file, handle),
            (_, _, Some((file, handle))) => {
                let (from, bytes) = (self.rng.below(50_000), self.rng.below(50_000));
                self.submit(FileOp::Read { file: handle, from, bytes }, Expected::Read { file, from, bytes });
            }
            (_, Some((path, file)), None) => self.submit(FileOp::Open { path: &path }, Expected::Opened { file }),
            _ => {}
        }
    }

    /// Cuts the power and returns the files that recovery finds, or what is wrong with them.
    fn cut(&mut self) -> Result<Vec<RecoveredFile>, String> {
        self.files.cut_power(self.now);
        while let Some(completion) = self.files.poll_completion() {
            self.expected.remove(&completion.op).expect("it was in flight");
            if completion.result != Err(FileError::PowerLost) {
                return Err(format!("{:?} after a cut", completion.result));
            }
        }
        if !self.expected.is_empty() {
            return Err(format!("{} operations have no completion", self.expected.len()));
        }
        let found = self.files.recovered_files();
        for RecoveredFile { path, contents, unreadable } in &found {
            self.digest(path.as_bytes());
            self.digest(contents.as_deref().unwrap_or_default());
            self.digest(format!("{unreadable:?}").as_bytes());
        }
        self.model.check(&found)?;
        Ok(found)
    }

    /// The power returns: the mounted files are those that recovery found.
    fn restart(&mut self, found: &[RecoveredFile]) {
        self.now += Span::from_secs(1);
        self.files.power_on(self.now);
        self.model.restart(found);
        self.handles.clear();
        assert_eq!(self.files.recovered_files(), found, "a mount changes nothing");
        for RecoveredFile { path, contents, unreadable } in found {
            let Some(contents) = contents else { continue };
            if !unreadable.is_empty() {
                self.submit(FileOp::Remove { path }, Expected::Nothing);
                continue;
            }
            let Some(Node::File(file)) = self.model.tree().get(path).copied() else { panic!("{path}") };
            self.submit(FileOp::Open { path }, Expected::Opened { file });
            self.advance(Span::from_millis(100));
            let (handle, bytes) = (self.handles[&file], contents.len() as u64);
            self.submit(FileOp::Read { file: handle, from: 0, bytes }, Expected::Read { file, from: 0, bytes });
        }
        self.advance(Span::from_secs(2));
        assert!(self.expected.is_empty(), "{} operations hang", self.expected.len());
        // Removals of torn files are promised, so that the model need not know them.
        let step = self.model.step;
        self.submit(FileOp::SyncAll, Expected::PromiseAll { step });
        self.advance(Span::from_secs(5));
        assert!(self.expected.is_empty(), "a sync hangs");
    }
}

/// Counts over cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    files: u64,
    torn: u64,
    digest: u64,
}

/// Runs a case of three cuts; an error says which promise is broken.
fn run_case(kind: Kind, seed: u64) -> Result<Sum, String> {
    let mut case = Case::new(kind, seed);
    let mut sum = Sum::default();
    for _ in 0..3 {
        for _ in 0..20 + case.rng.below(60) {
            case.act();
            let span = match case.rng.below(6) {
                0..=2 => Span::ZERO,
                3..=4 => Span::from_micros(case.rng.below(20_000)),
                _ => Span::from_millis(case.rng.below(400)),
            };
            case.advance(span);
        }
        // Half of the cuts come while a sync writes.
        let busy = case.random_file().and_then(|(_, file)| Some((file, *case.handles.get(&file)?)));
        if let Some((file, handle)) = busy.filter(|_| case.rng.below(2) == 0) {
            case.write(file, handle);
            let step = case.synced_step(None);
            case.submit(FileOp::SyncAll, Expected::PromiseAll { step });
        }
        let longest = if case.rng.below(2) == 0 { 30_000 } else { 1_000_000 };
        let wait = Span::from_micros(case.rng.below(longest));
        case.advance(wait);
        let found = case.cut()?;
        sum.files += found.len() as u64;
        sum.torn += found.iter().map(|file| file.unreadable.len() as u64).sum::<u64>();
        case.restart(&found);
    }
    sum.digest = case.digest;
    Ok(sum)
}

/// How many cases are drawn.
fn cases() -> u64 {
    if std::env::var("SEEKWISE_DRAWS").is_ok_and(|draws| draws == "all") { 5_000 } else { 200 }
}

#[test]
fn a_cut_leaves_what_was_synced_and_nothing_that_was_never_written() {
    let mut sum = Sum::default();
    for seed in 0..cases() {
        match run_case(Kind::Honest, seed) {
            Ok(one) => (sum.files, sum.torn) = (sum.files + one.files, sum.torn + one.torn),
            Err(breach) => panic!("seed {seed}: {breach}"),
        }
    }
    println!("{} cases, {} files found, {} torn", cases(), sum.files, sum.torn);
    assert!(sum.files > 5 * cases(), "{sum:?}");
}

#[test]
fn a_layer_that_forgets_its_flush_is_caught_and_so_is_a_drive() {
    for kind in [Kind::ForgetsFlush, Kind::EarlyFlush] {
        let caught = (0..40).find_map(|seed| run_case(kind, seed).err().map(|breach| (seed, breach)));
        let (seed, breach) = caught.unwrap_or_else(|| panic!("{kind:?} is not caught"));
        println!("{kind:?} is caught by seed {seed}: {breach}");
    }
}

#[test]
fn equal_seeds_are_equal_bytes() {
    for seed in [2, 3] {
        let first = run_case(Kind::Honest, seed);
        assert_eq!(first, run_case(Kind::Honest, seed));
        assert_ne!(first, run_case(Kind::Honest, seed + 100));
    }
}
