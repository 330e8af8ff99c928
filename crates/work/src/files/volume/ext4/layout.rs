//! The layout of ext4, as mke2fs 1.47 writes it with its defaults (blocks of 4 KiB, inodes of 256 bytes, one for every
//! 16 KiB, flex groups of 16, sparse superblocks, room to grow 1,024-fold). The test below compares it with that
//! program, if it is installed.

use super::super::refusal::VolumeMisfit;

/// Sectors in a block.
pub(super) const BLOCK: u64 = 8;
/// Blocks in a group: as many as a bitmap block has bits.
pub(super) const GROUP: u64 = 32_768;
/// Groups in a flex group, whose bitmaps and inode tables lie together.
pub(super) const FLEX: u64 = 16;
/// Inodes in a block: 256 bytes each.
pub(super) const INODES: u64 = 16;
/// Bytes of a directory's entry without its name.
pub(super) const ENTRY: u64 = 8;
/// Bytes of the entries `.` and `..`.
pub(super) const EMPTY: u64 = 2 * (ENTRY + 4);
/// Group descriptors of a block: 64 bytes each.
const DESCRIPTORS: u64 = 64;
/// Bytes of the volume for each inode.
const INODE_RATIO: u64 = 16_384;
/// The most descriptor blocks kept for growth: the entries of an indirect block.
const RESERVED_MOST: u64 = 1024;
/// Default sizes of the journal (e2fsprogs): blocks of the volume below which a row applies, blocks of the journal.
const JOURNAL: [(u64, u64); 7] = [
    (32_768, 1024),
    (262_144, 4096),
    (524_288, 8192),
    (4_194_304, 16_384),
    (8_388_608, 32_768),
    (16_777_216, 65_536),
    (33_554_432, 131_072),
];
/// The journal of larger volumes: 1 GiB.
const JOURNAL_MOST: u64 = 262_144;

/// The layout of a volume, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ext4Layout {
    pub(super) blocks: u64,
    pub(super) groups: u64,
    /// Inodes in a group.
    pub(super) inodes: u64,
    /// Blocks in the inode table of a group.
    pub(super) table: u64,
    /// Blocks of group descriptors in use.
    pub(super) descriptors: u64,
    /// Blocks of group descriptors reserved for growth.
    pub(super) reserved: u64,
    /// Blocks of the journal.
    pub(super) journal: u64,
}

impl Ext4Layout {
    /// The layout of a volume of `blocks` blocks.
    pub(super) fn new(blocks: u64) -> Result<Ext4Layout, VolumeMisfit> {
        // Below 512 MiB mke2fs uses blocks of 1 KiB: not modelled.
        let least = 4 * GROUP;
        if blocks < least {
            return Err(VolumeMisfit::TooSmall { least: least * BLOCK });
        }
        if blocks > u64::from(u32::MAX) {
            return Err(VolumeMisfit::TooLarge { most: u64::from(u32::MAX) });
        }
        let layout = Ext4Layout::with_blocks(blocks);
        // A last group too small for its own metadata and 50 blocks is left out.
        let rest = blocks % GROUP;
        let needs = layout.backup_blocks(layout.groups - 1) + 2 + layout.table + 50;
        Ok(if rest > 0 && rest < needs { Ext4Layout::with_blocks(blocks - rest) } else { layout })
    }

    fn with_blocks(blocks: u64) -> Ext4Layout {
        let groups = blocks.div_ceil(GROUP);
        let inodes = (blocks * 4096 / INODE_RATIO).div_ceil(groups).next_multiple_of(INODES);
        let descriptors = groups.div_ceil(DESCRIPTORS);
        let grown = (blocks * 1024).min(u64::from(u32::MAX));
        let reserved = (grown.div_ceil(GROUP).div_ceil(DESCRIPTORS) - descriptors).min(RESERVED_MOST);
        let journal = JOURNAL.iter().find(|row| blocks < row.0).map_or(JOURNAL_MOST, |row| row.1);
        Ext4Layout { blocks, groups, inodes, table: inodes / INODES, descriptors, reserved, journal }
    }

    /// Number of blocks of superblock and descriptors at the beginning of a group. Groups 0, 1 and powers of 3, 5 and 7
    /// have them.
    pub(super) fn backup_blocks(&self, group: u64) -> u64 {
        let power =
            |base: u64| core::iter::successors(Some(base), |n| Some(n * base)).take_while(|&n| n <= group).last();
        let has = group <= 1 || [3, 5, 7].into_iter().any(|base| power(base) == Some(group));
        if has { 1 + self.descriptors + self.reserved } else { 0 }
    }

    /// The first group of a group's flex group, and the number of its groups.
    pub(super) fn flex_group(&self, group: u64) -> (u64, u64) {
        let first = group / FLEX * FLEX;
        (first, FLEX.min(self.groups - first))
    }

    /// The first block of the flex group's bitmaps.
    fn first_bitmap(&self, group: u64) -> u64 {
        let (first, _) = self.flex_group(group);
        first * GROUP + self.backup_blocks(first)
    }

    /// The block of a group's block bitmap.
    pub(super) fn block_bitmap(&self, group: u64) -> u64 {
        self.first_bitmap(group) + group % FLEX
    }

