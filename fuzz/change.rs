//! One change of some bytes, drawn from a seed, for the smoke tests on stable: cut, taken out, said twice, a word put over them,
//! digits that become nines, a bit that turns.

use seekwise_disk::rng::Rng;

/// Changes `case`; `words` are what its reader looks for, and numbers of which much depends.
pub(crate) fn change(case: &mut Vec<u8>, words: &[Vec<u8>], rng: &mut Rng) {
    let at = |length: usize, rng: &mut Rng| rng.below(length as u64 + 1) as usize;
    let place = at(case.len(), rng);
    let end = (place + at(40, rng)).min(case.len());
    match rng.below(6) {
        0 => case.truncate(place),
        1 => drop(case.drain(place..end)),
        2 => {
            let run = case[place..end].to_vec();
            let other = at(case.len(), rng);
            case.splice(other..other, run);
        }
        3 => {
            let word = &words[rng.below(words.len() as u64) as usize];
            case.splice(place..end.min(place + word.len()), word.iter().copied());
        }
        4 => case[place..end].iter_mut().filter(|byte| byte.is_ascii_digit()).for_each(|byte| *byte = b'9'),
        _ => {
            if let Some(byte) = case.get_mut(place) {
                *byte ^= 1 << rng.below(8);
            }
        }
    }
}
