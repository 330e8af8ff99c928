//! fio's random numbers: the generators Tausworthe 88 and 258 (L'Ecuyer 1996, 1999), the shift register for blocks, and
//! the seeds of a thread's streams.
//!
//! The numbers and their order are those of fio 3.33, so that a stream drawn here equals fio's stream. fio turns a
//! number into a place with 64-bit floating point; [`scale_32_bit`] and [`scale_64_bit`] round in the same way. The
//! arithmetic follows fio's `lib/rand`, `lib/lfsr` and `init`. fio's numbers for buffers and verification are not
//! reproduced.

use super::job::RandomRepeat;

/// Three shift registers of 32 bits.
#[derive(Clone, Debug)]
pub(crate) struct Tausworthe88([u32; 3]);

/// The start of fio's congruential seeding. fio's source writes powers of two with `^`, which C reads as exclusive or:
/// (2 ^ 31) + (2 ^ 17) + (2 ^ 7).
const SEEDING: u32 = (2 ^ 31) + (2 ^ 17) + (2 ^ 7);
/// Numbers thrown away after seeding.
const WARM_UP: u32 = 6;

impl Tausworthe88 {
    /// fio's state for `seed`, of which it keeps 32 bits.
    pub(crate) fn new(seed: u64) -> Tausworthe88 {
        let seed = seed as u32;
        let next = |x: u32| x.wrapping_mul(69_069) ^ seed;
        // A register with a smaller state would stay at 0.
        let at_least = |least: u32, x: u32| if x < least { x + least } else { x };
        let a = at_least(1, next(SEEDING));
        let b = at_least(7, next(a));
        let c = at_least(15, next(b));
        let mut generator = Tausworthe88([a, b, c]);
        for _ in 0..WARM_UP {
            generator.next();
        }
        generator
    }

    /// 32 random bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        let [a, b, c] = self.0;
        self.0 = [
            ((a & !1) << 12) ^ (((a << 13) ^ a) >> 19),
            ((b & !7) << 4) ^ (((b << 2) ^ b) >> 25),
            ((c & !15) << 17) ^ (((c << 3) ^ c) >> 11),
        ];
        self.0[0] ^ self.0[1] ^ self.0[2]
    }

    /// A random number in 1..=100.
    #[inline]
    pub(crate) fn next_percent(&mut self) -> u8 {
        (1 + ((100 * u64::from(self.next())) >> 32)) as u8
    }
}

/// Five shift registers of 64 bits.
#[derive(Clone, Debug)]
pub(crate) struct Tausworthe258([u64; 5]);

impl Tausworthe258 {
    /// fio's state for `seed`.
    pub(crate) fn new(seed: u64) -> Tausworthe258 {
        let mut x = u64::from(SEEDING);
        let registers = [1, 7, 15, 33, 49].map(|least| {
            x = x.wrapping_mul(6_906_969_069) ^ seed;
            if x < least {
                x += least;
            }
            x
        });
        let mut generator = Tausworthe258(registers);
        for _ in 0..WARM_UP {
            generator.next();
        }
        generator
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d, e] = self.0;
        self.0 = [
            ((a & !0x1) << 10) ^ (((a << 1) ^ a) >> 53),
            ((b & !0x1ff) << 5) ^ (((b << 24) ^ b) >> 50),
            ((c & !0xfff) << 29) ^ (((c << 3) ^ c) >> 23),
            ((d & !0x1_ffff) << 23) ^ (((d << 5) ^ d) >> 24),
            ((e & !0x7f_ffff) << 8) ^ (((e << 3) ^ e) >> 33),
        ];
        self.0.iter().fold(0, |x, y| x ^ y)
    }
}

/// Either generator, by `random_generator`.
#[derive(Clone, Debug)]
pub(crate) enum Tausworthe {
    /// 32 bits a draw.
    Bits32(Tausworthe88),
    /// 64 bits a draw.
    Bits64(Tausworthe258),
}

