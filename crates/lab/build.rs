//! Names the build: a hash of the sources that decide a result's figures, so that results made by different programs of
//! one version can be told apart. It needs no repository, and is the same for equal sources on every machine.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

/// The crates that a figure passes through. A package of a registry has none of them beside it: all are of its version then.
const CRATES: [&str; 7] = ["disk", "work", "drives", "formats", "run", "os", "lab"];

fn main() {
    // Asked when it runs: a build folder that was copied holds this program as it was built elsewhere.
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the folder"));
    let version = env::var("CARGO_PKG_VERSION").expect("cargo names the version");
    let mut hash = Sha256::new();
    for name in CRATES {
        let folder = if name == "lab" { here.join("src") } else { here.join("..").join(name).join("src") };
        match folder.is_dir() {
            true => add_sources(name, &folder, &mut hash),
            false => hash.update(format!("{name} {version}\n")),
        }
    }
    let digits: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=SEEKWISE_BUILD={digits}");
}

fn add_sources(name: &str, folder: &Path, hash: &mut Sha256) {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    walk(folder, &mut files).expect("the sources can be listed");
    files.sort();
    for file in &files {
        let inside = file.strip_prefix(folder).expect("it lies there").to_string_lossy().replace('\\', "/");
        let mut text = fs::read(file).expect("a source can be read");
        // A checkout may end its lines otherwise.
        text.retain(|&byte| byte != b'\r');
        hash.update(format!("{name}/src/{inside} {}\n", text.len()));
        hash.update(&text);
    }
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
