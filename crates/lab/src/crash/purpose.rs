//! The purpose of lost writes, in words of the file system above. Whether they were promised is not known here.

use seekwise_disk::block::SECTOR;
use seekwise_disk::history::History;

use seekwise_disk::durability::image::LostWrite;

/// Bytes of a block of a file system, the unit of purposes.
const BLOCK: u64 = 4096;

/// The most purposes of a write that are named.
const NAMED: usize = 3;

/// The first sector of each block that a write lost.
pub fn lost_blocks(lost: &LostWrite) -> impl Iterator<Item = u64> {
    lost.parts.iter().flat_map(|&(from, end)| (from..end).step_by((BLOCK / SECTOR) as usize))
}

/// The purpose of the lost parts of a write. `describe` has the words for a sector and the data from it on, if they are known.
pub fn purpose_words(lost: &LostWrite, history: &History, describe: &dyn Fn(u64, &[u8]) -> Option<String>) -> String {
    let (mut named, mut kinds): (Vec<String>, Vec<String>) = Default::default();
    for at in lost_blocks(lost) {
        let end = lost.parts.iter().find(|part| (part.0..part.1).contains(&at)).map_or(at, |part| part.1);
        let written = history.data_bytes(lost.write.stamp, lost.write.run.0, at, end - at);
        let Some(words) = describe(at, &written) else { continue };
        // The first byte of a file that is lost stands for those that follow.
        let kind = words.split(" from byte ").next().unwrap_or_default().to_owned();
        if kinds.last() != Some(&kind) && !is_rest_of_transaction(&kinds, &kind) {
            kinds.push(kind);
            named.push(words);
        }
    }
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    match more {
        0 => named.join("; "),
        more => format!("{}; and {more} more", named.join("; ")),
    }
}

/// True for blocks of a transaction after the descriptor that begins it; `kinds` are the purposes so far.
fn is_rest_of_transaction(kinds: &[String], kind: &str) -> bool {
    let begins = |kind: &String| kind.starts_with("journal: beginning");
    kind == "journal: blocks of a transaction" && kinds.last().is_some_and(begins)
}

#[cfg(test)]
mod tests;
