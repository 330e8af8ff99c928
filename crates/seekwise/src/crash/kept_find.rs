//! A find of the crash laboratory in a file: the disk as it was when the session of the cut began, all writes that the disk had accepted at
//! the cut, with their data, and the parts of them that the cut kept off the medium. From it that medium is made again byte for byte, or
//! with lost writes put back. A session runs in real time and does not repeat; this does. No program runs here.
//!
//! The form is our own: the line `HEAD`, a line of JSON ([`FindIndex`]), the data that it counts, in its order, and in a last line the
//! SHA-256 of all before. A find may come from somebody else: nothing in it is believed before it is checked.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use seekwise_disk::block::SECTOR;
use seekwise_disk::durability::image::{LostWrite, MediumImage};
use seekwise_disk::durability::runs::{SectorRun, run_without_all};
use seekwise_disk::history::WriteData;
use seekwise_disk::time::Instant;
use seekwise_lab::digest::{sha256, sha256_of_parts};
use seekwise_os::image_checker::{DiskContent, ImageContent};
use seekwise_os::outputs::{OutputFile, open_read};

use super::check_bench::CheckBench;
use crate::error::Error;

/// The first line.
const HEAD: &str = "seekwise crash find 1\n";

/// Bytes of the last line: 64 digits and its end.
const SUM_BYTES: usize = 65;

/// Limits of a find that may come from somebody else: a disk of 2^54 sectors, as large as a file can be (8 EiB), and 2^22 unreadable sectors
/// (2 GiB), which are written out.
const MOST_SECTORS: u64 = 1 << 54;
const MOST_UNREADABLE: u64 = 1 << 22;

/// A find, all but its data.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindIndex {
    /// The version of Seekwise, and its build.
    pub made_by: String,
    /// The command that found it.
    pub command: String,
    /// The work and the disk, in words.
    pub title: String,
    /// The file system on the disk, with its options.
    pub fs: Option<String>,
    /// The verdict on the medium, and the words of the check.
    pub verdict: String,
    pub words: String,
    /// Number of promises made before the cut.
    pub promises: usize,
    /// The instants of earlier cuts, each in the time of its session.
    pub earlier_cuts_ns: Vec<u64>,
    /// The instant of the cut.
    pub cut_ns: u64,
    pub disk_bytes: u64,
    /// The digest of the medium after the cut ([`digest_content`]).
    pub content: String,
    /// Parts of the disk before the session: offset and bytes of each.
    base: Vec<(u64, u64)>,
    /// All writes until the cut, in order.
    pub writes: Vec<FindWrite>,
    /// Runs of sectors that cannot be read.
    pub unreadable: Vec<SectorRun>,
}

/// A write of a find.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindWrite {
    /// Its number in the session, by which it is put back.
    pub stamp: u64,
    pub lba: u64,
    pub sectors: u64,
    /// True if it writes zeroes, which have no data in the file.
    pub zeroes: bool,
    pub accepted_ns: u64,
    pub acknowledged_ns: Option<u64>,
    /// From when on it had to be on the medium.
    pub promised_ns: Option<u64>,
    /// The sectors of it that are not on the medium.
    pub lost: Vec<SectorRun>,
    /// Whether it is one of the fewest that explain the find.
    pub explains: bool,
    /// Its purpose in the file system, if that is known.
    pub purpose: Option<String>,
}

/// A find with its data.
#[derive(Clone, Debug)]
pub struct KeptFind {
    pub index: FindIndex,
    base: Vec<(u64, Vec<u8>)>,
    data: Vec<WriteData>,
}

/// The words and figures of a find that its session does not know.
#[derive(Clone, Debug)]
pub struct FindOrigin {
    pub made_by: String,
    pub command: String,
    pub title: String,
    pub fs: Option<String>,
    pub verdict: String,
    pub words: String,
    pub promises: usize,
    pub earlier_cuts: Vec<Instant>,
    pub cut: Instant,
}

/// The digest of a disk's content: SHA-256 of its length in bytes and of all sectors that are not zeroes, each after its number. Length
/// and numbers have eight bytes, the lowest first.
pub fn digest_content(disk: &DiskContent<'_>) -> String {
    let sectors = disk.sectors();
    let length = disk.disk_bytes.to_le_bytes();
    let numbered: Vec<([u8; 8], &[u8])> = sectors
        .iter()
        .filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0))
        .map(|(sector, bytes)| (sector.to_le_bytes(), *bytes))
        .collect();
    let parts = numbered.iter().flat_map(|(number, bytes)| [&number[..], bytes]);
    sha256_of_parts([&length[..]].into_iter().chain(parts))
}

