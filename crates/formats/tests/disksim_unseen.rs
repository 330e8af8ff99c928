//! Random drives, drawn from a seed and written as DiskSim's parameters in many ways: each is imported, and has the capacity,
//! speed, seeks and skews that follow from its figures by arithmetic in this file.
//!
//! Drawn are: 1 to 24 heads, 1 to 64 zones, 3,600 to 15,000 rpm, every sparing scheme and mapping, all forms of seeks, all
//! values of all switches; one file or several, folders, key orders, line ends, comments, a block that is a variant of another.

use std::collections::BTreeMap;
use std::fmt::Write;

use seekwise_disk::drive::geometry::Extent;
use seekwise_disk::drive::mechanics::Arm;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::time::Span;
use seekwise_drives::profile;
use seekwise_formats::disksim::{self, DisksimImport};

/// Drives that are drawn.
const DRIVES: u64 = 120;

/// Switches and their largest value; the least is 0.
const SWITCHES: &[(&str, u64)] = &[
    ("Hold bus entire read xfer", 1),
    ("Hold bus entire write xfer", 1),
    ("Allow almost read hits", 1),
    ("Allow sneaky full read hits", 1),
    ("Allow sneaky partial read hits", 1),
    ("Allow sneaky intermediate read hits", 1),
    ("Allow read hits on write data", 1),
    ("Allow write prebuffering", 1),
    ("Preseeking level", 2),
    ("Never disconnect", 1),
    ("Print stats", 1),
    ("Use separate write segment", 1),
    ("Set watermark by reqsize", 1),
    ("Calc sector by sector", 1),
    ("Enable caching in buffer", 2),
    ("Buffer continuous read", 4),
    ("Read-ahead over requested", 1),
    ("Read-ahead on idle hit", 1),
    ("Read any free blocks", 1),
    ("Fast write level", 2),
    ("Immediate buffer read", 2),
    ("Immediate buffer write", 2),
    ("Combine seq writes", 1),
    ("Stop prefetch in sector", 1),
    ("Disconnect write if seek", 1),
    ("Write hit stop prefetch", 1),
    ("Read directly to buffer", 1),
    ("Immed transfer partial hit", 1),
    ("Extra write disconnect", 1),
];

/// Overheads, in milliseconds.
const OVERHEADS: &[&str] = &[
    "Per-request overhead time",
    "Read hit over. after read",
    "Read hit over. after write",
    "Read miss over. after read",
    "Read miss over. after write",
    "Write hit over. after read",
    "Write hit over. after write",
    "Write miss over. after read",
    "Write miss over. after write",
    "Read completion overhead",
    "Write completion overhead",
    "Data preparation overhead",
    "First reselect overhead",
    "Other reselect overhead",
    "Read disconnect afterread",
    "Read disconnect afterwrite",
    "Write disconnect overhead",
    "Extradisc command overhead",
    "Extradisc disconnect overhead",
    "Extradisc inter-disconnect delay",
    "Extradisc 2nd disconnect overhead",
    "Extradisc seek delta",
    "Minimum seek delay",
];

/// A zone's figures.
struct Zone {
    first_cylinder: u64,
    last_cylinder: u64,
    sectors_per_track: u64,
    /// Skews of a track and of a cylinder, in sectors.
    skews: (u64, u64),
    /// Empty slots at the zone's front.
    front: u64,
    slips: Vec<u64>,
}

/// A form of seek times.
struct SeekForm {
    /// The parameters as written.
    text: String,
    /// The table of seek times in a file of its own; empty for other forms.
    table: String,
    /// The time in milliseconds of a distance in cylinders.
    time_ms: Box<dyn Fn(u64) -> f64>,
}

/// A drive's figures.
struct Drive {
    heads: u64,
    rpm: u64,
    mapping: u64,
    scheme: u64,
    /// Cylinders of a sparing range.
    range_cylinders: u64,
    spares: u64,
    zones: Vec<Zone>,
    seek: SeekForm,
}

fn draw_between(low: u64, high: u64, rng: &mut Rng) -> u64 {
    low + rng.below(high - low + 1)
}

/// A number from 0 to 1.
fn draw_fraction(rng: &mut Rng) -> f64 {
    rng.below(1_000_001) as f64 / 1e6
}

