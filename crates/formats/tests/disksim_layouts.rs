//! The layouts of nine measured drives from their DiskSim parameters: the number of blocks, no two blocks in one slot, extents
//! that agree with their single blocks, and tracks that stream at their rate.
//!
//! The parameters are other people's and no part of the project: they are looked for in $SEEKWISE_SHARED, else beside the
//! workspace in `shared`; without them the tests print that they are skipped.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use crate::shared_files;
use seekwise_disk::drive::geometry::{Extent, Geometry};
use seekwise_disk::drive::mechanics::Arm;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::figure::FigureValue;
use seekwise_drives::profile::{self, DriveFile};
use seekwise_formats::disksim;
use seekwise_formats::trace::measured as trace;

/// A drive, the blocks that its file claims (`Block count`), and the blocks that its zones hold by DiskSim's own sum: cylinders
/// times surfaces times blocks a track, less the front and the spares of the scheme; for the last, slots of the index less slips.
///
/// Five files claim less than their zones hold. The sum counts, as in DiskSim, and a warning names both numbers.
const DRIVES: [(&str, u64, u64); 9] = [
    ("atlas10k", 17_938_986, 17_966_953),
    ("barracuda", 4_110_000, 4_217_670),
    ("cheetah4LP", 8_887_200, 8_887_940),
    ("cheetah9LP", 17_783_240, 17_918_387),
    ("dec_rz26", 2_050_860, 2_050_860),
    ("hp_c2247a", 2_054_864, 2_054_864),
    ("hp_c2490a", 4_165_272, 4_165_272),
    ("st41601n", 2_676_846, 2_676_846),
    ("maxtor300g", 585_937_499, 585_937_500),
];

/// An imported drive.
struct ImportedDrive {
    name: &'static str,
    claimed_blocks: u64,
    zone_blocks: u64,
    warnings: Vec<String>,
    drive: DriveFile,
    profile: Profile,
}

/// The drives whose parameters are there, imported once for all tests.
fn drives() -> &'static [ImportedDrive] {
    static DRIVES_FOUND: LazyLock<Vec<ImportedDrive>> = LazyLock::new(|| {
        let files = shared_files::files("validation/disksim", &[".parv"]);
        let found = |name: &str| files.iter().find(|file| file.file_stem().is_some_and(|stem| stem == name));
        DRIVES.iter().filter_map(|row| Some(import_drive(*row, found(row.0)?))).collect()
    });
    &DRIVES_FOUND
}

fn import_drive((name, claimed_blocks, zone_blocks): (&'static str, u64, u64), file: &Path) -> ImportedDrive {
    let folder = file.parent().expect("a folder");
    let load = |name: &str| fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    let text = fs::read_to_string(file).expect("a set-up");
    let import = disksim::import(name, &text, &load, None, name).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let drive = profile::parse(name, &import.toml).expect("a profile");
    let profile = drive.profile().expect("a profile that fits");
    let warnings = import.warnings.iter().map(ToString::to_string).collect();
    ImportedDrive { name, claimed_blocks, zone_blocks, warnings, drive, profile }
}

/// All extents of the drive, in order of their blocks.
fn all_extents(geometry: &Geometry) -> impl Iterator<Item = Extent> + '_ {
    let mut lba = 0;
    std::iter::from_fn(move || {
        let extent = (lba < geometry.sectors()).then(|| geometry.extent(lba, u32::MAX))?;
        assert_eq!(extent.lba, lba);
        lba = extent.end();
        Some(extent)
    })
}

#[test]
fn drives_have_what_their_zones_hold() {
    for ImportedDrive { name, claimed_blocks, zone_blocks, warnings, drive, profile } in drives() {
        assert_eq!(profile.geometry.sectors(), *zone_blocks, "{name}");
        assert_eq!(warnings.len(), usize::from(claimed_blocks != zone_blocks), "{name}: {warnings:?}");
        let both = format!(
            "`Block count`: {claimed_blocks} blocks, but the zones hold {zone_blocks} without spares and slips"
        );
        assert!(warnings.iter().all(|warning| warning.contains(&both)), "{name}: {warnings:?}");
        let mut drive = drive.clone();
        drive.set("geometry.sectors", &(zone_blocks + 1).to_string()).expect("a number");
        let error = drive.profile().err().unwrap_or_default().remove(0).to_string();
        let expected = format!("the zones hold {zone_blocks} sectors, the drive claims {}", zone_blocks + 1);
        assert!(error.ends_with(&expected), "{name}: {error}");
        println!("{name}: claims {claimed_blocks}, holds {zone_blocks}, {} more", zone_blocks - claimed_blocks);
    }
}

