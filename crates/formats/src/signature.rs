//! Detects what a disk is used for from its first and last bytes: partition tables, file systems, swap, members of arrays and
//! volume groups, encryption. No disk is opened.
//!
//! Sources: libblkid of util-linux 2.40 (`libblkid/src/superblocks`, `partitions`), and the headers of what it recognises:
//! Linux `include/uapi/linux/raid/md_p.h`, `fs/*/`, LVM2 `lib/format_text/layout.h`, LUKS2 on-disk format 1.1, OpenZFS
//! `include/sys/vdev_impl.h`, UEFI 2.10 (5.3), the documents of the formats. A false positive costs a question, a false negative a
//! disk, so short magic numbers are reported too.

/// Bytes to read from the beginning of a disk: beyond VMFS's mark at 1 MiB.
pub const HEAD: usize = 2 << 20;

/// Bytes to read from its end: two ZFS labels of 256 KiB, followed by up to 256 KiB of unused space.
pub const TAIL: usize = 1 << 20;

/// The beginning and end of a disk. If it is shorter than [`HEAD`] or [`TAIL`], both are the whole disk.
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
    /// The position in bytes.
    pub at: u64,
}

/// Bytes at one place.
struct Magic {
    name: &'static str,
    /// From the beginning.
    at: usize,
    bytes: &'static [u8],
}

const fn magic(name: &'static str, at: usize, bytes: &'static [u8]) -> Magic {
    Magic { name, at, bytes }
}

/// Linux's mark of a member of an array (`MD_SB_MAGIC`), as it stands on a little-endian machine.
const MD: &[u8] = &0xa92b_4efc_u32.to_le_bytes();

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
    magic("member of an array (md 1.1)", 0, MD),
    magic("member of an array (md 1.2)", 4096, MD),
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

/// Finds all known signatures, by place. An empty list is no proof that nothing is stored: see [`is_blank`].
pub fn signatures(ends: DiskEnds<'_>) -> Vec<Signature> {
    let has = |of: &&Magic| has_bytes_at(ends.head, of.at, of.bytes);
    let mut found: Vec<Signature> =
        MAGICS.iter().filter(has).map(|of| Signature { name: of.name, at: of.at as u64 }).collect();
    found.extend(find_ext(ends.head));
    found.extend(find_swap(ends.head));
    found.extend(find_lvm(ends.head));
    found.extend(find_second_luks(ends.head));
    found.extend(find_boot_sector(ends.head, &found));
    found.extend(find_at_end(&ends));
    found.extend(find_zfs(&ends));
    found.sort_by_key(|it| (it.at, it.name));
    found.dedup_by_key(|it| it.name);
    found
}

/// True if both ends hold nothing but zeroes, or nothing but ones as erased flash has.
pub fn is_blank(ends: DiskEnds<'_>) -> bool {
    let all = |byte: u8| ends.head.iter().chain(ends.tail).all(|&it| it == byte);
    all(0) || all(0xff)
}

fn has_bytes_at(bytes: &[u8], at: usize, wanted: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(wanted))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// ext2, ext3, ext4: one superblock, told apart by features (`s_feature_compat`, `s_feature_incompat`).
fn find_ext(head: &[u8]) -> Option<Signature> {
    const SUPER: usize = 1024;
    const HAS_JOURNAL: u32 = 0x4;
    /// Extents, 64 bits, flexible groups and what came after: ext4's alone.
    const EXT4: u32 = 0x40 | 0x80 | 0x200 | 0x400 | 0x1000 | 0x2000 | 0x8000;
    if !has_bytes_at(head, SUPER + 0x38, &[0x53, 0xef]) {
        return None;
    }
    let (compatible, other) = (u32_at(head, SUPER + 0x5c)?, u32_at(head, SUPER + 0x60)?);
    let name = match (other & EXT4 != 0, compatible & HAS_JOURNAL != 0) {
        (true, _) => "ext4",
        (false, true) => "ext3",
        (false, false) => "ext2",
    };
    Some(Signature { name, at: SUPER as u64 })
}

/// Swap's signature is at the end of the first page, whose size is the machine's.
fn find_swap(head: &[u8]) -> Option<Signature> {
    let pages = (12..=16).map(|power| 1_usize << power);
    for page in pages {
        let place = page - 10;
        let name = match head.get(place..page)? {
            b"SWAPSPACE2" | b"SWAP-SPACE" => "swap",
            b"S1SUSPEND\0" | b"S2SUSPEND\0" | b"ULSUSPEND\0" | b"LINHIB0001" => "swap with a system asleep in it",
            _ => continue,
        };
        return Some(Signature { name, at: place as u64 });
    }
    None
}