impl Tausworthe {
    /// fio's state for `seed`.
    pub(crate) fn new(seed: u64, use_64_bit: bool) -> Tausworthe {
        if use_64_bit {
            Tausworthe::Bits64(Tausworthe258::new(seed))
        } else {
            Tausworthe::Bits32(Tausworthe88::new(seed))
        }
    }

    /// A random number in `0..limit` (`limit` not 0), as fio's multiplication in floating point gives it.
    #[inline]
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        match self {
            Tausworthe::Bits32(random) => scale_32_bit(limit, u64::from(random.next())),
            Tausworthe::Bits64(random) => scale_64_bit(limit, random.next()),
        }
    }

    /// The next random bits.
    pub(crate) fn next_bits(&mut self) -> u64 {
        match self {
            Tausworthe::Bits32(random) => random.next().into(),
            Tausworthe::Bits64(random) => random.next(),
        }
    }

    /// The largest result of [`Tausworthe::next_bits`].
    pub(crate) fn max_bits(&self) -> u64 {
        match self {
            Tausworthe::Bits32(_) => u32::MAX.into(),
            Tausworthe::Bits64(_) => u64::MAX,
        }
    }
}

/// The whole part of `limit * (random / 2^32)` as 64-bit floating point gives it; below `limit`. `random` is below
/// 2^32.
#[inline]
pub(crate) fn scale_32_bit(limit: u64, random: u64) -> u64 {
    if limit <= u64::from(u32::MAX) {
        // At most 11 bits are rounded away: the whole part can change only just below the next whole number.
        let product = limit * random;
        if product as u32 <= u32::MAX - (1 << 11) {
            return product >> 32;
        }
    }
    (round_to_double(u128::from(limit) * u128::from(random)) >> 32).min(u128::from(limit - 1)) as u64
}

/// The whole part of `limit * (random / 2^64)` as 64-bit floating point gives it; below `limit`.
#[inline]
pub(crate) fn scale_64_bit(limit: u64, random: u64) -> u64 {
    if limit <= 1 << 50 {
        // `random` is rounded by at most 2^10 and the product by at most 2^11 `limit`: the whole part can change only
        // where the fraction is within 2^12 `limit` of a whole number.
        let product = u128::from(limit) * u128::from(random);
        let (whole, fraction, near) = ((product >> 64) as u64, product as u64, limit << 12);
        if fraction.wrapping_add(near) >= 2 * near {
            return whole;
        }
    }
    scale_64_bit_exactly(limit, random)
}

#[cold]
fn scale_64_bit_exactly(limit: u64, random: u64) -> u64 {
    let rounded = round_to_double(u128::from(random));
    (round_to_double(u128::from(limit) * rounded) >> 64).min(u128::from(limit - 1)) as u64
}

/// `x` rounded to the 53 bits of a double, ties to even.
#[inline]
fn round_to_double(x: u128) -> u128 {
    let bits = 128 - x.leading_zeros();
    if bits <= 53 {
        return x;
    }
    let drop = bits - 53;
    let (kept, rest, half) = (x >> drop, x & ((1 << drop) - 1), 1u128 << (drop - 1));
    let up = rest > half || (rest == half && kept & 1 == 1);
    (kept + u128::from(up)) << drop
}

/// A linear feedback shift register over `0..n` that gives each number once.
#[derive(Clone, Debug)]
pub(crate) struct Lfsr {
    /// The state, which is also the number that came last.
    state: u64,
    has_drawn: bool,
    /// Numbers that came in this pass.
    drawn_count: u64,
    numbers: u64,
    /// The highest bit of the register.
    top_bit: u64,
    /// The bits of the taps.
    feedback: u64,
}

