//! A Python for arm64 on another machine: Debian's packages, unpacked below `target`, under QEMU's user emulation. apt
//! works on folders of its own there, so that no right is needed and the system's packages stay as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error_of;

/// The packages of Python; apt adds those that they need.
const PYTHON: [&str; 3] = ["python3-minimal", "libpython3-stdlib", "libgcc-s1"];

/// A Python for arm64.
pub struct Emulator {
    qemu: PathBuf,
    root: PathBuf,
}

impl Emulator {
    /// Fetches the emulator and Python into a folder, unless they are there.
    pub fn fetch(folder: &Path) -> Result<Emulator, String> {
        let emulator = Emulator { qemu: folder.join("qemu/usr/bin/qemu-aarch64-static"), root: folder.join("root") };
        if !emulator.root.join("usr/bin/python3").exists() {
            fetch_packages(&folder.join("arm64"), "arm64", &PYTHON, &emulator.root)?;
        }
        if !emulator.qemu.exists() {
            let host = run(Command::new("dpkg").arg("--print-architecture"))?;
            fetch_packages(&folder.join("host"), host.trim(), &["qemu-user-static"], &folder.join("qemu"))?;
        }
        Ok(emulator)
    }

    /// The words that run Python with these arguments.
    pub fn python(&self, arguments: &[&str]) -> Vec<String> {
        let [qemu, root, python] = [self.qemu.clone(), self.root.clone(), self.root.join("usr/bin/python3")]
            .map(|path| path.display().to_string());
        let own = [qemu, "-L".to_owned(), root, python];
        own.into_iter().chain(arguments.iter().map(|&word| word.to_owned())).collect()
    }

    /// The version of Python, such as 3.11; an error if it is not for arm64.
    pub fn python_version(&self) -> Result<String, String> {
        let words =
            self.python(&["-c", "import platform; print(platform.machine(), *platform.python_version_tuple()[:2])"]);
        let output = run(Command::new(&words[0]).args(&words[1..]))?;
        match output.split_whitespace().collect::<Vec<_>>()[..] {
            ["aarch64", major, minor] => Ok(format!("{major}.{minor}")),
            _ => Err(format!("the emulated Python says {output:?}; expected aarch64 and its version")),
        }
    }
}

/// Fetches packages and all that they need for an architecture, and unpacks them.
fn fetch_packages(work: &Path, architecture: &str, names: &[&str], into: &Path) -> Result<(), String> {
    let archives = work.join("cache/archives");
    for folder in [work.join("state/lists/partial"), archives.join("partial"), into.to_owned()] {
        fs::create_dir_all(&folder).map_err(|why| error_of(&folder, &why))?;
    }
    let settings = [
        format!("APT::Architecture={architecture}"),
        format!("APT::Architectures={architecture}"),
        format!("Dir::State={}", work.join("state").display()),
        "Dir::State::status=/dev/null".to_owned(),
        format!("Dir::Cache={}", work.join("cache").display()),
    ];
    let apt = |words: &[&str]| {
        let settings = settings.iter().flat_map(|setting| ["-o", setting]);
        run(Command::new("apt-get").arg("-qq").args(settings).args(words))
    };
    apt(&["update"])?;
    apt(&[&["install", "--yes", "--no-install-recommends", "--download-only"], names].concat())?;
    for archive in fs::read_dir(&archives).map_err(|why| error_of(&archives, &why))?.flatten() {
        if archive.path().extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg-deb").arg("-x").arg(archive.path()).arg(into))?;
        }
    }
    Ok(())
}

/// Runs a command; returns its output.
fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|why| format!("`{name}` did not start: {why}; expected Debian's"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`{name}` ended with {}\n{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}
