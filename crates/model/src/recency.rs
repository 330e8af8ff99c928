//! An LRU list over a fixed number of items: a doubly linked list in two arrays. Each operation takes constant time.

use alloc::vec::Vec;

/// Items numbered from 0, in the order of their last use.
#[derive(Clone, Debug)]
pub struct LruList {
    /// Neighbours towards the newer and the older end. Index `n` is the list's own end.
    newer: Vec<u32>,
    older: Vec<u32>,
}

impl LruList {
    /// A list of `n` items; item 0 counts as the least recently used.
    pub fn new(n: usize) -> LruList {
        let ends = n as u32 + 1;
        let newer = (0..ends).map(|i| (i + 1) % ends).collect();
        let older = (0..ends).map(|i| (i + ends - 1) % ends).collect();
        LruList { newer, older }
    }

    /// Adds an item as the most recently used.
    pub fn add(&mut self) {
        let (was, end) = (self.end(), self.newer.len() as u32);
        let alone = self.newer[was as usize] == was;
        let (newer, older) = if alone { (end, end) } else { (self.newer[was as usize], self.older[was as usize]) };
        self.newer.push(newer);
        self.older.push(older);
        (self.older[newer as usize], self.newer[older as usize]) = (end, end);
        // The new item's number was that of the end.
        self.newer[was as usize] = was;
        self.older[was as usize] = was;
        self.touch(was as usize);
    }

    #[inline(always)]
    fn end(&self) -> u32 {
        self.newer.len() as u32 - 1
    }

    #[inline(always)]
    fn unlink(&mut self, thing: u32) {
        let (newer, older) = (self.newer[thing as usize], self.older[thing as usize]);
        self.newer[older as usize] = newer;
        self.older[newer as usize] = older;
    }

    #[inline(always)]
    fn link(&mut self, older: u32, thing: u32) {
        let newer = self.newer[older as usize];
        self.newer[older as usize] = thing;
        self.older[thing as usize] = older;
        self.newer[thing as usize] = newer;
        self.older[newer as usize] = thing;
    }

    /// Makes `thing` the most recently used.
    #[inline(always)]
    pub fn touch(&mut self, thing: usize) {
        let (thing, newest) = (thing as u32, self.older[self.end() as usize]);
        if thing != newest {
            self.unlink(thing);
            self.link(newest, thing);
        }
    }

    /// Makes `thing` the least recently used.
    pub fn demote(&mut self, thing: usize) {
        let thing = thing as u32;
        self.unlink(thing);
        self.link(self.end(), thing);
    }

    /// Puts `thing` just behind `other`, as if it was used right after it.
    pub fn follow(&mut self, thing: usize, other: usize) {
        self.unlink(thing as u32);
        self.link(other as u32, thing as u32);
    }

    /// The most recently used item.
    #[inline]
    pub fn newest(&self) -> Option<usize> {
        let newest = self.older[self.end() as usize];
        (newest != self.end()).then_some(newest as usize)
    }

    /// The item used just before `thing`.
    #[inline]
    pub fn before(&self, thing: usize) -> Option<usize> {
        let before = self.older[thing];
        (before != self.end()).then_some(before as usize)
    }

    /// The item used just after `thing`.
    #[inline(always)]
    pub fn after(&self, thing: usize) -> Option<usize> {
        let after = self.newer[thing];
        (after != self.end()).then_some(after as usize)
    }

    /// Takes `thing` off the list until it is touched or demoted.
    #[inline(always)]
    pub fn retire(&mut self, thing: usize) {
        let thing = thing as u32;
        self.unlink(thing);
        (self.newer[thing as usize], self.older[thing as usize]) = (thing, thing);
    }

    /// True if `thing` is off the list.
    #[inline(always)]
    pub fn is_retired(&self, thing: usize) -> bool {
        self.newer[thing] == thing as u32
    }

    /// The least recently used item.
    #[inline(always)]
    pub fn oldest(&self) -> Option<usize> {
        let end = self.end();
        let oldest = self.newer[end as usize];
        (oldest != end).then_some(oldest as usize)
    }

    /// All items, the least recently used first.
    #[inline]
    pub fn oldest_first(&self) -> impl Iterator<Item = usize> + '_ {
        let end = self.end();
        let after = move |&thing: &u32| Some(self.newer[thing as usize]).filter(|&next| next != end);
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
        assert_eq!((recency.before(2), recency.before(3), recency.newest()), (Some(3), None, Some(1)));
        assert_eq!((recency.after(3), recency.after(1)), (Some(2), None));
        recency.follow(1, 3);
        assert_eq!(order(&recency), [3, 1, 2]);
        recency.follow(1, 2);
        recency.demote(0);
        assert_eq!(order(&recency), [0, 3, 2, 1]);
        assert_eq!(order(&LruList::new(0)), []);
        recency.add();
        assert_eq!(order(&recency), [0, 3, 2, 1, 4]);
        let mut grown = LruList::new(0);
        (0..3).for_each(|_| grown.add());
        grown.retire(1);
        grown.add();
        assert_eq!(order(&grown), [0, 2, 3]);
    }
}