/// A label in one of the first four sectors.
fn find_lvm(head: &[u8]) -> Option<Signature> {
    let sector = (0..4).map(|sector| sector * 512).find(|&sector| has_bytes_at(head, sector, b"LABELONE"))?;
    let name = if has_bytes_at(head, sector + 24, b"LVM2 001") { "physical volume of LVM2" } else { "label of LVM" };
    Some(Signature { name, at: sector as u64 })
}

/// The second header of LUKS2 remains if only the first was wiped.
fn find_second_luks(head: &[u8]) -> Option<Signature> {
    let place = (14..=22).map(|power| 1_usize << power).find(|&place| has_bytes_at(head, place, b"SKUL\xba\xbe"))?;
    Some(Signature { name: "LUKS", at: place as u64 })
}

/// A table of four partitions, or a boot sector that is none of the file systems found.
fn find_boot_sector(head: &[u8], found: &[Signature]) -> Option<Signature> {
    const ENTRIES: usize = 446;
    if !has_bytes_at(head, 510, &[0x55, 0xaa])
        || found.iter().any(|it| ["FAT", "NTFS", "exFAT", "ReFS", "BitLocker"].contains(&it.name))
    {
        return None;
    }
    let entry = |number: usize| head.get(ENTRIES + 16 * number..ENTRIES + 16 * (number + 1));
    let entries: Vec<&[u8]> = (0..4).filter_map(entry).collect();
    let table = entries.iter().all(|entry| entry[0] & 0x7f == 0) && entries.iter().any(|entry| entry[4] != 0);
    Some(Signature { name: if table { "MBR partition table" } else { "boot sector" }, at: 0 })
}

/// Signatures at places that are counted from the end.
fn find_at_end(ends: &DiskEnds<'_>) -> Vec<Signature> {
    let from_end = |place: u64, wanted: &[u8]| {
        let into = place.checked_sub(ends.bytes.saturating_sub(ends.tail.len() as u64));
        into.is_some_and(|into| has_bytes_at(ends.tail, into as usize, wanted))
    };
    let mut found = Vec::new();
    let mut put = |name, place: Option<u64>, wanted: &[u8]| {
        if let Some(place) = place.filter(|&place| from_end(place, wanted)) {
            found.push(Signature { name, at: place });
        }
    };
    let bytes = ends.bytes;
    // md 1.0: 8 KiB before the end, rounded down to 4 KiB. md 0.90: in the last whole 64 KiB block, in the machine's order.
    put("member of an array (md 1.0)", (bytes / 512).checked_sub(16).map(|sector| sector / 8 * 8 * 512), MD);
    let old = (bytes / 65_536).checked_sub(1).map(|block| block * 65_536);
    put("member of an array (md 0.90)", old, MD);
    put("member of an array (md 0.90)", old, &0xa92b_4efc_u32.to_be_bytes());
    for sector in [512, 4096] {
        put("GPT partition table", bytes.checked_sub(sector), b"EFI PART");
    }
    put("member of an array (Intel)", bytes.checked_sub(1024), b"Intel Raid ISM Cfg Sig. ");
    put("member of an array (DDF)", bytes.checked_sub(512), &0xde11_de11_u32.to_be_bytes());
    put("Windows dynamic disk", bytes.checked_sub(1 << 20), b"PRIVHEAD");
    found
}