/// The whole of every drive, by pieces of track.
#[test]
fn each_block_has_a_slot_of_its_own() {
    for ImportedDrive { name, zone_blocks, profile, .. } in drives() {
        let geometry = &profile.geometry;
        let mut pieces: Vec<(u32, u8, u32, u32)> = Vec::new();
        for extent in all_extents(geometry) {
            assert!(extent.cylinder < geometry.cylinders() && extent.head < geometry.surfaces(), "{name}: {extent:?}");
            let (begin, end) = (extent.before, extent.before + extent.sectors);
            // The slots of a track fill a revolution, but for the rounding of one slot each.
            let track = u128::from(extent.slot) * u128::from(end + extent.behind);
            assert!((1u128 << 64) - track <= u128::from(end + extent.behind), "{name}: {extent:?}");
            pieces.push((extent.cylinder, extent.head, begin, end));
        }
        pieces.sort_unstable();
        for two in pieces.windows(2) {
            let same = (two[0].0, two[0].1) == (two[1].0, two[1].1);
            assert!(!same || two[0].3 <= two[1].2, "{name}: two blocks in one slot, {two:?}");
        }
        let blocks: u64 = pieces.iter().map(|piece| u64::from(piece.3 - piece.2)).sum();
        assert_eq!(blocks, *zone_blocks, "{name}");
        println!("{name}: {blocks} blocks in {} pieces of track, no slot twice", pieces.len());
    }
}

#[test]
fn an_extent_is_what_its_blocks_are() {
    for ImportedDrive { name, zone_blocks, profile, .. } in drives() {
        let geometry = &profile.geometry;
        let mut rng = Seed(7).stream(name);
        for _ in 0..20_000 {
            let (mut lba, end) = (rng.below(*zone_blocks), rng.below(1_500));
            let end = (lba + end + 1).min(*zone_blocks);
            while lba < end {
                let extent = geometry.extent(lba, (end - lba) as u32);
                let last = u64::from(extent.sectors) - 1;
                for k in [0, last / 2, last] {
                    let one = geometry.extent(lba + k, 1);
                    let angle = extent.angle.wrapping_add(extent.slot.wrapping_mul(k));
                    let place = (extent.cylinder, extent.head, angle, extent.before + k as u32);
                    assert_eq!((one.cylinder, one.head, one.angle, one.before), place, "{name}, block {}", lba + k);
                }
                lba = extent.end();
            }
        }
    }
}

/// The time from the start of one block under the head to the start of another, which begins a later track, in one sequential
/// read.
fn streaming_time(profile: &Profile, from_lba: u64, to_lba: u64) -> Span {
    let mut arm = Arm::default();
    let (mut now, mut started, mut lba) = (Instant::ZERO, Instant::ZERO, from_lba);
    loop {
        let extent = profile.geometry.extent(lba, (to_lba + 1 - lba).min(4096) as u32);
        now += profile.mechanics.positioning(now, arm, &extent, false).total();
        arm = Arm { cylinder: extent.cylinder, head: extent.head };
        match lba {
            lba if lba == from_lba => started = now,
            lba if lba == to_lba => return now.since(started),
            _ => {}
        }
        now += profile.mechanics.transfer_time(&extent);
        lba = extent.end();
    }
}

