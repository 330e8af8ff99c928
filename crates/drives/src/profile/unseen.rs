//! What a job asks of a fitted drive and no measurement of the fit covered: a direction, an order, a depth, a block size, the
//! state of the write cache. The model answers there too, but nothing has checked its answer.

use std::fmt::Display;

use super::fit_record::{FitRecord, LoadPattern, SeenLoad};

impl FitRecord {
    /// The parts of a job's `loads` that no measurement covered, each in a few words: `writes`, `depth 8, between the seen 4 and 16`.
    pub fn unseen(&self, loads: &[SeenLoad]) -> Vec<String> {
        let mut unseen: Vec<String> = Vec::new();
        for word in loads.iter().flat_map(|load| self.unseen_parts(load)) {
            if !unseen.contains(&word) {
                unseen.push(word);
            }
        }
        unseen
    }

    fn unseen_parts(&self, load: &SeenLoad) -> Vec<String> {
        let (mut parts, pattern) = (Vec::new(), load.pattern);
        parts.extend(self.unseen_pattern(pattern));
        let nearest_seen = self.nearest_seen(pattern);
        let with_cache = |on: bool| nearest_seen.iter().any(|seen| seen.pattern.writes() && seen.write_cache == on);
        if pattern.writes() && !with_cache(load.write_cache) && with_cache(!load.write_cache) {
            let word = |on: bool| if on { "on" } else { "off" };
            parts.push(format!("the write cache {} (seen: {})", word(load.write_cache), word(!load.write_cache)));
        }
        let depths = nearest_seen.iter().map(|seen| u64::from(seen.depth)).collect();
        let depth = unseen_value("depth ", depths, u64::from(load.depth), |depth| depth.to_string());
        let blocks = nearest_seen.iter().map(|seen| seen.block_bytes).collect();
        let block = unseen_value("blocks of ", blocks, load.block_bytes, block_text);
        let is_seen_together =
            nearest_seen.iter().any(|seen| (seen.depth, seen.block_bytes) == (load.depth, load.block_bytes));
        if depth.is_none() && block.is_none() && !is_seen_together {
            parts.push(format!("depth {} with blocks of {}", load.depth, block_text(load.block_bytes)));
        }
        parts.extend(depth.into_iter().chain(block));
        parts
    }

    /// The pattern in words if it was not seen: no more of it than is missing.
    fn unseen_pattern(&self, pattern: LoadPattern) -> Option<String> {
        let any = |is_such: &dyn Fn(LoadPattern) -> bool| self.seen.iter().any(|seen| is_such(seen.pattern));
        if any(&|seen| seen == pattern) {
            return None;
        }
        let directions = (pattern.reads(), pattern.writes());
        let order = if pattern.is_random() { "random" } else { "sequential" };
        let words = match directions {
            (true, true) => "mixed reads and writes",
            (true, false) => "reads",
            (false, _) => "writes",
        };
        Some(match () {
            () if any(&|seen| (seen.reads(), seen.writes()) == directions) => format!("{order} {words}"),
            () if pattern.writes() && !any(&LoadPattern::writes) => "writes".to_owned(),
            () if pattern.reads() && !any(&LoadPattern::reads) => "reads".to_owned(),
            () => words.to_owned(),
        })
    }

    /// The seen loads of this pattern; else of its directions, else all.
    fn nearest_seen(&self, pattern: LoadPattern) -> Vec<&SeenLoad> {
        let directions = |pattern: LoadPattern| (pattern.reads(), pattern.writes());
        let matching = |is_such: &dyn Fn(LoadPattern) -> bool| -> Vec<&SeenLoad> {
            self.seen.iter().filter(|seen| is_such(seen.pattern)).collect()
        };
        let choices = [
            matching(&|seen| seen == pattern),
            matching(&|seen| directions(seen) == directions(pattern)),
            matching(&|_| true),
        ];
        choices.into_iter().find(|seen| !seen.is_empty()).unwrap_or_default()
    }
}

/// A value that is not among the `seen` ones, in words, with the nearest of them.
fn unseen_value<T: Display>(name: &str, mut seen: Vec<u64>, value: u64, text: impl Fn(u64) -> T) -> Option<String> {
    seen.sort_unstable();
    seen.dedup();
    if seen.is_empty() || seen.contains(&value) {
        return None;
    }
    let below = seen.iter().rev().find(|known| **known < value).copied();
    let above = seen.iter().find(|known| **known > value).copied();
    let place = match (below, above) {
        (Some(below), Some(above)) => format!("between the seen {} and {}", text(below), text(above)),
        (Some(most), None) => format!("beyond the seen {}", text(most)),
        (None, Some(least)) => format!("below the seen {}", text(least)),
        (None, None) => return None,
    };
    Some(format!("{name}{}, {place}", text(value)))
}

