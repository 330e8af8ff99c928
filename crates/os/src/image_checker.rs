//! Checks the content that a power cut left on a disk, by a command of the user's. The content is written to a file,
//! which is mounted if it has a file system. Each worker has a folder of its own, made anew for each check.

mod content;

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use self::content::UNREADABLE;
pub use self::content::{DiskContent, ImageContent};
use crate::kernel::pages::{ChangeTime, FilePages, UnflushedState};
use crate::kernel::{FileSystemKind, MountedFileSystem, ProgramBounds, ProgramExit, ShellProgram};
use crate::medium_change::{ChangedBytes, MediumChange, find_records};
use crate::outputs::{create_like_parent, create_private};
use seekwise_disk::block::SECTOR;
use seekwise_disk::history::DataPart;

/// Bytes of the base image that are read at once; a part that is all zeroes stays a hole.
const PART_BYTES: usize = 64 << 10;

/// Checks images with a user's program.
pub struct ImageChecker<'a> {
    disk_bytes: u64,
    /// Parts of the base image that are not zero, each with its offset.
    base: Vec<(u64, Vec<u8>)>,
    file_system: Option<&'a FileSystemKind>,
    program: ShellProgram<'a>,
    scratch_folder: &'a Path,
}

/// Outcome of a check.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// How the command ended; `None` if the disk could not be mounted.
    pub ended: Option<ProgramExit>,
    /// Why it could not be mounted.
    pub unmountable: Option<String>,
    /// The first error that the file system's checker found.
    pub fault: Option<String>,
}

