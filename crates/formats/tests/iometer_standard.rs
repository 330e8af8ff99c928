//! The table of well-known access specifications: sums and names.

use seekwise_formats::iometer::standard;
use seekwise_work::workload::AccessSpec;

fn find_spec(name: &str) -> AccessSpec {
    standard::specs().into_iter().find(|spec| spec.name == name).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn shares_sum_to_100_and_names_are_unique() {
    let specs = standard::specs();
    let mut names: Vec<String> = specs.iter().map(|spec| spec.name.to_lowercase()).collect();
    for spec in &specs {
        assert_eq!(spec.lines.iter().map(|line| u32::from(line.share)).sum::<u32>(), 100, "{}", spec.name);
        assert!(spec.lines.iter().all(|line| line.size % 512 == 0 && line.burst == 1), "{}", spec.name);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), specs.len());
}

#[test]
fn the_mean_request_of_the_file_server_is_eleven_kib() {
    // 0.1·0.5 + 0.05·1 + 0.05·2 + 0.6·4 + 0.02·8 + 0.04·16 + 0.04·32 + 0.1·64 KiB, by hand.
    let bytes: u64 =
        find_spec("File Server").lines.iter().map(|line| u64::from(line.size) * u64::from(line.share)).sum();
    assert_eq!(bytes, 1_134_592);
    assert!(find_spec("File Server").lines.iter().all(|line| (line.reads, line.random) == (80, 100)));
}

#[test]
fn all_in_one_gives_the_remainder_to_its_first_rows() {
    let shares: Vec<u8> = find_spec("All in one").lines.iter().map(|line| line.share).collect();
    assert_eq!(shares, [[4; 13].as_slice(), [3; 16].as_slice()].concat());
    assert!(find_spec("All in one (2004)").lines.iter().all(|line| line.share == 5));
}
