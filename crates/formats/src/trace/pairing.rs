//! Matches requests of a kernel trace with their completions: a completion completes the sectors of every pending request within
//! it, since requests are merged on the way down. A split request completes with its last part.
//!
//! Pending requests are bounded: after a number of further ones, one without completion is passed on without response time.

use std::collections::{BTreeMap, VecDeque};

use super::sink::{EntrySink, RawEntry};

/// The most requests that wait for their completions; more are in flight on no device, unless events were lost.
const MOST: usize = 1 << 16;

/// The longest request in sectors, which limits the search for a completion's requests; the kernel's own limit is at most 32 MiB.
const LONGEST: u64 = 1 << 16;

#[derive(Default)]
pub(super) struct Pairing {
    /// In the order of issue, with the number of sectors that are not complete yet.
    waiting: VecDeque<(RawEntry, u64)>,
    /// The number of the first one.
    first: u64,
    /// Device, sector and number of each pending request.
    places: BTreeMap<(u32, u64, u64), ()>,
}

impl Pairing {
    /// Adds a request.
    pub fn issue(&mut self, raw: RawEntry, sink: &mut EntrySink) {
        let number = self.first + self.waiting.len() as u64;
        if raw.sectors > 0 {
            self.places.insert((raw.device, raw.lba, number), ());
        }
        self.waiting.push_back((raw, raw.sectors.into()));
        if self.waiting.len() > MOST {
            self.pass_on_first(sink);
        }
    }

    /// Completes sectors of a device.
    pub fn complete(&mut self, device: u32, lba: u64, sectors: u64, at: u64, sink: &mut EntrySink) {
        let end = lba.saturating_add(sectors);
        let from = (device, lba.saturating_sub(LONGEST), 0);
        let over: Vec<(u32, u64, u64)> = self.places.range(from..(device, end, 0)).map(|(place, ())| *place).collect();
        for place in over {
            let (raw, left) = &mut self.waiting[(place.2 - self.first) as usize];
            let shared = end.min(raw.lba + u64::from(raw.sectors)).saturating_sub(lba.max(raw.lba));
            *left = left.saturating_sub(shared);
            if shared > 0 && *left == 0 {
                raw.response = Some(at.saturating_sub(raw.at));
                self.places.remove(&place);
            }
        }
        // A request without sectors cannot be matched with its completion.
        while self.waiting.front().is_some_and(|(raw, left)| *left == 0 || raw.sectors == 0) {
            self.pass_on_first(sink);
        }
    }

    /// Passes on the remaining requests at the end.
    pub fn finish(&mut self, sink: &mut EntrySink) {
        while !self.waiting.is_empty() {
            self.pass_on_first(sink);
        }
    }

    fn pass_on_first(&mut self, sink: &mut EntrySink) {
        if let Some((raw, _)) = self.waiting.pop_front() {
            self.places.remove(&(raw.device, raw.lba, self.first));
            self.first += 1;
            sink.put(raw);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(events: &[(char, u64, u32, u64)]) -> Vec<(u64, Option<u64>)> {
        let (mut pairing, mut sink) = (Pairing::default(), EntrySink::default());
        sink.devices.names.push("d".to_owned());
        for &(event, lba, sectors, at) in events {
            match event {
                'Q' => pairing.issue(RawEntry { lba, sectors, at, ..RawEntry::default() }, &mut sink),
                _ => pairing.complete(0, lba, sectors.into(), at, &mut sink),
            }
        }
        pairing.finish(&mut sink);
        sink.ready.iter().map(|raw| (raw.lba, raw.response)).collect()
    }

    #[test]
    fn merged_requests_end_together_and_split_ones_with_their_last_part() {
        let merged =
            paired(&[('Q', 100, 8, 1), ('Q', 108, 8, 2), ('Q', 500, 8, 3), ('C', 100, 16, 10), ('C', 500, 8, 20)]);
        assert_eq!(merged, [(100, Some(9)), (108, Some(8)), (500, Some(17))]);
        let split = paired(&[('Q', 0, 16, 1), ('C', 8, 8, 5), ('C', 0, 8, 9)]);
        assert_eq!(split, [(0, Some(8))]);
    }

    #[test]
    fn what_never_ends_has_no_response_and_holds_nothing_up_for_ever() {
        assert_eq!(paired(&[('Q', 0, 8, 1), ('Q', 64, 8, 2), ('C', 64, 8, 3)]), [(0, None), (64, Some(1))]);
        let many: Vec<_> = (0..MOST as u64 + 9).map(|i| ('Q', i * 8, 8, i)).collect();
        assert_eq!(paired(&many).len(), many.len());
        assert_eq!(paired(&[('C', 0, 8, 3), ('Q', 0, 0, 4)]), [(0, None)], "a completion of nothing, and a flush");
    }
}
