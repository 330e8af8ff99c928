//! Several drives on one cable, against arithmetic from their own figures: the studies `ide-channel` and `scsi-bus`,
//! each cell for some seconds.

use seekwise_formats::study::{self, Study};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{self, PreparedCell};
use seekwise_lab::run::{RunRecord, measure_run};
use seekwise_lab::study::cell_record;

const SEED: u64 = 7;

/// The cells of a built-in study by their levels, counted for `seconds`, with their results.
fn cells(text: &str, seconds: &str) -> Vec<(Vec<String>, RunRecord)> {
    let study: Study = study::parse("s.toml", text).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let absent = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let inputs = Inputs::from_today(&absent);
    let run = |mut cell: plan::Cell| {
        cell.settings.retain(|(key, _)| key != "job.runtime");
        cell.settings.push(("job.runtime".to_owned(), seconds.to_owned()));
        let prepared: PreparedCell =
            plan::prepare_cell("s.toml", &cell, &inputs).unwrap_or_else(|faults| panic!("{}", faults[0]));
        let measured = measure_run(&prepared.target, &prepared.job, SEED, |_| ()).expect("a job that runs");
        (cell.levels, cell_record(&prepared, &measured, SEED))
    };
    plan::study_cells(&study).into_iter().map(run).collect()
}

fn near(got: f64, wanted: f64, percent: f64, what: &[String]) {
    let off = (got / wanted - 1.0).abs() * 100.0;
    assert!(off <= percent, "{what:?}: {got:.2} where arithmetic says {wanted:.2}, {off:.2} % off");
}

/// What a drive reads from its outermost tracks: sectors a track, less the skew, in MB/s.
fn platter(sectors: f64, rpm: f64, skew: f64) -> f64 {
    sectors * 512.0 * rpm / 60.0 / (1.0 + skew) / 1e6
}

#[test]
fn a_copy_crosses_a_shared_channel_twice() {
    let platter = platter(691.0, 7200.0, 0.29);
    for (levels, run) in cells(include_str!("../studies/ide-channel.toml"), "20 s") {
        let [channel, mode, block, cache] = [0, 1, 2, 3].map(|at| levels[at].as_str());
        let (read, write) = (run.read.bytes_per_s / 1e6, run.write.bytes_per_s / 1e6);
        // A command carries at most 128 KiB.
        let bytes: f64 = if block == "64k" { 65_536.0 } else { 131_072.0 };
        let clock = if mode == "udma-2" {
            33.33
        } else if mode == "udma-4" {
            66.67
        } else {
            100.0
        };
        // From or to a buffer: the drive's overhead, the link's and the controller's command, the bytes at the
        // effective share of the mode's clock.
        let crossing = 14e-6 + 10e-6 + 10e-6 + bytes / (clock * 0.8825e6);
        let times = if channel == "shared" { 2.0 } else { 1.0 };
        let buffered = (bytes / crossing / times / 1e6).min(platter);
        // Written through, each command comes too late for the place after the one before: a revolution, then its own
        // share of a track, and as much of the skew. The reader's part of the channel fits into the revolution.
        let turn = 60.0 / 7200.0 * (1.0 + bytes / 512.0 / 691.0 * 1.29);
        let (reads, writes) = match (cache, channel) {
            ("true", _) => (buffered, buffered),
            (_, "shared") => (bytes / turn / 1e6, bytes / turn / 1e6),
            _ => (buffered, bytes / turn / 1e6),
        };
        near(read, reads, 1.0, &levels);
        near(write, writes, 1.0, &levels);
    }
}

#[test]
fn a_scsi_bus_is_the_limit_where_its_phases_and_bytes_fill_it() {
    let platter = platter(885.0, 15_000.0, 0.18);
    let runs = cells(include_str!("../studies/scsi-bus.toml"), "3 s");
    let one = |bus: &str| {
        let alone =
            runs.iter().find(|(levels, _)| levels[0] == bus && levels[1] == "1" && levels[2].contains("random"));
        alone.expect("one drive").1.all.iops
    };
    for (levels, run) in &runs {
        let drives: f64 = levels[1].parse().expect("a number");
        let (phases, rate) = if levels[0] == "ultra160" { (17.8e-6, 160e6) } else { (6.34e-6, 320e6) };
        let bus = |bytes: f64| 1.0 / (phases + bytes / rate);
        match levels[2].as_str() {
            "streams of 64 KiB" => {
                let wanted = (drives * platter).min(bus(65_536.0) * 65_536.0 / 1e6);
                near(run.all.bytes_per_s / 1e6, wanted, 0.5, levels);
            }
            "4 KiB from the buffer" => {
                // The drive's own: a hit and its command.
                near(run.all.iops, (drives / 122e-6).min(bus(4096.0)), 0.5, levels);
            }
            _ => {
                assert!(drives * one(&levels[0]) < 0.2 * bus(4096.0), "{levels:?}: the bus is not full");
                near(run.all.iops, drives * one(&levels[0]), 4.0, levels);
            }
        }
    }
}
