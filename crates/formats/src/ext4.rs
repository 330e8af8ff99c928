//! The layout of an ext4 file system, read from its medium: describes what each block is used for.
//!
//! Source: the kernel's documentation, filesystems/ext4 (super block, group descriptors, inodes, extents, directories,
//! journal). Files must have extents, as mkfs creates them; otherwise their blocks are not told apart. Nothing is checked; what
//! cannot be read is skipped. The caller provides the bytes, so that the cost does not depend on the size of the image.

use std::collections::BTreeMap;

/// Reads bytes at an offset of the medium; `None` if the medium ends before.
pub type MediumReader<'a> = dyn Fn(u64, usize) -> Option<Vec<u8>> + 'a;

/// The super block, at byte 1024.
const SUPER: u64 = 1024;
const SUPER_MAGIC: u16 = 0xEF53;

/// Reserved inodes.
const ROOT: u32 = 2;
const JOURNAL: u32 = 8;

/// An inode whose blocks are an extent tree.
const EXTENTS: u32 = 0x8_0000;
const EXTENT_MAGIC: u16 = 0xF30A;

/// An inode's type: a directory.
const DIRECTORY: u16 = 0x4000;

/// Bits of `s_feature_incompat`.
const WIDE: u32 = 0x80;

/// Directories, and levels of extents, that are followed at most: more is no file system.
const MOST: usize = 100_000;
const DEEPEST: u16 = 5;

/// The journal's blocks begin with this (jbd2, big endian).
const JOURNAL_MAGIC: u32 = 0xC03B_3998;

/// A file system's layout.
#[derive(Clone, Debug, Default)]
pub struct Ext4BlockMap {
    block: u64,
    per_group: u64,
    inodes_per_group: u64,
    inode: u64,
    descriptors: u64,
    groups: Vec<BlockGroup>,
    /// By first block: number of blocks, owning inode, and the first's number in its file (`None`: they hold the extent tree).
    owned: BTreeMap<u64, (u64, u32, Option<u64>)>,
    /// Paths by inode; one path if there are several.
    names: BTreeMap<u32, String>,
}

#[derive(Clone, Copy, Debug)]
struct BlockGroup {
    block_bitmap: u64,
    inode_bitmap: u64,
    table: u64,
}

fn le16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |it| u16::from_le_bytes([it[0], it[1]]))
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |it| u32::from_le_bytes([it[0], it[1], it[2], it[3]]))
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    le32(bytes, at).swap_bytes()
}

impl Ext4BlockMap {
    /// Reads the layout of a medium; `None` if it holds no such file system.
    pub fn read(read: &MediumReader<'_>) -> Option<Ext4BlockMap> {
        let head = read(SUPER, 1024)?;
        let shift = le32(&head, 24);
        if le16(&head, 56) != SUPER_MAGIC || shift > 6 {
            return None;
        }
        let wide = le32(&head, 96) & WIDE != 0;
        let size = if wide { u64::from(le16(&head, 254)).max(32) } else { 32 };
        let (blocks, per_group) = (u64::from(le32(&head, 4)), u64::from(le32(&head, 32)).max(1));
        let block = 1024u64 << shift;
        let groups = blocks.div_ceil(per_group);
        let mut layout = Ext4BlockMap {
            block,
            per_group,
            inodes_per_group: u64::from(le32(&head, 40)).max(1),
            inode: u64::from(le16(&head, 88)).max(128),
            descriptors: (groups * size).div_ceil(block),
            ..Ext4BlockMap::default()
        };
        let first = (SUPER / block + 1) * block;
        let table = read(first, (groups * size) as usize)?;
        for at in (0..groups).map(|group| (group * size) as usize) {
            let place = |low: usize, high: usize| {
                let high = if size > 32 { u64::from(le32(&table, at + high)) << 32 } else { 0 };
                u64::from(le32(&table, at + low)) | high
            };
            layout.groups.push(BlockGroup {
                block_bitmap: place(0, 32),
                inode_bitmap: place(4, 36),
                table: place(8, 40),
            });
        }
        for (inode, name) in [(JOURNAL, "journal"), (ROOT, "/")] {
            layout.names.insert(inode, name.to_owned());
            layout.record_blocks(inode, read);
        }
        layout.record_names(read);
        Some(layout)
    }

