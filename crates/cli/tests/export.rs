//! `seekwise export latency` as a user takes it: numbers drawn from the exported constants have the percentiles that its comments state, and
//! the drive's are those of the commands that it names.

use std::fs;

use crate::seekwise::run_program;
use serde_json::Value;

/// A drive, short runs.
const SHORT: [&str; 8] = ["export", "latency", "--on", "barracuda-7200.7-ncq", "--depth", "1,8", "--runtime", "30s"];

fn export(more: &[&str]) -> crate::seekwise::ProgramOutput {
    let folder = tempfile::tempdir().unwrap();
    run_program(folder.path(), &[&SHORT, more].concat())
}

/// Numbers below 1, by SplitMix64.
struct Random(u64);

impl Random {
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.fraction()).ln()
    }
}

/// p50 and p99 in ms of a million draws in us.
fn drawn_ms(mut draw: impl FnMut(&mut Random) -> f64) -> [f64; 2] {
    let mut random = Random(42);
    let mut draws: Vec<f64> = (0..1_000_000).map(|_| draw(&mut random)).collect();
    draws.sort_unstable_by(f64::total_cmp);
    [draws[499_999] / 1e3, draws[989_999] / 1e3]
}

/// The part of a text for a depth, its comments unfolded.
fn depth_part(text: &str, depth: u32) -> String {
    let part = text.split("\n\n").find(|part| part.starts_with(&format!("// {depth} in flight\n"))).unwrap();
    part.replace("\n//     ", " ")
}

/// p50 and p99 in ms that the comment on an operation states, of the drive and of what is drawn.
fn stated_ms(part: &str, operation: &str) -> [[f64; 2]; 2] {
    let beginning = format!("//   {operation}: drive p50 ");
    let line = part.lines().find(|line| line.starts_with(&beginning)).unwrap_or_else(|| panic!("{operation}: {part}"));
    let number = |after: &str| line.split(after).nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    [[number("drive p50 "), number(" ms, p99 ")], [number("drawn p50 "), number(" %), p99 ")]]
}

/// The number behind `name` in a part, up to what is no digit.
fn constant(part: &str, name: &str) -> f64 {
    let rest = part.split(name).nth(1).unwrap_or_else(|| panic!("{name}: {part}"));
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().unwrap_or_else(|_| panic!("{name}: {rest}"))
}