    /// The block of a group's inode bitmap.
    pub(super) fn inode_bitmap(&self, group: u64) -> u64 {
        self.first_bitmap(group) + self.flex_group(group).1 + group % FLEX
    }

    /// The first block of a group's inode table.
    pub(super) fn inode_table(&self, group: u64) -> u64 {
        self.first_bitmap(group) + 2 * self.flex_group(group).1 + group % FLEX * self.table
    }

    /// The block that holds a group's descriptor.
    pub(super) fn descriptor_block(&self, group: u64) -> u64 {
        1 + group / DESCRIPTORS
    }

    /// The group in which the journal begins: the middle one or a neighbour, whichever has the most free blocks; the
    /// first of a flex group has the fewest.
    pub(super) fn journal_group(&self) -> u64 {
        let middle = self.blocks / 2 / GROUP;
        let first = if middle > FLEX { middle / FLEX * FLEX } else { middle.saturating_sub(1) };
        let last = if middle > FLEX { first + 1 } else { (middle + 1).min(self.groups - 1) };
        let taken = |group: u64| if group.is_multiple_of(FLEX) { GROUP } else { self.backup_blocks(group) };
        (first..=last).min_by_key(|&group| (taken(group), group)).unwrap_or(middle)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;
    use std::process::Command;

    /// Figures that `mke2fs` and `dumpe2fs` 1.47 print for a volume of 8 GiB.
    #[test]
    fn eight_gibibytes_by_hand() {
        let layout = Ext4Layout::new(2_097_152).expect("fits");
        assert_eq!((layout.groups, layout.inodes, layout.descriptors, layout.reserved), (64, 8192, 1, 1023));
        assert_eq!((layout.block_bitmap(0), layout.inode_bitmap(0), layout.inode_table(0)), (1025, 1041, 1057));
        assert_eq!(
            (layout.block_bitmap(17), layout.inode_bitmap(17), layout.inode_table(17)),
            (524_289, 524_305, 524_832)
        );
        assert_eq!((layout.journal, layout.journal_group()), (16_384, 33));
        assert_eq!((layout.backup_blocks(2), layout.backup_blocks(27), layout.backup_blocks(49)), (0, 1025, 1025));
    }

    /// The number after `key` in `line`.
    fn number_after(line: &str, key: &str) -> Option<u64> {
        let rest = line.split(key).nth(1)?.trim_start();
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }

    /// The output of a program, if it is installed and succeeds.
    fn run_program(program: &str, arguments: &[&str]) -> Option<String> {
        let found = ["/usr/sbin", "/sbin", "/usr/bin"].map(|folder| format!("{folder}/{program}"));
        let path = found.iter().find(|path| std::path::Path::new(path).exists())?;
        let output = Command::new(path).args(arguments).env("MKE2FS_CONFIG", "/dev/null").output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Makes a volume with mke2fs. Returns the first blocks of block bitmap, inode bitmap and inode table of each
    /// group, and of the journal.
    fn layout_by_mke2fs(mebibytes: u64) -> Option<(Vec<[u64; 3]>, u64)> {
        let path = std::env::temp_dir().join(format!("seekwise-ext4-{}-{mebibytes}", std::process::id()));
        let image = path.to_str()?;
        std::fs::File::create(&path).ok()?.set_len(mebibytes << 20).ok()?;
        let features = "has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize,\
                        sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr";
        let lazily = "lazy_itable_init=1,lazy_journal_init=1";
        let sizes = ["-b", "4096", "-I", "256", "-i", "16384", "-E", lazily, "-O", features];
        let arguments: Vec<&str> = ["-q", "-F"].iter().chain(&sizes).copied().chain([image]).collect();
        let done = run_program("mke2fs", &arguments);
        let groups = run_program("dumpe2fs", &[image]);
        let journal = run_program("debugfs", &["-R", "stat <8>", image]);
        _ = std::fs::remove_file(&path);
        done?;
        let mut places = Vec::new();
        for line in groups?.lines() {
            if line.contains("Block bitmap at ") {
                places.push([number_after(line, "Block bitmap at ")?, 0, 0]);
            } else if line.contains("Inode bitmap at ") {
                places.last_mut()?[1] = number_after(line, "Inode bitmap at ")?;
            } else if line.contains("Inode table at ") {
                places.last_mut()?[2] = number_after(line, "Inode table at ")?;
            }
        }
        let journal = journal?;
        Some((places, number_after(journal.split("EXTENTS:").nth(1)?, "):")?))
    }

    #[test]
    fn volumes_lie_as_mke2fs_lays_them() {
        for mebibytes in [600, 1024, 1111, 2048, 3072, 5120, 8192, 17_408, 30_720, 40_960] {
            let Some((groups, journal)) = layout_by_mke2fs(mebibytes) else {
                std::println!("skipped: mke2fs, dumpe2fs and debugfs are not all here");
                return;
            };
            let layout = Ext4Layout::new(mebibytes << 8).expect("fits");
            let ours: Vec<[u64; 3]> = (0..layout.groups)
                .map(|group| [layout.block_bitmap(group), layout.inode_bitmap(group), layout.inode_table(group)])
                .collect();
            assert_eq!(ours, groups, "{mebibytes} MiB");
            assert_eq!(layout.journal_group(), journal / GROUP, "{mebibytes} MiB");
        }
    }
}
