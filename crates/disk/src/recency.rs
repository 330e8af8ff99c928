//! An LRU list over a fixed number of items: a doubly linked list in an array. Each operation takes constant time.

use alloc::vec::Vec;

/// Items numbered from 0, in the order of their last use.
#[derive(Clone, Debug)]
pub struct LruList {
    /// By item. Index `n` is the list's own end.
    links: Vec<Neighbours>,
}

/// The neighbours of an item.
#[derive(Clone, Copy, Debug)]
struct Neighbours {
    /// Towards the newer end.
    newer: u32,
    /// Towards the older end.
    older: u32,
}

impl LruList {
    /// A list of `n` items; item 0 counts as the least recently used.
    pub fn new(n: usize) -> LruList {
        let ends = n as u32 + 1;
        let links = (0..ends).map(|i| Neighbours { newer: (i + 1) % ends, older: (i + ends - 1) % ends });
        LruList { links: links.collect() }
    }

    /// Adds an item as the most recently used.
    pub fn push_newest(&mut self) {
        let (was, end) = (self.end_index(), self.links.len() as u32);
        let Neighbours { newer, older } = self.links[was as usize];
        let alone = newer == was;
        self.links.push(if alone { Neighbours { newer: end, older: end } } else { Neighbours { newer, older } });
        if !alone {
            self.links[newer as usize].older = end;
            self.links[older as usize].newer = end;
        }
        // The new item's number was that of the end.
        self.links[was as usize] = Neighbours { newer: was, older: was };
        self.touch(was as usize);
    }

    #[inline(always)]
    fn end_index(&self) -> u32 {
        self.links.len() as u32 - 1
    }

    #[inline(always)]
    fn unlink(&mut self, thing: u32) {
        let Neighbours { newer, older } = self.links[thing as usize];
        self.links[older as usize].newer = newer;
        self.links[newer as usize].older = older;
    }

    #[inline(always)]
    fn link_after(&mut self, older: u32, thing: u32) {
        let newer = core::mem::replace(&mut self.links[older as usize].newer, thing);
        self.links[thing as usize] = Neighbours { newer, older };
        self.links[newer as usize].older = thing;
    }

    /// Makes `thing` the most recently used.
    #[inline(always)]
    pub fn touch(&mut self, thing: usize) {
        let (thing, newest) = (thing as u32, self.links[self.end_index() as usize].older);
        if thing != newest {
            self.unlink(thing);
            self.link_after(newest, thing);
        }
    }

    /// Makes `thing` the least recently used.
    pub fn demote(&mut self, thing: usize) {
        let thing = thing as u32;
        self.unlink(thing);
        self.link_after(self.end_index(), thing);
    }

    /// Moves `thing` to just after `other`, as if it was used right after it.
    pub fn move_after(&mut self, thing: usize, other: usize) {
        self.unlink(thing as u32);
        self.link_after(other as u32, thing as u32);
    }

    /// The most recently used item.
    #[inline]
    pub fn newest(&self) -> Option<usize> {
        let newest = self.links[self.end_index() as usize].older;
        (newest != self.end_index()).then_some(newest as usize)
    }

    /// The item used just before `thing`.
    #[inline]
    pub fn next_older(&self, thing: usize) -> Option<usize> {
        let before = self.links[thing].older;
        (before != self.end_index()).then_some(before as usize)
    }

    /// The item used just after `thing`.
    #[inline(always)]
    pub fn next_newer(&self, thing: usize) -> Option<usize> {
        let after = self.links[thing].newer;
        (after != self.end_index()).then_some(after as usize)
    }

    /// Takes `thing` off the list until it is touched or demoted.
    #[inline(always)]
    pub fn retire(&mut self, thing: usize) {
        let thing = thing as u32;
        self.unlink(thing);
        self.links[thing as usize] = Neighbours { newer: thing, older: thing };
    }

    /// True if `thing` is off the list.
    #[inline(always)]
    pub fn is_retired(&self, thing: usize) -> bool {
        self.links[thing].newer == thing as u32
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
    pub fn oldest_first(&self) -> impl Iterator<Item = usize> + '_ {
        let end = self.end_index();
        let after = move |&thing: &u32| Some(self.links[thing as usize].newer).filter(|&next| next != end);
        core::iter::successors(after(&end), after).map(|thing| thing as usize)
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
        recency.demote(3);
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
        recency.demote(0);
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