/// How far the figures are from one another at most, as a share.
fn off(figures: [f64; 2], others: [f64; 2]) -> f64 {
    figures.iter().zip(others).map(|(figure, other)| (figure / other - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn what_tigerbeetle_draws_has_the_percentiles_that_are_stated() {
    let text = export(&["--for", "tigerbeetle"]).success_stdout();
    for depth in [1, 8] {
        let part = depth_part(&text, depth);
        for (field, operation) in [("read", "read"), ("write", "write_through")] {
            let [min, mean] = ["min", "mean"].map(|it| constant(&part, &format!(".{field}_latency_{it} = .us(")));
            assert!(min <= mean, "TigerBeetle asserts it");
            let [drive, stated] = stated_ms(&part, operation);
            let drawn = drawn_ms(|random| f64::max(min, mean * random.exponential()));
            assert!(off(drawn, stated) < 0.01, "{depth}, {operation}: stated {stated:?}, drawn {drawn:?}");
            assert!(drive[0] > 1.0 && drive[0] < drive[1], "{drive:?}");
            // Another simulator's formula would not do: the minimum is no addend here.
            let added = drawn_ms(|random| min + mean * random.exponential());
            assert!(off(added, stated) > 0.01, "{depth}, {operation}: {added:?}");
        }
    }
}

#[test]
fn what_turmoil_draws_has_the_percentiles_that_are_stated() {
    let text = export(&["--for", "turmoil"]).success_stdout();
    for depth in [1, 8] {
        let part = depth_part(&text, depth);
        let [min, max] = ["min", "max"].map(|it| constant(&part, &format!(".{it}_latency(Duration::from_micros(")));
        let lambda = constant(&part, ".distribution(");
        let drawn = drawn_ms(|random| min + (max - min) * f64::min(1.0, random.exponential() / lambda));
        let [_, stated] = stated_ms(&part, "read");
        assert!(off(drawn, stated) < 0.01, "{depth}: stated {stated:?}, drawn {drawn:?}");
        // Without the minimum it is another number.
        let lower = drawn_ms(|random| (max - min) * f64::min(1.0, random.exponential() / lambda));
        assert!(off(lower, stated) > 0.01, "{depth}: {lower:?}");
    }
}

#[test]
fn what_moonpool_draws_has_the_percentiles_that_are_stated() {
    let text = export(&["--for", "moonpool"]).success_stdout();
    for depth in [1, 8] {
        let part = depth_part(&text, depth);
        let [iops, bandwidth] = ["iops: ", "bandwidth: "].map(|name| constant(part.split("{\n").nth(1).unwrap(), name));
        let every_io = 1e6 / iops + 4096e6 / bandwidth;
        for (field, operation, added) in
            [("read", "read", every_io), ("write", "write", every_io), ("sync", "flush", 0.0)]
        {
            let rest = part.split(&format!("{field}_latency: LatencyDistribution::")).nth(1).unwrap();
            let form = rest.split("_latency").next().unwrap();
            let us: Vec<f64> =
                form.split("from_micros(").skip(1).map(|us| us.split(')').next().unwrap().parse().unwrap()).collect();
            let drawn = drawn_ms(|random| {
                added
                    + match form.split(' ').next().unwrap() {
                        "Uniform" => us[0] + random.fraction() * (us[1] - us[0]),
                        "Exponential" => us[0] + us[1] * random.exponential(),
                        "Bimodal" if random.fraction() < constant(form, "slow_probability: ") => {
                            us[2] + random.fraction() * (us[3] - us[2])
                        }
                        "Bimodal" => us[0] + random.fraction() * (us[1] - us[0]),
                        other => panic!("{other}: {form}"),
                    }
            });
            let [_, stated] = stated_ms(&part, operation);
            assert!(off(drawn, stated) < 0.01, "{depth}, {operation}: stated {stated:?}, drawn {drawn:?}: {form}");
        }
    }
}

#[test]
fn an_operation_alone_takes_six_parts_of_foundationdb_s_iops() {
    let text = export(&["--for", "fdb"]).success_stdout();
    let part = depth_part(&text, 1);
    let iops = constant(&part, "init( SIM_DISK_IOPS, ");
    let drawn = drawn_ms(|random| (1.0 + 10.0 * random.fraction()) * 1e6 / iops);
    let [_, stated] = stated_ms(&part, "read");
    assert!(off(drawn, stated) < 0.01, "stated {stated:?}, drawn {drawn:?}");
    assert!(text.contains("--knob_sim_disk_iops="), "{text}");
}

/// Each row of JSON has the figures of the command that it names.
#[test]
fn the_drive_s_percentiles_are_those_of_run() {
    let folder = tempfile::tempdir().unwrap();
    let answer = export(&["--json"]).json();
    let rows = answer["operations"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 5);
    let same = |row: &Value, run: &Value, keys: &[(&str, &str)]| {
        keys.iter().all(|(us, ms)| {
            let [us, ms] = [&row[*us], &run["response_ms"][*ms]].map(|value| value.as_f64().unwrap());
            (us / 1e3 - ms).abs() < 1e-9
        })
    };
    let keys = [
        ("mean_us", "mean"),
        ("p50_us", "p50"),
        ("p90_us", "p90"),
        ("p95_us", "p95"),
        ("p99_us", "p99"),
        ("p99_9_us", "p99_9"),
        ("max_us", "max"),
    ];
    for row in rows {
        let command = row["command"].as_str().unwrap().strip_prefix("seekwise ").unwrap();
        let run =
            run_program(folder.path(), &[&command.split(' ').collect::<Vec<_>>()[..], &["--json"]].concat()).json();
        let kind = match row["operation"].as_str().unwrap() {
            "read" => "read",
            "flush" => "flush",
            _ => "write",
        };
        assert_eq!(row["count"], run[kind]["ios"], "{command}");
        assert!(same(row, &run[kind], &keys), "{row} {}", run[kind]);
        // The comparison can fail.
        assert!(row["operation"] == "write" || !same(row, &run[kind], &[("p50_us", "p99")]), "{row}");
        let rising = ["min_us", "p1_us", "p5_us", "p10_us", "p25_us", "p50_us", "p75_us", "p90_us", "p99_us", "max_us"];
        let rising = rising.map(|key| row[key].as_f64().unwrap());
        assert!(rising.is_sorted(), "{row}");
    }
    for rate in answer["rates"].as_array().unwrap() {
        let command = rate["command"].as_str().unwrap().strip_prefix("seekwise ").unwrap();
        let run =
            run_program(folder.path(), &[&command.split(' ').collect::<Vec<_>>()[..], &["--json"]].concat()).json();
        assert_eq!(rate["bytes_per_s"], run["all"]["bytes_per_s"], "{command}");
    }
}

/// Waiting depends on what is queued, and a flush on what is dirty: the reasons that the text gives.
#[test]
fn what_a_draw_cannot_express_is_in_the_figures() {
    let answer = export(&[]).json();
    let p50 = |operation: &str, depth: u64| {
        let mut rows = answer["operations"].as_array().unwrap().iter();
        let row = rows.find(|row| row["operation"] == operation && row["depth"] == depth).unwrap();
        row["p50_us"].as_f64().unwrap()
    };
    assert!(p50("read", 8) > 2.0 * p50("read", 1), "a queue");
    assert!(p50("flush", 8) > 2.0 * p50("flush", 1), "dirty data");
    assert!(p50("write", 8) < 0.1 * p50("write_sustained", 1), "an empty buffer and a full one");
    assert!(answer["limits"].as_str().unwrap().contains("power cut"));
}

#[test]
fn the_text_goes_to_a_file_and_its_command_makes_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let said =
        run_program(folder.path(), &[&SHORT[..], &["--for", "turmoil", "--out", "a.rs", "--seed", "7"]].concat());
    assert!(said.code == 0 && said.out.is_empty() && said.err.contains("Written: a.rs"), "{}", said.err);
    let text = fs::read_to_string(folder.path().join("a.rs")).unwrap();
    let command = text.lines().find_map(|line| line.strip_prefix("//   seekwise ")).unwrap();
    let again = run_program(folder.path(), &command.split(' ').collect::<Vec<_>>()).success_stdout();
    assert_eq!(again, text);
    let kept = run_program(folder.path(), &[&SHORT[..], &["--out", "a.rs"]].concat());
    assert!(kept.code == 2 && kept.err.contains("a.rs"), "a file that is there is kept: {}", kept.err);
    let both = export(&["--for", "turmoil", "--json"]).json();
    assert_eq!((&both["for"], both["text"].as_str().unwrap().contains(".io_latency()")), (&"turmoil".into(), true));
}

#[test]
fn a_stack_and_a_part_of_it_are_taken_as_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), "drive = 'barracuda-7200.7'\n[array]\nname = 'raid-1'\ndrives = 2\n")
        .unwrap();
    let words =
        ["export", "latency", "--on", "s.toml", "--runtime", "5s", "--size", "1g", "--set", "driver=linux-none"];
    let answer = run_program(folder.path(), &words).json();
    let read = &answer["operations"][0];
    assert!(read["command"].as_str().unwrap().contains("--set driver=linux-none"), "{read}");
    assert!((1e3..1e4).contains(&read["p50_us"].as_f64().unwrap()), "short seeks: {read}");
}

