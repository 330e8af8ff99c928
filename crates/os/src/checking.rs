//! What a power cut left, looked at by a check of the user's: the medium as a file, mounted where it has a file system, and a command
//! that says what it finds there. Each worker has a folder of its own, and begins anew each time.
//!
//! A file refuses no read: a sector that cannot be read holds a pattern of its own here.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::bytes::zero_at;
use crate::kernel::pages::{FilePages, UnflushedPages};
use crate::kernel::{FileSystemKind, MountedFileSystem, ProgramBounds, ProgramExit, ShellProgram};
use crate::outputs::{create_like_parent, create_private};
use seekwise_model::history::DataPart;

/// Bytes of the base that are told apart: what is zero stays a hole.
const PIECE: usize = 64 << 10;

/// What a sector that cannot be read is filled with: neither zeroes nor what any program would have written.
const UNREADABLE: [u8; 512] = [0xBD; 512];

/// A check.
pub struct ImageChecker<'a> {
    /// Bytes of the disk.
    length: u64,
    /// What it began with, but for zeroes.
    base: Vec<(u64, Vec<u8>)>,
    system: Option<&'a FileSystemKind>,
    program: ShellProgram<'a>,
    folder: &'a Path,
}

/// What a check was told, and what came of it.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// How the command ended; nothing where the disk could not be mounted.
    pub ended: Option<ProgramExit>,
    /// Why it could not be mounted.
    pub unmountable: Option<String>,
    /// What the file system's checker found.
    pub fault: Option<String>,
}

/// What lies on a disk beside what it began with.
#[derive(Clone, Debug, Default)]
pub struct ImageContent<'a> {
    /// First sectors, and what lies from there on.
    pub pieces: Vec<(u64, DataPart<'a>)>,
    /// Sectors that cannot be read: from, and up to.
    pub torn: Vec<(u64, u64)>,
}

impl<'a> ImageChecker<'a> {
    /// Of disks of `length` bytes, or as long as what they begin with, with a file system. `program` finds what it is told in its
    /// environment; `folder` is for scratch.
    pub fn new(
        length: u64,
        base: Option<(&'a Path, &'a FileSystemKind)>,
        program: ShellProgram<'a>,
        folder: &'a Path,
    ) -> io::Result<ImageChecker<'a>> {
        let mut checker = ImageChecker { length, base: Vec::new(), system: None, program, folder };
        if let Some((path, system)) = base {
            let file = File::open(path)?;
            checker.length = file.metadata()?.len();
            checker.system = Some(system);
            for at in (0..checker.length).step_by(PIECE) {
                let mut piece = vec![0; PIECE.min((checker.length - at) as usize)];
                file.read_exact_at(&mut piece, at)?;
                if piece.iter().any(|&byte| byte != 0) {
                    checker.base.push((at, piece));
                }
            }
        }
        Ok(checker)
    }

    /// Writes the disk to a new file for its owner alone; nothing of it remains after an error.
    pub fn write(&self, path: &Path, content: &ImageContent<'_>) -> io::Result<()> {
        let file = create_private(path)?;
        self.fill(&file, content).inspect_err(|_| drop(std::fs::remove_file(path)))
    }

    fn fill(&self, file: &File, content: &ImageContent<'_>) -> io::Result<()> {
        file.set_len(self.length)?;
        for (at, bytes) in &self.base {
            file.write_all_at(bytes, *at)?;
        }
        for (lba, part) in &content.pieces {
            // What a program wrote behind its file system, if it had the whole device.
            let within = self.length.saturating_sub(lba * 512).min(part.bytes());
            match part {
                DataPart::Bytes(bytes) => file.write_all_at(&bytes[..within as usize], lba * 512)?,
                DataPart::Zeroes { .. } => zero_at(file, lba * 512, within, false)?,
            }
        }
        for sector in content.torn.iter().flat_map(|&(from, end)| from..end) {
            file.write_all_at(&UNREADABLE, sector * 512)?;
        }
        Ok(())
    }

    /// What files lack on this disk of what they held; nothing where there is no file system, or none that can be mounted.
    pub fn missing(&self, content: &ImageContent<'_>, pages: &FilePages) -> io::Result<Option<Vec<UnflushedPages>>> {
        let Some(system) = self.system else { return Ok(None) };
        let folder = self.folder.join("given");
        let (image, mount) = (folder.join("image"), folder.join("mount"));
        create_like_parent(&folder)?;
        create_like_parent(&mount)?;
        self.write(&image, content)?;
        let found = match mounted(system, &image, &mount, self.program.bounds)? {
            Ok(mounted) => {
                let missing = pages.missing(&mount);
                mounted.end()?;
                Some(missing)
            }
            Err(_) => None,
        };
        std::fs::remove_dir_all(&folder)?;
        Ok(found)
    }

    /// Looks at a disk after a cut at so many seconds, with these promises made before it.
    pub fn look(&self, worker: usize, content: &ImageContent<'_>, promises: &[&str]) -> io::Result<CheckResult> {
        let folder = self.folder.join(format!("check-{worker}"));
        let seen = self.look_in(&folder, content, promises);
        let gone = std::fs::remove_dir_all(&folder);
        let seen = seen?;
        gone.map(|()| seen)
    }

    fn look_in(&self, folder: &Path, content: &ImageContent<'_>, promises: &[&str]) -> io::Result<CheckResult> {
        let place = |name: &str| folder.join(name);
        let (image, mount, scratch, told) = (place("image"), place("mount"), place("scratch"), place("promises"));
        for new in [folder, &mount, &scratch] {
            create_like_parent(new)?;
        }
        self.write(&image, content)?;
        let lines: String = promises.iter().map(|line| format!("{line}\n")).collect();
        create_private(&told)?.write_all(lines.as_bytes())?;
        let shown = |path: &PathBuf| path.display().to_string();
        let mut program = self.program.clone();
        for (name, path) in [("SEEKWISE_IMAGE", &image), ("SEEKWISE_PROMISES", &told), ("SEEKWISE_SCRATCH", &scratch)] {
            program.environment.push((name.to_owned(), shown(path)));
        }
        let Some(system) = self.system else {
            let ended = program.run()?;
            return Ok(CheckResult { ended: Some(ended), unmountable: None, fault: None });
        };
        let bounds = self.program.bounds;
        let mounted = match mounted(system, &image, &mount, bounds)? {
            Ok(mounted) => mounted,
            Err(why) => return Ok(CheckResult { ended: None, unmountable: Some(why), fault: None }),
        };
        program.environment.push(("SEEKWISE_MOUNT".to_owned(), shown(&mount)));
        let ended = program.run()?;
        mounted.end()?;
        let fault = system.faults(&image, bounds)?;
        Ok(CheckResult { ended: Some(ended), unmountable: None, fault })
    }
}

/// Mounts it; the inner error says why that cannot be, the outer one that the system had no means for it.
fn mounted(
    system: &FileSystemKind,
    image: &Path,
    folder: &Path,
    bounds: ProgramBounds<'_>,
) -> io::Result<Result<MountedFileSystem, String>> {
    match system.mount(image, folder, bounds) {
        Ok(mounted) => Ok(Ok(mounted)),
        Err(error) if error.to_string().contains("loop device") => Err(error),
        Err(error) => Ok(Err(without(&error.to_string(), folder))),
    }
}

/// Words without the name of a folder that nobody knows.
fn without(words: &str, folder: &Path) -> String {
    words.replace(&format!("{}: ", folder.display()), "")
}
