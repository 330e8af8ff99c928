//! Sorts requests by timestamp in a bounded window. Traces are nearly sorted: requests in order go
//! into a queue, and only late ones into a heap, so that a sorted trace costs only one comparison per request.

use std::collections::{BinaryHeap, VecDeque};

use seekwise_drives::diagnostic::Diagnostic;

use super::sink::RawEntry;

/// A window of requests.
pub(super) struct ReorderWindow {
    most: usize,
    /// Requests in order.
    queue: VecDeque<RawEntry>,
    /// Late requests, which came after one with a later timestamp.
    late: BinaryHeap<LateEntry>,
    /// Number of the last late request, which tells equals apart.
    number: u64,
    /// The timestamp of the last request returned.
    returned: u64,
    /// Number of late requests so far.
    pub reordered: u64,
}

/// A late request and its number. The earliest is the greatest; among equals, the one that came first.
struct LateEntry(RawEntry, u64);

impl Ord for LateEntry {
    fn cmp(&self, other: &LateEntry) -> std::cmp::Ordering {
        (other.0.at, other.1).cmp(&(self.0.at, self.1))
    }
}

impl PartialOrd for LateEntry {
    fn partial_cmp(&self, other: &LateEntry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for LateEntry {
    fn eq(&self, other: &LateEntry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for LateEntry {}

impl ReorderWindow {
    /// A window of at most this many requests.
    pub fn new(most: usize) -> ReorderWindow {
        ReorderWindow { most, queue: VecDeque::new(), late: BinaryHeap::new(), number: 0, returned: 0, reordered: 0 }
    }

    /// Whether it is full.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.queue.len() + self.late.len() >= self.most
    }

    /// Adds a request; an error if it is earlier than one already returned.
    #[inline]
    pub fn add(&mut self, file: &str, raw: RawEntry) -> Result<(), Diagnostic> {
        if self.queue.back().is_none_or(|last| last.at <= raw.at) && raw.at >= self.returned {
            self.queue.push_back(raw);
            return Ok(());
        }
        if raw.at < self.returned {
            return Err(self.too_late_error(file, &raw));
        }
        self.reordered += 1;
        self.number += 1;
        self.late.push(LateEntry(raw, self.number));
        Ok(())
    }

    #[cold]
    fn too_late_error(&self, file: &str, raw: &RawEntry) -> Diagnostic {
        let by = (self.returned - raw.at) as f64 / 1e9;
        let fault = format!("it is {by:.6} s earlier than a line more than {} requests before it", self.most);
        let expected = "a trace sorted by time, or a larger trace.window";
        Diagnostic::at(file, raw.line as usize, fault).with_key("time").with_expected(expected)
    }

    /// Removes the earliest request.
    #[inline]
    pub(crate) fn pop_earliest(&mut self) -> Option<RawEntry> {
        let raw = match (self.late.peek(), self.queue.front()) {
            // Among equals, the one in the queue came first: a request joins the queue only if none before it has a later timestamp.
            (Some(late), Some(front)) if late.0.at < front.at => self.late.pop().map(|late| late.0),
            (Some(_), None) => self.late.pop().map(|late| late.0),
            _ => self.queue.pop_front(),
        }?;
        self.returned = raw.at;
        Some(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(at: u64, line: u64) -> RawEntry {
        RawEntry { at, line, ..RawEntry::default() }
    }

    fn ordered(instants: &[u64], window: usize) -> Result<(Vec<(u64, u64)>, u64), String> {
        let mut order = ReorderWindow::new(window);
        let mut given = Vec::new();
        for (index, &at) in instants.iter().enumerate() {
            if order.is_full() {
                given.extend(order.pop_earliest().map(|raw| (raw.at, raw.line)));
            }
            order.add("t", raw(at, index as u64 + 1)).map_err(|fault| fault.to_string())?;
        }
        given.extend(std::iter::from_fn(|| order.pop_earliest()).map(|raw| (raw.at, raw.line)));
        Ok((given, order.reordered))
    }

    #[test]
    fn what_comes_late_is_put_in_its_place_and_equals_keep_theirs() {
        let (given, reordered) = ordered(&[5, 9, 7, 7, 9, 6, 12], 10).unwrap();
        assert_eq!(given, [(5, 1), (6, 6), (7, 3), (7, 4), (9, 2), (9, 5), (12, 7)]);
        assert_eq!(reordered, 3);
        assert_eq!(ordered(&[1, 2, 2, 3], 2).unwrap().1, 0);
    }

    #[test]
    fn what_comes_too_late_is_refused_with_its_line() {
        let said = ordered(&[3_000_000_000, 4_000_000_000, 5_000_000_000, 1_000_000_000], 2).unwrap_err();
        assert_eq!(
            said,
            "t:4: `time`: it is 3.000000 s earlier than a line more than 2 requests before it; expected a trace \
             sorted by time, or a larger trace.window"
        );
    }

    /// Compares with a full sort, for random disorder within the window.
    #[test]
    fn a_window_sorts_what_is_displaced_by_less_than_it() {
        let mut state = 7u64;
        let mut instants: Vec<u64> = Vec::new();
        for index in 0..2_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            instants.push(index * 10 + (state >> 33) % 300);
        }
        let (given, reordered) = ordered(&instants, 64).unwrap();
        let mut sorted: Vec<(u64, u64)> = instants.iter().zip(1..).map(|(&at, line)| (at, line)).collect();
        sorted.sort_by_key(|row| row.0);
        let instants = |rows: &[(u64, u64)]| rows.iter().map(|row| row.0).collect::<Vec<_>>();
        assert_eq!(instants(&given), instants(&sorted));
        assert!(reordered > 1_000);
    }
}
