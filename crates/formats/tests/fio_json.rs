//! fio's JSON: written documents are read again, and documents of fio itself are read.

use std::collections::BTreeMap;

use crate::shared_files;
use seekwise_formats::fio_json::{
    self, DirectionResult, DiskUtil, FioOutput, JobResult, LatencyBuckets, LatencySummary, PERCENTILES, SampleSummary,
};

/// A summary of latencies that are multiples of `scale_ns`.
fn sample_latency(scale_ns: u64) -> LatencySummary {
    LatencySummary {
        min: 100 * scale_ns,
        max: 90_000 * scale_ns,
        mean: 12_345.5 * scale_ns as f64,
        stddev: 678.25,
        n: 1000,
        percentiles: PERCENTILES.iter().map(|&percent| (percent, (percent * 900.0) as u64 * scale_ns)).collect(),
        bins: (1..50).map(|bin| (bin * 1500 * scale_ns, bin)).collect(),
    }
}

/// A document with one job that reads.
fn sample_output() -> FioOutput {
    let mut read = DirectionResult::new(1000, 4_096_000, 10_000_000_000);
    read.clat = sample_latency(1000);
    read.lat = sample_latency(1001);
    read.bandwidth_samples = SampleSummary::from_samples(&[409_600.0, 512_000.0]);
    read.iops_samples = SampleSummary::from_samples(&[100.0, 125.0]);
    let bins = read.clat.bins.clone();
    let options = [("rw", "randread"), ("bs", "4k"), ("iodepth", "32"), ("numjobs", "1"), ("time_based", "")];
    let job = JobResult {
        name: "probe".to_owned(),
        options: options.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        read,
        runtime_ms: 10_000,
        usr_cpu: 1.25,
        sys_cpu: 2.5,
        context_switches: 1000,
        iodepth_level: [0.0, 0.0, 0.0, 0.0, 0.0, 100.0, 0.0],
        latency: LatencyBuckets::from_bins(bins),
        latency_depth: 32,
        latency_percentile: 100.0,
        ..JobResult::default()
    };
    FioOutput {
        generated_by: Some("seekwise".to_owned()),
        global_options: BTreeMap::from([("percentile_list".to_owned(), fio_json::PERCENTILE_LIST.to_owned())]),
        jobs: vec![job],
        disk_util: vec![DiskUtil { name: "sim0".to_owned(), ios: [1000, 0], util: 99.5, ..DiskUtil::default() }],
        ..FioOutput::default()
    }
}

/// The document after writing and reading: percents of buckets and deviations rounded to six decimals.
fn round_as_written(mut output: FioOutput) -> FioOutput {
    let round_to_six = |value: &mut f64| *value = (*value * 1e6).round() / 1e6;
    for job in &mut output.jobs {
        job.latency.ns.iter_mut().chain(&mut job.latency.us).chain(&mut job.latency.ms).for_each(round_to_six);
        for direction in [&mut job.read, &mut job.write] {
            round_to_six(&mut direction.iops_samples.stddev);
            // Bandwidths are written as KiB: the least and largest whole, the others to six decimals.
            let samples = &mut direction.bandwidth_samples;
            samples.stddev = (samples.stddev / 1024.0 * 1e6).round() / 1e6 * 1024.0;
        }
    }
    output
}

#[test]
fn what_is_written_is_read_again() {
    let text = fio_json::write(&sample_output());
    assert_eq!(fio_json::read(text.as_bytes()).unwrap(), [round_as_written(sample_output())]);
    assert_eq!(text, fio_json::write(&sample_output()));
    let client = FioOutput { from_client: true, ..sample_output() };
    assert_eq!(fio_json::read(fio_json::write(&client).as_bytes()).unwrap(), [round_as_written(client)]);
}

#[test]
fn the_schema_is_fios() {
    let text = fio_json::write(&sample_output());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let job = &value["jobs"][0];
    assert_eq!((&value["fio version"], &value["timestamp"]), (&"fio-3.33".into(), &0.into()));
    assert_eq!(value["time"], "Thu Jan  1 00:00:00 1970");
    assert_eq!(job["job options"]["iodepth"], "32");
    let read = &job["read"];
    assert_eq!((&read["bw_bytes"], &read["bw"], &read["iops"]), (&409_600.into(), &400.into(), &100.0.into()));
    assert_eq!((&read["bw_min"], &read["bw_max"], &read["bw_mean"]), (&400.into(), &500.into(), &450.0.into()));
    assert_eq!(read["clat_ns"]["percentile"]["99.990000"], 89_991_000);
    assert_eq!(read["clat_ns"]["bins"]["1500000"], 1);
    for direction in ["read", "write", "trim"] {
        for key in ["slat_ns", "clat_ns", "lat_ns"] {
            assert!(job[direction][key]["N"].is_u64(), "{direction} {key}");
        }
    }
    // fio's own order of keys.
    let places: Vec<_> =
        ["\"jobname\"", "\"read\"", "\"write\"", "\"usr_cpu\"", "\"latency_ms\""].map(|k| text.find(k)).into();
    assert!(places.is_sorted() && places.iter().all(Option::is_some));
}

