//! Claims a file or device for writing: judged through the very opening that holds it, and held for as long as a run
//! lasts. A device is open exclusively (`O_EXCL`), so nothing of the kernel's takes it meanwhile: no mount, swap, array
//! or volume. A file is locked (`flock`) against other runs of this program. Other users are looked for again at the
//! end.

#![expect(clippy::disallowed_methods, reason = "claims the file or device of a run")]

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use seekwise_disk::block::SECTOR;

use super::path::{PathKind, PathMode, ResolvedPath};
use super::{foreign_data, probe};
use crate::system::SystemRoot;
use crate::system::in_use::{self, FileIdentity};

/// A claim to write, until it is dropped.
#[derive(Debug)]
pub(crate) struct WriteClaim {
    file: LockedFile,
    found: ResolvedPath,
}

/// A file that is unlocked when dropped. Closing it is not enough: a program that is being started meanwhile has a copy
/// of the opening, and the lock with it, until it runs.
#[derive(Debug)]
struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Without locks there is none to release.
        let _ = flock(&self.0, FlockOperation::NonBlockingUnlock);
    }
}

impl WriteClaim {
    /// Claims it, if it may be written, where `destroy` is the name that the user gave.
    pub(crate) fn acquire(found: &ResolvedPath, destroy: Option<&str>) -> Result<WriteClaim, String> {
        let shown = found.path.display();
        let mut flags = OFlags::CLOEXEC | OFlags::NOCTTY;
        flags.set(OFlags::EXCL, found.kind == PathKind::Device);
        let opened = File::options().read(true).write(true).custom_flags(flags.bits() as i32).open(&found.path);
        let held = opened.map(LockedFile).map_err(|why| format!("{shown}: cannot be opened for writing: {why}"))?;
        let LockedFile(file) = &held;
        found.check_identity(file)?;
        match found.kind {
            PathKind::Device => probe::may_write_open(file, &found.path, destroy)?,
            PathKind::File => {
                lock_file(file).map_err(|why| format!("{shown}: {why}"))?;
                may_write(found, destroy)?;
                let bytes = file.metadata().map_err(|why| format!("{shown}: {why}"))?.len();
                if bytes < found.sectors * SECTOR {
                    let meant = found.sectors * SECTOR;
                    return Err(format!("{shown}: was cut off to {bytes} bytes meanwhile; expected {meant}"));
                }
            }
        }
        Ok(WriteClaim { file: held, found: found.clone() })
    }

    /// Releases the claim; the error names other users meanwhile.
    pub fn release(self) -> Result<(), String> {
        let used = find_users(&self.found);
        if used.is_empty() {
            if self.found.kind == PathKind::File {
                foreign_data::record_as_ours(&self.file.0);
            }
            return Ok(());
        }
        Err(format!(
            "{}: {} since the run began; expected nobody beside it",
            self.found.path.display(),
            used.join(", ")
        ))
    }
}

/// Whether a file may be written, where `destroy` is the name that the user gave; the error says why not. The file is
/// opened for reading alone.
pub fn may_write(found: &ResolvedPath, destroy: Option<&str>) -> Result<(), String> {
    let shown = found.path.display();
    let used = find_users(found);
    if !used.is_empty() {
        return Err(format!(
            "{shown}: {}; expected a file that nothing uses, whatever --destroy names",
            used.join(", ")
        ));
    }
    let name = found.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if destroy == Some(name) || found.identity().is_none() {
        // The user gave it up, or it is not made yet.
        return Ok(());
    }
    let file = found.open(PathMode { write: false, direct: found.direct.is_some() })?;
    let holds = match foreign_data::find_foreign(&file, found.sectors * SECTOR) {
        Ok(None) => return Ok(()),
        Ok(Some(at)) => format!("holds something that Seekwise did not write (at byte {at})"),
        Err(why) => format!("cannot be read ({why}), so nobody knows what it holds"),
    };
    Err(format!(
        "{shown}: {holds}, and the job writes; expected a file made by `--set real.layout=SIZE`, or `--destroy {name}`"
    ))
}

fn find_users(found: &ResolvedPath) -> Vec<String> {
    let system = SystemRoot::this_machine();
    match found.identity() {
        None => Vec::new(),
        Some(file @ FileIdentity::File { .. }) => in_use::file_uses(file, &system),
        Some(FileIdentity::Device(number)) => {
            system.find_device(number).map_or(Vec::new(), |node| in_use::device_uses(&node, &system))
        }
    }
}

/// Locks a file against other runs of ours, if its file system knows locks.
fn lock_file(file: &File) -> Result<(), String> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(Errno::WOULDBLOCK) => Err("is locked by another program, perhaps another run of this one".to_owned()),
        Err(error) => Err(format!("cannot be locked: {}", io::Error::from(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::path::resolve_path;
    use std::fs;
    use std::path::Path;

    fn found(folder: &Path, bytes: u64) -> ResolvedPath {
        let path = folder.join("data");
        File::create(&path).unwrap().set_len(bytes).unwrap();
        resolve_path(&path, PathKind::File, None).unwrap()
    }

    #[test]
    fn a_file_is_claimed_once_and_is_known_behind_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let it = found(folder.path(), 8 << 20);
        let claim = WriteClaim::acquire(&it, None).unwrap();
        let said = WriteClaim::acquire(&it, Some("data")).unwrap_err();
        assert!(said.contains("is locked by another program"), "{said}");
        // As a program that is being started has it.
        let _copy = claim.file.0.try_clone().unwrap();
        claim.release().unwrap();
        fs::write(&it.path, vec![b'x'; 8 << 20]).unwrap();
        let said = WriteClaim::acquire(&it, None).unwrap_err();
        assert!(said.contains("holds something that Seekwise did not write (at byte 0)"), "{said}");
        assert!(WriteClaim::acquire(&it, Some("other")).is_err());
        WriteClaim::acquire(&it, Some("data")).unwrap().release().unwrap();
    }

    #[test]
    fn what_was_put_in_its_place_or_cut_off_meanwhile_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let it = found(folder.path(), 8 << 20);
        File::options().write(true).open(&it.path).unwrap().set_len(4096).unwrap();
        let said = WriteClaim::acquire(&it, Some("data")).unwrap_err();
        assert!(said.contains("was cut off to 4096 bytes meanwhile; expected 8388608"), "{said}");
        fs::write(folder.path().join("new"), vec![0; 8 << 20]).unwrap();
        fs::rename(folder.path().join("new"), &it.path).unwrap();
        for said in [
            WriteClaim::acquire(&it, Some("data")).unwrap_err(),
            it.open(PathMode { write: true, direct: false }).unwrap_err(),
        ] {
            assert!(said.contains("is another file than the one that was looked at"), "{said}");
        }
    }
}