fn draw_zones(heads: u64, scheme: u64, rng: &mut Rng) -> Vec<Zone> {
    let count = [1, 2, 5, 16, 64][rng.below(5) as usize];
    let mut first_cylinder = 0;
    let outer_sectors = draw_between(30 + count, 1200, rng);
    let zone = |index: u64| {
        first_cylinder += rng.below(2) * rng.below(3);
        let sectors_per_track = outer_sectors - index;
        let last_cylinder = first_cylinder + draw_between(7, 300, rng);
        let slots = (last_cylinder + 1 - first_cylinder) * heads * sectors_per_track;
        // Slips are counted in slots, in scheme 1 in tracks; scheme 0 has none.
        let places = if scheme == 1 { (last_cylinder + 1 - first_cylinder) * heads } else { slots };
        let slips = if scheme == 0 { Vec::new() } else { vec![places / 7, places / 3] };
        let zone = Zone {
            first_cylinder,
            last_cylinder,
            sectors_per_track,
            skews: (rng.below(sectors_per_track), rng.below(2) * rng.below(sectors_per_track)),
            front: rng.below(2) * rng.below(sectors_per_track),
            slips: if rng.below(2) == 0 { Vec::new() } else { slips },
        };
        first_cylinder = last_cylinder + 1;
        zone
    };
    (0..count).map(zone).collect()
}

/// Draws one of the six forms of seeks, for a drive of so many cylinders.
fn draw_seek(cylinders: u64, rng: &mut Rng) -> SeekForm {
    let single = 0.3 + 3.0 * draw_fraction(rng);
    let average = single + 1.0 + 9.0 * draw_fraction(rng);
    let full = average * 2.0 - single + draw_fraction(rng);
    let three =
        format!("Single cylinder seek time = {single}, Average seek time = {average}, Full strobe seek time = {full}");
    let c = cylinders as f64;
    let (root, line) = ((average - single) / c.sqrt(), (full - single) / c);
    let values = format!("[ {}, {single:.6}, {root:.6}, {single:.6}, {line:.6}", cylinders / 3);
    let bend = (cylinders / 3) as f64;
    let hpl = move |d: f64| if d < bend { single + root * d.sqrt() } else { single + line * d };
    let (text, table, time_ms): (String, String, Box<dyn Fn(u64) -> f64>) = match rng.below(6) {
        0 => (format!("constant, Constant seek time = {average}"), String::new(), Box::new(move |_| average)),
        1 => {
            let step = (full - single) / (c.max(3.0) - 2.0);
            let time = move |d| single + step * (d as f64 - 1.0);
            (format!("linear, {three}"), String::new(), Box::new(time))
        }
        2 => {
            let a = (-10.0 * single + 15.0 * average - 5.0 * full) / (3.0 * c.sqrt());
            let b = (7.0 * single - 15.0 * average + 8.0 * full) / (3.0 * c);
            let time = move |d: u64| single + a * (d as f64 - 1.0).sqrt() + b * (d as f64 - 1.0);
            (format!("curve, {three}"), String::new(), Box::new(time))
        }
        3 => {
            let time = move |d| if d == 1 { single } else { hpl(d as f64) };
            (format!("hpl, HPL seek equation values = {values}, {single} ]"), String::new(), Box::new(time))
        }
        4 => {
            let ten: Vec<String> = (1..=10).map(|d| format!("{}", single + 0.01 * f64::from(d))).collect();
            let time = move |d| if d <= 10 { single + 0.01 * d as f64 } else { hpl(d as f64) };
            let text = format!(
                "hplplus10, HPL seek equation values = {values}, -1 ], First ten seek times = [ {} ]",
                ten.join(", ")
            );
            (text, String::new(), Box::new(time))
        }
        _ => {
            let mut distances: Vec<u64> =
                (1..=3).map(|part| part * cylinders / 3).chain([1, 2, cylinders - 1]).collect();
            distances.sort_unstable();
            distances.dedup();
            let time = move |d| single + root * (d as f64).sqrt();
            let blank = [", ", ",\t", " ", "\t"][rng.below(4) as usize];
            let more = ["", ", 0.1", ", 0.1, 99"][rng.below(3) as usize].replace(", ", blank).replace("99", "9");
            let more = if more.contains('9') { String::new() } else { more };
            let mut table = String::new();
            if rng.below(2) == 0 {
                let _ = writeln!(table, "Seek distances measured: {}", distances.len());
            }
            distances.retain(|&d| d > 0);
            for &d in &distances {
                let _ = writeln!(table, "{d}{blank}{:.6}{more}", time(d));
            }
            ("extracted, Full seek curve = unseen.seek".to_owned(), table, Box::new(time))
        }
    };
    SeekForm { text, table, time_ms }
}

