//! Known limits of the model: words that people look for, and what is not modelled. Errors about unknown keys, drives, jobs and
//! values explain these limits. A test keeps the table in `docs/model.md` equal to this list.

pub mod terms;

use crate::spelling::is_same;

/// A known limit.
#[derive(Clone, Copy, Debug)]
pub struct ModelLimit {
    /// The explanation.
    pub says: &'static str,
    /// Words that people search for.
    pub words: &'static [&'static str],
}

/// All known limits.
pub const LIMITS: &[ModelLimit] = &[
    ModelLimit {
        says: "solid-state drives are not modelled; a scene may have a flash stick with fixed times beside the drive (docs/scenes.md)",
        words: &["ssd", "nvme", "solid state drive", "optane", "emmc", "ufs", "sshd", "hybrid drive"],
    },
    ModelLimit {
        says: "shingled tracks and zoned drives are not modelled",
        words: &["smr", "shingled", "host managed", "drive managed", "zbc", "zac", "hm-smr", "dm-smr"],
    },
    ModelLimit {
        says: "drives with more than one actuator are not modelled",
        words: &["actuator", "actuators", "multi actuator", "dual actuator", "mach2"],
    },
    ModelLimit {
        says: "FAT32, NTFS and ext4 are modelled, in scenes (docs/files.md); other file systems are not",
        words: &[
            "xfs", "btrfs", "zfs", "f2fs", "ext2", "ext3", "exfat", "hfs", "apfs", "refs", "reiserfs", "jfs",
            "bcachefs", "ufs2",
        ],
    },
    ModelLimit {
        says: "arrays can be linear, raid-0, raid-1, raid-10, raid-5 or raid-6; other levels are not modelled",
        words: &[
            "raid-z",
            "raid-z1",
            "raid-z2",
            "raid-z3",
            "draid",
            "raid-2",
            "raid-3",
            "raid-4",
            "raid-1e",
            "raid-50",
            "raid-60",
            "raid-dp",
            "erasure coding",
        ],
    },
    ModelLimit {
        says: "the write hole has no key: `seekwise power-cut` counts it on arrays (docs/power-cut.md)",
        words: &["write hole", "raid write hole"],
    },
    ModelLimit {
        says: "journals of arrays are not modelled; a write-intent bitmap is: array.bitmap=internal",
        words: &["raid journal", "ppl", "partial parity log"],
    },
    ModelLimit {
        says: "encryption, compression, volume managers and caches on other drives are not modelled",
        words: &[
            "lvm",
            "luks",
            "dm-crypt",
            "dm-cache",
            "bcache",
            "encryption",
            "compression",
            "deduplication",
            "dedup",
        ],
    },
    ModelLimit {
        says: "Linux's schedulers are none, mq-deadline and bfq (`seekwise keys driver`); others are not modelled",
        words: &["cfq", "kyber", "anticipatory"],
    },
    ModelLimit {
        says: "spin-up, sleep states and energy are not modelled",
        words: &["spin up", "spin down", "standby", "apm", "idle power", "energy", "watts", "power consumption", "epc"],
    },
    ModelLimit {
        says: "temperature, vibration and acoustic modes are not modelled",
        words: &["temperature", "vibration", "acoustic", "aam", "noise", "rotational vibration"],
    },
    ModelLimit {
        says: "background scans and defects that appear during a run are not modelled; `drive.faults.weak` sets weak sectors",
        words: &["patrol read", "background scan", "media scan", "grown defects", "pending sectors", "smart"],
    },
    ModelLimit {
        says: "networks and virtual machines are not modelled",
        words: &["iscsi", "nfs", "smb", "cifs", "virtio", "hypervisor", "ceph", "drbd", "fibre channel"],
    },
];

/// The explanation for a word that is a known limit, or contains one: `drive.smr`, `intel-ssd`.
pub fn explain_limit(word: &str) -> Option<String> {
    let parts = || word.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let last = word.rsplit('.').next().unwrap_or(word);
    let is_in_word = |known: &str| [word, last].into_iter().chain(parts()).any(|part| is_same(known, part));
    let limit = LIMITS.iter().find(|limit| limit.words.iter().any(|known| is_in_word(known)))?;
    let reference = if limit.says.contains("docs/") { "" } else { "; see docs/model.md" };
    Some(format!("{}{reference}", limit.says))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_by_itself_and_as_a_part() {
        for word in ["smr", "SMR", "drive.smr", "host-managed", "drive.host_managed", "wd-smr-8t"] {
            assert!(explain_limit(word).unwrap().starts_with("shingled tracks"), "{word}");
        }
        assert_eq!(explain_limit("write hole").unwrap(), explain_limit("array.write_hole").unwrap());
        for word in ["seek", "", "raid-7", "raid-5", "xfsdump", "ext4", "drive.cache.segments"] {
            assert_eq!(explain_limit(word), None, "{word}");
        }
    }

    #[test]
    fn the_guide_has_the_same_table() {
        let rows: String =
            LIMITS.iter().map(|limit| format!("| {} | {} |\n", limit.words.join(", "), limit.says)).collect();
        let guide =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model.md")).expect("the manual");
        let table = format!("| word | explanation |\n|---|---|\n{rows}");
        if std::env::var_os("SEEKWISE_UPDATE").is_some() {
            let begin = guide.find("| word | explanation").expect("the table's head");
            let end = begin + guide[begin..].find("\n\n").expect("a free line behind it") + 1;
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model.md");
            std::fs::write(path, format!("{}{table}{}", &guide[..begin], &guide[end..])).unwrap();
        }
        assert!(guide.contains(&table), "SEEKWISE_UPDATE=1 rewrites the table of docs/model.md");
    }
}
