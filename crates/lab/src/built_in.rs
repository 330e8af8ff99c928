//! The built-in jobs and scenes, as texts. The drives are in `seekwise_drives::drives`, the patterns in
//! `seekwise_formats::iometer::standard`.

/// A built-in job: fio's text with variables.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInJob {
    /// On the command line.
    pub name: &'static str,
    pub purpose: &'static str,
    pub text: &'static str,
    /// The variables in it and their defaults.
    pub variables: &'static [(&'static str, &'static str)],
}

/// All built-in jobs.
pub const JOBS: &[BuiltInJob] = &[
    BuiltInJob {
        name: "critical-writes",
        purpose: "small writes that are to be on the platter at once, in bursts or one after another",
        text: include_str!("../studies/jobs/critical-writes.fio"),
        variables: &[
            ("RW", "randwrite"),
            ("BS", "4k"),
            ("SIZE", "1g"),
            ("BURST", "1"),
            ("PAUSE", "0"),
            ("RUNTIME", "60s"),
        ],
    },
    BuiltInJob {
        name: "array-users",
        purpose: "users of an array: reads and writes of 8 KiB that arrive at random over all of it",
        text: include_str!("../studies/jobs/array-users.fio"),
        variables: &[("READS", "35"), ("WRITES", "15"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "copy-halves",
        purpose: "from the first half of the blocks to the second: of two drives, from one to the other",
        text: include_str!("../studies/jobs/copy-halves.fio"),
        variables: &[("BS", "64k"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "each-drive",
        purpose: "the same work on each of several drives one behind another",
        text: include_str!("../studies/jobs/each-drive.fio"),
        variables: &[
            ("DRIVES", "1"),
            ("EACH", "100g"),
            ("SIZE", "10g"),
            ("RW", "read"),
            ("BS", "64k"),
            ("DEPTH", "4"),
            ("RUNTIME", "60s"),
        ],
    },
    BuiltInJob {
        name: "file-and-table",
        purpose: "small writes that are to be on the platter at once, to a file and to its table by turns",
        text: include_str!("../studies/jobs/file-and-table.fio"),
        variables: &[("BS", "4k"), ("GAP", "4g"), ("SIZE", "8g"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "one-block",
        purpose: "one block read again and again, as programs do that measure the interface",
        text: include_str!("../studies/jobs/one-block.fio"),
        variables: &[("BS", "128k"), ("RUNTIME", "5s")],
    },
    BuiltInJob {
        name: "parallel-streams",
        purpose: "files read or written from end to end by several threads at once",
        text: include_str!("../studies/jobs/parallel-streams.fio"),
        variables: &[("STREAMS", "4"), ("SIZE", "100m"), ("RW", "read"), ("BS", "64k")],
    },
    BuiltInJob {
        name: "flushed-writes",
        purpose: "writes that a program wants durable, a flush after every so many",
        text: include_str!("../studies/jobs/flushed-writes.fio"),
        variables: &[("RW", "randwrite"), ("BS", "4k"), ("SIZE", "100m"), ("FLUSH", "1"), ("RUNTIME", "30s")],
    },
    BuiltInJob {
        name: "random-blocks",
        purpose: "blocks at random over the drive, so many outstanding",
        text: include_str!("../studies/jobs/random-blocks.fio"),
        variables: &[("RW", "randread"), ("BS", "4k"), ("SIZE", "100%"), ("DEPTH", "1"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "reader-beside-stream",
        purpose: "one reader of random blocks beside one sequential stream with many requests outstanding",
        text: include_str!("../studies/jobs/reader-beside-stream.fio"),
        variables: &[("BS", "128k"), ("DEPTH", "31"), ("PRIO", "0")],
    },
    BuiltInJob {
        name: "sequential-at",
        purpose: "sequential work from one place of the drive on: a point of its transfer curve",
        text: include_str!("../studies/jobs/sequential-at.fio"),
        variables: &[("RW", "read"), ("OFFSET", "0%"), ("SIZE", "3%"), ("BS", "64k")],
    },
    BuiltInJob {
        name: "scattered-files",
        purpose: "files at random places, each read or written from end to end",
        text: include_str!("../studies/jobs/scattered-files.fio"),
        variables: &[("RW", "randread"), ("RUN", "16"), ("BS", "64k"), ("DEPTH", "1"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "mixed-blocks",
        purpose: "reads and writes mixed, at random and in sequence, of several sizes",
        text: include_str!("../studies/jobs/mixed-blocks.fio"),
        variables: &[
            ("READS", "60"),
            ("RANDOM", "50"),
            ("BLOCKS", "4k/50:16k/15:64k/35"),
            ("SIZE", "10%"),
            ("DEPTH", "2"),
            ("RUNTIME", "60s"),
        ],
    },
    BuiltInJob {
        name: "two-streams",
        purpose: "one stream is read and another written at once",
        text: include_str!("../studies/jobs/two-streams.fio"),
        variables: &[("PLACE", "50%"), ("BS", "64k"), ("DEPTH", "1"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "random-sectors",
        purpose: "one sector at a time at random over the drive, as programs do that measure access time",
        text: include_str!("../studies/jobs/random-sectors.fio"),
        variables: &[("RW", "randread"), ("RUNTIME", "60s")],
    },
    BuiltInJob {
        name: "two-programs",
        purpose: "one program writes in sequence with many requests outstanding, another reads one by one",
        text: include_str!("../studies/jobs/two-programs.fio"),
        variables: &[("DEPTH", "16"), ("RW", "randread"), ("BS", "4k")],
    },
    BuiltInJob {
        name: "crystaldiskmark-2",
        purpose: "CrystalDiskMark 2.2: a file read and written in sequence, in blocks of 512 KB and of 4 KB at random",
        text: include_str!("../studies/jobs/crystaldiskmark-2.fio"),
        variables: &[("SIZE", "100m"), ("PLACE", "0%")],
    },
    BuiltInJob {
        name: "crystaldiskmark-9",
        purpose: "CrystalDiskMark 7 to 9, its default profile: 1 MiB in sequence at depth 8 and 1, 4 KiB at random at 32 and 1",
        text: include_str!("../studies/jobs/crystaldiskmark-9.fio"),
        variables: &[("SIZE", "1g"), ("PLACE", "0%")],
    },
    BuiltInJob {
        name: "hd-tune-curve",
        purpose: "HD Tune's transfer curve: the rate at 21 places from the first sector to the last",
        text: include_str!("../studies/jobs/hd-tune-curve.fio"),
        variables: &[("RW", "read"), ("READ", "8m")],
    },
    BuiltInJob {
        name: "hd-tune-access",
        purpose: "HD Tune's access times: single sectors at random over the whole drive",
        text: include_str!("../studies/jobs/hd-tune-access.fio"),
        variables: &[("RW", "randread"), ("READS", "1000")],
    },
    BuiltInJob {
        name: "four-commands",
        purpose: "four sectors of one track at once, out of order: a half, a quarter and three quarters on",
        text: include_str!("../studies/jobs/four-commands.fio"),
        variables: &[("SECOND", "283648"), ("THIRD", "141824"), ("FOURTH", "425984")],
    },
    BuiltInJob {
        name: "two-reads",
        purpose: "two reads on an idle drive: what the second costs from the place of the first",
        text: include_str!("../studies/jobs/two-reads.fio"),
        variables: &[("FIRST", "0%"), ("SECOND", "50%"), ("BS", "4k")],
    },
    BuiltInJob {
        name: "paced-writes",
        purpose: "small writes at random places, so many a second, a flush after every so many",
        text: include_str!("../studies/jobs/paced-writes.fio"),
        variables: &[("BS", "4k"), ("SIZE", "1g"), ("RATE", "100"), ("COUNT", "120"), ("FLUSH", "0")],
    },
    BuiltInJob {
        name: "two-places",
        purpose: "reads and writes at random in two places at once: two volumes of an array",
        text: include_str!("../studies/jobs/two-places.fio"),
        variables: &[("FIRST", "10%"), ("SECOND", "80%"), ("SIZE", "5%"), ("RUNTIME", "60s")],
    },
];

/// A built-in scene.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInScene {
    /// On the command line.
    pub name: &'static str,
    pub purpose: &'static str,
    pub text: &'static str,
}

/// All built-in scenes.
pub const SCENES: &[BuiltInScene] = &[
    BuiltInScene {
        name: "copy",
        purpose: "1 GB in files of 10 MB copied from one volume to another, in 32 KB blocks",
        text: include_str!("../studies/jobs/copy.toml"),
    },
    BuiltInScene {
        name: "fsync",
        purpose: "what an fsync costs, by kind of program",
        text: include_str!("../studies/jobs/fsync.toml"),
    },
    BuiltInScene {
        name: "database-beside-copy",
        purpose: "clients of a database commit while files are copied on the same drive",
        text: include_str!("../studies/jobs/database-beside-copy.toml"),
    },
    BuiltInScene {
        name: "small-files",
        purpose: "an archive of 5,000 small files unpacked, and read again after a restart",
        text: include_str!("../studies/jobs/small-files.toml"),
    },
    BuiltInScene {
        name: "move",
        purpose: "a hundred files of a megabyte moved from one volume to another",
        text: include_str!("../studies/jobs/move.toml"),
    },
    BuiltInScene {
        name: "start",
        purpose: "a start of Windows XP, with its prefetcher",
        text: include_str!("../studies/jobs/start.toml"),
    },
    BuiltInScene {
        name: "desktop-playback",
        purpose: "what benchmarks of a desktop play back: a word processor, an image editor, files copied",
        text: include_str!("../studies/jobs/desktop-playback.toml"),
    },
    BuiltInScene {
        name: "applications",
        purpose: "whole applications at a script's pace, one after another",
        text: include_str!("../studies/jobs/applications.toml"),
    },
    BuiltInScene {
        name: "image-editing",
        purpose: "an image editor and its scratch file",
        text: include_str!("../studies/jobs/image-editing.toml"),
    },
    BuiltInScene {
        name: "defragment",
        purpose: "a volume of files in pieces is defragmented",
        text: include_str!("../studies/jobs/defragment.toml"),
    },
    BuiltInScene {
        name: "records",
        purpose: "records posted into shared files, each made durable by itself",
        text: include_str!("../studies/jobs/records.toml"),
    },
    BuiltInScene {
        name: "posting",
        purpose: "a base of 223 MB read once, then records posted into it",
        text: include_str!("../studies/jobs/posting.toml"),
    },
    BuiltInScene {
        name: "office",
        purpose: "documents read, saved and made durable, then records posted into a base",
        text: include_str!("../studies/jobs/office.toml"),
    },
    BuiltInScene {
        name: "one-program",
        purpose: "one program, any of them, on one volume of 8 GB",
        text: include_str!("../studies/jobs/one-program.toml"),
    },
    BuiltInScene {
        name: "scan-beside-copy",
        purpose: "a scan of one volume while small files are copied on the other",
        text: include_str!("../studies/jobs/scan-beside-copy.toml"),
    },
    BuiltInScene {
        name: "file-sets",
        purpose: "a set of files created, read or copied on a volume that begins at a third of the drive",
        text: include_str!("../studies/jobs/file-sets.toml"),
    },
    BuiltInScene {
        name: "read-twice",
        purpose: "all files of a volume read twice, the second time from memory",
        text: include_str!("../studies/jobs/read-twice.toml"),
    },
];

/// The text of a built-in job or scene.
pub fn find_text(name: &str) -> Option<&'static str> {
    let scene = || SCENES.iter().find(|scene| scene.name == name).map(|scene| scene.text);
    JOBS.iter().find(|job| job.name == name).map(|job| job.text).or_else(scene)
}
