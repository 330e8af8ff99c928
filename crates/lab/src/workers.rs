//! Workers: the threads on which runs are made. Results have the order of the list, whichever thread is first.
//!
//! Nothing here knows which runs there are, or makes one.

use std::collections::BTreeMap;
use std::sync::mpsc;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::HAS_THREADS;

/// The threads on which runs are made.
pub enum Workers {
    /// The caller's thread alone: nothing runs beside a measured run.
    Serial,
    /// The threads of the pool in which the caller runs, or all cores outside of any: for runs within runs.
    /// [`Workers::run_in_order`] stays on the caller's thread.
    Shared,
    /// Threads of their own.
    Threads(ThreadPool),
}

impl Workers {
    /// Starts so many threads, or one for each core if `count` is 0. A platform without threads has serial workers.
    pub fn with_threads(count: usize) -> Workers {
        if !HAS_THREADS {
            return Workers::Serial;
        }
        Workers::Threads(ThreadPoolBuilder::new().num_threads(count).build().expect("threads can be started"))
    }

    /// The number of threads.
    pub fn thread_count(&self) -> usize {
        match self {
            Workers::Serial => 1,
            Workers::Shared => rayon::current_num_threads(),
            Workers::Threads(pool) => pool.current_num_threads(),
        }
    }

    /// Calls `run` with each of `items`. Returns the results in their order, or one of the errors, after which no other run begins.
    pub fn map<T: Sync, R: Send, C>(&self, items: &[T], run: impl Fn(&T) -> R + Sync) -> C
    where
        C: FromIterator<R> + FromParallelIterator<R> + Send,
    {
        let in_parallel = || -> C { items.par_iter().with_max_len(1).map(&run).collect() };
        match self {
            Workers::Serial => items.iter().map(&run).collect(),
            Workers::Shared => in_parallel(),
            Workers::Threads(pool) => pool.install(in_parallel),
        }
    }

    /// Makes runs on all threads and hands their results to the caller's thread in order.
    ///
    /// Each thread calls `run_next` until that returns `None`; it makes the next run, and returns the run's index with its result. `on_result`
    /// gets the results on the caller's thread in the order of their indices, from `first_index` on. `stop` is called when `on_result` returns
    /// `false` or a run panics; after that, `run_next` must return `None` without waiting. Serial and shared workers make all runs on the
    /// caller's thread, which may be one of a pool, and do not call `stop`.
    pub fn run_in_order<R: Send>(
        &self,
        first_index: usize,
        run_next: impl Fn() -> Option<(usize, R)> + Sync,
        stop: &(dyn Fn() + Sync),
        mut on_result: impl FnMut(R) -> bool,
    ) {
        let Workers::Threads(pool) = self else {
            let _ = std::iter::from_fn(run_next).all(|(_, result)| on_result(result));
            return;
        };
        let (sender, receiver) = mpsc::channel();
        pool.in_place_scope(|scope| {
            let run_next = &run_next;
            scope.spawn_broadcast(move |_, _| {
                let _stop_guard = StopsOnPanic(stop);
                while let Some(ended) = run_next() {
                    let _ = sender.send(ended);
                }
            });
            let (mut waiting, mut next_index) = (BTreeMap::new(), first_index);
            for (index, result) in receiver {
                waiting.insert(index, result);
                while let Some(result) = waiting.remove(&next_index) {
                    next_index += 1;
                    if !on_result(result) {
                        return stop();
                    }
                }
            }
        });
    }
}

/// Calls `stop` when its own thread panics, because other threads may wait for the run that this thread was making.
struct StopsOnPanic<'a>(&'a (dyn Fn() + Sync));

impl Drop for StopsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread::yield_now;

    use super::*;

    #[test]
    fn results_are_in_order_until_nobody_wants_more() {
        for workers in [Workers::Serial, Workers::Shared, Workers::with_threads(3)] {
            let (taken, mut seen) = (AtomicUsize::new(0), Vec::new());
            let run_next = || {
                let place = taken.fetch_add(1, Ordering::Relaxed);
                // Every third ends after those that begin after it.
                (0..if place.is_multiple_of(3) { 1000 } else { 0 }).for_each(|_| yield_now());
                (place < 30).then_some((place, place))
            };
            let stop = || taken.store(30, Ordering::Relaxed);
            workers.run_in_order(0, run_next, &stop, |place| {
                seen.push(place);
                seen.len() < 20
            });
            assert_eq!(seen, (0..20).collect::<Vec<_>>());
            let below = |most: usize| -> Result<Vec<usize>, usize> {
                workers.map(&seen, |&place| if place < most { Ok(place) } else { Err(place) })
            };
            assert_eq!((below(19), below(20)), (Err(19), Ok(seen.clone())));
        }
    }

    #[test]
    fn a_thread_that_waits_for_a_run_that_panics_is_stopped() {
        let (taken, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let run_next = || {
            assert!(taken.fetch_add(1, Ordering::SeqCst) > 0, "the first run panics");
            while !stopped.load(Ordering::SeqCst) {
                yield_now();
            }
            None::<(usize, ())>
        };
        let stop = || stopped.store(true, Ordering::SeqCst);
        let run = || Workers::with_threads(2).run_in_order(0, run_next, &stop, |()| true);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }
}