/// Positions of the taps of maximal shift registers of 3 to 63 bits (the customary table: Alfke, Xilinx XAPP 052,
/// 1996, and for some widths the sets that fio uses). The first is the register's width.
const TAPS: [&[u8]; 61] = [
    &[3, 2],
    &[4, 3],
    &[5, 3],
    &[6, 5],
    &[7, 6],
    &[8, 6, 5, 4],
    &[9, 5],
    &[10, 7],
    &[11, 9],
    &[12, 6, 4, 1],
    &[13, 4, 3, 1],
    &[14, 5, 3, 1],
    &[15, 14],
    &[16, 15, 13, 4],
    &[17, 14],
    &[18, 11],
    &[19, 6, 2, 1],
    &[20, 17],
    &[21, 19],
    &[22, 21],
    &[23, 18],
    &[24, 23, 22, 17],
    &[25, 22],
    &[26, 6, 2, 1],
    &[27, 5, 2, 1],
    &[28, 25],
    &[29, 27],
    &[30, 6, 4, 1],
    &[31, 28],
    &[32, 31, 29, 1],
    &[33, 20],
    &[34, 27, 2, 1],
    &[35, 33],
    &[36, 25],
    &[37, 5, 4, 3, 2, 1],
    &[38, 6, 5, 1],
    &[39, 35],
    &[40, 38, 21, 19],
    &[41, 38],
    &[42, 41, 20, 19],
    &[43, 42, 38, 37],
    &[44, 43, 18, 17],
    &[45, 44, 42, 41],
    &[46, 45, 26, 25],
    &[47, 42],
    &[48, 47, 21, 20],
    &[49, 40],
    &[50, 49, 24, 23],
    &[51, 50, 36, 35],
    &[52, 49],
    &[53, 52, 38, 37],
    &[54, 53, 18, 17],
    &[55, 31],
    &[56, 55, 35, 34],
    &[57, 50],
    &[58, 39],
    &[59, 58, 38, 37],
    &[60, 59],
    &[61, 60, 46, 45],
    &[62, 61, 6, 5],
    &[63, 62],
];

impl Lfsr {
    /// A register over `0..numbers` (below 2^63) that starts from `seed`.
    pub(crate) fn new(numbers: u64, seed: u64) -> Lfsr {
        let taps = TAPS.iter().find(|taps| 1 << taps[0] > numbers).expect("fewer than 2^63 blocks on any device");
        let top_bit = 1u64 << (taps[0] - 1);
        let feedback = taps.iter().fold(0, |mask, tap| mask | 1 << (tap - 1));
        let mut register = Lfsr { state: 0, has_drawn: false, drawn_count: 0, numbers, top_bit, feedback };
        register.restart(seed);
        register
    }

    /// Begins a new pass from `seed`.
    pub(crate) fn restart(&mut self, seed: u64) {
        let mask = (self.top_bit << 1) - 1;
        // A register with inverted feedback never leaves the state of all ones; fio refuses to start from it.
        self.state = if seed & mask == mask { 0 } else { seed & mask };
        self.drawn_count = 0;
    }

    /// Shifts the register by a bit.
    fn shift(&mut self) {
        let inverted = if self.state & 1 == 0 { self.feedback } else { 0 };
        self.state = ((self.state >> 1) | self.top_bit) ^ inverted;
    }

    /// The next number; `None` when each has come once.
    pub(crate) fn next_number(&mut self) -> Option<u64> {
        if self.drawn_count >= self.numbers {
            return None;
        }
        self.drawn_count += 1;
        // fio's very first draw advances twice: its cycle counter starts at one.
        if !core::mem::replace(&mut self.has_drawn, true) {
            self.shift();
        }
        loop {
            self.shift();
            if self.state < self.numbers {
                return Some(self.state);
            }
        }
    }
}

/// fio's default of `randseed`.
pub const DEFAULT_SEED: u64 = 0x89;

/// The seeds of the streams of a fio thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds {
    base: u64,
    thread: u64,
    repeat: RandomRepeat,
    run_seed: u64,
}

