//! Random numbers: one seed, named independent streams.
//!
//! Each place that draws numbers takes its own stream by name (`seed.stream("arrival")`), so that another draw in one
//! place does not shift the draws of the others. The generator is xoshiro256++ (Blackman and Vigna 2019); SplitMix64
//! fills its state, as its authors advise, and FNV-1a hashes the names. The generators of fio and Iometer, which a job
//! may ask for, are in the crate `seekwise-work`.

/// A seed from which named streams are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream called `name`. Equal seeds and names give equal streams on every machine.
    pub fn stream(self, name: &str) -> Rng {
        self.numbered_stream(name, 0)
    }

    /// The stream called `name` of number `index` among several equals (a worker, a drive of an array).
    pub fn numbered_stream(self, name: &str, index: u64) -> Rng {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in name.bytes().chain(index.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng::new(self.0 ^ hash)
    }

    /// The seed of the independent run number `run` of a study.
    pub fn run_seed(self, run: u64) -> Seed {
        Seed(self.numbered_stream("run", run).next_u64())
    }
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    fn new(seed: u64) -> Rng {
        let mut x = seed;
        let mut split_mix = || {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Rng { state: [split_mix(), split_mix(), split_mix(), split_mix()] }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number in `0..bound`, with a bias below `bound / 2^64`. Panics when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a draw from nothing");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// True with probability `percent` / 100.
    pub fn draw_chance(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_named_and_repeatable() {
        let first: [u64; 3] = core::array::from_fn({
            let mut rng = Seed(1).stream("address");
            move |_| rng.next_u64()
        });
        let again: [u64; 3] = core::array::from_fn({
            let mut rng = Seed(1).stream("address");
            move |_| rng.next_u64()
        });
        assert_eq!(first, again);
        assert_ne!(first[0], Seed(1).stream("arrival").next_u64());
        assert_ne!(first[0], Seed(2).stream("address").next_u64());
    }

    #[test]
    fn below_is_even() {
        let mut rng = Seed(7).stream("test");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1;
        }
        // Chi-squared with 9 degrees of freedom: one seed in a thousand exceeds 27.9. This seed is fixed.
        let chi: u64 = counts.iter().map(|&c| u64::from(c.abs_diff(10_000)).pow(2)).sum::<u64>() / 10_000;
        assert!(chi < 28, "{counts:?}");
    }
}
