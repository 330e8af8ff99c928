//! Tells whether measured times can come from a platter of a drive's speed. A request at a random place waits half a revolution on average,
//! so a median below that shows that something else answered: a cache, flash, memory.
//!
//! Much work does not wait for the platter at all (streams, cached writes). So a median counts only if the modelled drive
//! does the same work above half a revolution.

use seekwise_disk::time::Span;

/// A sentence if half of the requests came back sooner than the platter brings their sectors; `None` if not. `requests` are described in
/// words. Medians without a sample are 0, and say nothing.
pub fn platter_doubt(
    requests: &str,
    measured_median_ms: f64,
    modelled_median_ms: f64,
    revolution: Span,
) -> Option<String> {
    let (measured_ms, modelled_ms) = (measured_median_ms, modelled_median_ms);
    let revolution_ms = revolution.nanos() as f64 / 1e6;
    let half = revolution_ms / 2.0;
    (measured_ms > 0.0 && measured_ms < half && modelled_ms >= half).then(|| {
        format!(
            "half of the measured {requests} took {measured_ms:.3} ms or less, below half a revolution ({half:.3} ms at {:.0} \
             rpm), and the modelled drive's median is {modelled_ms:.3} ms: no platter of this speed answered them, but a cache, \
             flash or memory",
            60_000.0 / revolution_ms
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_platter_answers_is_doubted() {
        let at_7200 = Span::from_nanos(8_333_333);
        let doubted = |measured, modelled| platter_doubt("reads", measured, modelled, at_7200).is_some();
        assert!(doubted(0.2, 12.0) && doubted(4.1, 4.2));
        assert!(!doubted(4.2, 12.0), "a faster arm, or a better place");
        assert!(!doubted(0.2, 0.3), "the drive's buffer answers in the model too");
        assert!(!doubted(0.0, 12.0), "no such requests");
        let said = platter_doubt("reads", 0.2, 12.0, at_7200).unwrap();
        assert!(said.starts_with("half of the measured reads took 0.200 ms or less"), "{said}");
        assert!(said.contains("(4.167 ms at 7200 rpm)"), "{said}");
    }
}
