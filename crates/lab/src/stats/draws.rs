//! The number of random draws in a test, and the counts that chance then allows. The default is few draws; with the variable
//! `SEEKWISE_DRAWS=all` tests draw as many as before a release.

use std::ops::RangeInclusive;

/// The number of a test's draws: `few`, or `all` if `SEEKWISE_DRAWS=all` is set; prints which.
pub fn draw_count(few: u32, all: u32) -> u32 {
    let count = if std::env::var("SEEKWISE_DRAWS").as_deref() == Ok("all") { all } else { few };
    println!("{count} draws; {all} with SEEKWISE_DRAWS=all");
    count
}

/// Probability that a correct program's count lies outside of [`likely_counts`], on either side.
const FALSE_ALARMS: f64 = 5e-7;

/// The range that holds the count of an event of this probability in so many draws, except in one case in a million: a binomial count
/// passes either end with less than half of that probability.
pub fn likely_counts(draws: u32, probability: f64) -> RangeInclusive<u32> {
    let (odds, mut log) = ((probability / (1.0 - probability)).ln(), f64::from(draws) * (1.0 - probability).ln());
    let mut probabilities = Vec::with_capacity(draws as usize + 1);
    for count in 0..=draws {
        probabilities.push(log.exp());
        log += odds + (f64::from(draws - count) / f64::from(count + 1)).ln();
    }
    // The number of counts at one end that are too rare together.
    let rare = |probabilities: &mut dyn Iterator<Item = &f64>| {
        let mut sum = 0.0;
        probabilities
            .take_while(|probability| {
                sum += **probability;
                sum < FALSE_ALARMS
            })
            .count() as u32
    };
    rare(&mut probabilities.iter())..=draws - rare(&mut probabilities.iter().rev())
}

#[test]
fn a_likely_count_is_that_of_the_binomial() {
    // Of one draw anything is likely; of certain events nothing else.
    assert_eq!(likely_counts(1, 0.5), 0..=1);
    // Twenty heads of twenty: 2^-20 = 9.5e-7. With 21 it is 4.8e-7, and 22 · 2^-21 = 1.05e-5 for one tail.
    assert_eq!((likely_counts(20, 0.5), likely_counts(21, 0.5)), (0..=20, 1..=20));
    // A thousand at 5 %: 50 with a deviation of 6.9; 4.9 of them either way, a little more above than below.
    let of = likely_counts(1000, 0.05);
    assert!((19..=23).contains(of.start()) && (84..=90).contains(of.end()), "{of:?}");
    assert_eq!(likely_counts(1000, 1e-9), 0..=1);
}
