//! The words for lost writes, against a small ext4 whose every block is known because it is written here by hand.

use seekwise_disk::block::SECTOR;
use seekwise_disk::durability::writes::SessionWrite;
use seekwise_disk::history::WriteData;
use seekwise_disk::time::Instant;
use seekwise_formats::ext4::Ext4BlockMap;

use super::*;

/// Blocks of the medium: the super block (0), descriptors (1), bitmaps (2, 3), inodes (4, 5), the root's names (8), the journal
/// (16 to 23), `/data` (its first four blocks 32 to 35, its next two 40 and 41), `/log` (36), nobody's (the others).
const BLOCKS: u64 = 64;

fn put(medium: &mut [u8], at: u64, bytes: &[u8]) {
    medium[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
}

/// An inode of this mode with these extents: their place in the file, their blocks, and the first of these.
fn inode(medium: &mut [u8], number: u64, mode: u16, extents: &[(u32, u16, u32)]) {
    let at = 4 * BLOCK + (number - 1) * 256;
    put(medium, at, &mode.to_le_bytes());
    put(medium, at + 32, &0x8_0000u32.to_le_bytes());
    put(medium, at + 40, &0xF30Au16.to_le_bytes());
    put(medium, at + 42, &(extents.len() as u16).to_le_bytes());
    for (place, (from, blocks, first)) in (0..).zip(extents) {
        let entry = at + 52 + 12 * place;
        put(medium, entry, &from.to_le_bytes());
        put(medium, entry + 4, &blocks.to_le_bytes());
        put(medium, entry + 8, &first.to_le_bytes());
    }
}

fn medium() -> Vec<u8> {
    let mut medium = vec![0; (BLOCKS * BLOCK) as usize];
    // 64 blocks of 4096, in groups of 32768 with 32 inodes of 256 bytes.
    for (at, value) in [(4, 64), (24, 2), (32, 32_768), (40, 32), (56, 0xEF53), (88, 256u32)] {
        put(&mut medium, 1024 + at, &value.to_le_bytes());
    }
    for (at, block) in [(0, 2), (4, 3), (8, 4u32)] {
        put(&mut medium, BLOCK + at, &block.to_le_bytes());
    }
    inode(&mut medium, 2, 0x41ED, &[(0, 1, 8)]);
    inode(&mut medium, 8, 0x8180, &[(0, 8, 16)]);
    inode(&mut medium, 12, 0x81A4, &[(0, 4, 32), (4, 2, 40)]);
    inode(&mut medium, 13, 0x81A4, &[(0, 1, 36)]);
    for (at, number, length, name) in [(0, 12u32, 16u16, "data"), (16, 13, 4080, "log")] {
        put(&mut medium, 8 * BLOCK + at, &number.to_le_bytes());
        put(&mut medium, 8 * BLOCK + at + 4, &length.to_le_bytes());
        put(&mut medium, 8 * BLOCK + at + 6, &[name.len() as u8, 1]);
        put(&mut medium, 8 * BLOCK + at + 8, name.as_bytes());
    }
    medium
}

/// A block of the journal of this kind: 1 begins a transaction, 2 commits it.
fn journal(kind: u32, transaction: u32) -> Vec<u8> {
    let mut block = vec![0; BLOCK as usize];
    for (at, value) in [(0, 0xC03B_3998u32), (4, kind), (8, transaction)] {
        put(&mut block, at, &value.to_be_bytes());
    }
    if kind == 1 {
        // One tag: the inodes in block 4, the last (8), with the same checksum's owner as before (2).
        put(&mut block, 12, &4u32.to_be_bytes());
        put(&mut block, 16, &10u32.to_be_bytes());
    }
    block
}

/// The words for a write of these bytes at block `from` that lost `parts` (in sectors).
fn said_of(from: u64, bytes: Vec<u8>, parts: &[(u64, u64)]) -> String {
    let medium = medium();
    let read = |at: u64, bytes: usize| medium.get(at as usize..at as usize + bytes).map(<[u8]>::to_vec);
    let layout = Ext4BlockMap::read(&read).expect("an ext4");
    let sectors = bytes.len() as u64 / SECTOR;
    let mut history = History::default();
    history.data.insert(7, WriteData::from(bytes));
    let first = from * BLOCK / SECTOR;
    let (taken, far) = (Instant::ZERO, Instant::FAR);
    let write = SessionWrite { stamp: 7, run: (first, first + sectors), taken, over: far, durable: far };
    let describe = |sector: u64, written: &[u8]| Some(layout.describe_offset(sector * SECTOR, written, &read));
    purpose_words(&LostWrite { write, parts: parts.to_vec() }, &history, &describe)
}

/// The words for a lost write of zeroes to these blocks.
fn said(blocks: std::ops::Range<u64>) -> String {
    let sectors = BLOCK / SECTOR;
    let bytes = vec![0; ((blocks.end - blocks.start) * BLOCK) as usize];
    said_of(blocks.start, bytes, &[(blocks.start * sectors, blocks.end * sectors)])
}

const INODES: &str = "inodes 1 to 16 (/, journal, /data, /log)";

#[test]
fn each_block_has_its_word() {
    for (block, words) in [
        (0, "the super block"),
        (1, "group descriptors"),
        (2, "bitmap of blocks, group 0"),
        (3, "bitmap of inodes, group 0"),
        (4, INODES),
        (5, "inodes 17 to 32 ()"),
        (6, "nobody's, as far as is known"),
        (8, "names in /"),
        (9, "nobody's, as far as is known"),
        (15, "nobody's, as far as is known"),
        (16, "journal: blocks of a transaction"),
        (23, "journal: blocks of a transaction"),
        (24, "nobody's, as far as is known"),
        (32, "/data from byte 0"),
        (35, "/data from byte 12288"),
        (36, "/log from byte 0"),
        (37, "nobody's, as far as is known"),
        (40, "/data from byte 16384"),
        (41, "/data from byte 20480"),
        (42, "nobody's, as far as is known"),
    ] {
        assert_eq!(said(block..block + 1), words, "block {block}");
    }
}

#[test]
fn the_first_byte_of_a_file_stands_for_what_follows() {
    assert_eq!(said(32..36), "/data from byte 0");
    assert_eq!(said(33..35), "/data from byte 4096");
    assert_eq!(said(40..42), "/data from byte 16384");
    assert_eq!(said(35..37), "/data from byte 12288; /log from byte 0");
    assert_eq!(said(34..38), "/data from byte 8192; /log from byte 0; nobody's, as far as is known");
}

/// A word comes again where something else stood between.
#[test]
fn only_what_follows_at_once_is_left_out() {
    let zeroes = || vec![0; 10 * BLOCK as usize];
    let sectors = |blocks: &[u64]| blocks.iter().map(|at| (at * 8, at * 8 + 8)).collect::<Vec<_>>();
    let of = |blocks: &[u64]| said_of(32, zeroes(), &sectors(blocks));
    assert_eq!(of(&[32, 33, 40]), "/data from byte 0");
    assert_eq!(of(&[32, 36, 40]), "/data from byte 0; /log from byte 0; /data from byte 16384");
}

#[test]
fn at_most_three_purposes_are_named_and_the_others_counted() {
    let two = "bitmap of blocks, group 0; bitmap of inodes, group 0";
    assert_eq!(said(2..4), two);
    assert_eq!(said(2..5), format!("{two}; {INODES}"));
    assert_eq!(said(2..6), format!("{two}; {INODES}; and 1 more"));
    assert_eq!(said(2..7), format!("{two}; {INODES}; and 2 more"));
    assert_eq!(said(1..7), format!("group descriptors; {two}; and 3 more"));
}

/// Lost parts begin and end anywhere in a block, and only they are named.
#[test]
fn lost_parts_are_named_by_their_blocks() {
    let of = |parts: &[(u64, u64)]| said_of(32, vec![0; 10 * BLOCK as usize], parts);
    // Sector 256 is the first of block 32, 264 that of block 33, 288 that of `/log`.
    assert_eq!(of(&[(263, 264)]), "/data from byte 0");
    assert_eq!(of(&[(264, 265)]), "/data from byte 4096");
    assert_eq!(of(&[(287, 288)]), "/data from byte 12288");
    assert_eq!(of(&[(288, 289)]), "/log from byte 0");
    assert_eq!(of(&[(280, 282), (290, 291)]), "/data from byte 12288; /log from byte 0");
    assert_eq!(of(&[]), "");
}

/// A journal's blocks say what they are by the bytes of the lost write: the medium does not hold them.
#[test]
fn a_transaction_is_its_beginning_and_its_commit() {
    let zeroes = vec![0; BLOCK as usize];
    let of = |blocks: &[Vec<u8>]| {
        let end = (16 + blocks.len() as u64) * 8;
        said_of(16, blocks.concat(), &[(16 * 8, end)])
    };
    let (begin, commit) = (journal(1, 7), journal(2, 7));
    let (begins, commits) =
        (format!("journal: beginning of transaction 7 with {INODES}"), "journal: commit of transaction 7");
    let blocks = "journal: blocks of a transaction";
    assert_eq!(of(&[begin.clone(), zeroes.clone(), zeroes.clone()]), begins);
    assert_eq!(of(&[begin.clone(), zeroes.clone(), commit.clone()]), format!("{begins}; {commits}"));
    // Without its beginning nobody knows whose blocks these are.
    assert_eq!(of(&[zeroes.clone(), zeroes.clone(), commit.clone()]), format!("{blocks}; {commits}"));
    assert_eq!(of(&[begin.clone(), commit.clone(), zeroes.clone()]), format!("{begins}; {commits}; {blocks}"));
    let next = format!("journal: beginning of transaction 8 with {INODES}");
    assert_eq!(of(&[begin, journal(1, 8), zeroes]), format!("{begins}; {next}"));
    assert_eq!(of(&[journal(4, 0), commit]), format!("journal: its super block; {commits}"));
}