/// A block size as people write it.
fn block_text(bytes: u64) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LoadPattern::{Mixed, RandomMixed, RandomRead, RandomWrite, Read, Write};

    fn record(seen: &[(LoadPattern, u64, u32)]) -> FitRecord {
        let loads = seen.iter().map(|&(pattern, bytes, depth)| SeenLoad::new(pattern, bytes, depth, true));
        FitRecord::new(loads.collect(), Vec::new())
    }

    fn unseen(record: &FitRecord, (pattern, bytes, depth): (LoadPattern, u64, u32)) -> String {
        record.unseen(&[SeenLoad::new(pattern, bytes, depth, true)]).join("; ")
    }

    #[test]
    fn what_was_seen_is_not_named() {
        let record = record(&[(RandomRead, 4096, 1), (Read, 1 << 20, 1)]);
        assert_eq!(unseen(&record, (RandomRead, 4096, 1)), "");
        assert_eq!(unseen(&record, (Read, 1 << 20, 1)), "");
        assert_ne!(unseen(&record, (Read, 4096, 1)), "", "the block was seen at random only");
    }

    #[test]
    fn depths_and_blocks_are_named_with_the_nearest_seen_ones() {
        let record = record(&[(RandomRead, 4096, 1), (RandomRead, 4096, 4), (RandomRead, 4096, 16)]);
        let at = |bytes, depth| unseen(&record, (RandomRead, bytes, depth));
        assert_eq!(at(4096, 8), "depth 8, between the seen 4 and 16");
        assert_eq!(at(4096, 64), "depth 64, beyond the seen 16");
        assert_eq!(at(512, 4), "blocks of 512 B, below the seen 4 KiB");
    }

    #[test]
    fn a_depth_and_a_block_that_were_seen_apart_are_named_together() {
        let record = record(&[(RandomRead, 4096, 8), (RandomRead, 65_536, 1)]);
        assert_eq!(unseen(&record, (RandomRead, 65_536, 8)), "depth 8 with blocks of 64 KiB");
    }

    #[test]
    fn a_pattern_is_named_by_what_is_missing_of_it() {
        let reads = record(&[(RandomRead, 4096, 1)]);
        for (pattern, expected) in [
            (Read, "sequential reads"),
            (Write, "writes"),
            (RandomWrite, "writes"),
            (Mixed, "writes"),
            (RandomMixed, "writes"),
        ] {
            assert_eq!(unseen(&reads, (pattern, 4096, 1)), expected, "{pattern}");
        }
        let both = record(&[(RandomRead, 4096, 1), (RandomWrite, 4096, 1)]);
        assert_eq!(unseen(&both, (RandomMixed, 4096, 1)), "mixed reads and writes");
        assert_eq!(unseen(&both, (Write, 4096, 1)), "sequential writes");
        let mixed = record(&[(RandomMixed, 4096, 1)]);
        assert_eq!(unseen(&mixed, (Mixed, 4096, 1)), "sequential mixed reads and writes");
        assert_eq!(unseen(&mixed, (RandomWrite, 4096, 1)), "writes");
        assert_eq!(unseen(&record(&[(RandomWrite, 4096, 1)]), (RandomRead, 4096, 1)), "reads");
    }

    #[test]
    fn the_write_cache_matters_to_writes() {
        let both = record(&[(RandomRead, 4096, 1), (RandomWrite, 4096, 1)]);
        let uncached = |pattern| both.unseen(&[SeenLoad::new(pattern, 4096, 1, false)]).join("; ");
        assert_eq!(uncached(RandomWrite), "the write cache off (seen: on)");
        assert_eq!(uncached(RandomRead), "");
    }

    #[test]
    fn several_loads_name_a_part_once() {
        let reads = record(&[(RandomRead, 4096, 1)]);
        let loads = [SeenLoad::new(RandomRead, 4096, 2, true), SeenLoad::new(RandomWrite, 4096, 2, true)];
        assert_eq!(reads.unseen(&loads), ["depth 2, beyond the seen 1", "writes"]);
    }
}