fn draw_drive(rng: &mut Rng) -> Drive {
    let heads = draw_between(1, 24, rng);
    let scheme = rng.below(11);
    let zones = draw_zones(heads, scheme, rng);
    let cylinders = zones.last().expect("a zone").last_cylinder + 1;
    let seek = draw_seek(cylinders, rng);
    Drive {
        heads,
        rpm: [3600, 4002, 4316, 5400, 6300, 7200, 10_016, 12_030, 15_000][rng.below(9) as usize],
        mapping: rng.below(3),
        scheme,
        range_cylinders: draw_between(1, 9, rng),
        spares: draw_between(2, 5, rng),
        zones,
        seek,
    }
}

impl Drive {
    /// Blocks by DiskSim's own count: slots less the front, the spares of each unit and, where they go to the end, slips.
    fn count_blocks(&self) -> u64 {
        let blocks_of_zone = |zone: &Zone| {
            let cylinders = zone.last_cylinder + 1 - zone.first_cylinder;
            let slots = cylinders * self.heads * zone.sectors_per_track;
            let slips = zone.slips.len() as u64;
            let lost = match self.scheme {
                0 => 0,
                1 => self.spares * zone.sectors_per_track,
                2 | 5 => self.spares * cylinders,
                3 => self.spares * cylinders * self.heads,
                4 | 6 => self.spares * cylinders + slips,
                7 => slips,
                8 => self.spares * (cylinders / self.range_cylinders),
                9 => self.spares,
                _ => self.spares + slips,
            };
            slots - zone.front - lost
        };
        self.zones.iter().map(blocks_of_zone).sum()
    }

    fn write_zone(&self, zone: &Zone, rng: &mut Rng) -> String {
        let slips: Vec<String> = zone.slips.iter().map(u64::to_string).collect();
        let mut keys = vec![
            format!("First cylinder number = {}", zone.first_cylinder),
            format!("Last cylinder number = {}", zone.last_cylinder),
            format!(
                "Blocks per track = {}",
                if rng.below(8) == 0 {
                    format!("{:#x}", zone.sectors_per_track)
                } else {
                    zone.sectors_per_track.to_string()
                }
            ),
            "Offset of first block = 0.000000".to_owned(),
            format!("Empty space at zone front = {}", zone.front),
            format!("Number of spares = {}", self.spares),
            format!("slips = [ {} ]", slips.join(" , ")),
            "defects = []".to_owned(),
        ];
        keys.push(format!("Skew for track switch = {}.000000", zone.skews.0));
        keys.push(format!("Skew for cylinder switch = {}", zone.skews.1));
        format!("dm_layout_g1_zone {{ {} }}", shuffle(keys, rng).join(", "))
    }

    fn write_model(&self, rng: &mut Rng) -> String {
        let zones: Vec<String> = self.zones.iter().map(|zone| self.write_zone(zone, rng)).collect();
        let cylinders = self.zones.last().expect("a zone").last_cylinder + 1;
        let layout = vec![
            format!("LBN-to-PBN mapping scheme = {}", self.mapping),
            format!("Sparing scheme used = {}", self.scheme),
            format!("Rangesize for sparing = {}", self.range_cylinders),
            format!("Zones = [ {} ]", zones.join(",\n")),
        ];
        let mechanics = vec![
            "Access time type = trackSwitchPlusRotation".to_owned(),
            format!("Seek type = {}", self.seek.text),
            format!("Add. write settling delay = {}", 0.5),
            format!("Head switch time = {}", 0.25),
            format!("Rotation speed (in rpms) = {}", self.rpm),
            "Percent error in rpms = 0.0".to_owned(),
        ];
        let keys = vec![
            format!("Number of data surfaces = {}", self.heads),
            format!("Number of cylinders = {cylinders}"),
            format!("Block count = {}", self.count_blocks()),
            format!("Layout Model = dm_layout_g1 {{ {} }}", shuffle(layout, rng).join(",\n")),
            format!("Mechanical Model = dm_mech_g1 {{ {} }}", shuffle(mechanics, rng).join(",\n")),
        ];
        format!("dm_disk UNSEEN_model {{ {} }}\n", shuffle(keys, rng).join(",\n"))
    }
}

