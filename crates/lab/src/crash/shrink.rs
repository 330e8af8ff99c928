//! The fewest of many causes that still have the effect: delta debugging (Zeller and Hildebrandt, "Simplifying and isolating
//! failure-inducing input", IEEE Transactions on Software Engineering 28(2), 2002; their `ddmin`).

/// The smallest part of `all` that still fails and of which no single element can be left out, if `trial_limit` trials suffice
/// to find it; else the smallest that was found. `all` is known to fail. Errors are those of trials.
pub(crate) fn smallest_failing_part<T: Clone, E>(
    all: &[T],
    trial_limit: usize,
    mut fails: impl FnMut(&[T]) -> Result<bool, E>,
) -> Result<MinimalSet<T>, E> {
    let (mut left, mut parts, mut trials) = (all.to_vec(), 2, 0);
    while left.len() > 1 {
        let size = left.len().div_ceil(parts);
        let chunks: Vec<Vec<T>> = left.chunks(size).map(<[T]>::to_vec).collect();
        let without = |left_out: usize| {
            let others = chunks.iter().enumerate().filter(|(index, _)| *index != left_out);
            others.flat_map(|(_, chunk)| chunk.iter().cloned()).collect::<Vec<T>>()
        };
        let rests = (0..chunks.len()).map(without).filter(|rest| chunks.len() > 2 && !rest.is_empty());
        let candidates: Vec<(Vec<T>, bool)> =
            chunks.iter().cloned().map(|chunk| (chunk, true)).chain(rests.map(|rest| (rest, false))).collect();
        let mut found = None;
        for (candidate, is_chunk) in candidates {
            if trials == trial_limit {
                return Ok(MinimalSet { left, trials, complete: false });
            }
            trials += 1;
            if fails(&candidate)? {
                found = Some((candidate, is_chunk));
                break;
            }
        }
        match found {
            Some((smaller, true)) => (left, parts) = (smaller, 2),
            Some((smaller, false)) => (left, parts) = (smaller, (parts - 1).max(2)),
            None if size == 1 => break,
            None => parts = (parts * 2).min(left.len()),
        }
    }
    Ok(MinimalSet { left, trials, complete: true })
}

/// The result of a search for the smallest part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinimalSet<T> {
    /// The elements of that part.
    pub left: Vec<T>,
    /// Trials used.
    pub trials: usize,
    /// True if no element can be left out.
    pub complete: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &[u32], most: usize, fails: impl Fn(&[u32]) -> bool) -> MinimalSet<u32> {
        assert!(fails(all));
        let found = smallest_failing_part(all, most, |part| Ok::<bool, ()>(fails(part))).unwrap();
        assert!(fails(&found.left));
        found
    }

    #[test]
    fn one_of_a_thousand_is_found_in_few_trials() {
        let all: Vec<u32> = (0..1000).collect();
        let found = of(&all, 1000, |part| part.contains(&637));
        assert_eq!((found.left, found.complete), (vec![637], true));
        assert!(found.trials <= 2 * 10, "halves, {} trials", found.trials);
    }

    #[test]
    fn several_that_are_needed_together_stay_and_no_other() {
        let all: Vec<u32> = (0..60).collect();
        for needed in [vec![3, 41], vec![0, 59], vec![7, 8, 30, 55]] {
            let found = of(&all, 10_000, |part| needed.iter().all(|it| part.contains(it)));
            assert_eq!((&found.left, found.complete), (&needed, true));
        }
        assert_eq!(of(&[1, 2, 3], 100, |part| part.len() == 3).left, [1, 2, 3]);
    }

    #[test]
    fn either_of_two_is_enough() {
        let all: Vec<u32> = (0..100).collect();
        let found = of(&all, 1000, |part| part.contains(&20) || part.contains(&80));
        assert_eq!(found.left.len(), 1);
    }

    #[test]
    fn trials_have_a_bound_and_errors_pass() {
        let all: Vec<u32> = (0..100).collect();
        let found = of(&all, 5, |part| [3, 97].iter().all(|it| part.contains(it)));
        assert!(!found.complete && found.trials == 5);
        assert_eq!(smallest_failing_part(&all, 9, |_| Err::<bool, _>("broken")), Err("broken"));
    }
}
