//! A cache of the most recently used values. Each value holds what it was built from, so that a caller can recognise it. Threads
//! may share a cache; callers build the values.

use std::sync::{Mutex, PoisonError};

/// The most recently used values of a kind, at most `capacity`.
pub struct RecentCache<T> {
    capacity: usize,
    /// The most recently used value is the last.
    values: Mutex<Vec<T>>,
}

impl<T> RecentCache<T> {
    /// An empty cache of at most `capacity` values.
    pub fn new(capacity: usize) -> RecentCache<T> {
        RecentCache { capacity, values: Mutex::new(Vec::new()) }
    }

    /// Finds a value that `matches` accepts, marks it as the most recently used, and returns what `read` makes of it.
    pub fn find_and_touch<R>(&self, matches: impl Fn(&T) -> bool, read: impl FnOnce(&T) -> R) -> Option<R> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let index = values.iter().rposition(matches)?;
        values[index..].rotate_left(1);
        values.last().map(read)
    }

    /// Adds a value; if the cache is full, the least recently used is dropped.
    pub fn add(&self, value: T) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if values.len() == self.capacity {
            values.remove(0);
        }
        values.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_value_is_dropped() {
        let cache: RecentCache<u32> = RecentCache::new(16);
        let has = |number: u32| cache.find_and_touch(|&it| it == number, |&it| it) == Some(number);
        (0..16).for_each(|number| cache.add(number));
        assert!(has(0) && !has(16));
        cache.add(16);
        assert!(has(0) && !has(1) && has(16));
        cache.add(17);
        assert!(has(0) && !has(2) && has(3));
    }
}
