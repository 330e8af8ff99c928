//! Describes the use of each block of an ext4 file system: reads its metadata from a medium and finds the file or the structure
//! that a block belongs to.
//!
//! The format is from the kernel's documentation, filesystems/ext4 (super block, group descriptors, inodes, extents, directories,
//! journal). Only files with extents are found, which is how mkfs creates them. The file system is not checked; unreadable parts
//! are skipped. The caller provides the bytes that are asked for, so that the cost does not depend on the size of the image.

use std::collections::BTreeMap;

/// A function that reads bytes of the medium: offset and length; `None` if the medium ends before.
pub type MediumReader<'a> = dyn Fn(u64, usize) -> Option<Vec<u8>> + 'a;

/// The offset of the super block, in bytes.
const SUPER_OFFSET: u64 = 1024;
const SUPER_MAGIC: u16 = 0xEF53;

/// Reserved inodes.
const ROOT_INODE: u32 = 2;
const JOURNAL_INODE: u32 = 8;

/// The flag of an inode whose blocks are an extent tree.
const EXTENTS_FLAG: u32 = 0x8_0000;
const EXTENT_MAGIC: u16 = 0xF30A;

/// The type of a directory in an inode's mode.
const DIRECTORY: u16 = 0x4000;

/// The bit of `s_feature_incompat` for group descriptors with 64-bit block numbers.
const WIDE_DESCRIPTORS: u32 = 0x80;

/// Limits of directories and of levels of extents: a file system has fewer.
const MOST_DIRECTORIES: usize = 100_000;
const MOST_EXTENT_LEVELS: u16 = 5;

/// The first word of the journal's own blocks (jbd2, big endian).
const JOURNAL_MAGIC: u32 = 0xC03B_3998;

/// A file system's layout.
#[derive(Clone, Debug, Default)]
pub struct Ext4BlockMap {
    block_bytes: u64,
    blocks_per_group: u64,
    inodes_per_group: u64,
    inode_bytes: u64,
    /// Blocks of the table of group descriptors.
    descriptor_blocks: u64,
    groups: Vec<BlockGroup>,
    /// Blocks of files by the first block of each run.
    owned: BTreeMap<u64, OwnedBlocks>,
    /// Paths by inode; one path if there are several.
    names: BTreeMap<u32, String>,
}

/// The first blocks of a group's structures.
#[derive(Clone, Copy, Debug)]
struct BlockGroup {
    block_bitmap: u64,
    inode_bitmap: u64,
    inode_table: u64,
}

/// Consecutive blocks of a file.
#[derive(Clone, Copy, Debug)]
struct OwnedBlocks {
    count: u64,
    inode: u32,
    /// The number of the first block in its file; `None` if the blocks hold the extent tree.
    first_in_file: Option<u64>,
}

