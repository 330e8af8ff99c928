//! The layout of an ext4 file system, held against what e2fsprogs say of the same image. Skipped with its reason where they are not there.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use seekwise_formats::ext4::Ext4BlockMap;

fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let output = Command::new(program).args(arguments).env("PATH", path).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first block of a file.
fn block(image: &str, file: &str) -> u64 {
    let blocks = run("debugfs", &["-R", &format!("blocks {file}"), image]).unwrap();
    blocks.split_whitespace().next().unwrap().parse().unwrap()
}

/// What stands behind a word of a description of group 0.
fn of_group(description: &str, what: &str) -> u64 {
    let at = description.find("Group 0:").unwrap();
    let rest = &description[at + description[at..].find(what).unwrap() + what.len()..];
    rest.trim_start_matches([' ', 'a', 't', ':']).split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

fn words(layout: &Ext4BlockMap, image: &Path, block: u64, written: &[u8]) -> String {
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
    let say = |block| words(&layout, &image, block, &[]);
    assert_eq!(say(block(name, "/deep/file") + 3), "/deep/file from byte 12288");
    assert_eq!(say(block(name, "/db") + 2), "/db from byte 8192, SQLite's page 9");
    assert_eq!((say(block(name, "/")), say(block(name, "/deep"))), ("names in /".into(), "names in /deep".into()));
    assert_eq!((say(0), say(1)), ("the super block".into(), "group descriptors".into()));
    let description = run("dumpe2fs", &[name]).unwrap();
    assert_eq!(say(of_group(&description, "Block bitmap")), "bitmap of blocks, group 0");
    assert_eq!(say(of_group(&description, "Inode bitmap")), "bitmap of inodes, group 0");
    let inodes = say(of_group(&description, "Inode table"));
    assert!(inodes.starts_with("inodes 1 to 16 (/, journal, /lost+found, /deep and 2 more"), "{inodes}");
    let journal = block(name, "<8>");
    let header = |kind: u32| [0xC03B_3998u32, kind, 57].map(u32::to_be_bytes).concat();
    assert_eq!(words(&layout, &image, journal, &header(2)), "journal: commit of transaction 57");
    assert_eq!(words(&layout, &image, journal, &[]), "journal: blocks of a transaction");
    // A descriptor of two blocks: the super block, then the last one, under the same name.
    let tags = [0u32, 0, 0, 0, 0, 0, 0, 0, 1, 2 | 8, 0, 0].map(u32::to_be_bytes).concat();
    let said = words(&layout, &image, journal, &[header(1), tags].concat());
    assert_eq!(said, "journal: beginning of transaction 57 with the super block; group descriptors");
    std::fs::remove_dir_all(&folder).unwrap();
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
