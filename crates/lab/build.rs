//! Names the build: a hash of the sources that decide a result's figures, so that results made by different programs of
//! one version can be told apart. It needs no repository, and is the same for equal sources on every machine.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

/// The crates that a figure passes through.
const CRATES: [&str; 7] = ["disk", "work", "drives", "formats", "run", "os", "lab"];

fn main() {
    // Asked when it runs: a build folder that was copied holds this program as it was built elsewhere.
    let here = env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the folder");
    let crates = Path::new(&here).join("..");
    let mut files = Vec::new();
    for name in CRATES {
        let folder = crates.join(name).join("src");
        println!("cargo:rerun-if-changed={}", folder.display());
        walk(&folder, &mut files).expect("the sources can be listed");
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        let name = file.strip_prefix(&crates).expect("it lies there").to_string_lossy().replace('\\', "/");
        let mut text = fs::read(file).expect("a source can be read");
        // A checkout may end its lines otherwise.
        text.retain(|&byte| byte != b'\r');
        hash.update(format!("{name} {}\n", text.len()));
        hash.update(&text);
    }
    let digits: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=SEEKWISE_BUILD={digits}");
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        match entry?.path() {
            path if path.is_dir() => walk(&path, files)?,
            path => files.push(path),
        }
    }
    Ok(())
}
