//! A modelled drive as the constants of deterministic simulators whose disk is a random number drawn at submit, and as percentiles in
//! JSON, as `seekwise export latency` prints them. The runs are those of [`run`](mod@crate::run): each figure names the command that
//! prints it. It replaces no model of a disk: [`LIMITS`] says what such a draw cannot express.
//!
//! | file | what it is |
//! |---|---|
//! | `runs` | the jobs behind each row, and their response times |
//! | `draw` | the forms of random numbers that simulators draw, and their fits |
//! | `closed_loop` | FoundationDB's disk with several operations in flight |
//! | `text` | comments that state figures, and lines that fold |
//! | `moonpool`, `turmoil`, `tigerbeetle`, `fdb` | a simulator each: its constants, their meaning, the version that was read |

mod closed_loop;
mod draw;
mod fdb;
mod moonpool;
mod runs;
mod text;
mod tigerbeetle;
mod turmoil;

use seekwise_disk::time::Span;
use seekwise_drives::spelling::nearest;
use seekwise_lab::provenance::ProgramVersion;
use seekwise_lab::stats::{Histogram, Percentile};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::observer::Observer;
use crate::reading::Files;

/// The limits of a random number drawn at submit.
pub const LIMITS: &str = "A number drawn at submit cannot express a disk that has a queue: a drive reorders its requests, so no end is \
    known at submit; a wait depends on all that is queued; a flush takes longer the more writes it has to cover; and after a power cut it \
    is the order on the platter that decides which writes are there (seekwise-disk, docs/embed.md, answers these).";

/// The forms of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyTarget {
    /// Percentiles, for any simulator.
    Json,
    Moonpool,
    Turmoil,
    TigerBeetle,
    FoundationDb,
}

impl LatencyTarget {
    /// All of them, by their names.
    pub const ALL: [(&str, LatencyTarget); 5] = [
        ("moonpool", LatencyTarget::Moonpool),
        ("turmoil", LatencyTarget::Turmoil),
        ("tigerbeetle", LatencyTarget::TigerBeetle),
        ("fdb", LatencyTarget::FoundationDb),
        ("json", LatencyTarget::Json),
    ];

    /// Parses a name; an error names the nearest.
    pub fn parse(text: &str) -> Result<LatencyTarget, String> {
        const OTHERS: [(&str, &str); 3] = [("foundationdb", "fdb"), ("tb", "tigerbeetle"), ("vopr", "tigerbeetle")];
        if let Some((_, target)) = LatencyTarget::ALL.iter().find(|(name, _)| *name == text) {
            return Ok(*target);
        }
        let word = text.to_lowercase();
        let other = OTHERS.iter().find(|(other, _)| *other == word).map(|(_, name)| *name);
        let meant = other.or_else(|| nearest(&word, LatencyTarget::ALL.map(|(name, _)| name)));
        let tip = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        Err(format!("`{text}` is no simulator; expected moonpool, turmoil, tigerbeetle, fdb or json{tip}"))
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        LatencyTarget::ALL.iter().find(|(_, target)| *target == self).map_or("", |(name, _)| name)
    }
}

/// A question about a drive's latency.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LatencySetup {
    /// A drive's name, a profile or a stack file.
    pub target: String,
    /// Dotted keys of the stack, and values.
    pub set: Vec<(String, String)>,
    /// Operations in flight, each with rows of its own; of flushes, the writes that each covers.
    pub depths: Vec<u32>,
    /// The size of a block.
    pub block: String,
    /// The part of the drive that is used, from its beginning (`100g`); `None` for all of it.
    pub size: Option<String>,
    /// Virtual time of each run.
    pub runtime: String,
    pub seed: u64,
    /// Where the target is read.
    pub files: Files,
}

impl LatencySetup {
    /// Blocks of 4 KiB over the whole of `target` at depth 1, ten minutes each, with seed 1.
    pub fn new(target: impl Into<String>) -> LatencySetup {
        LatencySetup {
            target: target.into(),
            set: Vec::new(),
            depths: vec![1],
            block: "4k".to_owned(),
            size: None,
            runtime: "600s".to_owned(),
            seed: 1,
            files: Files::default(),
        }
    }

    /// Makes the runs, and returns what they say.
    ///
    /// ```
    /// use seekwise::export::{LatencySetup, LatencyTarget, Operation};
    ///
    /// let mut setup = LatencySetup::new("exos-x18");
    /// setup.runtime = "20s".to_owned();
    /// let table = setup.measure(&())?;
    /// let read = table.row(Operation::Read, 1).unwrap();
    /// assert!(read.ms(50.0) > 5.0, "a seek and half a revolution");
    /// assert!(table.text(LatencyTarget::TigerBeetle).contains(".read_latency_mean"));
    /// # Ok::<(), seekwise::Error>(())
    /// ```
    pub fn measure(&self, observer: &dyn Observer) -> Result<LatencyTable, Error> {
        let (rows, rates) = runs::make_runs(self, observer)?;
        Ok(LatencyTable { setup: self.clone(), rows, rates })
    }
}

