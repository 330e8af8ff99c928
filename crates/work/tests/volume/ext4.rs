//! ext4's operations as lists of blocks, in order: worked out by hand from its layout and from what the kernel's
//! documentation says that each operation changes.
//!
//! mke2fs lays out 8 GiB in 64 groups of 32,768 blocks, four flex groups of 16. A block is 8 sectors; block 0 is sector
//! 2,048. Flex group 0: superblock 0, descriptors 1, block bitmaps from block 1,025, inode bitmaps from 1,041, tables
//! of 512 blocks from 1,057, the root's block 9,249, and five more that mke2fs takes. The others have bitmaps first,
//! tables from their 32nd block, and directories behind those. The ring of the journal begins at block 1,081,345.

use seekwise_disk::block::Flags;
use seekwise_work::files::volume::{FileId, FileName, IoPlan, ROOT, SyncScope, Volume};

use super::{ext4_format, idle_volume_with_64k, instant_at, mounted_volume, run_until_idle, steps_as_text};

/// The first sector of a block of the volume.
const fn sector(block: u64) -> u64 {
    2048 + 8 * block
}

/// Superblock, descriptors, and of flex group 0: the bitmaps of groups 0 and 1, the first block of inodes, the root.
const SUPER: u64 = sector(0);
const DESCRIPTORS: u64 = sector(1);
const BLOCKS_0: u64 = sector(1025);
const BLOCKS_1: u64 = sector(1026);
const INODE_BITMAP: u64 = sector(1041);
const INODES: u64 = sector(1057);
const ROOT_BLOCK: u64 = sector(9249);

/// Sectors of the flex group of a directory in the root: block bitmaps, inode bitmaps, inodes and the first directory
/// block. The group is drawn, and never the first, in which the root has inodes in use.
struct Flex {
    blocks: u64,
    inode_bitmap: u64,
    inodes: u64,
    directories: u64,
}

impl Flex {
    /// The group in which a directory has its blocks.
    fn of_directory(volume: &Volume, directory: FileId) -> Flex {
        let first = volume.file_runs(directory)[0].start / (16 * 32_768) * (16 * 32_768);
        assert!(first > 0, "the first flex group has the most inodes in use");
        let lba = |block| sector(first + block);
        Flex { blocks: lba(0), inode_bitmap: lba(16), inodes: lba(32), directories: lba(32 + 16 * 512) }
    }
}

/// The steps of a transaction of so many blocks from block `first_block` of the ring on: descriptor block and blocks,
/// flush, commit.
fn transaction_steps(second: u64, first_block: u64, blocks: u64) -> Vec<String> {
    let first = sector(1_081_345 + first_block);
    vec![
        format!("{second} s: 0 Write {first}+{} JournalBlocks", 8 * (1 + blocks)),
        format!("{second} s: 1 flush"),
        format!("{second} s: 2 Write {}+8 FUA JournalCommit", first + 8 * (1 + blocks)),
    ]
}

/// The step that writes contiguous blocks to their places.
fn home_write(second: u64, lba: u64, blocks: u64, role: &str) -> String {
    format!("{second} s: 0 Write {lba}+{} {role}", 8 * blocks)
}

/// The role of a directory's blocks, as text.
fn directory_role(directory: FileId) -> String {
    format!("Directory({directory:?})")
}

#[test]
fn a_deleted_file_gives_back_its_inode_and_the_next_lies_behind_it() {
    let (mut volume, file) = idle_volume_with_64k(ext4_format());
    // Create took 5 blocks, a descriptor and a commit of the ring: the next transaction begins at its eighth.
    assert_eq!(steps_as_text(|plan| volume.delete(instant_at(100), file, plan)), [""; 0], "all of it is in memory");
    let mut expected = transaction_steps(105, 7, 6);
    let homes = [
        (SUPER, "SuperBlock".to_owned()),
        (DESCRIPTORS, "GroupDescriptors".to_owned()),
        (BLOCKS_1, "BlockBitmap".to_owned()),
        (INODE_BITMAP, "InodeBitmap".to_owned()),
        (INODES, "Inodes".to_owned()),
        (ROOT_BLOCK, directory_role(ROOT)),
    ];
    expected.extend(homes.iter().map(|(place, role)| home_write(135, *place, 1, role)));
    assert_eq!(run_until_idle(&mut volume), expected);
    // Small files follow one another, also where one is gone; the inode is the lowest free one, in the first block.
    let again = steps_as_text(|plan| {
        let file = volume.create_file(instant_at(200), ROOT, FileName::SHORT, plan).expect("room");
        volume.write(instant_at(200), file, 0, 64 << 10, Flags::NONE, plan).expect("room");
    });
    assert_eq!(again, [format!("0 Write {}+128 Data {{ file: FileId(2), from: 0 }}", sector(32_768 + 1025 + 16))]);
    let mut expected = transaction_steps(205, 15, 5);
    expected.extend(homes[1..].iter().map(|(place, role)| home_write(235, *place, 1, role)));
    assert_eq!(run_until_idle(&mut volume), expected);
}