/// Four labels of 256 KiB, two at each end: in each a list of names and values at 16 KiB (XDR, version 0, unique names) and
/// uberblocks from 128 KiB on, a KiB or more each.
fn find_zfs(ends: &DiskEnds<'_>) -> Option<Signature> {
    const LABEL: usize = 256 << 10;
    const LIST: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let (le, be) = (0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes());
    let label = |bytes: &[u8], from: usize| {
        let block = |number: usize| from + LABEL / 2 + number * 1024;
        has_bytes_at(bytes, from + (16 << 10), LIST)
            || (0..128).any(|number| has_bytes_at(bytes, block(number), &le) || has_bytes_at(bytes, block(number), &be))
    };
    let first = [0, LABEL].into_iter().find(|&from| label(ends.head, from)).map(|from| from as u64);
    let begins = ends.bytes - (ends.tail.len() as u64).min(ends.bytes);
    let last = || {
        let end = ends.bytes / LABEL as u64 * LABEL as u64;
        let places = [2, 1].into_iter().filter_map(|back| end.checked_sub(back * LABEL as u64));
        places.filter(|place| *place >= begins).find(|place| label(ends.tail, (place - begins) as usize))
    };
    Some(Signature { name: "member of a ZFS pool", at: first.or_else(last)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 8 << 20;

    /// A disk of 8 MiB with these bytes at these places.
    fn names(size: usize, writes: &[(usize, &[u8])]) -> Vec<&'static str> {
        let mut disk = vec![0_u8; size];
        for (at, bytes) in writes {
            disk[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        let ends = DiskEnds { head: &disk[..HEAD.min(size)], tail: &disk[size - TAIL.min(size)..], bytes: size as u64 };
        assert_eq!(is_blank(ends), writes.is_empty());
        signatures(ends).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn a_blank_disk_has_none() {
        assert!(names(SIZE, &[]).is_empty());
        assert!(names(512, &[]).is_empty() && names(0, &[]).is_empty());
    }

    #[test]
    fn every_magic_is_found_alone_where_it_stands() {
        for of in MAGICS {
            let found = names(SIZE, &[(of.at, of.bytes)]);
            assert!(found.contains(&of.name), "{}: {found:?}", of.name);
            let beside = names(SIZE, &[(of.at + 1, of.bytes)]);
            assert!(!beside.contains(&of.name), "{} is found a byte beside its place: {beside:?}", of.name);
        }
    }

    #[test]
    fn file_systems_of_one_superblock_are_told_apart() {
        let at = |compatible: u8, other: u8| {
            names(SIZE, &[(1080, &[0x53, 0xef]), (1024 + 0x5c, &[compatible]), (1024 + 0x60, &[other])])
        };
        assert_eq!((at(0, 0), at(4, 0), at(4, 0x40)), (vec!["ext2"], vec!["ext3"], vec!["ext4"]));
    }

    #[test]
    fn what_is_counted_from_the_end_is_found_on_disks_of_any_length() {
        for size in [SIZE, SIZE + 512, SIZE + 5 * 4096, SIZE + (64 << 10) + 512] {
            let back = |by: usize| size - by;
            assert_eq!(names(size, &[(back(512), b"EFI PART")]), ["GPT partition table"]);
            assert_eq!(names(size, &[((size / 512 - 16) / 8 * 8 * 512, MD)]), ["member of an array (md 1.0)"]);
            assert_eq!(names(size, &[((size / 65_536 - 1) * 65_536, MD)]), ["member of an array (md 0.90)"]);
            assert_eq!(names(size, &[(back(1024), b"Intel Raid ISM Cfg Sig. ")]), ["member of an array (Intel)"]);
        }
    }

    #[test]
    fn each_label_of_a_pool_is_enough() {
        let (label, uber) = (256 << 10, 0x00ba_b10c_u64);
        for size in [SIZE, SIZE + 100 * 1024] {
            let end = size / label * label;
            for from in [0, label, end - 2 * label, end - label] {
                assert_eq!(
                    names(size, &[(from + label / 2 + 5 * 1024, &uber.to_le_bytes())]),
                    ["member of a ZFS pool"]
                );
                assert_eq!(names(size, &[(from + label / 2, &uber.to_be_bytes())]), ["member of a ZFS pool"]);
            }
        }
    }

    #[test]
    fn tables_boot_sectors_and_labels() {
        let entry = [0x80, 0, 1, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0];
        assert_eq!(names(SIZE, &[(510, &[0x55, 0xaa]), (446, &entry)]), ["MBR partition table"]);
        assert_eq!(names(SIZE, &[(510, &[0x55, 0xaa])]), ["boot sector"]);
        assert_eq!(names(SIZE, &[(510, &[0x55, 0xaa]), (54, b"FAT16   ")]), ["FAT"]);
        assert_eq!(names(SIZE, &[(512, b"LABELONE"), (536, b"LVM2 001")]), ["physical volume of LVM2"]);
        assert_eq!(names(SIZE, &[(16 << 10, b"SKUL\xba\xbe")]), ["LUKS"]);
        for page in [4096, 16_384, 65_536] {
            assert_eq!(names(SIZE, &[(page - 10, b"SWAPSPACE2")]), ["swap"]);
        }
        assert_eq!(names(SIZE, &[(5_000, b"my data")]), Vec::<&str>::new());
    }

    #[test]
    fn ends_that_are_shorter_than_told_do_no_harm() {
        for head in [0, 1, 100, 1024, 5000, 70_000] {
            for bytes in [0, 1, 65_536, u64::MAX] {
                let some = vec![0x55; head];
                signatures(DiskEnds { head: &some, tail: &some, bytes });
            }
        }
    }
}