/// The first blocks of two neighbouring cylinders in the middle of a zone, whose blocks are `zone_start` to `zone_end`.
fn first_blocks_of_two_cylinders(geometry: &Geometry, (zone_start, zone_end): (u64, u64)) -> (u64, u64) {
    let mut starts = Vec::new();
    let mut lba = zone_start + (zone_end - zone_start) / 2;
    let mut cylinder = geometry.extent(lba, 1).cylinder;
    while starts.len() < 2 {
        let extent = geometry.extent(lba, u32::MAX);
        if extent.cylinder != cylinder {
            starts.push((lba, extent.before));
            cylinder = extent.cylinder;
        }
        lba = extent.end();
    }
    assert_eq!((starts[0].1, starts[1].1), (0, 0), "no hole at the front of a cylinder");
    (starts[0].0, starts[1].0)
}

/// A cylinder of H tracks streams in H revolutions, H - 1 skews of a surface and one of a cylinder.
#[test]
fn cylinders_stream_at_the_rate_of_their_tracks() {
    for ImportedDrive { name, drive, profile, .. } in drives().iter().filter(|drive| drive.name != "maxtor300g") {
        let Some(FigureValue::Zones(rows)) = drive.figure("geometry.zones").map(|figure| &figure.value) else {
            panic!("{name} has no zones")
        };
        let spans: Vec<(u64, u64)> = profile.geometry.zone_block_bounds().collect();
        let heads = f64::from(profile.geometry.surfaces());
        let revolution = profile.mechanics.revolution().nanos() as f64;
        for row in rows {
            let inside = |span: &&(u64, u64)| {
                let first = profile.geometry.extent(span.0, 1).cylinder;
                span.1 > span.0 && first >= row.first && first < row.first + row.cylinders
            };
            let Some(&span) = spans.iter().find(inside) else { continue };
            let (from, to) = first_blocks_of_two_cylinders(&profile.geometry, span);
            let (cylinder, head) = row.skews.expect("skews of its own");
            let expected = revolution * (heads + (heads - 1.0) * head + cylinder);
            let found = streaming_time(profile, from, to).nanos() as f64;
            let turns = (found - expected) / revolution;
            println!(
                "{name}, cylinder {}: {:.3} MB/s, {turns:.3} turns more",
                row.first,
                (to - from) as f64 * 512e3 / found
            );
            assert!(turns.abs() < 1e-5, "{name}, zone at {}: {found} ns, not {expected}", row.first);
        }
    }
}

/// The reference program stops on three requests of this trace: 3206, 3417, 7171. Each ends in, or passes, the last block of
/// a cylinder with a slip, which the slip has pushed into the cylinder's spares. The program seeks that block on the next
/// cylinder, where another lies.
#[test]
fn a_block_pushed_into_the_spares_stays_on_its_cylinder() {
    for ImportedDrive { profile, .. } in drives().iter().filter(|drive| drive.name == "st41601n") {
        let geometry = &profile.geometry;
        for (request, last) in [(3206, 1_594_139), (3417, 1_757_658), (7171, 349_676u64)] {
            let [before, pushed, next] = [last - 1, last, last + 1].map(|lba| geometry.extent(lba, 1));
            assert_eq!((pushed.cylinder, pushed.head), (before.cylinder, before.head), "request {request}");
            assert_eq!((pushed.before, pushed.behind), (before.before + 1, 5), "the first of six spares");
            assert_eq!((next.cylinder, next.head, next.before), (pushed.cylinder + 1, 0, 0));
        }
    }
}

/// Every request of every trace lies on its drive.
#[test]
fn traces_fit_their_drives() {
    let traces = shared_files::files("validation/traces", &[".csv"]);
    for ImportedDrive { name, profile, .. } in drives() {
        let Some(path) = traces.iter().find(|path| path.file_stem().is_some_and(|stem| stem == *name)) else {
            continue;
        };
        let trace = trace::parse(name, &fs::read_to_string(path).expect("a trace")).expect("a trace that can be read");
        let geometry = &profile.geometry;
        let mut requests = 0;
        for row in &trace.rows {
            let (mut lba, end) = (row.lba, row.lba + u64::from(row.sectors));
            assert!(end <= geometry.sectors(), "{name}, row {}", requests + 1);
            while lba < end {
                lba = geometry.extent(lba, (end - lba) as u32).end();
            }
            assert_eq!(lba, end);
            requests += 1;
        }
        println!("{name}: {requests} requests");
    }
}
