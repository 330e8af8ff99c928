//! The layout of an ext4 file system against the output of e2fsprogs for the same image. Without e2fsprogs the test prints that it
//! is skipped.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use seekwise_formats::ext4::Ext4BlockMap;

/// The output of a program that succeeds.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let output = Command::new(program).args(arguments).env("PATH", path).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first block of a file.
fn first_block(image: &str, file: &str) -> u64 {
    let blocks = run("debugfs", &["-R", &format!("blocks {file}"), image]).unwrap();
    blocks.split_whitespace().next().unwrap().parse().unwrap()
}

/// The number behind `label` in the description of group 0 by dumpe2fs.
fn number_of_group_0(description: &str, label: &str) -> u64 {
    let at = description.find("Group 0:").unwrap();
    let rest = &description[at + description[at..].find(label).unwrap() + label.len()..];
    rest.trim_start_matches([' ', 'a', 't', ':']).split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// The description of a block to which `written` is written, with the blocks of `image`.
fn describe_block(layout: &Ext4BlockMap, image: &Path, block: u64, written: &[u8]) -> String {
    let file = std::fs::File::open(image).unwrap();
    let read = move |offset: u64, length: usize| {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
    };
    layout.describe_offset(block * 4096, written, &read)
}

#[test]
fn each_block_is_there_for_what_e2fsprogs_say() {
    let folder = std::env::temp_dir().join(format!("seekwise-ext4-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (image, data, database) = (folder.join("image"), folder.join("data"), folder.join("database"));
    let name = image.to_str().unwrap();
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let made = run("mkfs.ext4", &["-q", "-F", "-b", "4096", name]);
    if made.is_none() || run("debugfs", &["-V"]).is_none() {
        println!("skipped: mkfs.ext4 and debugfs of e2fsprogs are not there");
        return;
    }
    std::fs::write(&data, vec![7; 100_000]).unwrap();
    // A head of SQLite's with pages of 1024 bytes.
    let mut head = b"SQLite format 3\0\x04\x00".to_vec();
    // No zeroes: debugfs would leave holes.
    head.resize(50_000, 1);
    std::fs::write(&database, head).unwrap();
    for command in [
        "mkdir deep".to_owned(),
        format!("write {} deep/file", data.display()),
        format!("write {} db", database.display()),
    ] {
        run("debugfs", &["-w", "-R", &command, name]).unwrap();
    }
    let file = std::fs::File::open(&image).unwrap();
    let read = |offset: u64, length: usize| {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
    };
    let layout = Ext4BlockMap::read(&read).unwrap();
    let describe = |block| describe_block(&layout, &image, block, &[]);
    assert_eq!(describe(first_block(name, "/deep/file") + 3), "/deep/file from byte 12288");
    assert_eq!(describe(first_block(name, "/db") + 2), "/db from byte 8192, SQLite's page 9");
    assert_eq!(
        (describe(first_block(name, "/")), describe(first_block(name, "/deep"))),
        ("names in /".into(), "names in /deep".into())
    );
    let find = |block: u64| layout.find_file(block * 4096 + 5, &read);
    assert_eq!(find(first_block(name, "/deep/file") + 3), Some(("/deep/file", 12_293)));
    let no_files = [first_block(name, "/deep"), first_block(name, "<8>"), 0, 1];
    assert_eq!(no_files.map(find), [None; 4], "a directory, the journal, the super block, descriptors");
    assert_eq!((describe(0), describe(1)), ("the super block".into(), "group descriptors".into()));
    let description = run("dumpe2fs", &[name]).unwrap();
    assert_eq!(describe(number_of_group_0(&description, "Block bitmap")), "bitmap of blocks, group 0");
    assert_eq!(describe(number_of_group_0(&description, "Inode bitmap")), "bitmap of inodes, group 0");
    let inodes = describe(number_of_group_0(&description, "Inode table"));
    assert!(inodes.starts_with("inodes 1 to 16 (/, journal, /lost+found, /deep and 2 more"), "{inodes}");
    let journal = first_block(name, "<8>");
    let header = |kind: u32| [0xC03B_3998u32, kind, 57].map(u32::to_be_bytes).concat();
    assert_eq!(describe_block(&layout, &image, journal, &header(2)), "journal: commit of transaction 57");
    assert_eq!(describe_block(&layout, &image, journal, &[]), "journal: blocks of a transaction");
    // A descriptor of two blocks: the super block, then the last one, under the same name.
    let tags = [0u32, 0, 0, 0, 0, 0, 0, 0, 1, 2 | 8, 0, 0].map(u32::to_be_bytes).concat();
    let description_of_transaction = describe_block(&layout, &image, journal, &[header(1), tags].concat());
    assert_eq!(
        description_of_transaction,
        "journal: beginning of transaction 57 with the super block; group descriptors"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A file system with 64-bit addresses, made by hand: all but its super block and its descriptors lies beyond block
/// 2^32, which is at 16 TiB.
#[test]
fn blocks_beyond_16_tib_have_their_names() {
    const FAR: u64 = 1 << 32;
    const INODES: u64 = FAR + 8;
    let mut blocks: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut put = |block: u64, at: usize, words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let whole = blocks.entry(block).or_insert_with(|| vec![0; 4096]);
        whole[at..at + bytes.len()].copy_from_slice(&bytes);
    };
    // Blocks, their size, blocks and inodes of a group, magic number, bytes of an inode, wide addresses, and bytes of a
    // descriptor.
    let fields = [(4, 32_768), (24, 2), (32, 32_768), (40, 16), (56, 0xEF53), (88, 256), (96, 0x80), (254, 64)];
    for (at, value) in fields {
        put(0, 1024 + at, &[value]);
    }
    // Bitmap of blocks, bitmap of inodes and inodes of the only group: low halves, then high ones.
    put(1, 0, &[9, 10, 8]);
    put(1, 32, &[1, 1, 1]);
    // The heads of a tree's leaf and of its only inner node; a leaf's entry has the high half beside the length.
    let (leaf, inner) = ([0xF30A | 1 << 16, 4, 0], [0xF30A | 1 << 16, 4 | 1 << 16, 0]);
    let mut inode = |number: usize, mode: u32, node: &[u32; 3], entry: &[u32; 3]| {
        let at = (number - 1) * 256;
        put(INODES, at, &[mode]);
        put(INODES, at + 32, &[0x8_0000]);
        put(INODES, at + 40, node);
        put(INODES, at + 52, entry);
    };
    inode(2, 0x4000, &leaf, &[0, 1 | 1 << 16, 20]);
    inode(8, 0x8000, &leaf, &[0, 64 | 1 << 16, 100]);
    inode(12, 0x8000, &inner, &[0, 30, 1]);
    put(FAR + 30, 0, &leaf);
    put(FAR + 30, 12, &[0, 8 | 1 << 16, 40]);
    // The directory's entries: inode, lengths of the entry and of the name, and the name, which the first lacks.
    put(FAR + 20, 0, &[12, 8, 12, 4088 | 3 << 16 | 1 << 24, u32::from_le_bytes(*b"far\0")]);
    let read = |offset: u64, length: usize| {
        let at = (offset % 4096) as usize;
        Some(blocks.get(&(offset / 4096)).map_or(vec![0; length], |bytes| bytes[at..at + length].to_vec()))
    };
    let layout = Ext4BlockMap::read(&read).unwrap();
    let describe = |block: u64, written: &[u8]| layout.describe_offset(block * 4096, written, &read);
    assert_eq!(describe(FAR + 43, &[]), "/far from byte 12288");
    assert_eq!(describe(43, &[]), "nobody's, as far as is known");
    assert_eq!(describe(FAR + 30, &[]), "extents of /far");
    assert_eq!(describe(FAR + 20, &[]), "names in /");
    assert_eq!(describe(INODES, &[]), "inodes 1 to 16 (/, journal, /far)");
    assert_eq!(describe(FAR + 9, &[]), "bitmap of blocks, group 0");
    assert_eq!(describe(FAR + 10, &[]), "bitmap of inodes, group 0");
    // A descriptor of three blocks: number, flags, high half and checksum of each; after the first 16 bytes more, of a UUID.
    let tags = [0xC03B_3998u32, 1, 57, 43, 0, 1, 0, 20, 0, 1, 0, 30, 2, 1, 0, 43, 2 | 8, 0, 0];
    let tags = tags.map(u32::to_be_bytes).concat();
    let expected =
        "journal: beginning of transaction 57 with /far from byte 12288; extents of /far; nobody's, as far as is known";
    assert_eq!(describe(FAR + 100, &tags), expected);
}

#[test]
fn what_is_no_such_file_system_is_none_and_nonsense_ends() {
    assert!(Ext4BlockMap::read(&|_, length| Some(vec![0; length])).is_none());
    assert!(Ext4BlockMap::read(&|_, _| None).is_none());
    // A super block's magic and nothing but ones: no panic, no endless walk.
    let ones = |offset: u64, length: usize| {
        let mut bytes = vec![1; length];
        if offset == 1024 && length == 1024 {
            bytes[24..28].fill(0);
            bytes[56..58].copy_from_slice(&0xEF53u16.to_le_bytes());
        }
        (length < 1 << 24).then_some(bytes)
    };
    if let Some(layout) = Ext4BlockMap::read(&ones) {
        layout.describe_offset(u64::MAX, &[], &ones);
    }
}
