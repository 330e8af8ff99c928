//! Partitions: the places of volumes on a drive, by the alignment rules of two eras.

use alloc::vec::Vec;

use seekwise_disk::block::SECTOR;

use super::refusal::VolumeMisfit;

/// A range of a drive's sectors that holds a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The first sector on the drive.
    pub first: u64,
    pub sectors: u64,
}

/// How partitions are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// To cylinders of 255 heads and 63 sectors, as until Windows XP: each volume begins 63 sectors into its first
    /// cylinder (the first track holds the partition table), so never at a multiple of 4 KiB.
    Cylinders,
    /// To multiples of 1 MiB, as since Windows Vista and in Linux since 2010.
    Mebibytes,
}

/// Sectors in a track of the geometry that the BIOS reports for drives above 504 MB.
const TRACK: u64 = 63;
/// Sectors in a cylinder of that geometry: 255 heads.
const CYLINDER: u64 = 255 * TRACK;
/// Sectors in 1 MiB.
const MEBIBYTE: u64 = (1 << 20) / SECTOR;

/// Lays out partitions of these sizes, in order, on a drive of `drive_sectors`. Size 0 takes the rest of the drive.
pub fn lay_out_partitions(
    drive_sectors: u64,
    alignment: Alignment,
    sizes_in_bytes: &[u64],
) -> Result<Vec<Partition>, VolumeMisfit> {
    let (unit, lead) = match alignment {
        Alignment::Cylinders => (CYLINDER, TRACK),
        Alignment::Mebibytes => (MEBIBYTE, 0),
    };
    // The first unit of 1 MiB holds the partition table.
    let mut at = if lead == 0 { unit } else { 0 };
    let mut all = Vec::with_capacity(sizes_in_bytes.len());
    for &size in sizes_in_bytes {
        let end = match size {
            0 => drive_sectors / unit * unit,
            _ => (at + lead + size.div_ceil(SECTOR)).next_multiple_of(unit),
        };
        if end > drive_sectors || at + lead >= end {
            return Err(VolumeMisfit::BeyondDrive { end: end.max(at + lead + 1), drive: drive_sectors });
        }
        all.push(Partition { first: at + lead, sectors: end - at - lead });
        at = end;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_begin_at_63_or_at_1_mib() {
        let drive = 78_165_360;
        let old = lay_out_partitions(drive, Alignment::Cylinders, &[8 << 30, 0]).expect("fits");
        assert_eq!(old[0].first, 63);
        // 8 GiB and 63 sectors are 1044.5 cylinders.
        assert_eq!(old[1].first, 1045 * 16_065 + 63);
        assert_eq!(old[1].first + old[1].sectors, drive / 16_065 * 16_065);
        let new = lay_out_partitions(drive, Alignment::Mebibytes, &[8 << 30, 0]).expect("fits");
        assert_eq!((new[0].first, new[0].sectors), (2048, 8 << 21));
        assert_eq!(new[1].first, 2048 + (8 << 21));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let small = lay_out_partitions(100_000, Alignment::Mebibytes, &[1 << 20, 60 << 20]);
        assert_eq!(small, Err(VolumeMisfit::BeyondDrive { end: 62 * 2048 + 2048 - 2048, drive: 100_000 }));
        assert!(lay_out_partitions(100_000, Alignment::Cylinders, &[0, 1]).is_err(), "nothing is left");
    }
}