    /// An inode's bytes.
    fn read_inode(&self, inode: u32, read: &MediumReader<'_>) -> Option<Vec<u8>> {
        let index = u64::from(inode.checked_sub(1)?);
        let group = self.groups.get((index / self.inodes_per_group) as usize)?;
        read(group.table * self.block + index % self.inodes_per_group * self.inode, self.inode as usize)
    }

    /// Notes which blocks an inode has.
    fn record_blocks(&mut self, inode: u32, read: &MediumReader<'_>) {
        let Some(bytes) = self.read_inode(inode, read) else { return };
        if le32(&bytes, 32) & EXTENTS != 0 {
            self.record_extents(inode, &bytes[40..100], DEEPEST, read);
        }
    }

    fn record_extents(&mut self, inode: u32, node: &[u8], left: u16, read: &MediumReader<'_>) {
        let (entries, depth) = (usize::from(le16(node, 2)), le16(node, 6));
        if le16(node, 0) != EXTENT_MAGIC {
            return;
        }
        for entry in (0..entries).filter_map(|entry| node.get(12 + entry * 12..24 + entry * 12)) {
            if depth > 0 {
                let child = u64::from(le32(entry, 4)) | u64::from(le16(entry, 8)) << 32;
                self.owned.insert(child, (1, inode, None));
                if let Some(bytes) = read(child * self.block, self.block as usize).filter(|_| left > 0) {
                    self.record_extents(inode, &bytes, left - 1, read);
                }
                continue;
            }
            // A length above 32768 marks blocks that are not written yet.
            let length = match le16(entry, 4) {
                long @ 32769.. => long - 32768,
                length => length,
            };
            let first = u64::from(le32(entry, 8)) | u64::from(le16(entry, 6)) << 32;
            self.owned.insert(first, (u64::from(length), inode, Some(u64::from(le32(entry, 0)))));
        }
    }

    /// Finds the names of all files, from the root down.
    fn record_names(&mut self, read: &MediumReader<'_>) {
        let mut open = vec![ROOT];
        let mut seen = 0;
        while let Some(directory) = open.pop() {
            seen += 1;
            if seen > MOST {
                return;
            }
            let path = self.names[&directory].trim_end_matches('/').to_owned();
            for (inode, name) in self.directory_entries(directory, read) {
                if self.names.contains_key(&inode) {
                    continue;
                }
                self.names.insert(inode, format!("{path}/{name}"));
                self.record_blocks(inode, read);
                let mode = self.read_inode(inode, read).map_or(0, |bytes| le16(&bytes, 0));
                if mode & 0xF000 == DIRECTORY {
                    open.push(inode);
                }
            }
        }
    }

    fn directory_entries(&self, directory: u32, read: &MediumReader<'_>) -> Vec<(u32, String)> {
        let mut entries = Vec::new();
        let runs = self.owned.iter().filter(|(_, (_, inode, from))| *inode == directory && from.is_some());
        for block in runs.flat_map(|(&first, &(length, ..))| first..first + length) {
            let Some(bytes) = read(block * self.block, self.block as usize) else { continue };
            let mut at = 0;
            while at + 8 <= bytes.len() {
                let (inode, length) = (le32(&bytes, at), usize::from(le16(&bytes, at + 4)));
                let name = bytes.get(at + 8..at + 8 + usize::from(bytes[at + 6])).unwrap_or_default();
                if inode != 0 && !name.is_empty() && name != b"." && name != b".." {
                    entries.push((inode, String::from_utf8_lossy(name).into_owned()));
                }
                at += length.max(8);
            }
        }
        entries
    }

    /// Describes the use of the bytes at `offset` of the medium; `written` are those that a write brought there.
    pub fn describe_offset(&self, offset: u64, written: &[u8], read: &MediumReader<'_>) -> String {
        let block = offset / self.block;
        let owned = self.owned.range(..=block).next_back();
        if let Some((first, (_, inode, from))) = owned.filter(|(first, (length, ..))| block < *first + length) {
            let name = &self.names[inode];
            return match from {
                Some(_) if *inode == JOURNAL => self.describe_journal(written, read),
                None => format!("extents of {name}"),
                Some(from) => self.describe_file(*inode, name, (from + block - first) * self.block, read),
            };
        }
        let (group, within) = (block / self.per_group, block % self.per_group);
        if block == SUPER / self.block {
            return "the super block".to_owned();
        }
        if block <= self.descriptors {
            return "group descriptors".to_owned();
        }
        for (number, group) in self.groups.iter().enumerate() {
            let inodes = (self.inodes_per_group * self.inode).div_ceil(self.block);
            match block {
                _ if block == group.block_bitmap => return format!("bitmap of blocks, group {number}"),
                _ if block == group.inode_bitmap => return format!("bitmap of inodes, group {number}"),
                _ if (group.table..group.table + inodes).contains(&block) => {
                    return self.describe_inodes(number as u64, block - group.table);
                }
                _ => {}
            }
        }
        if within <= self.descriptors {
            format!("a copy of the super block or descriptors, group {group}")
        } else {
            "nobody's, as far as is known".to_owned()
        }
    }