/// The random streams of a thread, by fio's numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StreamPurpose {
    /// Sizes of reads; the next two numbers are those of writes and of trims.
    Sizes = 0,
    /// Whether a request of a mixed job reads or writes.
    Mix = 4,
    File = 5,
    Block = 6,
    /// Whether a request is random or sequential (all three directions start alike).
    Randomness = 10,
    /// The zone of a zoned distribution.
    Zone = 16,
    /// Whether a request has priority.
    Priority = 19,
}

impl Seeds {
    /// The seeds of fio's thread number `thread`, counted from 1. `run_seed` is mixed into all of them; 0 leaves fio's
    /// own.
    pub(crate) fn new(base: u64, repeat: RandomRepeat, thread: u64, run_seed: u64) -> Seeds {
        Seeds { base, thread, repeat, run_seed }
    }

    /// True if each pass starts the streams again.
    pub(crate) fn repeats_per_pass(&self) -> bool {
        self.repeat == RandomRepeat::Passes
    }

    /// The seed of a stream.
    pub(crate) fn stream_seed(&self, purpose: StreamPurpose) -> u64 {
        self.numbered_seed(purpose as u64)
    }

    /// The seed of the sizes of direction 0, 1 or 2.
    pub(crate) fn size_seed(&self, direction: u64) -> u64 {
        self.numbered_seed(StreamPurpose::Sizes as u64 + direction)
    }

