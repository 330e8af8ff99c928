//! The use of blocks of an XFS file system in a file, as its own debugger says: `blockget`, `blockuse` and `bmap` of xfs_db(8). The log is not
//! analysed: a block of it is only that. The file system must be clean, with its log replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::Path;

use seekwise_disk::block::SECTOR;

use super::{ProgramBounds, run_tool_for_output};

/// Bytes of a block: the default of mkfs.xfs(8), which [`super::filesystem`] leaves as it is.
const BLOCK_BYTES: u64 = 4096;

/// The use of a sector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XfsUse {
    pub words: String,
    /// The regular file that has the sector, and the offset of the sector's first byte in it.
    pub file: Option<(String, u64)>,
}

/// A block as `blockuse -n` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UsedBlock<'a> {
    number: u64,
    group: &'a str,
    kind: &'a str,
    /// The inode that owns it, and its path, which the root has not.
    owner: Option<(&'a str, &'a str)>,
}

/// The uses of these sectors of an image. An error if xfs_db answers otherwise than it should.
pub fn find_xfs_uses(
    image: &Path,
    sectors: &BTreeSet<u64>,
    bounds: ProgramBounds<'_>,
) -> io::Result<BTreeMap<u64, XfsUse>> {
    let end = std::fs::metadata(image)?.len() / SECTOR;
    let sectors: Vec<u64> = sectors.range(..end).copied().collect();
    let commands = sectors.iter().flat_map(|sector| [format!("daddr {sector}"), "blockuse -n".to_owned()]);
    let printed = run_debugger(image, ["blockget -n".to_owned()].into_iter().chain(commands), bounds)?;
    let blocks: Vec<UsedBlock<'_>> = printed.lines().filter_map(parse_block).collect();
    if blocks.len() != sectors.len() {
        return Err(io::Error::other(format!("xfs_db: {} blocks for {} sectors", blocks.len(), sectors.len())));
    }
    let inodes: BTreeSet<&str> =
        blocks.iter().filter(|block| block.kind == "data").filter_map(|block| Some(block.owner?.0)).collect();
    let commands = inodes.iter().flat_map(|inode| [format!("inode {inode}"), "bmap".to_owned()]);
    let printed = run_debugger(image, commands, bounds)?;
    let extents: Vec<[u64; 3]> = printed.lines().filter_map(parse_extent).collect();
    Ok(sectors
        .iter()
        .copied()
        .zip(&blocks)
        .map(|(sector, block)| (sector, describe_block(sector, block, &extents)))
        .collect())
}

fn run_debugger(image: &Path, commands: impl Iterator<Item = String>, bounds: ProgramBounds<'_>) -> io::Result<String> {
    let mut arguments: Vec<OsString> = ["-r", "-f"].map(OsString::from).into();
    commands.for_each(|command| arguments.extend([OsString::from("-c"), OsString::from(command)]));
    arguments.push(image.into());
    run_tool_for_output("xfs_db", arguments, bounds)
}

/// Parses a line such as `block 10 (0/10) type data inode 132 d1/f1`.
fn parse_block(line: &str) -> Option<UsedBlock<'_>> {
    let (number, rest) = line.strip_prefix("block ")?.split_once(" (")?;
    let (place, rest) = rest.split_once(") type ")?;
    let (kind, owner) = match rest.split_once(" inode ") {
        None => (rest, None),
        Some((kind, owner)) => (kind, Some(owner.split_once(' ').unwrap_or((owner, "")))),
    };
    Some(UsedBlock { number: number.parse().ok()?, group: place.split_once('/')?.0, kind: kind.trim(), owner })
}

/// Parses a line such as `data offset 4 startblock 15 (0/15) count 1 flag 0`: block in the file, block, number of blocks.
fn parse_extent(line: &str) -> Option<[u64; 3]> {
    let mut words = line.strip_prefix("data offset ")?.split_whitespace();
    let offset = words.next()?.parse().ok()?;
    let start = words.find(|word| *word == "startblock").and_then(|_| words.next())?.parse().ok()?;
    let count = words.find(|word| *word == "count").and_then(|_| words.next())?.parse().ok()?;
    Some([offset, start, count])
}

