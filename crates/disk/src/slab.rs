//! A slab allocator: a list of numbered places that reuses free ones, the last one freed first.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// Items by number. Only the caller knows whether a number is free.
#[derive(Clone)]
pub struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// Empty, with room for `capacity` items before it grows.
    pub fn with_capacity(capacity: usize) -> Slab<T> {
        Slab { places: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Puts an item into a free place and returns its number.
    #[inline]
    pub fn put(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.places[index as usize] = item;
                index
            }
            None => {
                self.places.push(item);
                self.places.len() as u32 - 1
            }
        }
    }

    /// Takes a place and returns its number. A reused place keeps its old item; a new one holds what `new_item`
    /// returns.
    #[inline]
    pub fn claim_place(&mut self, new_item: impl FnOnce() -> T) -> u32 {
        match self.free.pop() {
            Some(index) => index,
            None => {
                self.places.push(new_item());
                self.places.len() as u32 - 1
            }
        }
    }

    /// Frees a place. The item stays there until the place is taken again.
    #[inline]
    pub fn free(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Returns the place that was freed `n`-th last, the last one for 1; neither it nor a later one may have been taken
    /// since.
    #[inline]
    pub(crate) fn nth_last_freed(&self, n: u32) -> u32 {
        self.free[self.free.len() - n as usize]
    }

    /// The number of places in use.
    #[inline]
    pub(crate) fn places_in_use(&self) -> u32 {
        (self.places.len() - self.free.len()) as u32
    }

    /// The number of places ever given out, including those that are free again.
    pub fn places_ever_used(&self) -> u32 {
        self.places.len() as u32
    }
}

impl<T> Slab<Option<T>> {
    /// Takes the item out of a place and frees the place, unless it is empty.
    #[inline]
    pub fn take(&mut self, index: u32) -> Option<T> {
        let item = self.places[index as usize].take()?;
        self.free(index);
        Some(item)
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.places[index as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.places[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_taken_out_once_and_its_place_is_free_once() {
        let mut slab = Slab::with_capacity(0);
        let (first, second) = (slab.put(Some('a')), slab.put(Some('b')));
        assert_eq!((slab.take(first), slab.take(first), slab.places_in_use()), (Some('a'), None, 1));
        assert_eq!((slab.put(Some('c')), slab.put(Some('d')), slab[second]), (first, 2, Some('b')));
    }

    #[test]
    fn what_was_freed_last_is_found_in_order_and_taken_first() {
        let mut slab = Slab::with_capacity(4);
        let numbers: Vec<u32> = (0..4).map(|item| slab.put(item)).collect();
        [2, 0, 3].into_iter().for_each(|index| slab.free(numbers[index]));
        assert_eq!(slab.places_in_use(), 1);
        assert_eq!([3, 2, 1].map(|n| slab.nth_last_freed(n)), [2, 0, 3]);
        assert_eq!((slab.claim_place(|| 9), slab[3], slab.places_in_use()), (3, 3, 2), "with what was left in it");
        assert_eq!([2, 1].map(|n| slab.nth_last_freed(n)), [2, 0]);
    }
}
