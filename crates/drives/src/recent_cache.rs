//! A cache of the most recently used values, each stored with what it was built from. Threads may share it; callers build the
//! values.

use std::sync::{Mutex, PoisonError};

/// The most recently used values of a kind, the last used at the end.
pub struct RecentCache<T> {
    most: usize,
    all: Mutex<Vec<T>>,
}

impl<T> RecentCache<T> {
    /// An empty cache of at most `most` values.
    pub fn new(most: usize) -> RecentCache<T> {
        RecentCache { most, all: Mutex::new(Vec::new()) }
    }

    /// Finds the value that `is` accepts, marks it as the last used, and returns what `tell` reads from it.
    pub fn find<R>(&self, is: impl Fn(&T) -> bool, tell: impl FnOnce(&T) -> R) -> Option<R> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().rposition(is)?;
        all[place..].rotate_left(1);
        all.last().map(tell)
    }

    /// Adds a value; if the cache is full, the least recently used is dropped.
    pub fn add(&self, one: T) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == self.most {
            all.remove(0);
        }
        all.push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_not_asked_for_longest_gives_way() {
        let kept: RecentCache<u32> = RecentCache::new(16);
        let has = |number: u32| kept.find(|&it| it == number, |&it| it) == Some(number);
        (0..16).for_each(|number| kept.add(number));
        assert!(has(0) && !has(16));
        kept.add(16);
        assert!(has(0) && !has(1) && has(16));
        kept.add(17);
        assert!(has(0) && !has(2) && has(3));
    }
}