fn shuffle(mut keys: Vec<String>, rng: &mut Rng) -> Vec<String> {
    for place in (1..keys.len()).rev() {
        keys.swap(place, rng.below(place as u64 + 1) as usize);
    }
    keys
}

/// The drive's `disksim_disk` block, with any legal values of buffer and firmware.
fn write_specs(model: &str, rng: &mut Rng) -> String {
    let segments = [0, 1, 3, 16, 512][rng.below(5) as usize];
    let size = draw_between(1, 2000, rng);
    let mut keys: Vec<String> = SWITCHES.iter().map(|(key, most)| format!("{key} = {}", rng.below(most + 1))).collect();
    keys.extend(OVERHEADS.iter().map(|key| format!("{key} = {:.6}", draw_fraction(rng))));
    keys.extend([
        format!("Model = {model}"),
        "Scheduler = disksim_ioqueue { Scheduling policy = 1, Cylinder mapping strategy = 0 }".to_owned(),
        format!("Max queue length = {}", [0, 1, 8, 256][rng.below(4) as usize]),
        format!("Bulk sector transfer time = {:.6}", 0.2 * draw_fraction(rng)),
        format!("Segment size (in blks) = {size}"),
        format!("Number of buffer segments = {segments}"),
        format!("Maximum number of write segments = {}", draw_between(1, segments.max(1), rng)),
        format!("Time scale for overheads = {}", draw_fraction(rng)),
        format!("Low (write) water mark = {}", draw_fraction(rng)),
        format!("High (read) water mark = {}", draw_fraction(rng)),
        format!("Minimum read-ahead (blks) = {}", rng.below(2) * rng.below(size + 1)),
        format!("Maximum read-ahead (blks) = {}", rng.below(size + 1)),
        "Avg sectors per cylinder = 100".to_owned(),
    ]);
    format!("disksim_disk UNSEEN {{\n{}\n}} # end\n", shuffle(keys, rng).join(",\n"))
}

/// All files of a set-up by name, in one of several arrangements.
fn write_files(drive: &Drive, rng: &mut Rng) -> BTreeMap<String, String> {
    let model = drive.write_model(rng);
    let folder = ["", "parts/"][rng.below(2) as usize];
    let arrangement = rng.below(4);
    let mut files = BTreeMap::new();
    let specs = match rng.below(2) {
        0 => write_specs(model.trim_end(), rng),
        _ => {
            files.insert(format!("{folder}unseen.model"), model);
            // A file that is sourced from a folder names its own files relative to that folder.
            write_specs(&format!("source {}unseen.model", if arrangement == 3 { "" } else { folder }), rng)
        }
    };
    let rest = "instantiate [ disk0 .. disk3 ] as UNSEEN\ntopology disksim_iodriver driver0 [ disksim_bus bus0 [ \
                disksim_disk disk0 [], disksim_disk disk1 [] ] ]\ndisksim_logorg org0 { devices = [ disk0 .. disk3 ] }\n";
    let bus = "disksim_bus BUS0 { type = 1, Arbitration time = 0.0, Read block transfer time = 0.0 }\n";
    let set_up = match arrangement {
        0 => specs,
        1 => format!("{bus}{specs}{rest}"),
        2 => {
            // The drive in use is a variant of one that is not.
            let base = specs.replace("disksim_disk UNSEEN", "disksim_disk BASE");
            format!("{base}{bus}BASE UNSEEN {{ Print stats = 0 }}\n{rest}")
        }
        _ => {
            files.insert(format!("{folder}unseen.diskspecs"), specs);
            format!("{bus}source {folder}unseen.diskspecs\n{rest}")
        }
    };
    // A table lies beside the model, wherever that is.
    let beside = if files.keys().any(|name| name.starts_with("parts/")) { folder } else { "" };
    files.insert(format!("{beside}unseen.seek"), drive.seek.table.clone());
    files.insert("unseen.parv".to_owned(), set_up);
    let ends = rng.below(3);
    files.values_mut().for_each(|text| {
        *text = match ends {
            0 => text.replace('\n', "\r\n"),
            1 => text.replace('\n', " # a remark, with = and {\n"),
            _ => text.clone(),
        };
    });
    files
}