    fn numbered_seed(&self, number: u64) -> u64 {
        // fio 3.33 gives the places of a repeatable run their own constant; later versions take it from `randseed`.
        const REPEATABLE_BLOCKS: u64 = 0xb189_9bed;
        if self.repeat != RandomRepeat::Never && number == StreamPurpose::Block as u64 {
            return REPEATABLE_BLOCKS.wrapping_mul(self.thread) ^ self.run_seed;
        }
        const STEP: u64 = 0x9e37_0001;
        let seed = (0..4 + number).fold(self.base, |seed, _| seed.wrapping_mul(STEP));
        seed.wrapping_mul(self.thread).wrapping_add(number) ^ self.run_seed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    #[test]
    fn lfsr_gives_each_number_once() {
        for numbers in [1, 2, 3, 7, 8, 100, 255, 256, 1000, 4095] {
            let mut register = Lfsr::new(numbers, 0x1234_5678);
            let seen: BTreeSet<u64> = core::iter::from_fn(|| register.next_number()).collect();
            assert_eq!(seen.len() as u64, numbers);
            assert_eq!(seen.last(), Some(&(numbers - 1)));
        }
    }

    #[test]
    fn places_round_as_floating_point_does() {
        let mut random = Tausworthe88::new(1);
        for n in [1, 1000, (1 << 21) - 1, 1 << 21, 4_294_967_295, 3 << 40, (1 << 52) + 12_345] {
            for _ in 0..20_000 {
                let r = random.next();
                let float = (n as f64 * (f64::from(r) / 4_294_967_296.0)) as u64;
                assert_eq!(scale_32_bit(n, u64::from(r)), float.min(n - 1), "{n} {r}");
            }
        }
    }

    #[test]
    fn long_places_round_as_floating_point_does() {
        let mut random = Tausworthe::new(9, true);
        for n in [1, 1000, 4_294_967_296, 3 << 40, (1 << 52) + 12_345] {
            for _ in 0..20_000 {
                let Tausworthe::Bits64(mut twin) = random.clone() else { panic!("not long") };
                let float = (n as f64 * (twin.next() as f64 / 18_446_744_073_709_551_616.0)) as u64;
                assert_eq!(random.below(n), float.min(n - 1));
            }
        }
    }

    #[test]
    fn long_places_beside_a_whole_number_round_as_floating_point_does() {
        let mut random = Tausworthe258::new(11);
        for n in [1u64, 3, 1000, 61_035_156, (1 << 40) + 7, 1 << 50] {
            for _ in 0..2000 {
                let whole = u128::from(random.next() % n);
                let edge = ((whole << 64) / u128::from(n)) as u64;
                let r = edge.wrapping_add(random.next() % 20_000).wrapping_sub(10_000);
                let float = (n as f64 * (r as f64 / 18_446_744_073_709_551_616.0)) as u64;
                assert_eq!(scale_64_bit(n, r), float.min(n - 1), "{n} {r}");
            }
        }
    }

    /// Each seed gives the register at `place` this number to begin with: below fio's least, or not below it but less
    /// than twice as much.
    #[test]
    fn a_register_is_lifted_by_fios_least_number_only_below_it() {
        for (seed, place, number, lifted) in [
            (0x55_3b6f_2811_u64, 0, 0, 1),
            (0x55_3b6f_2810, 0, 1, 1),
            (0xef55_bdc9_7510_8eab, 2, 14, 14 + 15),
            (0xadf1_77de_e9a0_48c6, 2, 15, 15),
            (0x46c1_ad2b_30f0_42f1, 3, 45, 45),
            (0x4340_7a78_acc0_6799, 4, 48, 48 + 49),
            (0xcc81_43d8_58ee_6af0, 4, 49, 49),
        ] {
            let mut x = u64::from(SEEDING);
            let mut expected = Tausworthe258(core::array::from_fn(|at| {
                x = x.wrapping_mul(6_906_969_069) ^ seed;
                if at == place {
                    assert_eq!(x, number);
                    x = lifted;
                }
                x
            }));
            for _ in 0..WARM_UP {
                expected.next();
            }
            assert_eq!(Tausworthe258::new(seed).0, expected.0, "{number}");
        }
    }

    #[test]
    fn both_generators_are_even() {
        for use_64_bit in [false, true] {
            let mut random = Tausworthe::new(7, use_64_bit);
            let mut counts = [0u32; 16];
            for _ in 0..160_000 {
                counts[random.below(16) as usize] += 1;
            }
            // Chi-squared, 15 degrees of freedom: one seed in a thousand exceeds 37.7; these are fixed.
            let chi: u64 = counts.iter().map(|&c| u64::from(c.abs_diff(10_000)).pow(2)).sum::<u64>() / 10_000;
            assert!(chi < 38, "{counts:?}");
        }
    }

    /// The next state of a register in a word of so many bits, bit by bit from the highest: the first `k` bits are its
    /// state, each later bit is the sum of the bits `k` and `k - q` places before it, and a step moves on by `s` bits.
    fn step_bitwise(state: u64, word: usize, (k, q, s): (usize, usize, usize)) -> u64 {
        let mut bits: Vec<bool> = (0..k).map(|place| (state >> (word - 1 - place)) & 1 == 1).collect();
        while bits.len() < word + s {
            let place = bits.len() - k;
            bits.push(bits[place] ^ bits[place + q]);
        }
        bits[s..].iter().fold(0, |number, &bit| (number << 1) | u64::from(bit))
    }

    /// With `k`, `q` and `s` of each register as L'Ecuyer published them (1996, table of Tausworthe 88; 1999, of 258).
    #[test]
    fn each_register_goes_on_by_its_recurrence() {
        let short = [(31, 13, 12), (29, 2, 4), (28, 3, 17)];
        let long = [(63, 1, 10), (55, 24, 5), (52, 3, 29), (47, 5, 23), (41, 3, 8)];
        let (mut random, mut twin) = (Tausworthe88::new(7), Tausworthe258::new(7));
        for _ in 0..200 {
            let (before, number) = (random.0, random.next());
            for ((before, after), register) in before.into_iter().zip(random.0).zip(short) {
                assert_eq!(u64::from(after), step_bitwise(before.into(), 32, register));
            }
            assert_eq!(number, random.0.into_iter().fold(0, |sum, register| sum ^ register));
            let (before, number) = (twin.0, twin.next());
            for ((before, after), register) in before.into_iter().zip(twin.0).zip(long) {
                assert_eq!(after, step_bitwise(before, 64, register));
            }
            assert_eq!(number, twin.0.into_iter().fold(0, |sum, register| sum ^ register));
        }
    }
}
