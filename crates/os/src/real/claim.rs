//! Claims a file or device for writing. It is judged through the opening that then holds it for as long as a run lasts.
//! A device is open exclusively (`O_EXCL`), so the kernel does not use it meanwhile: no mount, swap, array or volume. A
//! file is locked (`flock`) against other runs of this program. Other users are looked for again at the end.

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
    resolved: ResolvedPath,
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
    /// Claims a file or device, if it may be written. `destroyed_name` is the name by which the user agreed to that.
    pub(crate) fn acquire(resolved: &ResolvedPath, destroyed_name: Option<&str>) -> Result<WriteClaim, String> {
        let shown = resolved.path.display();
        let mut flags = OFlags::CLOEXEC | OFlags::NOCTTY;
        flags.set(OFlags::EXCL, resolved.kind == PathKind::Device);
        let opened = File::options().read(true).write(true).custom_flags(flags.bits() as i32).open(&resolved.path);
        let locked = opened.map(LockedFile).map_err(|why| format!("{shown}: cannot be opened for writing: {why}"))?;
        let LockedFile(file) = &locked;
        resolved.check_identity(file)?;
        match resolved.kind {
            PathKind::Device => probe::check_open_device(file, &resolved.path, destroyed_name)?,
            PathKind::File => {
                lock_file(file).map_err(|why| format!("{shown}: {why}"))?;
                may_write(resolved, destroyed_name)?;
                let bytes = file.metadata().map_err(|why| format!("{shown}: {why}"))?.len();
                if bytes < resolved.sectors * SECTOR {
                    let expected_bytes = resolved.sectors * SECTOR;
                    return Err(format!("{shown}: was cut off to {bytes} bytes meanwhile; expected {expected_bytes}"));
                }
            }
        }
        Ok(WriteClaim { file: locked, resolved: resolved.clone() })
    }

    /// Releases the claim; the error names other users meanwhile.
    pub fn release(self) -> Result<(), String> {
        let uses = describe_uses(&self.resolved);
        if uses.is_empty() {
            if self.resolved.kind == PathKind::File {
                foreign_data::record_as_ours(&self.file.0);
            }
            return Ok(());
        }
        Err(format!(
            "{}: {} since the run began; expected nobody beside it",
            self.resolved.path.display(),
            uses.join(", ")
        ))
    }
}

/// Checks whether a file may be written; the error says why not. `destroyed_name` is the name by which the user agreed
/// to that. The file is opened for reading alone.
pub fn may_write(resolved: &ResolvedPath, destroyed_name: Option<&str>) -> Result<(), String> {
    let shown = resolved.path.display();
    let uses = describe_uses(resolved);
    if !uses.is_empty() {
        return Err(format!(
            "{shown}: {}; expected a file that nothing uses, whatever --destroy names",
            uses.join(", ")
        ));
    }
    let name = resolved.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if destroyed_name == Some(name) || resolved.identity().is_none() {
        // The user agreed, or the file is not made yet.
        return Ok(());
    }
    let file = resolved.open(PathMode { write: false, direct: resolved.direct_alignment.is_some() })?;
    let holds = match foreign_data::find_foreign_sector(&file, resolved.sectors * SECTOR) {
        Ok(None) => return Ok(()),
        Ok(Some(offset)) => format!("holds something that Seekwise did not write (at byte {offset})"),
        Err(why) => format!("cannot be read ({why}), so nobody knows what it holds"),
    };
    Err(format!(
        "{shown}: {holds}, and the job writes; expected a file made by `--set real.layout=SIZE`, or `--destroy {name}`"
    ))
}

fn describe_uses(resolved: &ResolvedPath) -> Vec<String> {
    let system = SystemRoot::this_machine();
    match resolved.identity() {
        None => Vec::new(),
        Some(file @ FileIdentity::File { .. }) => in_use::describe_file_uses(file, &system),
        Some(FileIdentity::Device(number)) => {
            system.find_device(number).map_or(Vec::new(), |node| in_use::describe_device_uses(&node, &system))
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