#[test]
fn mistakes_name_what_was_meant() {
    for (more, expected) in [
        (&["--for", "tigerbeatle"][..], "did you mean tigerbeetle?"),
        (&["--set", "drive.cache.write_back=off"], "write_through"),
        (&["--set", "job.depth=4"], "there is no job"),
        (&["--set", "drive.cache.segmnts=4"], "drive.cache.segments"),
        (&["--block", "much"], "such as 4k"),
        (&["--runtime", "1ms"], "--runtime"),
        (&["--force"], "--out"),
    ] {
        let refused = export(more);
        assert_eq!(refused.code, 2, "{more:?}: {}", refused.out);
        assert!(refused.err.contains(expected), "{more:?}: {}", refused.err);
    }
    let folder = tempfile::tempdir().unwrap();
    for (words, expected) in [
        (&["export", "latncy"][..], "latency"),
        (&["export", "latency"], "--on"),
        (&["export", "latency", "--on", "exos-x81"], "exos-x18"),
        (&["export", "latency", "--on", "file:x"], "not a modelled disk"),
        (&["export", "latency", "--on", "exos-x18", "--depth", "0"], "1..=1024"),
        (&["export", "latency", "--on", "exos-x18", "--depth", "8,8"], "each once"),
    ] {
        let refused = run_program(folder.path(), words);
        assert_eq!(refused.code, 2, "{words:?}: {}", refused.out);
        assert!(refused.err.contains(expected), "{words:?}: {}", refused.err);
    }
}
