//! Other outcomes of a cut: other selections of the writes that the standards allow to be lost.
//!
//! A drive may destage in any order. A write that no completed flush covers, and that was not forced, may or may not be on the medium. Of a
//! write under way any physical sectors may be, each whole (the cuts themselves use the profile's rule for the sector under the head). If
//! two writes to the same sectors both arrive, the later one stays.

use seekwise_disk::rng::Rng;
use seekwise_disk::time::Instant;

use seekwise_disk::durability::image::LostWrite;
use seekwise_disk::durability::writes::{SessionWrite, SessionWrites};

/// Draws the writes that a cut at `cut_at` loses in selection `number`; physical sectors have `unit` sectors. Selection 0 loses everything
/// that may be lost, 1 a single write, 2 all but a single one; the others draw how likely a write is to be lost, and which are.
pub fn draw_lost_writes(
    writes: &SessionWrites,
    cut_at: Instant,
    number: u32,
    unit: u64,
    rng: &mut Rng,
) -> Vec<LostWrite> {
    let losable: Vec<&SessionWrite> = writes.losable_at(cut_at).collect();
    if losable.is_empty() {
        return Vec::new();
    }
    let single = rng.below(losable.len() as u64) as usize;
    let loss_percent = 1 + rng.below(99) as u32;
    let mut lost = Vec::new();
    for (index, write) in losable.iter().enumerate() {
        let is_lost = match number {
            0 => true,
            1 => index == single,
            2 => index != single,
            _ => rng.draw_chance(loss_percent),
        };
        // A quarter of the lost writes is written in part: it was under the head, or split on its way.
        let in_part = number > 2 && rng.draw_chance(25);
        if is_lost {
            lost.push(if in_part { lose_part(write, unit, rng) } else { lose_whole(write) });
        }
    }
    lost
}

fn lose_whole(write: &SessionWrite) -> LostWrite {
    LostWrite { write: *write, parts: vec![write.run] }
}

/// Loses one side of a physical sector's edge within the write, if there is one.
fn lose_part(write: &SessionWrite, unit: u64, rng: &mut Rng) -> LostWrite {
    let (from, end) = write.run;
    let (first, last) = (from / unit + 1, (end - 1) / unit);
    if first > last {
        return lose_whole(write);
    }
    let edge = (first + rng.below(last - first + 1)) * unit;
    let part = if rng.draw_chance(50) { (from, edge) } else { (edge, end) };
    LostWrite { write: *write, parts: vec![part] }
}

#[cfg(test)]
mod tests {
    use seekwise_disk::block::{Flags, Op, Request};
    use seekwise_disk::history::History;
    use seekwise_disk::rng::Seed;

    use super::*;

    /// Six writes of 32 sectors, one every 10 ns from 10 on, from sector 64 on and each 64 further; none is ever covered.
    fn session() -> SessionWrites {
        let mut history = History::default();
        for stamp in 1..=6 {
            let (lba, at) = (64 * stamp, Instant::from_nanos(10 * stamp));
            let request =
                Request { tag: 0, unit: 0, origin: 0, op: Op::Write, flags: Flags::NONE, lba, sectors: 32, stamp };
            history.record_request(at, &request, None);
        }
        SessionWrites::from_history(&history, true)
    }

    /// The stamps of what is lost, and whether each is lost whole.
    fn drawn(at: u64, number: u32, unit: u64, seed: u64) -> Vec<(u64, bool)> {
        let lost =
            draw_lost_writes(&session(), Instant::from_nanos(at), number, unit, &mut Seed(seed).stream("orders"));
        let whole = |it: &LostWrite| it.parts == [it.write.run];
        lost.iter().map(|it| (it.write.stamp, whole(it))).collect()
    }

    #[test]
    fn the_first_orders_lose_all_one_and_all_but_one() {
        for seed in 0..20 {
            assert_eq!(drawn(60, 0, 8, seed), [1, 2, 3, 4, 5, 6].map(|stamp| (stamp, true)));
            let (one, others) = (drawn(60, 1, 8, seed), drawn(60, 2, 8, seed));
            assert!(one.len() == 1 && others.len() == 5 && !others.contains(&one[0]), "{one:?} {others:?}");
            assert!(one.iter().chain(&others).all(|it| it.1), "they are lost whole");
        }
        let ones: std::collections::BTreeSet<u64> = (0..100).map(|seed| drawn(60, 1, 8, seed)[0].0).collect();
        assert_eq!(ones.len(), 6, "any of them may be the one");
        // Only what the disk has accepted can be lost.
        assert_eq!([drawn(9, 0, 8, 1).len(), drawn(10, 0, 8, 1).len(), drawn(39, 0, 8, 1).len()], [0, 1, 3]);
    }

    #[test]
    fn the_others_lose_one_side_of_a_physical_sector_s_edge() {
        let (mut sides, mut edges, mut whole) = ([0; 2], std::collections::BTreeSet::new(), 0);
        for seed in 0..200 {
            let lost = draw_lost_writes(&session(), Instant::from_nanos(60), 3, 8, &mut Seed(seed).stream("orders"));
            for LostWrite { write, parts } in lost {
                let (from, end) = write.run;
                let [(first, last)] = parts[..] else { panic!("{parts:?}") };
                if (first, last) == (from, end) {
                    whole += 1;
                    continue;
                }
                let (side, edge) = if first == from { (0, last) } else { (1, first) };
                assert!(side == 0 || last == end, "{parts:?} of {from} to {end}");
                assert!(from < edge && edge < end && edge % 8 == 0);
                sides[side] += 1;
                edges.insert(edge - from);
            }
        }
        // A quarter of them in part, either side as often, at each edge.
        let parts = sides[0] + sides[1];
        assert!(
            whole > 2 * parts && whole < 5 * parts && sides.iter().all(|side| 3 * side > parts),
            "{whole} {sides:?}"
        );
        assert_eq!(edges.into_iter().collect::<Vec<u64>>(), [8, 16, 24]);
        // A physical sector as large as the write has no edge in it.
        assert!((0..50).all(|seed| drawn(60, 3, 32, seed).iter().all(|it| it.1)));
    }
}
