//! A list of numbered items in the order of their last use (LRU): a doubly linked list in an array. Each change takes
//! constant time. Only the caller knows what the items are.

use alloc::vec::Vec;

/// Items numbered from 0, in the order of their last use; a *retired* item keeps its number, but is off the list.
#[derive(Clone, Debug)]
pub struct LruList {
    /// By item. The last index is the list's own end, between the newest item and the oldest.
    links: Vec<Neighbours>,
}

/// The neighbours of an item. A retired item is its own neighbour on both sides.
#[derive(Clone, Copy, Debug)]
struct Neighbours {
    /// Towards the newer end.
    newer: u32,
    /// Towards the older end.
    older: u32,
}

impl LruList {
    /// A list of `items` items; item 0 counts as the least recently used.
    pub fn new(items: usize) -> LruList {
        let length = items as u32 + 1;
        let links = (0..length).map(|i| Neighbours { newer: (i + 1) % length, older: (i + length - 1) % length });
        LruList { links: links.collect() }
    }

    /// Adds an item as the most recently used. The item takes the index of the list's end, which moves one up.
    pub fn push_newest(&mut self) {
        let (item, new_end) = (self.end_index(), self.links.len() as u32);
        let Neighbours { newer, older } = self.links[item as usize];
        let is_empty = newer == item;
        let end_links =
            if is_empty { Neighbours { newer: new_end, older: new_end } } else { Neighbours { newer, older } };
        self.links.push(end_links);
        if !is_empty {
            self.links[newer as usize].older = new_end;
            self.links[older as usize].newer = new_end;
        }
        // As if retired, until it is touched.
        self.links[item as usize] = Neighbours { newer: item, older: item };
        self.touch(item as usize);
    }

    #[inline(always)]
    fn end_index(&self) -> u32 {
        self.links.len() as u32 - 1
    }

    #[inline(always)]
    fn unlink(&mut self, item: u32) {
        let Neighbours { newer, older } = self.links[item as usize];
        self.links[older as usize].newer = newer;
        self.links[newer as usize].older = older;
    }

    #[inline(always)]
    fn link_after(&mut self, older: u32, item: u32) {
        let newer = core::mem::replace(&mut self.links[older as usize].newer, item);
        self.links[item as usize] = Neighbours { newer, older };
        self.links[newer as usize].older = item;
    }

    /// Makes `item` the most recently used.
    #[inline(always)]
    pub fn touch(&mut self, item: usize) {
        let (item, newest) = (item as u32, self.links[self.end_index() as usize].older);
        if item != newest {
            self.unlink(item);
            self.link_after(newest, item);
        }
    }

    /// Makes `item` the least recently used.
    pub(crate) fn make_oldest(&mut self, item: usize) {
        let item = item as u32;
        self.unlink(item);
        self.link_after(self.end_index(), item);
    }

    /// Moves `item` to just after `older`, as if it was used right after it.
    pub fn move_after(&mut self, item: usize, older: usize) {
        self.unlink(item as u32);
        self.link_after(older as u32, item as u32);
    }

    /// The most recently used item.
    #[inline]
    pub fn newest(&self) -> Option<usize> {
        let newest = self.links[self.end_index() as usize].older;
        (newest != self.end_index()).then_some(newest as usize)
    }

    /// The item used just before `item`.
    #[inline]
    pub fn next_older(&self, item: usize) -> Option<usize> {
        let before = self.links[item].older;
        (before != self.end_index()).then_some(before as usize)
    }

    /// The item used just after `item`.
    #[inline(always)]
    pub(crate) fn next_newer(&self, item: usize) -> Option<usize> {
        let after = self.links[item].newer;
        (after != self.end_index()).then_some(after as usize)
    }

    /// Takes `item` off the list until it is touched or made the oldest.
    #[inline(always)]
    pub fn retire(&mut self, item: usize) {
        let item = item as u32;
        self.unlink(item);
        self.links[item as usize] = Neighbours { newer: item, older: item };
    }

    /// True if `item` is off the list.
    #[inline(always)]
    pub(crate) fn is_retired(&self, item: usize) -> bool {
        self.links[item].newer == item as u32
    }

    /// The least recently used item.
    #[inline(always)]
    pub fn oldest(&self) -> Option<usize> {
        let end = self.end_index();
        let oldest = self.links[end as usize].newer;
        (oldest != end).then_some(oldest as usize)
    }

    /// All items, the least recently used first.
    #[inline]
    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = usize> + '_ {
        let end = self.end_index();
        let after = move |&item: &u32| Some(self.links[item as usize].newer).filter(|&next| next != end);
        core::iter::successors(after(&end), after).map(|item| item as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_of_use() {
        let mut recency = LruList::new(4);
        let order = |recency: &LruList| recency.oldest_first().collect::<Vec<_>>();
        assert_eq!(order(&recency), [0, 1, 2, 3]);
        recency.touch(1);
        assert_eq!(order(&recency), [0, 2, 3, 1]);
        recency.make_oldest(3);
        assert_eq!(order(&recency), [3, 0, 2, 1]);
        recency.touch(1);
        assert_eq!(order(&recency), [3, 0, 2, 1]);
        recency.retire(0);
        recency.retire(0);
        assert_eq!(order(&recency), [3, 2, 1]);
        assert!(recency.is_retired(0) && !recency.is_retired(2));
        assert_eq!((recency.next_older(2), recency.next_older(3), recency.newest()), (Some(3), None, Some(1)));
        assert_eq!((recency.next_newer(3), recency.next_newer(1)), (Some(2), None));
        recency.move_after(1, 3);
        assert_eq!(order(&recency), [3, 1, 2]);
        recency.move_after(1, 2);
        recency.make_oldest(0);
        assert_eq!(order(&recency), [0, 3, 2, 1]);
        assert_eq!(order(&LruList::new(0)), []);
        recency.push_newest();
        assert_eq!(order(&recency), [0, 3, 2, 1, 4]);
        let mut grown = LruList::new(0);
        (0..3).for_each(|_| grown.push_newest());
        grown.retire(1);
        grown.push_newest();
        assert_eq!(order(&grown), [0, 2, 3]);
    }
}
