//! Finds signatures of partition tables, file systems, swap, arrays, volume groups and encryption in the first and last bytes
//! of a disk, so that no disk in use is overwritten. The caller reads the disk.
//!
//! Sources: libblkid of util-linux 2.40 (`libblkid/src/superblocks`, `partitions`), and the headers of what it recognises:
//! Linux `include/uapi/linux/raid/md_p.h`, `fs/*/`, LVM2 `lib/format_text/layout.h`, LUKS2 on-disk format 1.1, OpenZFS
//! `include/sys/vdev_impl.h`, UEFI 2.10 (5.3), the documents of the formats. A false positive costs the user a question, a
//! false negative the disk, so short magic numbers are reported too.

/// Bytes to read from the beginning of a disk: beyond VMFS's mark at 1 MiB.
pub const HEAD_BYTES: usize = 2 << 20;

/// Bytes to read from the end of a disk: two ZFS labels of 256 KiB, then up to 256 KiB of unused space.
pub const TAIL_BYTES: usize = 1 << 20;

/// The beginning and end of a disk. If the disk is shorter than [`HEAD_BYTES`] or [`TAIL_BYTES`], both are the whole disk.
#[derive(Clone, Copy, Debug)]
pub struct DiskEnds<'a> {
    /// The beginning.
    pub head: &'a [u8],
    /// The end.
    pub tail: &'a [u8],
    /// The size of the disk.
    pub bytes: u64,
}

/// A signature that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// The description.
    pub name: &'static str,
    /// The offset in bytes from the beginning of the disk.
    pub at: u64,
}

/// Bytes that mark a use of the disk.
struct Magic {
    name: &'static str,
    /// Offset in bytes from the beginning of the disk.
    offset: usize,
    bytes: &'static [u8],
}

const fn magic(name: &'static str, offset: usize, bytes: &'static [u8]) -> Magic {
    Magic { name, offset, bytes }
}

/// Linux's mark of a member of an array (`MD_SB_MAGIC`) in little-endian order.
const MD_MAGIC: &[u8] = &0xa92b_4efc_u32.to_le_bytes();