#[test]
fn a_freed_block_in_the_journal_never_goes_home() {
    let mut volume = mounted_volume(ext4_format());
    let mut plan = IoPlan::new();
    let folder = volume.create_directory(instant_at(0), ROOT, FileName::SHORT, &mut plan).expect("room");
    let flex = Flex::of_directory(&volume, folder);
    let reads: Vec<String> = plan.steps().iter().map(ToString::to_string).collect();
    assert_eq!(
        reads,
        [
            format!("0 Read {ROOT_BLOCK}+8 Directory(FileId(0))"),
            format!("1 Read {}+8 InodeBitmap", flex.inode_bitmap),
            format!("1 Read {}+8 Inodes", flex.inodes),
        ]
    );
    // Descriptors, inodes of the root, its block; bitmaps, inodes, block of the new one.
    let committed = steps_as_text(|plan| volume.handle_timeout(instant_at(5), plan));
    let timed = |lines: Vec<String>| lines.iter().map(|line| format!("5 s: {line}")).collect::<Vec<_>>();
    assert_eq!(timed(committed), transaction_steps(5, 0, 7));
    // All of these are changed again, but for the directory's block, which is free now; and the superblock.
    volume.delete(instant_at(11), folder, &mut IoPlan::new());
    let mut expected = transaction_steps(16, 9, 7);
    for (place, role) in [
        (SUPER, "SuperBlock".to_owned()),
        (DESCRIPTORS, "GroupDescriptors".to_owned()),
        (INODES, "Inodes".to_owned()),
        (ROOT_BLOCK, directory_role(ROOT)),
        (flex.blocks, "BlockBitmap".to_owned()),
        (flex.inode_bitmap, "InodeBitmap".to_owned()),
        (flex.inodes, "Inodes".to_owned()),
    ] {
        // Thirty seconds old at 46 s, looked for every five from 5 s on.
        expected.push(home_write(50, place, 1, &role));
    }
    assert_eq!(run_until_idle(&mut volume), expected);
}