/// Leaves files where fio's plotters can be tried on them: `fio-plot -i target/tmp/fio-json -T title -l -r randread`.
#[test]
fn files_for_plotters_are_named_as_they_expect() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-json");
    std::fs::create_dir_all(&folder).unwrap();
    for depth in [1u64, 4, 16, 32] {
        let mut output = sample_output();
        let job = &mut output.jobs[0];
        job.options.insert("iodepth".to_owned(), depth.to_string());
        // A drive that gains with the root of the depth; a picture of it shows whether fields arrive.
        let ios = 1000 * depth.isqrt();
        let summary = DirectionResult::new(ios, ios * 4096, 10_000_000_000);
        let mean = 1e9 * depth as f64 / summary.iops;
        let clat = LatencySummary { mean, stddev: mean / 4.0, ..sample_latency(1000) };
        job.read = DirectionResult {
            clat: clat.clone(),
            lat: clat,
            iops_samples: SampleSummary::from_samples(&[90.0, 110.0]),
            ..summary
        };
        let path = folder.join(format!("randread-{depth}-1.json"));
        std::fs::write(&path, fio_json::write(&output)).unwrap();
        assert_eq!(fio_json::read(&std::fs::read(&path).unwrap()).unwrap()[0].jobs[0].read.ios, ios);
    }
}

#[test]
fn latencies_fall_into_fios_buckets() {
    let buckets = LatencyBuckets::from_bins([(2, 1), (3, 1), (999, 1), (1000, 1), (2999, 1), (3000, 1), (999_999, 1)]);
    let percent_of_one = 100.0 / 7.0;
    assert_eq!((buckets.ns[0], buckets.ns[1], buckets.ns[9]), (0.0, 200.0 / 7.0, percent_of_one));
    // 1000 ns and 2999 ns are 1 and 2 µs, cut off.
    assert_eq!((buckets.us[0], buckets.us[1], buckets.us[9]), (percent_of_one, 200.0 / 7.0, percent_of_one));
    let buckets = LatencyBuckets::from_bins([(999_999_999, 1), (1_000_000_000, 1), (2_000_000_000, 2)]);
    assert_eq!((buckets.ms[9], buckets.ms[10], buckets.ms[11]), (25.0, 25.0, 50.0));
}

#[test]
fn fio_2_counts_microseconds_and_kib() {
    let text = r#"{"fio version":"fio-2.1.4","jobs":[{"jobname":"j","read":{"io_bytes":8,"bw":4,"iops":2,"runtime":1000,
        "clat":{"min":3,"max":5,"mean":4.5,"stddev":0.5,"percentile":{"50.000000":4,"0.00":0,"0.00":0}}}}]}"#;
    let outputs = fio_json::read(text.as_bytes()).unwrap();
    let read = &outputs[0].jobs[0].read;
    assert_eq!((read.bytes, read.bytes_per_second, read.ios), (8192, 4096, 2));
    assert_eq!((read.clat.min, read.clat.max, read.clat.mean), (3000, 5000, 4500.0));
    assert_eq!(read.clat.percentiles, [(50.0, 4000)]);
}

#[test]
fn fios_talk_and_further_documents_are_taken() {
    let document = fio_json::write(&sample_output());
    let count =
        |text: String| fio_json::read(text.as_bytes()).map(|outputs| outputs.len()).map_err(|error| error.to_string());
    assert_eq!(count(format!("<host> Starting 2 processes\nfio: warning {{ here\n{document}\n{document}")), Ok(2));
    assert_eq!(count(format!("\n  {}{document}bye\n", document.trim_end())), Ok(2));
    let expected = "fio output:1: text before the JSON that fio does not print; expected `{`, `<host> …` or `fio: …`";
    assert_eq!(count(format!("hello world\n{document}")).unwrap_err(), expected);
    let broken = format!("fio: x\n{document}\n{{\n \"jobs\": [ x\n");
    let line = broken.matches('\n').count();
    assert_eq!(count(broken).unwrap_err(), format!("fio output:{line}: invalid JSON: expected value"));
    assert!(count("{\"a\":1}".to_owned()).unwrap_err().contains("without a list of jobs"));
    assert!(count("no json".to_owned()).unwrap_err().contains("no JSON"));
}

#[test]
fn files_from_the_wild_are_read() {
    for path in shared_files::files("wild/fio-json", &[".json", ".output"]) {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "bad_format.json" {
            println!("{name}: {}", fio_json::read(&bytes).unwrap_err());
            continue;
        }
        let outputs = fio_json::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let jobs: Vec<&JobResult> = outputs.iter().flat_map(|output| &output.jobs).collect();
        println!("{name}: {}, {} documents, {} jobs", outputs[0].version, outputs.len(), jobs.len());
        assert!(!jobs.is_empty());
        for job in jobs {
            for direction in [&job.read, &job.write] {
                check_consistent(direction, &name);
            }
        }
        for output in &outputs {
            let again = fio_json::read(fio_json::write(output).as_bytes()).unwrap();
            assert_eq!(again[0].jobs.len(), output.jobs.len());
            assert_eq!(again[0].jobs[0].read.clat.percentiles, output.jobs[0].read.clat.percentiles, "{name}");
        }
    }
}

/// Checks units: bytes over run time is the bandwidth, and the mean lies between least and largest.
fn check_consistent(direction: &DirectionResult, name: &str) {
    if direction.bytes == 0 || name.starts_with("multiple_jobs") || name.starts_with("no_global") {
        // The fixtures of these names were edited by hand, or count in-flight requests of a ramp.
        return;
    }
    let rate = direction.bytes as f64 * 1000.0 / direction.runtime_ms as f64;
    let ratio = rate / direction.bytes_per_second as f64;
    assert!((0.98..1.02).contains(&ratio), "{name}: {ratio}");
    let clat = &direction.clat;
    assert!(clat.min as f64 <= clat.mean && clat.mean <= clat.max as f64, "{name}: {clat:?}");
    assert!(clat.percentiles.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{name}");
}