impl KeptFind {
    /// The find of a medium that a cut of the bench's session left. Nothing explains it yet. An error if its medium cannot be made again.
    pub fn new(bench: &CheckBench<'_>, image: &MediumImage, origin: FindOrigin) -> Result<KeptFind, Error> {
        let (before, medium) = (bench.initial_content(), bench.disk_content(image));
        let base = join_sectors(before.sectors().into_iter());
        let lost = image.lost_writes(bench.writes(), origin.cut).into_iter();
        let mut lost: BTreeMap<u64, Vec<SectorRun>> = lost.map(|lost| (lost.write.stamp, lost.parts)).collect();
        let reached = |instant: Instant| (instant <= origin.cut).then(|| instant.nanos());
        let (mut writes, mut data) = (Vec::new(), Vec::new());
        for write in bench.writes().accepted_by(origin.cut) {
            let written = &bench.history().data[&write.stamp];
            writes.push(FindWrite {
                stamp: write.stamp,
                lba: write.run.0,
                sectors: write.run.1 - write.run.0,
                zeroes: matches!(written, WriteData::Zeroes { .. }),
                accepted_ns: write.taken.nanos(),
                acknowledged_ns: reached(write.over),
                promised_ns: reached(write.durable),
                lost: lost.remove(&write.stamp).unwrap_or_default(),
                explains: false,
                purpose: None,
            });
            data.push(written.clone());
        }
        let FindOrigin { made_by, command, title, fs, verdict, words, promises, earlier_cuts, cut } = origin;
        let index = FindIndex {
            made_by,
            command,
            title,
            fs,
            verdict,
            words,
            promises,
            earlier_cuts_ns: earlier_cuts.iter().map(|cut| cut.nanos()).collect(),
            cut_ns: cut.nanos(),
            disk_bytes: medium.disk_bytes,
            content: digest_content(&medium),
            base: base.iter().map(|(offset, bytes)| (*offset, bytes.len() as u64)).collect(),
            writes,
            unreadable: image.torn_sectors().to_vec(),
        };
        let find = KeptFind { index, base, data };
        find.check_content().map_err(Error::new)?;
        Ok(find)
    }

    /// Fails unless the medium that is made of the find is the one that was checked.
    fn check_content(&self) -> Result<(), String> {
        let made = digest_content(&self.disk_content(&BTreeSet::new()));
        match made == self.index.content {
            true => Ok(()),
            false => Err(format!("the medium made of the find has content {made}; expected {}", self.index.content)),
        }
    }

    /// The disk after the cut, with these lost writes put back.
    pub fn disk_content(&self, restored: &BTreeSet<u64>) -> DiskContent<'_> {
        let (mut pieces, mut torn) = (Vec::new(), self.index.unreadable.clone());
        for (write, data) in self.index.writes.iter().zip(&self.data) {
            let run = (write.lba, write.lba + write.sectors);
            let is_restored = restored.contains(&write.stamp);
            if is_restored {
                torn = torn.into_iter().flat_map(|part| run_without_all(part, &[run])).collect();
            }
            for (from, end) in run_without_all(run, if is_restored { &[] } else { &write.lost }) {
                pieces.push((from, data.slice_from((from - run.0) * SECTOR, (end - from) * SECTOR)));
            }
        }
        DiskContent { disk_bytes: self.index.disk_bytes, base: &self.base, written: ImageContent { pieces, torn } }
    }

    /// Notes which lost writes explain the find, and what writes were for.
    pub fn explain(&mut self, fewest: &[LostWrite], purposes: &BTreeMap<u64, String>) {
        for write in &mut self.index.writes {
            write.explains = fewest.iter().any(|lost| lost.write.stamp == write.stamp);
            write.purpose = purposes.get(&write.stamp).cloned();
        }
    }

    /// Lost writes, those that explain the find first.
    pub fn lost_writes(&self) -> Vec<&FindWrite> {
        let mut lost: Vec<&FindWrite> = self.index.writes.iter().filter(|write| !write.lost.is_empty()).collect();
        lost.sort_by_key(|write| !write.explains);
        lost
    }

    /// Writes the find to a file for its owner alone.
    pub fn write(&self, path: &Path, force: bool) -> Result<(), Error> {
        let index = serde_json::to_string(&self.index).map_err(|why| Error::of_file(path, &why))?;
        let data = self.data.iter().filter_map(|data| match data {
            WriteData::Bytes(data) => Some(&data[..]),
            WriteData::Zeroes { .. } => None,
        });
        let mut parts = vec![HEAD.as_bytes(), index.as_bytes(), b"\n"];
        parts.extend(self.base.iter().map(|(_, part)| &part[..]).chain(data));
        let write = || {
            let mut file = OutputFile::create_private(path, force)?;
            parts.iter().try_for_each(|part| file.write_all(part))?;
            writeln!(file, "{}", sha256_of_parts(parts.iter().copied()))?;
            file.finish()
        };
        write().map_err(|why| Error::of_file(path, &why))
    }

    /// Reads a find.
    pub fn read(path: &Path) -> Result<KeptFind, Error> {
        let mut bytes = Vec::new();
        let read = open_read(path).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|why| Error::of_file(path, &why))?;
        KeptFind::parse(&bytes).map_err(|why| Error::of_file(path, &why))
    }

    fn parse(bytes: &[u8]) -> Result<KeptFind, String> {
        const EXPECTED: &str = "expected a file that `seekwise crash --keep` wrote";
        let Some(rest) = bytes.strip_prefix(HEAD.as_bytes()) else {
            return Err(format!("it does not begin as a find does; {EXPECTED}"));
        };
        let Some((sealed, sum)) = bytes.len().checked_sub(SUM_BYTES).and_then(|at| bytes.split_at_checked(at)) else {
            return Err(format!("it is cut short; {EXPECTED}"));
        };
        let (actual, kept) = (sha256(sealed), String::from_utf8_lossy(sum).into_owned());
        if kept.trim_end() != actual {
            return Err("it was changed or cut short after it was written: its last line is not the SHA-256 of the lines before; expected \
                        the file as `seekwise crash --keep` wrote it"
                .to_owned());
        }
        let body = &rest[..rest.len() - SUM_BYTES];
        let end = body.iter().position(|byte| *byte == b'\n').ok_or(format!("it has no index; {EXPECTED}"))?;
        let index: FindIndex =
            serde_json::from_slice(&body[..end]).map_err(|why| format!("its index: {why}; {EXPECTED}"))?;
        index.check().map_err(|why| format!("its index: {why}; {EXPECTED}"))?;
        let find = KeptFind::with_data(index, &body[end + 1..])?;
        find.check_content()?;
        Ok(find)
    }

    /// Splits the data behind an index.
    fn with_data(index: FindIndex, mut data: &[u8]) -> Result<KeptFind, String> {
        let mut take = |bytes: u64| {
            let (part, rest) = usize::try_from(bytes).ok().and_then(|bytes| data.split_at_checked(bytes))?;
            data = rest;
            Some(part.to_vec())
        };
        let base: Option<Vec<_>> = index.base.iter().map(|(offset, bytes)| Some((*offset, take(*bytes)?))).collect();
        let written = |write: &FindWrite| match write.zeroes {
            true => Some(WriteData::Zeroes { bytes: write.sectors * SECTOR, allocated: false }),
            false => take(write.sectors * SECTOR).map(WriteData::Bytes),
        };
        let writes: Option<Vec<WriteData>> = index.writes.iter().map(written).collect();
        match (base, writes) {
            (Some(base), Some(writes)) if data.is_empty() => Ok(KeptFind { index, base, data: writes }),
            _ => Err("its data are not as long as its index says".to_owned()),
        }
    }
}