#[test]
fn a_block_freed_before_its_commit_is_in_no_transaction() {
    let mut volume = mounted_volume(ext4_format());
    let folder = volume.create_directory(instant_at(0), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
    volume.delete(instant_at(1), folder, &mut IoPlan::new());
    let all = run_until_idle(&mut volume);
    assert_eq!(all[..3], transaction_steps(5, 0, 7), "seven blocks: its own is not among them, the superblock is");
    assert!(!all.iter().any(|line| line.contains("Directory(FileId(1))")), "{all:?}");
}

#[test]
fn a_rename_changes_its_directory_and_its_inode() {
    let (mut volume, file) = idle_volume_with_64k(ext4_format());
    let here = steps_as_text(|plan| volume.rename(instant_at(100), file, ROOT, FileName::long(1), plan).expect("room"));
    assert_eq!(here, [""; 0]);
    let mut expected = transaction_steps(105, 7, 2);
    expected.extend([home_write(135, INODES, 1, "Inodes"), home_write(135, ROOT_BLOCK, 1, &directory_role(ROOT))]);
    assert_eq!(run_until_idle(&mut volume), expected);
}

#[test]
fn a_directory_that_moves_names_its_new_parent_in_its_first_block() {
    let mut volume = mounted_volume(ext4_format());
    let mut folder =
        || volume.create_directory(instant_at(0), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
    let (to, moved) = (folder(), folder());
    run_until_idle(&mut volume);
    let (there, here) = (Flex::of_directory(&volume, to), Flex::of_directory(&volume, moved));
    assert_ne!(there.blocks, here.blocks, "the second is where the fewest inodes are in use");
    volume.rename(instant_at(100), moved, to, FileName::SHORT, &mut IoPlan::new()).expect("room");
    let mut places = [
        (INODES, "Inodes".to_owned()),
        (ROOT_BLOCK, directory_role(ROOT)),
        (there.inodes, "Inodes".to_owned()),
        (there.directories, directory_role(to)),
        (here.inodes, "Inodes".to_owned()),
        (here.directories, directory_role(moved)),
    ];
    places.sort();
    // The first took 2056, 10504, 76040 and eight of two flex groups: 11 blocks, descriptor and commit.
    let mut expected = transaction_steps(105, 13, 6);
    expected.extend(places.iter().map(|(place, role)| home_write(135, *place, 1, role)));
    assert_eq!(run_until_idle(&mut volume), expected);
}

/// Moves the 64 KiB of a file from byte `from` on to block `to`, and flushes the file; returns the steps.
fn move_chunk_and_flush(volume: &mut Volume, seconds: u64, file: FileId, from: u64, to: u64) -> Vec<String> {
    steps_as_text(|plan| {
        assert_eq!(volume.move_chunk(instant_at(seconds), file, from, to, plan), Ok(64 << 10));
        volume.fsync(instant_at(seconds), file, SyncScope::All, plan);
    })
}

#[test]
fn a_chunk_that_is_moved_and_flushed_takes_one_commit_and_a_fifth_extent_a_block_of_the_tree() {
    let mut volume = mounted_volume(ext4_format());
    // 128 blocks: it is large and begins in group 1, at its first block behind the backup.
    let file = volume.place_initial_file(ROOT, FileName::SHORT, 512 << 10).expect("room");
    volume.begin_run();
    volume.mount(&mut IoPlan::new());
    let (first, to) = (32_768 + 1025, 9249 + 6 + 1000);
    assert_eq!((volume.file_runs(file)[0].start, volume.find_free_run(1 << 20)), (first, Some(9249 + 6)));
    // Descriptors, bitmaps of both groups, the inode: three extents fit into it.
    assert_eq!(
        move_chunk_and_flush(&mut volume, 0, file, 64 << 10, to),
        [
            format!("0 Read {}+128 Data {{ file: FileId(1), from: 65536 }}", sector(first + 16)),
            format!("1 Write {}+128 Data {{ file: FileId(1), from: 65536 }}", sector(to)),
            format!("2 Write {}+40 JournalBlocks", sector(1_081_345)),
            "3 flush".to_owned(),
            format!("4 Write {}+8 FUA JournalCommit", sector(1_081_345 + 5)),
        ]
    );
    assert_eq!(
        run_until_idle(&mut volume),
        [
            home_write(30, DESCRIPTORS, 1, "GroupDescriptors"),
            home_write(30, BLOCKS_0, 2, "BlockBitmap"),
            home_write(30, INODES, 1, "Inodes"),
        ]
    );
    // Five extents take a block of the tree: the first free one behind the file's first, where the chunk was.
    let lines = move_chunk_and_flush(&mut volume, 100, file, 192 << 10, to + 100);
    assert_eq!(lines[2], format!("2 Write {}+48 JournalBlocks", sector(1_081_345 + 6)));
    let tree = sector(first + 16);
    assert_eq!(
        run_until_idle(&mut volume),
        [
            home_write(130, DESCRIPTORS, 1, "GroupDescriptors"),
            home_write(130, BLOCKS_0, 2, "BlockBitmap"),
            home_write(130, INODES, 1, "Inodes"),
            home_write(130, tree, 1, "Extents(FileId(1))"),
        ]
    );
    assert_eq!(volume.file_runs(file).len(), 5);
    // Once more, and deleted while the tree's block waits to go home: it is not written there.
    move_chunk_and_flush(&mut volume, 200, file, 320 << 10, to + 200);
    assert_eq!(
        steps_as_text(|plan| volume.delete(instant_at(201), file, plan)),
        [format!("0 Read {ROOT_BLOCK}+8 Directory(FileId(0))"), format!("1 Read {INODE_BITMAP}+8 InodeBitmap"),]
    );
    let all = run_until_idle(&mut volume);
    // The third move took 7 of the ring from its block 13 on. Now: superblock, descriptors, three bitmaps, inodes,
    // root.
    assert_eq!(all[..3], transaction_steps(206, 20, 7));
    assert!(!all.iter().any(|line| line.contains("Extents")), "{all:?}");
}

#[test]
fn a_tree_has_a_block_for_340_extents_and_only_its_last_one_changes() {
    let mut volume = mounted_volume(ext4_format());
    let file = volume.place_initial_file(ROOT, FileName::SHORT, 400 * (64 << 10)).expect("room");
    volume.begin_run();
    volume.mount(&mut IoPlan::new());
    // Every other chunk is moved: 1 extent, 3, 5 ... Blocks of the tree that go home after each.
    for chunk in 0..180u64 {
        let extents = 1 + 2 * (chunk + 1);
        let seconds = 100 * chunk;
        move_chunk_and_flush(&mut volume, seconds, file, (2 * chunk + 1) * (64 << 10), 200_000 + 20 * chunk);
        assert_eq!(volume.file_runs(file).len() as u64, extents);
        let trees = run_until_idle(&mut volume).iter().filter(|line| line.contains("Extents")).count();
        assert_eq!(trees, usize::from(extents > 4), "{extents} extents");
    }
    let mut plan = IoPlan::new();
    volume.begin_run();
    volume.open(file, &mut plan);
    let trees = plan.steps().iter().filter(|step| step.to_string().contains("Extents")).count();
    assert_eq!(trees, 2, "361 extents");
}

#[test]
fn a_directory_grows_by_a_root_and_two_leaves_and_then_leaf_by_leaf() {
    let mut volume = mounted_volume(ext4_format());
    let folder = volume.create_directory(instant_at(0), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
    let flex = Flex::of_directory(&volume, folder);
    // 4,096 bytes less 12; the directory's own entry and its parent's take 12 each, a name of 20 letters 28: 145 of
    // them fill it to the last byte. Leaves are filled to seven tenths, 2,858 bytes.
    let mut made = 0;
    let mut create = |volume: &mut Volume, seconds, count| {
        while made < count {
            made += 1;
            volume.create_file(instant_at(seconds), folder, FileName::long(20), &mut IoPlan::new()).expect("room");
        }
        volume.file_runs(folder).iter().map(|run| run.len).sum::<u64>()
    };
    assert_eq!(create(&mut volume, 0, 145), 1);
    // 146 inodes in 10 blocks, bitmaps, directory; descriptors, the root's inode and block: 16.
    assert_eq!(run_until_idle(&mut volume)[..3], transaction_steps(5, 0, 16));
    assert_eq!(create(&mut volume, 100, 146), 3);
    let mut expected = transaction_steps(105, 18, 8);
    expected.extend([
        home_write(135, DESCRIPTORS, 1, "GroupDescriptors"),
        home_write(135, flex.blocks, 1, "BlockBitmap"),
        home_write(135, flex.inode_bitmap, 1, "InodeBitmap"),
        home_write(135, flex.inodes, 1, "Inodes"),
        home_write(135, flex.inodes + 8 * 9, 1, "Inodes"),
        home_write(135, flex.directories, 3, &directory_role(folder)),
    ]);
    assert_eq!(run_until_idle(&mut volume), expected);
    for (count, blocks) in [(203, 3), (204, 4), (305, 4), (306, 5)] {
        assert_eq!(create(&mut volume, 200, count), blocks, "{count} names");
    }
}

#[test]
fn a_name_is_found_by_index_and_leaf() {
    let mut volume = mounted_volume(ext4_format());
    let folder = volume.create_directory(instant_at(0), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
    let create = |volume: &mut Volume| {
        volume.create_file(instant_at(0), folder, FileName::long(20), &mut IoPlan::new()).expect("room")
    };
    let first = create(&mut volume);
    let others: Vec<FileId> = (0..200).map(|_| create(&mut volume)).collect();
    let flex = Flex::of_directory(&volume, folder);
    volume.sync(instant_at(1), &mut IoPlan::new());
    let mut opened = |file: FileId| {
        volume.begin_run();
        volume.mount(&mut IoPlan::new());
        steps_as_text(|plan| volume.open(file, plan))
    };
    let directory = directory_role(folder);
    let inode = |file: u32| flex.inodes + u64::from((file - 1) / 16) * 8;
    // The first files stand in block 0 until somebody moves them: no leaf is read.
    assert_eq!(
        opened(first),
        [format!("0 Read {}+8 Inodes", flex.inodes), format!("1 Read {}+8 {directory}", flex.directories)]
    );
    // The last is in a leaf: the index, then the leaf, then its inode, where that is in another block.
    let last = others[199];
    let lines = opened(last);
    assert_eq!(
        lines[..2],
        [format!("0 Read {}+8 Inodes", flex.inodes), format!("1 Read {}+8 {directory}", flex.directories)]
    );
    let leaf = |number: u64| format!("2 Read {}+8 {directory}", flex.directories + 8 * number);
    assert!(lines[2] == leaf(1) || lines[2] == leaf(2), "{lines:?}");
    assert_eq!(lines[3..], [format!("3 Read {}+8 Inodes", inode(last.0))]);
    // A hash spreads them: each leaf has a third at least of those that came when there were leaves.
    let leaves: Vec<String> = others[150..].iter().map(|&file| opened(file)[2].clone()).collect();
    let in_first = leaves.iter().filter(|line| **line == leaf(1)).count();
    assert!((17..=33).contains(&in_first), "{in_first} of 50");
}

#[test]
fn bitmaps_are_those_of_the_groups_that_blocks_lie_in() {
    // From block 33,793 on, the group ends at 65,536: so many blocks reach its last one.
    let room = 65_536 - 33_793;
    for (blocks, groups) in [(room - 1, 1), (room, 1), (room + 1, 2)] {
        let mut volume = mounted_volume(ext4_format());
        let mut plan = IoPlan::new();
        let file = volume.create_file(instant_at(0), ROOT, FileName::SHORT, &mut plan).expect("room");
        plan.clear();
        volume.write(instant_at(0), file, 0, blocks * 4096, Flags::NONE, &mut plan).expect("room");
        volume.fsync(instant_at(0), file, SyncScope::All, &mut plan);
        let lines: Vec<String> = plan.steps().iter().map(ToString::to_string).collect();
        let mut expected: Vec<String> =
            (0..groups).map(|group| format!("0 Read {}+8 BlockBitmap", BLOCKS_1 + 8 * group)).collect();
        let (data, ring) = (sector(33_793), sector(1_081_345));
        // Descriptors, the bitmaps, the inodes' bitmap, inodes, directory.
        let journal = 8 * (1 + 4 + groups);
        expected.extend([
            format!("1 Write {data}+{} Data {{ file: FileId(1), from: 0 }}", 8 * blocks),
            format!("2 Write {ring}+{journal} JournalBlocks"),
            "3 flush".to_owned(),
            format!("4 Write {}+8 FUA JournalCommit", ring + journal),
        ]);
        assert_eq!(lines, expected, "{blocks} blocks");
    }
}

#[test]
fn small_files_lie_in_the_flex_group_of_their_directory_and_large_ones_one_behind_another() {
    let mut volume = mounted_volume(ext4_format());
    let folder = volume.create_directory(instant_at(0), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
    let mut write = |directory, blocks: u64| {
        let file = volume.create_file(instant_at(0), directory, FileName::SHORT, &mut IoPlan::new()).expect("room");
        volume.write(instant_at(0), file, 0, blocks * 4096, Flags::NONE, &mut IoPlan::new()).expect("room");
        (volume.file_runs(file)[0].start, volume.file_runs(folder)[0].start / (16 * 32_768) * (16 * 32_768))
    };
    // Data avoid a flex group's first group; the second one of the last flex group has a backup of the superblock.
    let (large, flex) = write(ROOT, 17);
    let behind = flex + 32_768 + if flex == 48 * 32_768 { 1025 } else { 0 };
    assert_eq!(large, 33_793);
    assert_eq!(write(folder, 17).0, 33_793 + 17);
    assert_eq!(write(folder, 16).0, behind);
    assert_eq!(write(folder, 17).0, 33_793 + 34);
    assert_eq!(write(folder, 1).0, behind + 16);
    assert_eq!(write(ROOT, 16).0, 33_793 + 51, "its flex group had no small file yet");
    assert_eq!(write(ROOT, 17).0, 33_793 + 67);
    assert_eq!(write(folder, 16).0, behind + 17);
}