fn describe_block(sector: u64, block: &UsedBlock<'_>, extents: &[[u64; 3]]) -> XfsUse {
    let group = block.group;
    let name = block.owner.map_or("", |owner| owner.1);
    let in_file =
        extents.iter().find(|[_, start, count]| (*start..start.saturating_add(*count)).contains(&block.number));
    let offset = in_file.map(|[offset, start, _]| {
        (offset + block.number - start).saturating_mul(BLOCK_BYTES) + sector * SECTOR % BLOCK_BYTES
    });
    let file = offset.filter(|_| block.kind == "data").map(|offset| (format!("/{name}"), offset));
    let words = match (block.kind, &file) {
        ("data", Some((name, offset))) => format!("{name} from byte {offset}"),
        ("data", None) => format!("/{name}"),
        ("dir", _) => format!("names in /{name}"),
        ("sb", _) => format!("the super block or heads of indexes, group {group}"),
        ("log", _) => "XFS's log".to_owned(),
        ("inode", _) => format!("inodes, group {group}"),
        ("btbno" | "btcnt" | "freelist", _) => format!("index of free space, group {group}"),
        ("btino" | "btfino", _) => format!("index of inodes, group {group}"),
        (kind, _) if kind.starts_with("free") => "nobody's: free space".to_owned(),
        (kind, _) => format!("blocks that xfs_db calls {kind}, group {group}"),
    };
    XfsUse { words, file }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as xfs_db 6.1 prints them.
    #[test]
    fn lines_of_the_debugger_are_uses() {
        let extents: Vec<[u64; 3]> = [
            "data offset 4 startblock 15 (0/15) count 1 flag 0",
            "data offset 21 startblock 25 (0/25) count 3 flag 1",
            "bad magic number",
        ]
        .into_iter()
        .filter_map(parse_extent)
        .collect();
        assert_eq!(extents, [[4, 15, 1], [21, 25, 3]]);
        for (sector, line, words, file) in [
            (0, "block 0 (0/0) type sb", "the super block or heads of indexes, group 0", None),
            (307_260, "block 65543 (2/7) type log", "XFS's log", None),
            (120, "block 15 (0/15) type data inode 132 d1/f 1", "/d1/f 1 from byte 16384", Some(16_384)),
            (209, "block 26 (0/26) type data inode 132 d1/f 1", "/d1/f 1 from byte 90624", Some(90_624)),
            (224, "block 28 (0/28) type data inode 132 d1/f 1", "/d1/f 1", None),
            (96, "block 12 (0/12) type dir inode 131 d1", "names in /d1", None),
            (96, "block 12 (0/12) type dir inode 128", "names in /", None),
            (96, "block 12 (0/12) type free2", "nobody's: free space", None),
            (40, "block 5 (0/5) type btrefcnt", "blocks that xfs_db calls btrefcnt, group 0", None),
        ] {
            let used = describe_block(sector, &parse_block(line).unwrap(), &extents);
            let file = file.map(|offset| ("/d1/f 1".to_owned(), offset));
            assert_eq!(used, XfsUse { words: words.to_owned(), file }, "{line}");
        }
        for line in
            ["bad daddr 99999999", "block 0/12 type unknown not expected", "block x (0/1) type sb", "block 1 (0"]
        {
            assert_eq!(parse_block(line), None, "{line}");
        }
    }

    /// The place of a file's data is known from the image itself. Needs xfsprogs, but no root.
    #[test]
    fn blocks_of_a_file_are_found_where_its_bytes_are() {
        let folder = tempfile::tempdir().unwrap();
        let [image, proto, data] = ["image", "proto", "data"].map(|name| folder.path().join(name));
        let mark = |block: u64| [b"block ", &block.to_le_bytes()[..]].concat();
        let bytes: Vec<u8> = (0..3).flat_map(|block| [mark(block), vec![b'.'; 4096 - 14]].concat()).collect();
        std::fs::write(&data, bytes).unwrap();
        let text = format!("nothing\n0 0\nd--755 0 0\ndeep d--755 0 0\nfile ---644 0 0 {}\n$\n$\n", data.display());
        std::fs::write(&proto, text).unwrap();
        std::fs::File::create(&image).unwrap().set_len(300 << 20).unwrap();
        let bounds = ProgramBounds::thirty_seconds();
        let words =
            ["-q", "-f", "-K", "-p"].map(OsString::from).into_iter().chain([proto.into(), image.clone().into()]);
        let made = run_tool_for_output("mkfs.xfs", words, bounds);
        if made.is_err() || run_tool_for_output("xfs_db", ["-V"], bounds).is_err() {
            println!("skipped: mkfs.xfs and xfs_db of xfsprogs are not there");
            return;
        }
        let on_disk = std::fs::read(&image).unwrap();
        let starts_with = |at: u64, mark: &[u8]| on_disk[at as usize..].starts_with(mark);
        let place = |block: u64| {
            (0..on_disk.len() as u64).step_by(4096).find(|at| starts_with(*at, &mark(block))).unwrap() / SECTOR
        };
        // A sector in the middle of the second block, and one beyond the end, which is left out.
        let sectors = BTreeSet::from([0, place(0), place(1) + 3, place(2), 1 << 40]);
        let uses = find_xfs_uses(&image, &sectors, bounds).unwrap();
        assert_eq!(uses.len(), 4, "{uses:?}");
        let file = |offset: u64| Some(("/deep/file".to_owned(), offset));
        let found = [place(0), place(1) + 3, place(2)].map(|sector| uses[&sector].file.clone());
        assert_eq!(found, [file(0), file(4096 + 3 * 512), file(8192)]);
        assert_eq!(uses[&0].words, "the super block or heads of indexes, group 0");
    }
}
