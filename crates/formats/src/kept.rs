//! The last few things that were made, each with what it was made from, so that one that is asked for again is not made again. A
//! process has one list of each kind, for all its threads. Makes nothing itself.

use std::sync::{Mutex, PoisonError};

/// The last things of a kind, the one that was asked for last at the end.
pub(crate) struct Kept<T> {
    most: usize,
    all: Mutex<Vec<T>>,
}

impl<T> Kept<T> {
    /// Keeps at most so many.
    pub(crate) const fn new(most: usize) -> Kept<T> {
        Kept { most, all: Mutex::new(Vec::new()) }
    }

    /// What `tell` says of the one that is asked for.
    pub(crate) fn find<R>(&self, is: impl Fn(&T) -> bool, tell: impl FnOnce(&T) -> R) -> Option<R> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().rposition(is)?;
        all[place..].rotate_left(1);
        all.last().map(tell)
    }

    /// Adds one; the least recently used is dropped.
    pub(crate) fn add(&self, one: T) {
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
        let kept: Kept<u32> = Kept::new(16);
        let has = |number: u32| kept.find(|&it| it == number, |&it| it) == Some(number);
        (0..16).for_each(|number| kept.add(number));
        assert!(has(0) && !has(16));
        kept.add(16);
        assert!(has(0) && !has(1) && has(16));
        kept.add(17);
        assert!(has(0) && !has(2) && has(3));
    }
}