/// An operation on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A block at a random place.
    Read,
    /// A block into a buffer that a flush has just emptied.
    Write,
    /// A flush after as many such writes as the depth.
    Flush,
    /// A block at a random place, the write cache on and full, without flushes.
    WriteSustained,
    /// A block at a random place, the write cache off.
    WriteThrough,
}

impl Operation {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Flush => "flush",
            Operation::WriteSustained => "write_sustained",
            Operation::WriteThrough => "write_through",
        }
    }

    /// A description.
    pub fn words(self) -> &'static str {
        match self {
            Operation::Read => "blocks at random places",
            Operation::Write => "blocks at random places, write cache on, between flushes",
            Operation::Flush => "a flush after as many of these writes as the depth",
            Operation::WriteSustained => "blocks at random places, write cache on and full, never flushed",
            Operation::WriteThrough => "blocks at random places, write cache off",
        }
    }
}

/// The response times of an operation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LatencyRow {
    pub operation: Operation,
    /// Operations in flight; of writes between flushes and of flushes, the writes that each flush covers.
    pub depth: u32,
    /// The command that prints these figures.
    pub command: String,
    pub times: Histogram,
    /// Operations a second.
    pub per_s: f64,
}

impl LatencyRow {
    /// A percentile in ms; of no operations 0.
    pub fn ms(&self, percent: f64) -> f64 {
        self.times.quantile(percent / 100.0).map_or(0.0, |time| time.nanos() as f64 / 1e6)
    }

    /// The row as JSON, times in us.
    fn json(&self) -> Value {
        let us = |time: Option<Span>| time.map(|time| time.nanos() as f64 / 1e3);
        let mut row = Map::new();
        let mut put = |key: &str, value: Value| drop(row.insert(key.to_owned(), value));
        put("operation", self.operation.name().into());
        put("about", self.operation.words().into());
        put("depth", self.depth.into());
        put("count", self.times.count().into());
        put("per_s", self.per_s.into());
        put("min_us", us(self.times.min()).into());
        put("mean_us", self.times.mean_ns().map(|ns| ns / 1e3).into());
        put("max_us", us(self.times.max()).into());
        for percentile in Percentile::SPREAD {
            put(&format!("{}_us", percentile.name()), us(self.times.percentile(percentile)).into());
        }
        put("command", self.command.as_str().into());
        Value::Object(row)
    }
}

/// A rate in sequence, at half of the drive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SequentialRate {
    /// `sequential_read` or `sequential_write`.
    pub name: &'static str,
    pub bytes_per_s: f64,
    /// The command that prints this figure.
    pub command: String,
}

/// The latency of a drive: response times by operation and depth, and rates.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LatencyTable {
    pub setup: LatencySetup,
    pub rows: Vec<LatencyRow>,
    /// Of reads and of writes.
    pub rates: [SequentialRate; 2],
}

impl LatencyTable {
    /// The row of an operation at a depth.
    pub fn row(&self, operation: Operation, depth: u32) -> Option<&LatencyRow> {
        self.rows.iter().find(|row| row.operation == operation && row.depth == depth)
    }

    /// The row of an operation at a depth that was asked for.
    fn known_row(&self, operation: Operation, depth: u32) -> &LatencyRow {
        self.row(operation, depth).expect("each depth has a row of each operation")
    }

    /// Bytes of a sequential read a second, whole.
    fn bandwidth(&self) -> u64 {
        self.rates[0].bytes_per_s.round() as u64
    }

    /// The table as a text in the form of `target`, which can be pasted.
    pub fn text(&self, target: LatencyTarget) -> String {
        match target {
            LatencyTarget::Json => crate::answer::json(&self.json()) + "\n",
            LatencyTarget::Moonpool => moonpool::constants(self),
            LatencyTarget::Turmoil => turmoil::constants(self),
            LatencyTarget::TigerBeetle => tigerbeetle::constants(self),
            LatencyTarget::FoundationDb => fdb::constants(self),
        }
    }

    /// All figures in one value.
    pub fn json(&self) -> Value {
        let ProgramVersion { version, build } = ProgramVersion::current();
        let LatencySetup { target, block, size, runtime, seed, .. } = &self.setup;
        let rate = |rate: &SequentialRate| json!({"operation": rate.name, "bytes_per_s": rate.bytes_per_s, "command": rate.command});
        json!({
            "target": target, "block": block, "size": size, "runtime": runtime, "seed": seed, "version": version, "build": build,
            "command": self.setup.command(LatencyTarget::Json), "limits": LIMITS,
            "operations": self.rows.iter().map(LatencyRow::json).collect::<Vec<_>>(),
            "rates": self.rates.iter().map(rate).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests;
