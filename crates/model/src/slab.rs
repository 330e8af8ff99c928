//! A list whose places are used again, the last one freed first.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// Things by number. Whoever holds a number knows whether it is free.
pub struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// Empty, with room for so many before it grows.
    pub fn with_capacity(capacity: usize) -> Slab<T> {
        Slab { places: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Takes a place; answers its number.
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

    /// Takes a place with what was left in it, or `new` where it is a new one; answers its number.
    #[inline]
    pub fn claim(&mut self, new: impl FnOnce() -> T) -> u32 {
        match self.free.pop() {
            Some(index) => index,
            None => {
                self.places.push(new());
                self.places.len() as u32 - 1
            }
        }
    }

    /// The place is free; what is in it stays until it is taken again.
    #[inline]
    pub fn free(&mut self, index: u32) {
        self.free.push(index);
    }

    /// The first of the `last` places freed, none of which was taken since.
    #[inline]
    pub fn freed(&self, last: u32) -> u32 {
        self.free[self.free.len() - last as usize]
    }

    /// Places that are taken.
    #[inline]
    pub fn taken(&self) -> u32 {
        (self.places.len() - self.free.len()) as u32
    }

    /// Numbers given out so far, those that are free again among them.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// None was ever given out.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
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
    fn what_was_freed_last_is_found_in_order_and_taken_first() {
        let mut slab = Slab::with_capacity(4);
        let numbers: Vec<u32> = (0..4).map(|item| slab.put(item)).collect();
        [2, 0, 3].into_iter().for_each(|index| slab.free(numbers[index]));
        assert_eq!(slab.taken(), 1);
        assert_eq!([3, 2, 1].map(|last| slab.freed(last)), [2, 0, 3]);
        assert_eq!((slab.claim(|| 9), slab[3], slab.taken()), (3, 3, 2), "with what was left in it");
        assert_eq!([2, 1].map(|last| slab.freed(last)), [2, 0]);
    }
}