/// Little-endian number at an offset; 0 beyond the end.
fn le16(bytes: &[u8], offset: usize) -> u16 {
    bytes.get(offset..offset + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn le32(bytes: &[u8], offset: usize) -> u32 {
    let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    bytes.get(offset..offset + 4).map_or(0, number)
}

/// Big-endian number at an offset; 0 beyond the end.
fn be32(bytes: &[u8], offset: usize) -> u32 {
    le32(bytes, offset).swap_bytes()
}

impl Ext4BlockMap {
    /// Reads the metadata of a medium; `None` if it holds no ext4 file system.
    pub fn read(read_medium: &MediumReader<'_>) -> Option<Ext4BlockMap> {
        let head = read_medium(SUPER_OFFSET, 1024)?;
        let shift = le32(&head, 24);
        if le16(&head, 56) != SUPER_MAGIC || shift > 6 {
            return None;
        }
        let is_wide = le32(&head, 96) & WIDE_DESCRIPTORS != 0;
        let descriptor_bytes = if is_wide { u64::from(le16(&head, 254)).max(32) } else { 32 };
        let (blocks, blocks_per_group) = (u64::from(le32(&head, 4)), u64::from(le32(&head, 32)).max(1));
        let block_bytes = 1024u64 << shift;
        let groups = blocks.div_ceil(blocks_per_group);
        let mut map = Ext4BlockMap {
            block_bytes,
            blocks_per_group,
            inodes_per_group: u64::from(le32(&head, 40)).max(1),
            inode_bytes: u64::from(le16(&head, 88)).max(128),
            descriptor_blocks: (groups * descriptor_bytes).div_ceil(block_bytes),
            ..Ext4BlockMap::default()
        };
        let table_offset = (SUPER_OFFSET / block_bytes + 1) * block_bytes;
        let table = read_medium(table_offset, (groups * descriptor_bytes) as usize)?;
        for offset in (0..groups).map(|group| (group * descriptor_bytes) as usize) {
            let block_number = |low: usize, high: usize| {
                let high_half = if descriptor_bytes > 32 { u64::from(le32(&table, offset + high)) << 32 } else { 0 };
                u64::from(le32(&table, offset + low)) | high_half
            };
            map.groups.push(BlockGroup {
                block_bitmap: block_number(0, 32),
                inode_bitmap: block_number(4, 36),
                inode_table: block_number(8, 40),
            });
        }
        for (inode, name) in [(JOURNAL_INODE, "journal"), (ROOT_INODE, "/")] {
            map.names.insert(inode, name.to_owned());
            map.record_blocks(inode, read_medium);
        }
        map.record_names(read_medium);
        Some(map)
    }

    /// Reads the bytes of an inode.
    fn read_inode(&self, inode: u32, read_medium: &MediumReader<'_>) -> Option<Vec<u8>> {
        let index = u64::from(inode.checked_sub(1)?);
        let group = self.groups.get((index / self.inodes_per_group) as usize)?;
        let table_offset = group.inode_table * self.block_bytes;
        read_medium(table_offset + index % self.inodes_per_group * self.inode_bytes, self.inode_bytes as usize)
    }

    /// Adds the blocks of an inode to `owned`.
    fn record_blocks(&mut self, inode: u32, read_medium: &MediumReader<'_>) {
        let Some(bytes) = self.read_inode(inode, read_medium) else { return };
        if le32(&bytes, 32) & EXTENTS_FLAG != 0 {
            self.record_extents(inode, &bytes[40..100], MOST_EXTENT_LEVELS, read_medium);
        }
    }

    /// Adds the blocks below a node of an extent tree to `owned`, at most `levels_left` levels down.
    fn record_extents(&mut self, inode: u32, node: &[u8], levels_left: u16, read_medium: &MediumReader<'_>) {
        let (entries, depth) = (usize::from(le16(node, 2)), le16(node, 6));
        if le16(node, 0) != EXTENT_MAGIC {
            return;
        }
        for entry in (0..entries).filter_map(|entry| node.get(12 + entry * 12..24 + entry * 12)) {
            if depth > 0 {
                let child = u64::from(le32(entry, 4)) | u64::from(le16(entry, 8)) << 32;
                self.owned.insert(child, OwnedBlocks { count: 1, inode, first_in_file: None });
                let bytes = read_medium(child * self.block_bytes, self.block_bytes as usize);
                if let Some(bytes) = bytes.filter(|_| levels_left > 0) {
                    self.record_extents(inode, &bytes, levels_left - 1, read_medium);
                }
                continue;
            }
            // A length above 32768 marks blocks that are not written yet.
            let count = match le16(entry, 4) {
                unwritten @ 32769.. => unwritten - 32768,
                written => written,
            };
            let first = u64::from(le32(entry, 8)) | u64::from(le16(entry, 6)) << 32;
            let first_in_file = Some(u64::from(le32(entry, 0)));
            self.owned.insert(first, OwnedBlocks { count: u64::from(count), inode, first_in_file });
        }
    }

    /// Adds the names and blocks of all files, from the root down.
    fn record_names(&mut self, read_medium: &MediumReader<'_>) {
        let mut unread = vec![ROOT_INODE];
        let mut directories = 0;
        while let Some(directory) = unread.pop() {
            directories += 1;
            if directories > MOST_DIRECTORIES {
                return;
            }
            let path = self.names[&directory].trim_end_matches('/').to_owned();
            for (inode, name) in self.directory_entries(directory, read_medium) {
                if self.names.contains_key(&inode) {
                    continue;
                }
                self.names.insert(inode, format!("{path}/{name}"));
                self.record_blocks(inode, read_medium);
                let mode = self.read_inode(inode, read_medium).map_or(0, |bytes| le16(&bytes, 0));
                if mode & 0xF000 == DIRECTORY {
                    unread.push(inode);
                }
            }
        }
    }

    /// The entries of a directory: inode and name.
    fn directory_entries(&self, directory: u32, read_medium: &MediumReader<'_>) -> Vec<(u32, String)> {
        let mut entries = Vec::new();
        let holds_entries = |owned: &OwnedBlocks| owned.inode == directory && owned.first_in_file.is_some();
        let runs = self.owned.iter().filter(|(_, owned)| holds_entries(owned));
        for block in runs.flat_map(|(&first, owned)| first..first + owned.count) {
            let Some(bytes) = read_medium(block * self.block_bytes, self.block_bytes as usize) else { continue };
            let mut offset = 0;
            while offset + 8 <= bytes.len() {
                let (inode, length) = (le32(&bytes, offset), usize::from(le16(&bytes, offset + 4)));
                let name = bytes.get(offset + 8..offset + 8 + usize::from(bytes[offset + 6])).unwrap_or_default();
                if inode != 0 && !name.is_empty() && name != b"." && name != b".." {
                    entries.push((inode, String::from_utf8_lossy(name).into_owned()));
                }
                offset += length.max(8);
            }
        }
        entries
    }

    /// Describes the use of the bytes at `offset` of the medium; `written` is the data that a write put there.
    pub fn describe_offset(&self, offset: u64, written: &[u8], read_medium: &MediumReader<'_>) -> String {
        let block = offset / self.block_bytes;
        let run = self.owned.range(..=block).next_back();
        if let Some((first, owned)) = run.filter(|(first, owned)| block < *first + owned.count) {
            let name = &self.names[&owned.inode];
            return match owned.first_in_file {
                Some(_) if owned.inode == JOURNAL_INODE => self.describe_journal(written, read_medium),
                None => format!("extents of {name}"),
                Some(first_in_file) => {
                    let file_offset = (first_in_file + block - first) * self.block_bytes;
                    self.describe_file(owned.inode, name, file_offset, read_medium)
                }
            };
        }
        let (group, block_in_group) = (block / self.blocks_per_group, block % self.blocks_per_group);
        if block == SUPER_OFFSET / self.block_bytes {
            return "the super block".to_owned();
        }
        if block <= self.descriptor_blocks {
            return "group descriptors".to_owned();
        }
        let inode_blocks = (self.inodes_per_group * self.inode_bytes).div_ceil(self.block_bytes);
        for (number, group) in self.groups.iter().enumerate() {
            if block == group.block_bitmap {
                return format!("bitmap of blocks, group {number}");
            }
            if block == group.inode_bitmap {
                return format!("bitmap of inodes, group {number}");
            }
            if (group.inode_table..group.inode_table + inode_blocks).contains(&block) {
                return self.describe_inodes(number as u64, block - group.inode_table);
            }
        }
        if block_in_group <= self.descriptor_blocks {
            format!("a copy of the super block or descriptors, group {group}")
        } else {
            "nobody's, as far as is known".to_owned()
        }
    }

    /// The regular file that has the byte at `offset` of the medium, and the byte's offset in it.
    pub fn find_file(&self, offset: u64, read_medium: &MediumReader<'_>) -> Option<(&str, u64)> {
        let block = offset / self.block_bytes;
        let (first, owned) = self.owned.range(..=block).next_back()?;
        let first_in_file = owned.first_in_file.filter(|_| block < first + owned.count)?;
        let is_data = owned.inode != JOURNAL_INODE && !self.is_directory(owned.inode, read_medium);
        let file_offset = (first_in_file + block - first) * self.block_bytes + offset % self.block_bytes;
        is_data.then(|| (self.names[&owned.inode].as_str(), file_offset))
    }

    fn is_directory(&self, inode: u32, read_medium: &MediumReader<'_>) -> bool {
        self.read_inode(inode, read_medium).is_some_and(|bytes| le16(&bytes, 0) & 0xF000 == DIRECTORY)
    }

    /// Describes a block of a group's inode table, counted from the table's first.
    fn describe_inodes(&self, group: u64, table_block: u64) -> String {
        let inodes_per_block = self.block_bytes / self.inode_bytes;
        let first = group * self.inodes_per_group + table_block * inodes_per_block + 1;
        let named = self
            .names
            .range(first.min(u64::from(u32::MAX)) as u32..)
            .take_while(|(inode, _)| u64::from(**inode) < first + inodes_per_block);
        let names: Vec<&str> = named.map(|(_, name)| name.as_str()).collect();
        let shown = names.iter().take(4).copied().collect::<Vec<_>>().join(", ");
        let more = if names.len() > 4 { format!(" and {} more", names.len() - 4) } else { String::new() };
        format!("inodes {first} to {} ({shown}{more})", first + inodes_per_block - 1)
    }

    /// Describes a write to the journal.
    fn describe_journal(&self, written: &[u8], read_medium: &MediumReader<'_>) -> String {
        if be32(written, 0) != JOURNAL_MAGIC {
            return "journal: blocks of a transaction".to_owned();
        }
        let transaction = be32(written, 8);
        match be32(written, 4) {
            1 => format!("journal: beginning of transaction {transaction}{}", self.describe_tags(written, read_medium)),
            2 => format!("journal: commit of transaction {transaction}"),
            3 | 4 => "journal: its super block".to_owned(),
            5 => format!("journal: revoked blocks of transaction {transaction}"),
            _ => "journal".to_owned(),
        }
    }

    /// Describes the blocks that a journal descriptor lists. The descriptor's tags have 16 bytes with checksums (version 3), as
    /// in journals that mkfs makes for file systems with `metadata_csum`.
    fn describe_tags(&self, written: &[u8], read_medium: &MediumReader<'_>) -> String {
        const LAST_TAG: u32 = 8;
        const SAME_UUID: u32 = 2;
        let (mut offset, mut uses) = (12, Vec::new());
        while offset + 16 <= written.len().min(self.block_bytes as usize) && uses.len() < 8 {
            let block = u64::from(be32(written, offset)) | u64::from(be32(written, offset + 8)) << 32;
            let flags = be32(written, offset + 4);
            uses.push(self.describe_offset(block * self.block_bytes, &[], read_medium));
            offset += if flags & SAME_UUID == 0 { 32 } else { 16 };
            if flags & LAST_TAG != 0 {
                break;
            }
        }
        uses.dedup();
        if uses.is_empty() { String::new() } else { format!(" with {}", uses.join("; ")) }
    }

    /// Describes bytes of a file; in SQLite's files also the page or frame.
    fn describe_file(&self, inode: u32, name: &str, file_offset: u64, read_medium: &MediumReader<'_>) -> String {
        if self.is_directory(inode, read_medium) {
            return format!("names in {name}");
        }
        let is_start = |owned: &OwnedBlocks| owned.inode == inode && owned.first_in_file == Some(0);
        let start = self.owned.iter().find(|(_, owned)| is_start(owned));
        let head = start.and_then(|(&block, _)| read_medium(block * self.block_bytes, 100)).unwrap_or_default();
        format!("{name} from byte {file_offset}{}", describe_sqlite_part(&head, file_offset))
    }
}

/// Describes the part of a SQLite file that begins at `file_offset`; `head` are its first bytes. Empty for other files.
fn describe_sqlite_part(head: &[u8], file_offset: u64) -> String {
    if head.starts_with(b"SQLite format 3\0") {
        let page_bytes = match u64::from(le16(head, 16).swap_bytes()) {
            1 => 65536,
            bytes => bytes.max(512),
        };
        return format!(", SQLite's page {}", file_offset / page_bytes + 1);
    }
    // The last bit of a WAL's magic number says how checksums are made (https://sqlite.org/walformat.html).
    if be32(head, 0) & !1 == 0x377F_0682 {
        return match file_offset.checked_sub(32) {
            None => ", the head of SQLite's WAL".to_owned(),
            Some(after_head) => {
                let frame_bytes = u64::from(be32(head, 8)).max(512) + 24;
                format!(", SQLite's WAL from frame {}", after_head / frame_bytes + 1)
            }
        };
    }
    match head.starts_with(&[0xD9, 0xD5, 0x05, 0xF9]) {
        true => ", SQLite's rollback journal".to_owned(),
        false => String::new(),
    }
}
