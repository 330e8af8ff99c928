//! A store that flushes first keeps all acknowledged writes, and only such a store does; equal seeds give equal runs.

use seekwise_example_turmoil::outage::{report, run};
use seekwise_example_turmoil::store::Acknowledge::{AfterFlush, BeforeFlush};

const SEEDS: [u64; 2] = [1, 2];

#[test]
fn equal_seeds_are_equal_runs() {
    for acknowledge in [BeforeFlush, AfterFlush] {
        let [one, other] = SEEDS.map(|seed| {
            let first = run(seed, acknowledge).unwrap();
            assert_eq!(first, run(seed, acknowledge).unwrap(), "seed {seed}");
            first
        });
        assert_ne!(one, other, "another seed, another network and other platters");
    }
}

#[test]
fn what_was_flushed_before_its_acknowledgement_is_there_after_an_outage() {
    for seed in SEEDS {
        let outcome = run(seed, AfterFlush).unwrap();
        assert!(outcome.acknowledged.len() > 20, "{}", outcome.acknowledged.len());
        assert_eq!(outcome.lost, [""; 0], "seed {seed}");
    }
}

#[test]
fn what_was_acknowledged_before_the_flush_may_be_lost() {
    for seed in SEEDS {
        let outcome = run(seed, BeforeFlush).unwrap();
        assert!(!outcome.lost.is_empty(), "seed {seed}: {} acknowledged", outcome.acknowledged.len());
    }
}

#[test]
fn the_manual_shows_what_the_example_prints() {
    let page = include_str!("../../../docs/embed.md");
    let lines: Vec<&str> = page.lines().map(str::trim).collect();
    let printed = report(1).unwrap();
    let printed: Vec<&str> = printed.lines().collect();
    assert!(lines.windows(printed.len()).any(|some| some == printed), "docs/embed.md lacks:\n{}", printed.join("\n"));
}