    /// A block of a table of inodes.
    fn describe_inodes(&self, group: u64, block: u64) -> String {
        let each = self.block / self.inode;
        let first = group * self.inodes_per_group + block * each + 1;
        let named = self
            .names
            .range(first.min(u64::from(u32::MAX)) as u32..)
            .take_while(|(n, _)| u64::from(**n) < first + each);
        let names: Vec<&str> = named.map(|(_, name)| name.as_str()).collect();
        let some = names.iter().take(4).copied().collect::<Vec<_>>().join(", ");
        let more = if names.len() > 4 { format!(" and {} more", names.len() - 4) } else { String::new() };
        format!("inodes {first} to {} ({some}{more})", first + each - 1)
    }

    /// Describes a write to the journal.
    fn describe_journal(&self, written: &[u8], read: &MediumReader<'_>) -> String {
        if be32(written, 0) != JOURNAL_MAGIC {
            return "journal: blocks of a transaction".to_owned();
        }
        let transaction = be32(written, 8);
        match be32(written, 4) {
            1 => format!("journal: beginning of transaction {transaction}{}", self.describe_tags(written, read)),
            2 => format!("journal: commit of transaction {transaction}"),
            3 | 4 => "journal: its super block".to_owned(),
            5 => format!("journal: revoked blocks of transaction {transaction}"),
            _ => "journal".to_owned(),
        }
    }

    /// Describes the blocks that a descriptor lists: tags are of 16 bytes with checksums (version 3), as mkfs makes journals
    /// for file systems with `metadata_csum`.
    fn describe_tags(&self, written: &[u8], read: &MediumReader<'_>) -> String {
        const LAST: u32 = 8;
        const SAME: u32 = 2;
        let (mut at, mut words) = (12, Vec::new());
        while at + 16 <= written.len().min(self.block as usize) && words.len() < 8 {
            let (block, flags) =
                (u64::from(be32(written, at)) | u64::from(be32(written, at + 8)) << 32, be32(written, at + 4));
            words.push(self.describe_offset(block * self.block, &[], read));
            at += if flags & SAME == 0 { 32 } else { 16 };
            if flags & LAST != 0 {
                break;
            }
        }
        words.dedup();
        if words.is_empty() { String::new() } else { format!(" with {}", words.join("; ")) }
    }

    /// Describes bytes of a file; in SQLite's files also the page or frame.
    fn describe_file(&self, inode: u32, name: &str, at: u64, read: &MediumReader<'_>) -> String {
        let begin = self.owned.iter().find(|(_, (_, owner, from))| *owner == inode && *from == Some(0));
        let head = begin.and_then(|(&block, _)| read(block * self.block, 100)).unwrap_or_default();
        let directory = self.read_inode(inode, read).is_some_and(|bytes| le16(&bytes, 0) & 0xF000 == DIRECTORY);
        let part = match () {
            () if directory => return format!("names in {name}"),
            () if head.starts_with(b"SQLite format 3\0") => {
                let page = u64::from(le16(&head, 16).swap_bytes());
                let page = if page == 1 { 65536 } else { page.max(512) };
                format!(", SQLite's page {}", at / page + 1)
            }
            // The last bit says how checksums are made (https://sqlite.org/walformat.html).
            () if be32(&head, 0) & !1 == 0x377F_0682 => match at.checked_sub(32) {
                None => ", the head of SQLite's WAL".to_owned(),
                Some(at) => format!(", SQLite's WAL from frame {}", at / (u64::from(be32(&head, 8)).max(512) + 24) + 1),
            },
            () if head.starts_with(&[0xD9, 0xD5, 0x05, 0xF9]) => ", SQLite's rollback journal".to_owned(),
            () => String::new(),
        };
        format!("{name} from byte {at}{part}")
    }
}