/// Signatures at a fixed distance from the beginning.
const MAGICS: &[Magic] = &[
    magic("XFS", 0, b"XFSB"),
    magic("btrfs", 0x1_0040, b"_BHRfS_M"),
    magic("F2FS", 1024, &0xf2f5_2010_u32.to_le_bytes()),
    magic("NTFS", 3, b"NTFS    "),
    magic("exFAT", 3, b"EXFAT   "),
    magic("ReFS", 3, b"ReFS\0\0\0\0"),
    magic("BitLocker", 3, b"-FVE-FS-"),
    magic("FAT", 54, b"FAT"),
    magic("FAT", 54, b"MSDOS"),
    magic("FAT", 82, b"FAT32   "),
    magic("ISO 9660", 0x8001, b"CD001"),
    magic("UDF", 0x8001, b"BEA01"),
    magic("UDF", 0x8001, b"NSR0"),
    magic("HFS+", 1024, b"H+\0"),
    magic("HFS+", 1024, b"HX\0"),
    magic("HFS", 1024, b"BD"),
    magic("APFS", 32, b"NXSB"),
    magic("JFS", 0x8000, b"JFS1"),
    magic("ReiserFS", 0x1_0034, b"ReIsEr"),
    magic("ReiserFS", 0x2034, b"ReIsEr"),
    magic("Reiser4", 0x1_0000, b"ReIsEr4"),
    magic("GFS2", 0x1_0000, &0x0116_1970_u32.to_be_bytes()),
    magic("OCFS2", 1024, b"OCFSV2"),
    magic("OCFS2", 2048, b"OCFSV2"),
    magic("OCFS2", 4096, b"OCFSV2"),
    magic("OCFS2", 8192, b"OCFSV2"),
    magic("NILFS2", 1030, &[0x34, 0x34]),
    magic("UFS", 8192 + 1372, &0x0001_1954_u32.to_le_bytes()),
    magic("UFS", 8192 + 1372, &0x0001_1954_u32.to_be_bytes()),
    magic("UFS", 65_536 + 1372, &0x0001_1954_u32.to_le_bytes()),
    magic("UFS", 65_536 + 1372, &0x0001_1954_u32.to_be_bytes()),
    magic("Minix", 1040, &[0x7f, 0x13]),
    magic("Minix", 1040, &[0x8f, 0x13]),
    magic("Minix", 1040, &[0x68, 0x24]),
    magic("Minix", 1040, &[0x78, 0x24]),
    magic("Minix", 1048, &[0x5a, 0x4d]),
    magic("SquashFS", 0, b"hsqs"),
    magic("EROFS", 1024, &0xe0f5_e1e2_u32.to_le_bytes()),
    magic("cramfs", 0, &0x28cd_3d45_u32.to_le_bytes()),
    magic("romfs", 0, b"-rom1fs-"),
    magic("VMFS", 0x10_0000, &0xc001_d00d_u32.to_le_bytes()),
    magic("LUKS", 0, b"LUKS\xba\xbe"),
    magic("bcache", 4096 + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    magic("bcachefs", 4096 + 24, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    magic("member of an array (md 1.1)", 0, MD_MAGIC),
    magic("member of an array (md 1.2)", 4096, MD_MAGIC),
    magic("VDO", 0, b"dmvdo001"),
    magic("dm-integrity", 0, b"integrt\0"),
    magic("dm-verity", 0, b"verity\0\0"),
    magic("dm-snapshot", 0, b"SnAp"),
    magic("Stratis", 512 + 4, b"!Stra0tis\x86\xff\x02^\x41rh"),
    magic("Stratis", 9 * 512 + 4, b"!Stra0tis\x86\xff\x02^\x41rh"),
    magic("Ceph BlueStore", 0, b"bluestore block device"),
    magic("Oracle ASM", 32, b"ORCLDISK"),
    magic("GPT partition table", 512, b"EFI PART"),
    magic("GPT partition table", 4096, b"EFI PART"),
    magic("Apple partition map", 512, b"PM\0\0"),
    magic("Windows dynamic disk", 6 * 512, b"PRIVHEAD"),
    magic("BSD disk label", 0, &0x8256_4557_u32.to_le_bytes()),
    magic("BSD disk label", 512, &0x8256_4557_u32.to_le_bytes()),
    magic("SGI disk label", 0, &0x0be5_a941_u32.to_be_bytes()),
    magic("Sun disk label", 508, &[0xda, 0xbe]),
];

/// Finds all known signatures, by offset. An empty list is no proof that nothing is stored: see [`is_blank`].
pub fn find_signatures(ends: DiskEnds<'_>) -> Vec<Signature> {
    let is_present = |magic: &&Magic| has_bytes_at(ends.head, magic.offset, magic.bytes);
    let mut found: Vec<Signature> =
        MAGICS.iter().filter(is_present).map(|magic| Signature { name: magic.name, at: magic.offset as u64 }).collect();
    found.extend(find_ext2_to_ext4(ends.head));
    found.extend(find_swap(ends.head));
    found.extend(find_lvm(ends.head));
    found.extend(find_second_luks_header(ends.head));
    found.extend(find_boot_sector(ends.head, &found));
    found.extend(find_at_end(&ends));
    found.extend(find_zfs(&ends));
    found.sort_by_key(|signature| (signature.at, signature.name));
    found.dedup_by_key(|signature| signature.name);
    found
}

/// True if both ends hold nothing but zeroes, or nothing but ones as erased flash has.
pub fn is_blank(ends: DiskEnds<'_>) -> bool {
    let holds_only = |value: u8| ends.head.iter().chain(ends.tail).all(|&byte| byte == value);
    holds_only(0) || holds_only(0xff)
}

fn has_bytes_at(bytes: &[u8], offset: usize, wanted: &[u8]) -> bool {
    bytes.get(offset..).is_some_and(|rest| rest.starts_with(wanted))
}

fn little_endian_u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
}

/// ext2, ext3 and ext4 share a superblock; features (`s_feature_compat`, `s_feature_incompat`) tell which of them it is.
fn find_ext2_to_ext4(head: &[u8]) -> Option<Signature> {
    const SUPERBLOCK: usize = 1024;
    const HAS_JOURNAL: u32 = 0x4;
    /// Incompatible features of ext4 alone: extents, 64 bits, flexible groups and later ones.
    const EXT4: u32 = 0x40 | 0x80 | 0x200 | 0x400 | 0x1000 | 0x2000 | 0x8000;
    if !has_bytes_at(head, SUPERBLOCK + 0x38, &[0x53, 0xef]) {
        return None;
    }
    let (compatible, incompatible) =
        (little_endian_u32_at(head, SUPERBLOCK + 0x5c)?, little_endian_u32_at(head, SUPERBLOCK + 0x60)?);
    let name = match (incompatible & EXT4 != 0, compatible & HAS_JOURNAL != 0) {
        (true, _) => "ext4",
        (false, true) => "ext3",
        (false, false) => "ext2",
    };
    Some(Signature { name, at: SUPERBLOCK as u64 })
}

/// Linux's swap area. The signature ends the first page; pages of 4 to 64 KiB are tried.
fn find_swap(head: &[u8]) -> Option<Signature> {
    let page_sizes = (12..=16).map(|power| 1_usize << power);
    for page_bytes in page_sizes {
        let offset = page_bytes - 10;
        let name = match head.get(offset..page_bytes)? {
            b"SWAPSPACE2" | b"SWAP-SPACE" => "swap",
            b"S1SUSPEND\0" | b"S2SUSPEND\0" | b"ULSUSPEND\0" | b"LINHIB0001" => "swap with a system asleep in it",
            _ => continue,
        };
        return Some(Signature { name, at: offset as u64 });
    }
    None
}

/// LVM's label, in one of the first four sectors of 512 bytes.
fn find_lvm(head: &[u8]) -> Option<Signature> {
    let offset = (0..4).map(|sector| sector * 512).find(|&offset| has_bytes_at(head, offset, b"LABELONE"))?;
    let name = if has_bytes_at(head, offset + 24, b"LVM2 001") { "physical volume of LVM2" } else { "label of LVM" };
    Some(Signature { name, at: offset as u64 })
}

/// The second header of LUKS2, which remains if only the first was wiped.
fn find_second_luks_header(head: &[u8]) -> Option<Signature> {
    let offset = (14..=22).map(|power| 1_usize << power).find(|&offset| has_bytes_at(head, offset, b"SKUL\xba\xbe"))?;
    Some(Signature { name: "LUKS", at: offset as u64 })
}

/// A partition table of four entries, or a boot sector that belongs to none of the file systems `found`.
fn find_boot_sector(head: &[u8], found: &[Signature]) -> Option<Signature> {
    const ENTRIES: usize = 446;
    if !has_bytes_at(head, 510, &[0x55, 0xaa])
        || found.iter().any(|signature| ["FAT", "NTFS", "exFAT", "ReFS", "BitLocker"].contains(&signature.name))
    {
        return None;
    }
    let entry = |number: usize| head.get(ENTRIES + 16 * number..ENTRIES + 16 * (number + 1));
    let entries: Vec<&[u8]> = (0..4).filter_map(entry).collect();
    let is_table = entries.iter().all(|entry| entry[0] & 0x7f == 0) && entries.iter().any(|entry| entry[4] != 0);
    Some(Signature { name: if is_table { "MBR partition table" } else { "boot sector" }, at: 0 })
}

/// Signatures whose offsets are counted from the end of the disk.
fn find_at_end(ends: &DiskEnds<'_>) -> Vec<Signature> {
    let tail_start = ends.bytes.saturating_sub(ends.tail.len() as u64);
    let tail_has = |offset: u64, wanted: &[u8]| {
        let in_tail = offset.checked_sub(tail_start);
        in_tail.is_some_and(|in_tail| has_bytes_at(ends.tail, in_tail as usize, wanted))
    };
    let mut found = Vec::new();
    let mut add_if_present = |name, offset: Option<u64>, wanted: &[u8]| {
        if let Some(offset) = offset.filter(|&offset| tail_has(offset, wanted)) {
            found.push(Signature { name, at: offset });
        }
    };
    let bytes = ends.bytes;
    // md 1.0: 8 KiB before the end, rounded down to 4 KiB. md 0.90: in the last whole 64 KiB, in the byte order of the machine.
    add_if_present(
        "member of an array (md 1.0)",
        (bytes / 512).checked_sub(16).map(|sector| sector / 8 * 8 * 512),
        MD_MAGIC,
    );
    let last_64_kib = (bytes / 65_536).checked_sub(1).map(|block| block * 65_536);
    add_if_present("member of an array (md 0.90)", last_64_kib, MD_MAGIC);
    add_if_present("member of an array (md 0.90)", last_64_kib, &0xa92b_4efc_u32.to_be_bytes());
    for sector_bytes in [512, 4096] {
        add_if_present("GPT partition table", bytes.checked_sub(sector_bytes), b"EFI PART");
    }
    add_if_present("member of an array (Intel)", bytes.checked_sub(1024), b"Intel Raid ISM Cfg Sig. ");
    add_if_present("member of an array (DDF)", bytes.checked_sub(512), &0xde11_de11_u32.to_be_bytes());
    add_if_present("Windows dynamic disk", bytes.checked_sub(1 << 20), b"PRIVHEAD");
    found
}

/// A member of a ZFS pool. Each end has two labels of 256 KiB. A label holds a list of names and values at 16 KiB (XDR, version
/// 0, unique names), and from 128 KiB on uberblocks of 1 KiB or more.
fn find_zfs(ends: &DiskEnds<'_>) -> Option<Signature> {
    const LABEL_BYTES: usize = 256 << 10;
    const LIST: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    const UBERBLOCK: u64 = 0x00ba_b10c;
    let has_uberblock = |bytes: &[u8], offset: usize| {
        has_bytes_at(bytes, offset, &UBERBLOCK.to_le_bytes()) || has_bytes_at(bytes, offset, &UBERBLOCK.to_be_bytes())
    };
    let is_label = |bytes: &[u8], offset: usize| {
        has_bytes_at(bytes, offset + (16 << 10), LIST)
            || (0..128).any(|number| has_uberblock(bytes, offset + LABEL_BYTES / 2 + number * 1024))
    };
    let in_head = [0, LABEL_BYTES].into_iter().find(|&offset| is_label(ends.head, offset)).map(|offset| offset as u64);
    let tail_start = ends.bytes - (ends.tail.len() as u64).min(ends.bytes);
    let in_tail = || {
        let end_of_labels = ends.bytes / LABEL_BYTES as u64 * LABEL_BYTES as u64;
        let offsets = [2, 1].into_iter().filter_map(|labels| end_of_labels.checked_sub(labels * LABEL_BYTES as u64));
        let mut in_reach = offsets.filter(|offset| *offset >= tail_start);
        in_reach.find(|offset| is_label(ends.tail, (offset - tail_start) as usize))
    };
    Some(Signature { name: "member of a ZFS pool", at: in_head.or_else(in_tail)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 8 << 20;

    /// Names of the signatures on a disk of `size` bytes that is zero but for `writes`, pairs of an offset and bytes.
    fn names_found(size: usize, writes: &[(usize, &[u8])]) -> Vec<&'static str> {
        let mut disk = vec![0_u8; size];
        for (offset, bytes) in writes {
            disk[*offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        let ends = DiskEnds {
            head: &disk[..HEAD_BYTES.min(size)],
            tail: &disk[size - TAIL_BYTES.min(size)..],
            bytes: size as u64,
        };
        assert_eq!(is_blank(ends), writes.is_empty());
        find_signatures(ends).into_iter().map(|signature| signature.name).collect()
    }

    #[test]
    fn a_blank_disk_has_none() {
        assert!(names_found(SIZE, &[]).is_empty());
        assert!(names_found(512, &[]).is_empty() && names_found(0, &[]).is_empty());
    }

    #[test]
    fn every_magic_is_found_alone_where_it_stands() {
        for magic in MAGICS {
            let found = names_found(SIZE, &[(magic.offset, magic.bytes)]);
            assert!(found.contains(&magic.name), "{}: {found:?}", magic.name);
            let beside = names_found(SIZE, &[(magic.offset + 1, magic.bytes)]);
            assert!(!beside.contains(&magic.name), "{} is found a byte beside its place: {beside:?}", magic.name);
        }
    }

    #[test]
    fn file_systems_of_one_superblock_are_told_apart() {
        let with_features = |compatible: u8, incompatible: u8| {
            names_found(SIZE, &[(1080, &[0x53, 0xef]), (1024 + 0x5c, &[compatible]), (1024 + 0x60, &[incompatible])])
        };
        assert_eq!(
            (with_features(0, 0), with_features(4, 0), with_features(4, 0x40)),
            (vec!["ext2"], vec!["ext3"], vec!["ext4"])
        );
    }

    #[test]
    fn what_is_counted_from_the_end_is_found_on_disks_of_any_length() {
        for size in [SIZE, SIZE + 512, SIZE + 5 * 4096, SIZE + (64 << 10) + 512] {
            let from_end = |bytes: usize| size - bytes;
            assert_eq!(names_found(size, &[(from_end(512), b"EFI PART")]), ["GPT partition table"]);
            assert_eq!(
                names_found(size, &[((size / 512 - 16) / 8 * 8 * 512, MD_MAGIC)]),
                ["member of an array (md 1.0)"]
            );
            assert_eq!(
                names_found(size, &[((size / 65_536 - 1) * 65_536, MD_MAGIC)]),
                ["member of an array (md 0.90)"]
            );
            assert_eq!(
                names_found(size, &[(from_end(1024), b"Intel Raid ISM Cfg Sig. ")]),
                ["member of an array (Intel)"]
            );
        }
    }

    #[test]
    fn each_label_of_a_pool_is_enough() {
        let (label, uber) = (256 << 10, 0x00ba_b10c_u64);
        for size in [SIZE, SIZE + 100 * 1024] {
            let end = size / label * label;
            for from in [0, label, end - 2 * label, end - label] {
                assert_eq!(
                    names_found(size, &[(from + label / 2 + 5 * 1024, &uber.to_le_bytes())]),
                    ["member of a ZFS pool"]
                );
                assert_eq!(names_found(size, &[(from + label / 2, &uber.to_be_bytes())]), ["member of a ZFS pool"]);
            }
        }
    }

    #[test]
    fn tables_boot_sectors_and_labels() {
        let entry = [0x80, 0, 1, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0];
        assert_eq!(names_found(SIZE, &[(510, &[0x55, 0xaa]), (446, &entry)]), ["MBR partition table"]);
        assert_eq!(names_found(SIZE, &[(510, &[0x55, 0xaa])]), ["boot sector"]);
        assert_eq!(names_found(SIZE, &[(510, &[0x55, 0xaa]), (54, b"FAT16   ")]), ["FAT"]);
        assert_eq!(names_found(SIZE, &[(512, b"LABELONE"), (536, b"LVM2 001")]), ["physical volume of LVM2"]);
        assert_eq!(names_found(SIZE, &[(16 << 10, b"SKUL\xba\xbe")]), ["LUKS"]);
        for page in [4096, 16_384, 65_536] {
            assert_eq!(names_found(SIZE, &[(page - 10, b"SWAPSPACE2")]), ["swap"]);
        }
        assert_eq!(names_found(SIZE, &[(5_000, b"my data")]), Vec::<&str>::new());
    }

    #[test]
    fn ends_that_are_shorter_than_told_do_no_harm() {
        for head in [0, 1, 100, 1024, 5000, 70_000] {
            for bytes in [0, 1, 65_536, u64::MAX] {
                let some = vec![0x55; head];
                find_signatures(DiskEnds { head: &some, tail: &some, bytes });
            }
        }
    }
}