impl<'a> ImageChecker<'a> {
    /// Creates a checker of disks of `disk_bytes`, or as long as their base image, which has a file system. `program`
    /// finds the paths of a check in its environment; `scratch_folder` holds the files of all checks.
    pub fn new(
        disk_bytes: u64,
        base: Option<(&'a Path, &'a FileSystemKind)>,
        program: ShellProgram<'a>,
        scratch_folder: &'a Path,
    ) -> io::Result<ImageChecker<'a>> {
        let mut checker = ImageChecker { disk_bytes, base: Vec::new(), file_system: None, program, scratch_folder };
        if let Some((path, file_system)) = base {
            let file = File::open(path)?;
            checker.disk_bytes = file.metadata()?.len();
            checker.file_system = Some(file_system);
            for offset in (0..checker.disk_bytes).step_by(PART_BYTES) {
                let mut part = vec![0; PART_BYTES.min((checker.disk_bytes - offset) as usize)];
                file.read_exact_at(&mut part, offset)?;
                if part.iter().any(|&byte| byte != 0) {
                    checker.base.push((offset, part));
                }
            }
        }
        Ok(checker)
    }

    /// The whole disk with this content.
    pub fn disk_content<'b>(&'b self, written: ImageContent<'b>) -> DiskContent<'b> {
        DiskContent { disk_bytes: self.disk_bytes, base: &self.base, written }
    }

    /// Writes the disk to a new file for its owner alone; removes it after an error.
    pub fn write_image(&self, path: &Path, content: &ImageContent<'_>) -> io::Result<()> {
        let file = create_private(path)?;
        self.disk_content(content.clone()).fill_file(&file).inspect_err(|_| drop(std::fs::remove_file(path)))
    }

    /// A hash of the disk's content: equal for equal contents, however they were written. It is the sum of the hashes of all sectors
    /// that differ from the base image, or cannot be read.
    pub fn hash_content(&self, content: &ImageContent<'_>) -> u64 {
        let mut last_piece: BTreeMap<u64, usize> = BTreeMap::new();
        for (index, (lba, part)) in content.pieces.iter().enumerate() {
            (*lba..lba + part.bytes() / SECTOR).for_each(|sector| _ = last_piece.insert(sector, index));
        }
        let torn = content.torn.iter().flat_map(|&(from, end)| from..end);
        torn.clone().for_each(|sector| _ = last_piece.remove(&sector));
        let hash_sector = |sector: u64, bytes: &[u8]| {
            let mut hasher = DefaultHasher::new();
            (sector, bytes).hash(&mut hasher);
            hasher.finish()
        };
        let mut sum = 0_u64;
        let mut held = [0; SECTOR as usize];
        for (sector, index) in last_piece {
            let (lba, part) = &content.pieces[index];
            match part {
                DataPart::Bytes(bytes) => {
                    let from = ((sector - lba) * SECTOR) as usize;
                    held.copy_from_slice(&bytes[from..from + SECTOR as usize]);
                }
                DataPart::Zeroes { .. } => held.fill(0),
            }
            if !self.base_has(sector, &held) {
                sum = sum.wrapping_add(hash_sector(sector, &held));
            }
        }
        torn.fold(sum, |sum, sector| sum.wrapping_add(hash_sector(sector, &UNREADABLE)))
    }

    /// True if a sector of the base image has this content.
    fn base_has(&self, sector: u64, content: &[u8]) -> bool {
        let offset = sector * SECTOR;
        let at = self.base.partition_point(|(from, bytes)| from + bytes.len() as u64 <= offset);
        match self.base.get(at) {
            Some((from, bytes)) if *from <= offset => bytes[(offset - from) as usize..].starts_with(content),
            _ => content.iter().all(|byte| *byte == 0),
        }
    }

    /// Returns the parts of `pages`, of their files and folders, that this disk lacks; `None` without a file system, or
    /// if it cannot be mounted.
    pub fn find_missing(&self, content: &ImageContent<'_>, pages: &FilePages) -> io::Result<Option<UnflushedState>> {
        self.with_mounted(content, |mount| pages.find_missing(mount))
    }

    /// Reads all files on this disk, page by page; `None` without a file system, or if it cannot be mounted.
    pub fn read_pages(&self, content: &ImageContent<'_>) -> io::Result<Option<FilePages>> {
        self.with_mounted(content, |mount| {
            FilePages::read_changed(mount, ChangeTime::EARLIEST, self.program.bounds.stop)
        })
    }

    /// Returns those of the changed bytes that hold records on this disk.
    pub fn find_records(&self, content: &ImageContent<'_>, changed: &[ChangedBytes]) -> io::Result<Vec<ChangedBytes>> {
        if let Some(found) = self.with_mounted(content, |mount| find_records(changed, mount))? {
            return Ok(found);
        }
        let image = self.scratch_folder.join("whole-disk");
        self.write_image(&image, content)?;
        let found = find_records(changed, &image);
        std::fs::remove_file(&image).map(|()| found)
    }

    fn with_mounted<T>(
        &self,
        content: &ImageContent<'_>,
        read_mount: impl FnOnce(&Path) -> T,
    ) -> io::Result<Option<T>> {
        let Some(file_system) = self.file_system else { return Ok(None) };
        let scratch = self.scratch_folder.join("given");
        let (image, mount) = (scratch.join("image"), scratch.join("mount"));
        create_like_parent(&scratch)?;
        create_like_parent(&mount)?;
        self.write_image(&image, content)?;
        let result = match mount_image(file_system, &image, &mount, self.program.bounds)? {
            Ok(mounted) => {
                let result = read_mount(&mount);
                mounted.unmount()?;
                Some(result)
            }
            Err(_) => None,
        };
        std::fs::remove_dir_all(&scratch)?;
        Ok(result)
    }

    /// Checks a disk with these promises, after `change` if there is one; `None` if that change does not apply.
    /// `worker` numbers the scratch folder.
    pub fn run_check(
        &self,
        worker: usize,
        content: &ImageContent<'_>,
        promises: &[&str],
        change: Option<&MediumChange>,
    ) -> io::Result<Option<CheckResult>> {
        let folder = self.scratch_folder.join(format!("check-{worker}"));
        let result = self.run_check_in(&folder, content, promises, change);
        let removed = std::fs::remove_dir_all(&folder);
        let result = result?;
        removed.map(|()| result)
    }

    fn run_check_in(
        &self,
        folder: &Path,
        content: &ImageContent<'_>,
        promises: &[&str],
        change: Option<&MediumChange>,
    ) -> io::Result<Option<CheckResult>> {
        let place = |name: &str| folder.join(name);
        let (image, mount, scratch, promise_list) =
            (place("image"), place("mount"), place("scratch"), place("promises"));
        for new in [folder, &mount, &scratch] {
            create_like_parent(new)?;
        }
        self.write_image(&image, content)?;
        let lines: String = promises.iter().map(|line| format!("{line}\n")).collect();
        create_private(&promise_list)?.write_all(lines.as_bytes())?;
        let shown = |path: &PathBuf| path.display().to_string();
        let mut program = self.program.clone();
        for (name, path) in
            [("SEEKWISE_IMAGE", &image), ("SEEKWISE_PROMISES", &promise_list), ("SEEKWISE_SCRATCH", &scratch)]
        {
            program.environment.push((name.to_owned(), shown(path)));
        }
        let make_change = |root: &Path| change.map_or(Ok(true), |change| change.make(root));
        let Some(file_system) = self.file_system else {
            return match make_change(&image)? {
                true => Ok(Some(CheckResult { ended: Some(program.run()?), unmountable: None, fault: None })),
                false => Ok(None),
            };
        };
        let bounds = self.program.bounds;
        let mounted = match mount_image(file_system, &image, &mount, bounds)? {
            Ok(mounted) => mounted,
            Err(why) => return Ok(Some(CheckResult { ended: None, unmountable: Some(why), fault: None })),
        };
        program.environment.push(("SEEKWISE_MOUNT".to_owned(), shown(&mount)));
        let ended = if make_change(&mount)? { Some(program.run()?) } else { None };
        mounted.unmount()?;
        let Some(ended) = ended else { return Ok(None) };
        let fault = file_system.check_image(&image, bounds)?;
        Ok(Some(CheckResult { ended: Some(ended), unmountable: None, fault }))
    }
}