impl FindIndex {
    /// Fails if a place is not on the disk, or if writes or runs are not in order.
    fn check(&self) -> Result<(), String> {
        if self.disk_bytes > MOST_SECTORS * SECTOR {
            return Err(format!("a disk of {} bytes; expected at most {}", self.disk_bytes, MOST_SECTORS * SECTOR));
        }
        let mut end_of_base = 0;
        for (offset, bytes) in &self.base {
            let end = offset.checked_add(*bytes).filter(|end| *end <= self.disk_bytes && offset % SECTOR == 0);
            end_of_base =
                end.filter(|_| *offset >= end_of_base).ok_or(format!("a part at byte {offset} is misplaced"))?;
        }
        let mut last = None;
        for write in &self.writes {
            let run =
                write.lba.checked_add(write.sectors).filter(|end| *end <= MOST_SECTORS).map(|end| (write.lba, end));
            let run = run.filter(|_| write.sectors > 0 && last < Some(write.stamp));
            let run = run.ok_or(format!("write {} is misplaced", write.stamp))?;
            check_runs(&write.lost, run).map_err(|why| format!("lost parts of write {}: {why}", write.stamp))?;
            last = Some(write.stamp);
        }
        check_runs(&self.unreadable, (0, self.disk_bytes.div_ceil(SECTOR)))?;
        let unreadable = self.unreadable.iter().fold(0_u64, |sum, run| sum.saturating_add(run.1 - run.0));
        match unreadable <= MOST_UNREADABLE {
            true => Ok(()),
            false => Err(format!("{unreadable} sectors cannot be read; expected at most {MOST_UNREADABLE}")),
        }
    }
}

/// Fails unless each run has sectors and lies within `whole`.
fn check_runs(runs: &[SectorRun], whole: SectorRun) -> Result<(), String> {
    match runs.iter().find(|run| run.0 >= run.1 || run.0 < whole.0 || run.1 > whole.1) {
        Some((from, end)) => Err(format!("sectors {from} to {end} are misplaced")),
        None => Ok(()),
    }
}

/// Joins sectors that follow one another to parts, each with its offset in bytes.
fn join_sectors<'a>(sectors: impl Iterator<Item = (u64, &'a [u8])>) -> Vec<(u64, Vec<u8>)> {
    let mut parts: Vec<(u64, Vec<u8>)> = Vec::new();
    for (sector, bytes) in sectors {
        match parts.last_mut() {
            Some((offset, part)) if *offset + part.len() as u64 == sector * SECTOR => part.extend_from_slice(bytes),
            _ => parts.push((sector * SECTOR, bytes.to_vec())),
        }
    }
    parts
}

#[cfg(test)]
mod tests;
