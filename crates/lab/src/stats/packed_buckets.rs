//! The buckets of a histogram as records hold them. They make up most of a record, and a study holds thousands of records, so buckets are
//! stored packed: about three bytes each instead of sixteen. Times and counts are whole numbers, and nothing is lost.
//!
//! Each bucket is stored as two numbers: the distance of its edge from the edge before, and its count. Both are written in groups of
//! seven bits, the lowest first (LEB128, as in DWARF 5, section 7.6). In text a bucket is a pair of numbers.

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// The upper edge of a bucket in ns, and its count.
pub type EdgeAndCount = (u64, u64);

/// Buckets of a histogram, packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedBuckets(Box<[u8]>);

/// Bits of a byte that hold the number. The highest bit says that another byte follows.
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

impl PackedBuckets {
    /// True if there is no bucket.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The buckets, in their order.
    pub fn iter(&self) -> impl Iterator<Item = EdgeAndCount> + '_ {
        let (mut rest, mut edge) = (&*self.0, 0u64);
        std::iter::from_fn(move || {
            let distance = decode_number(&mut rest)?;
            edge = edge.wrapping_add(distance);
            Some((edge, decode_number(&mut rest)?))
        })
    }
}

/// Removes a number from the front of `bytes`; `None` at their end.
fn decode_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    let mut shift = 0;
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & !MORE) << shift;
        if byte & MORE == 0 {
            return Some(number);
        }
        shift += BITS;
    }
}

fn encode_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= BITS;
    }
    bytes.push(number as u8);
}

impl FromIterator<EdgeAndCount> for PackedBuckets {
    fn from_iter<I: IntoIterator<Item = EdgeAndCount>>(pairs: I) -> PackedBuckets {
        let (mut bytes, mut last) = (Vec::new(), 0u64);
        for (edge, count) in pairs {
            // Edges of a damaged file may fall; wrapping returns them unchanged.
            encode_number(&mut bytes, edge.wrapping_sub(last));
            encode_number(&mut bytes, count);
            last = edge;
        }
        PackedBuckets(bytes.into_boxed_slice())
    }
}

impl Serialize for PackedBuckets {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for PackedBuckets {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PackedBuckets, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = PackedBuckets;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(to, "pairs of a time in ns and a count")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pairs: A) -> Result<PackedBuckets, A::Error> {
                std::iter::from_fn(|| pairs.next_element::<EdgeAndCount>().transpose()).collect()
            }
        }

        from.deserialize_seq(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_pairs_come_back_and_are_written_as_pairs() {
        let last = u64::MAX;
        for pairs in [
            vec![],
            vec![(0, 0)],
            vec![(255, 3), (257, 127), (259, 128), (1 << 40, last)],
            vec![(last, 1), (0, 2), (0, 3)],
        ] {
            let packed: PackedBuckets = pairs.iter().copied().collect();
            assert_eq!(packed.iter().collect::<Vec<_>>(), pairs);
            let text = serde_json::to_string(&packed).unwrap();
            assert_eq!(text, serde_json::to_string(&pairs).unwrap());
            assert_eq!(serde_json::from_str::<PackedBuckets>(&text).unwrap(), packed);
        }
        assert!(serde_json::from_str::<PackedBuckets>("[[1, -1]]").is_err());
        assert!(serde_json::from_str::<PackedBuckets>("[[1]]").is_err());
    }

    #[test]
    fn a_response_times_bucket_takes_few_bytes() {
        // A hundred buckets from 8.4 ms on, each 1/128 of that wide (`RESOLUTION`), with 1 to 90 requests.
        let packed: PackedBuckets = (0..100).map(|place| (8_388_608 + 65_536 * place, 1 + place % 90)).collect();
        assert!(packed.0.len() <= 4 * 100 + 4, "{}", packed.0.len());
    }
}