/// Mounts the image; the inner error says why it cannot be mounted, the outer one that a loop device failed.
fn mount_image<'a>(
    file_system: &'a FileSystemKind,
    image: &Path,
    mount_point: &Path,
    bounds: ProgramBounds<'_>,
) -> io::Result<Result<MountedFileSystem<'a>, String>> {
    match file_system.mount(image, mount_point, bounds) {
        Ok(mounted) => Ok(Ok(mounted)),
        Err(error) if error.to_string().contains("loop device") => Err(error),
        Err(error) => Ok(Err(strip_folder(&error.to_string(), mount_point))),
    }
}

/// Removes the name of a scratch folder from a message.
fn strip_folder(message: &str, folder: &Path) -> String {
    message.replace(&format!("{}: ", folder.display()), "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{FILE_SYSTEMS, GroupParent};

    #[test]
    fn an_image_is_its_base_with_what_was_written_and_what_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let (base, image) = (folder.path().join("base"), folder.path().join("image"));
        // A piece of zeroes and one of ones.
        let mut expected = [vec![0u8; PART_BYTES], vec![1; PART_BYTES]].concat();
        std::fs::write(&base, &expected).unwrap();
        let system = FileSystemKind::find_by_name(FILE_SYSTEMS[0], "").unwrap();
        let groups = GroupParent::default();
        let bounds = ProgramBounds::thirty_seconds();
        let program = ShellProgram { command: "", environment: Vec::new(), groups: &groups, bounds };
        let checker = ImageChecker::new(1, Some((base.as_path(), &system)), program, folder.path()).unwrap();
        let content = ImageContent {
            pieces: vec![
                (0, DataPart::Bytes(&[2; 1024])),
                (130, DataPart::Zeroes { bytes: 512, allocated: false }),
                // The second sector is beyond the end.
                (255, DataPart::Bytes(&[3; 1024])),
            ],
            torn: vec![(1, 2), (200, 202)],
        };
        checker.write_image(&image, &content).unwrap();
        for (from, end, fill) in [(0, 1, 2), (1, 2, 0xbd), (130, 131, 0), (200, 202, 0xbd), (255, 256, 3)] {
            expected[from * 512..end * 512].fill(fill);
        }
        let found = std::fs::read(&image).unwrap();
        let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!((found.len(), differs), (expected.len(), None), "the first byte that differs");
    }

    #[test]
    fn equal_contents_have_equal_hashes_however_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base");
        std::fs::write(&base, [vec![0u8; PART_BYTES], vec![1; PART_BYTES]].concat()).unwrap();
        let system = FileSystemKind::find_by_name(FILE_SYSTEMS[0], "").unwrap();
        let groups = GroupParent::default();
        let program = ShellProgram {
            command: "",
            environment: Vec::new(),
            groups: &groups,
            bounds: ProgramBounds::thirty_seconds(),
        };
        let checker = ImageChecker::new(1, Some((base.as_path(), &system)), program, folder.path()).unwrap();
        let hash = |pieces: &[(u64, DataPart<'_>)], torn: &[(u64, u64)]| {
            checker.hash_content(&ImageContent { pieces: pieces.to_vec(), torn: torn.to_vec() })
        };
        let (twos, ones, zeroes) = ([2; 1024], [1; 512], DataPart::Zeroes { bytes: 512, allocated: true });
        let whole = hash(&[(5, DataPart::Bytes(&twos))], &[]);
        // In two pieces; over earlier content; beside pieces that equal the base, which has zeroes, then ones.
        assert_eq!(whole, hash(&[(6, DataPart::Bytes(&twos[..512])), (5, DataPart::Bytes(&twos[..512]))], &[]));
        assert_eq!(whole, hash(&[(5, DataPart::Bytes(&ones)), (5, DataPart::Bytes(&twos))], &[]));
        assert_eq!(whole, hash(&[(5, DataPart::Bytes(&twos)), (9, zeroes), (130, DataPart::Bytes(&ones))], &[]));
        for (pieces, torn) in [
            (&[(6, DataPart::Bytes(&twos))][..], &[][..]),
            (&[(5, DataPart::Bytes(&twos[..512]))], &[]),
            (&[(5, DataPart::Bytes(&twos)), (5, DataPart::Bytes(&ones))], &[]),
            (&[(5, DataPart::Bytes(&twos)), (130, zeroes)], &[]),
            (&[(5, DataPart::Bytes(&twos))], &[(6, 7)]),
        ] {
            assert_ne!(whole, hash(pieces, torn), "{pieces:?}");
        }
    }
}
