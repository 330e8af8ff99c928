//! Well-known access specifications by name: Iometer's own, and those published in reviews, forums and .icf files.
//! A comment at each group says where its numbers come from. [`specs`] lists them all.

use seekwise_disk::time::Span;
use seekwise_work::workload::{AccessLine, AccessSpec};

/// A row without delay, bursts or replies, aligned to sectors.
const fn row(size_bytes: u32, share_percent: u8, read_percent: u8, random_percent: u8) -> AccessLine {
    AccessLine {
        size: size_bytes,
        share: share_percent,
        reads: read_percent,
        random: random_percent,
        delay: Span::ZERO,
        burst: 1,
        align: 0,
        reply: 0,
    }
}

/// A specification of one row: name, bytes of a request, percent of reads, percent of random requests.
type OneRowSpec = (&'static str, u32, u8, u8);

/// Intel's File Server: a drive review of 2001, a published .icf and fio's example agree on all eight rows.
const FILE_SERVER: [AccessLine; 8] = [
    row(512, 10, 80, 100),
    row(1024, 5, 80, 100),
    row(2048, 5, 80, 100),
    row(4096, 60, 80, 100),
    row(8192, 2, 80, 100),
    row(16_384, 4, 80, 100),
    row(32_768, 4, 80, 100),
    row(65_536, 10, 80, 100),
];

/// Web Server: a published .icf and a magazine's table agree, but for a misprint in one: 66,560 for 65,536.
const WEB_SERVER: [AccessLine; 10] = [
    row(512, 22, 100, 100),
    row(1024, 15, 100, 100),
    row(2048, 8, 100, 100),
    row(4096, 23, 100, 100),
    row(8192, 15, 100, 100),
    row(16_384, 2, 100, 100),
    row(32_768, 6, 100, 100),
    row(65_536, 7, 100, 100),
    row(131_072, 1, 100, 100),
    row(524_288, 1, 100, 100),
];

/// Specifications of one row. All but the last are from outside Iometer.
const PUBLISHED: [OneRowSpec; 24] = [
    // Intel and StorageReview; the review of 2001 and the published .icf agree.
    ("Database", 8192, 67, 100),
    ("Workstation", 8192, 80, 80),
    // The review of 2001: streaming is 8 KiB in sequence.
    ("Streaming Read", 8192, 100, 0),
    ("Streaming Write", 8192, 0, 0),
    ("Random Read", 8192, 100, 100),
    ("Random Write", 8192, 0, 100),
    // The probe of mean access time in drive reviews; run at a depth of 1.
    ("Access time, read", 512, 100, 100),
    ("Access time, write", 512, 0, 100),
    // Names from publications. The mix, two reads to one write at random, has no source: the file was not found.
    ("OLTP 2K", 2048, 67, 100),
    ("OLTP 4K", 4096, 67, 100),
    ("OLTP 8K", 8192, 67, 100),
    // From the published .icf that has the servers above.
    ("Decision Support", 1_048_576, 100, 100),
    ("Media Streaming", 65_536, 98, 0),
    ("SQL Server Log", 65_536, 0, 0),
    ("Web Server Log", 8192, 0, 0),
    ("Video on Demand", 524_288, 100, 100),
    ("Exchange", 4096, 67, 100),
    ("OS Paging", 65_536, 90, 0),
    // The four patterns of VMware's open storage performance thread, as a blog of 2010 quotes them.
    ("Max Throughput-100%Read", 32_768, 100, 0),
    ("RealLife-60%Rand-65%Read", 8192, 65, 60),
    ("Max Throughput-50%Read", 32_768, 50, 0),
    ("Random-8k-70%Read", 8192, 70, 100),
    // A virtual desktop, from a blog on sizing such desktops: one request in five is in sequence.
    ("VDI desktop", 4096, 20, 80),
    // The row of a new specification in Iometer before 1.1, not aligned (the "Default" of 1.1 is below).
    ("Default (before 1.1)", 2048, 67, 100),
];

/// All specifications: the published ones, Iometer's own of 1.1, Iometer's own of 2004 to 2008. Names are unique.
pub fn specs() -> Vec<AccessSpec> {
    let mut specs = vec![build_spec("File Server", &FILE_SERVER), build_spec("Web Server", &WEB_SERVER)];
    specs.extend(PUBLISHED.map(|(name, size, reads, random)| build_spec(name, &[row(size, 100, reads, random)])));
    // A magazine's streaming test: three sizes, a third each, run with four workers.
    for (name, reads) in [("Mixed Streaming Read", 100), ("Mixed Streaming Write", 0)] {
        let sizes = [(65_536, 34), (131_072, 33), (262_144, 33)];
        specs.push(build_spec(name, &sizes.map(|(size, share)| row(size, share, reads, 0))));
    }
    specs.extend(build_list_of_1_1());
    specs.extend(build_list_of_2004());
    specs
}

/// The list of a new Iometer 1.1, from the file that Iometer saves.
fn build_list_of_1_1() -> Vec<AccessSpec> {
    let mut specs = Vec::new();
    for (size, size_name) in [(512, "512 B"), (4096, "4 KiB"), (16_384, "16 KiB"), (32_768, "32 KiB")] {
        specs.extend(sequential_specs(size, size_name, &[100, 75, 50, 25, 0]));
        if size == 4096 {
            specs.extend([100, 50, 0].map(|reads| {
                let aligned = AccessLine { align: 4096, ..row(4096, 100, reads, 100) };
                build_spec(&format!("4 KiB aligned; {reads}% Read; 100% random"), &[aligned])
            }));
        }
    }
    for (size, size_name) in [(65_536, "64 KiB"), (262_144, "256 KiB")] {
        specs.extend(sequential_specs(size, size_name, &[100, 50, 0]));
    }
    specs.push(combine_in_equal_shares("All in one", &specs));
    specs.insert(0, build_spec("Default", &[AccessLine { align: 2048, ..row(2048, 100, 67, 100) }]));
    specs
}

/// The list of 2004-04-24 to 2008, whose names have other units.
fn build_list_of_2004() -> Vec<AccessSpec> {
    let sizes = [(512, "512B"), (4096, "4K"), (16_384, "16K"), (32_768, "32K")];
    let mut specs: Vec<AccessSpec> = sizes
        .into_iter()
        .flat_map(|(size, size_name)| sequential_specs(size, size_name, &[100, 75, 50, 25, 0]))
        .collect();
    specs.push(combine_in_equal_shares("All in one (2004)", &specs));
    specs
}

fn sequential_specs(size_bytes: u32, size_name: &str, read_percents: &[u8]) -> Vec<AccessSpec> {
    let spec =
        |&reads: &u8| build_spec(&format!("{size_name}; {reads}% Read; 0% random"), &[row(size_bytes, 100, reads, 0)]);
    read_percents.iter().map(spec).collect()
}

/// A specification of all rows in equal shares. The first rows have one percent more until the sum is 100.
fn combine_in_equal_shares(name: &str, specs: &[AccessSpec]) -> AccessSpec {
    let rows: Vec<AccessLine> = specs.iter().flat_map(|spec| spec.lines.iter().copied()).collect();
    let count = rows.len();
    let share = |index: usize| (100 / count + usize::from(index < 100 % count)) as u8;
    let lines = rows.iter().enumerate().map(|(index, row)| AccessLine { share: share(index), ..*row });
    AccessSpec { name: name.to_owned(), lines: lines.collect() }
}

fn build_spec(name: &str, rows: &[AccessLine]) -> AccessSpec {
    AccessSpec { name: name.to_owned(), lines: rows.to_vec() }
}