fn import(files: &BTreeMap<String, String>) -> DisksimImport {
    let load = |name: &str| files.get(name).cloned().ok_or_else(|| "no such file".to_owned());
    disksim::import("unseen.parv", &files["unseen.parv"], &load, None, "unseen").unwrap_or_else(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{}\n{files:#?}", errors.join("\n"))
    })
}

/// Checks a profile against the drive's figures.
fn check_profile(drive: &Drive, profile: &Profile) {
    let geometry = &profile.geometry;
    let cylinders = drive.zones.last().expect("a zone").last_cylinder + 1;
    assert_eq!((u64::from(geometry.cylinders()), u64::from(geometry.surfaces())), (cylinders, drive.heads));
    // Where slips go to the end, one that lies among the spares takes no block; in a part range, without spares, it does.
    let slips = drive.zones.iter().map(|zone| zone.slips.len() as u64).sum();
    let more = if [4, 6, 7, 10].contains(&drive.scheme) { slips } else { 0 };
    let fewer = if drive.scheme == 8 { slips } else { 0 };
    let hand = drive.count_blocks() - fewer..=drive.count_blocks() + more;
    assert!(hand.contains(&geometry.sectors()), "scheme {}: {} not {hand:?}", drive.scheme, geometry.sectors());
    let revolution = 60e9 / drive.rpm as f64;
    assert!((profile.mechanics.revolution().nanos() as f64 - revolution).abs() <= 1.0, "{} rpm", drive.rpm);
    for distance in [1, cylinders / 3, cylinders - 1] {
        let time = |write| profile.mechanics.movement_time(Arm::default(), distance as u32, 0, write);
        let (found, hand) = (time(false).nanos() as f64 / 1e6, (drive.seek.time_ms)(distance));
        assert!((found - hand).abs() < 2e-3 * hand, "{}: {distance}: {found} ms, by hand {hand}", drive.seek.text);
        let settled = time(true) + profile.mechanics.extra_write_time(time(true)) - time(false);
        assert_eq!(settled, Span::from_micros(500));
    }
    check_skews(drive, profile);
}

/// Checks that the first two tracks of a zone lie a skew apart, and that the slots of a track fill a revolution.
fn check_skews(drive: &Drive, profile: &Profile) {
    let geometry = &profile.geometry;
    let zone = &drive.zones[0];
    let first = geometry.extent(0, 1);
    let mut other = first;
    while (other.cylinder, other.head) == (first.cylinder, first.head) {
        other = geometry.extent(other.lba + 1, 1);
    }
    let begin = |extent: Extent| {
        assert_eq!(u64::from(extent.before) + 1 + u64::from(extent.behind), zone.sectors_per_track);
        extent.angle.wrapping_sub(extent.slot.wrapping_mul(u64::from(extent.before)))
    };
    if first.cylinder == other.cylinder && other.head.abs_diff(first.head) == 1 {
        let turn = begin(other).wrapping_sub(begin(first)) as f64 / 2f64.powi(64);
        let off = (turn - zone.skews.0 as f64 / zone.sectors_per_track as f64).abs();
        assert!(off.min(1.0 - off) < 1e-6, "a turn of {turn}, not {} of {}", zone.skews.0, zone.sectors_per_track);
    }
}

#[test]
fn drives_that_are_drawn_have_what_follows_from_their_figures() {
    for number in 0..DRIVES {
        let mut rng = Seed(number).stream("unseen drives");
        let drive = draw_drive(&mut rng);
        let files = write_files(&drive, &mut rng);
        let found = import(&files);
        assert_eq!(found.drive, "UNSEEN");
        let parsed = profile::parse("unseen", &found.toml).expect("a profile");
        check_profile(&drive, &parsed.profile().expect("a profile that fits"));
    }
}
