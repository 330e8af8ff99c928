//! `cargo xtask dist [TARGET …]`: makes archives of the program for machines without a Rust toolchain, in
//! `target/dist`; by default static ones for Linux on x86-64 and arm64. Each contains the program, the page Explore, its licences and
//! those of its dependencies, README, documentation, studies, completions and man pages. Beside it lies its bill of materials.
//!
//! Equal sources, built twice by one toolchain on one machine, give equal bytes: the program contains no paths, and all
//! files of an archive have one time and one owner. Needs rustup, GNU tar, gzip and sha256sum. The toolchain's own
//! rust-lld links the Linux targets. Another target needs its linker, and is only type-checked without it. The program
//! for this machine is optimized with a profile ([`training`]); the others are not.

mod training;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::json;

use self::training::{Training, train};
use crate::steps::{Ended, command};
use crate::web;

/// A target of archives.
struct Target {
    triple: &'static str,
    /// The linker of its programs.
    linker: &'static str,
    /// The package that has this linker.
    package: &'static str,
    /// Whether a run without names includes it.
    is_default: bool,
}

const LINUX: Target =
    Target { triple: "x86_64-unknown-linux-musl", linker: "rust-lld", package: "the Rust toolchain", is_default: true };

const TARGETS: [Target; 5] = [
    LINUX,
    Target { triple: "aarch64-unknown-linux-musl", ..LINUX },
    Target {
        triple: "x86_64-pc-windows-gnu",
        linker: "x86_64-w64-mingw32-gcc",
        package: "Debian's gcc-mingw-w64-x86-64",
        is_default: false,
    },
    // A Mac's own compiler; on another system it would need Apple's SDK.
    Target { triple: "aarch64-apple-darwin", linker: "cc", package: "Xcode on a Mac", is_default: false },
    Target { triple: "x86_64-apple-darwin", linker: "cc", package: "Xcode on a Mac", is_default: false },
];

/// The files of the repository in each archive.
const ARCHIVED_FILES: [&str; 6] =
    ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "docs", "crates/lab/studies"];

/// Shells, and the names under which they look for completions.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "seekwise.bash"), ("zsh", "_seekwise"), ("fish", "seekwise.fish")];

/// Runs the command.
pub fn dist(names: &[&str]) -> ExitCode {
    if let Some(name) = names.iter().find(|name| TARGETS.iter().all(|target| target.triple != **name)) {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
        eprintln!("{name}: no such target; expected {}", known.join(", "));
        return ExitCode::from(2);
    }
    let wanted = |target: &&Target| if names.is_empty() { target.is_default } else { names.contains(&target.triple) };
    let own = TARGETS.iter().filter(wanted).find(|target| runs_here(target));
    let built = passed(web::build_explore()).and_then(|()| own.map_or(Ok(None), train)).and_then(|trained| {
        TARGETS.iter().filter(wanted).try_for_each(|target| make_archive(target, trained.as_ref()))
    });
    match built {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Builds and packs a target, or type-checks it if it cannot be linked here.
fn make_archive(target: &Target, trained: Option<&Training>) -> Result<(), String> {
    let triple = target.triple;
    run(&["rustup", "target", "add", triple])?;
    if !can_link(target) {
        run(&["cargo", "check", "-p", "seekwise-cli", "--locked", "--target", triple])?;
        println!("{triple}: only type-checked; linking it needs {} ({})", target.linker, target.package);
        return Ok(());
    }
    let program = build(target, trained)?;
    if triple.contains("musl") && !is_static(&fs::read(&program).map_err(error_text)?) {
        return Err(format!("{}: not static; it has a dynamic linker", program.display()));
    }
    if let Some(trained) = trained.filter(|trained| trained.triple == triple) {
        trained.check(&program)?;
    }
    pack_archive(triple, &program, trained)
}

/// Builds the program for a target.
fn build(target: &Target, trained: Option<&Training>) -> Result<PathBuf, String> {
    let trained = trained.filter(|trained| trained.triple == target.triple);
    let profile = trained.map(|trained| format!("-Cprofile-use={}", trained.profile.display()));
    build_with_flags(target, profile.as_slice(), None)?;
    Ok(program_path(target, &crate::target()))
}

/// Builds the program for a target with more compiler flags, into its own target folder or the common one.
fn build_with_flags(target: &Target, more_flags: &[String], folder: Option<&Path>) -> Result<(), String> {
    let triple = target.triple;
    let linker = format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase().replace('-', "_"));
    let target_folder = folder.map_or_else(crate::target, Path::to_owned).display().to_string();
    let words = ["cargo", "build", "-p", "seekwise-cli", "--profile", "dist", "--locked", "--target", triple];
    let flags = [path_free_flags(), more_flags.to_vec()].concat().join("\u{1f}");
    let environment =
        [(linker.as_str(), target.linker), ("CARGO_ENCODED_RUSTFLAGS", &flags), ("CARGO_TARGET_DIR", &target_folder)];
    passed(command(&words, &environment))
}

/// The path of a target's program below the folder of cargo.
fn program_path(target: &Target, folder: &Path) -> PathBuf {
    let name = if target.triple.contains("windows") { "seekwise.exe" } else { "seekwise" };
    folder.join(target.triple).join("dist").join(name)
}

/// Whether programs for a target run on this machine.
fn runs_here(target: &Target) -> bool {
    let system = if cfg!(target_os = "macos") { "apple" } else { std::env::consts::OS };
    target.triple.starts_with(std::env::consts::ARCH) && target.triple.contains(system) && can_link(target)
}

/// Whether programs for a target can be linked here.
fn can_link(target: &Target) -> bool {
    match target.triple {
        apple if apple.contains("apple") => cfg!(target_os = "macos"),
        _ => target.linker == "rust-lld" || Command::new(target.linker).arg("--version").output().is_ok(),
    }
}

/// Flags that leave this machine's paths out of what is compiled.
pub fn path_free_flags() -> Vec<String> {
    let registry = cargo_home().join("registry/src");
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    vec![remap(&crate::root(), "seekwise"), remap(&registry, "registry")]
}

fn cargo_home() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// Whether an ELF program of 64 bits, little-endian, starts without a dynamic linker: it has no PT_INTERP (3) among its
/// program headers. Their place, size and number are in bytes 32, 54 and 56 of the file's header.
fn is_static(program: &[u8]) -> bool {
    let number = |at: usize, size: usize| {
        program.get(at..at + size).map(|bytes| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte)))
    };
    let (Some(place), Some(size), Some(count)) = (number(32, 8), number(54, 2), number(56, 2)) else { return false };
    program.starts_with(b"\x7fELF") && (0..count).all(|header| number(place + header * size, 4) != Some(3))
}

/// Makes the archive of a program.
fn pack_archive(triple: &str, program: &Path, trained: Option<&Training>) -> Result<(), String> {
    let name = format!("seekwise-{}-{triple}", version()?);
    let staging = crate::empty_folder("dist").map_err(error_text)?;
    let folder = staging.join(&name);
    fs::create_dir_all(&folder).map_err(error_text)?;
    let made = [program.to_owned(), web::explore_page()];
    let copies = ARCHIVED_FILES.iter().map(|paper| crate::root().join(paper)).chain(made);
    let mut words = vec!["cp".to_owned(), "-r".to_owned()];
    words.extend(copies.chain([folder.clone()]).map(|path| path.display().to_string()));
    run(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
    fs::write(folder.join("LICENSES-OF-DEPENDENCIES"), dependency_licences("seekwise-cli", triple)?)
        .map_err(error_text)?;
    write_completions_and_man(&build_runnable_program(trained)?, &folder)?;
    let archives = crate::target().join("dist");
    fs::create_dir_all(&archives).map_err(error_text)?;
    fs::write(archives.join(format!("{name}.cdx.json")), bill_of_materials(triple)?).map_err(error_text)?;
    let archive = archives.join(format!("{name}.tar.gz"));
    let packed = format!(
        "tar --sort=name --mtime=@{} --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w -C '{}' -cf - {name} \
         | gzip -9n > '{}' && cd '{}' && sha256sum *.tar.gz *.json > SHA256SUMS && cat SHA256SUMS",
        std::env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| "0".to_owned()),
        staging.display(),
        archive.display(),
        archives.display()
    );
    run(&["sh", "-c", &packed])
}

/// Builds the same sources for this machine, for their completions and man pages. Cargo builds nothing twice.
fn build_runnable_program(trained: Option<&Training>) -> Result<PathBuf, String> {
    match TARGETS.iter().filter(|target| target.is_default).find(|target| runs_here(target)) {
        Some(target) => build(target, trained),
        None => passed(crate::cargo::release()).map(|()| crate::target().join("release/seekwise")),
    }
}

/// Writes completions and man pages.
fn write_completions_and_man(program: &Path, folder: &Path) -> Result<(), String> {
    let completions = folder.join("completions");
    fs::create_dir(&completions).map_err(error_text)?;
    for (shell, file) in COMPLETIONS {
        let output = Command::new(program).args(["completions", shell]).output().map_err(error_text)?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("`seekwise completions {shell}` ended with {}\n{why}", output.status));
        }
        fs::write(completions.join(file), output.stdout).map_err(error_text)?;
    }
    let man = folder.join("man/man1").display().to_string();
    run(&[&program.display().to_string(), "man", &man])
}

/// A dependency of a package.
struct Dependency {
    name: String,
    version: String,
    licence: String,
}

/// All dependencies of a package on a target, by their names.
fn dependencies(package: &str, triple: &str) -> Result<Vec<Dependency>, String> {
    let tree = ["tree", "-p", package, "-e", "normal", "--prefix", "none", "--format", "{p}|{l}", "--locked"];
    let output = Command::new("cargo")
        .args(tree)
        .args(["--target", triple])
        .current_dir(crate::root())
        .output()
        .map_err(error_text)?;
    let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    lines.retain(|line| !line.starts_with("seekwise"));
    lines.iter_mut().for_each(|line| *line = line.trim_end_matches(" (*)").to_owned());
    lines.sort();
    lines.dedup();
    if lines.is_empty() {
        return Err(format!("`cargo tree -p {package}` names no dependency; it ended with {}", output.status));
    }
    // A line is `name v1.2.3|licence`, perhaps with ` (proc-macro)` before the bar.
    let read = |line: &String| {
        let (package, licence) = line.split_once('|')?;
        let (name, version) = package.split_once(" v")?;
        let version = version.split(' ').next()?;
        Some(Dependency { name: name.to_owned(), version: version.to_owned(), licence: licence.to_owned() })
    };
    Ok(lines.iter().filter_map(read).collect())
}

/// The bill of materials in the format CycloneDX 1.6 (<https://cyclonedx.org/docs/1.6/json/>).
fn bill_of_materials(triple: &str) -> Result<String, String> {
    let version = version()?;
    let component = |it: &Dependency| {
        json!({
            "type": "library",
            "name": it.name,
            "version": it.version,
            "purl": format!("pkg:cargo/{}@{}", it.name, it.version),
            "licenses": [{ "expression": it.licence.replace('/', " OR ") }],
        })
    };
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "seekwise", "version": version } },
        "components": dependencies("seekwise-cli", triple)?.iter().map(component).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&bill).map(|text| text + "\n").map_err(|why| why.to_string())
}

/// The dependencies of a package on a target with the names of their licences, then each licence text in their sources once.
pub fn dependency_licences(package: &str, triple: &str) -> Result<String, String> {
    let (mut names, mut texts) = (String::new(), Vec::new());
    for Dependency { name, version, licence } in dependencies(package, triple)? {
        let folder = format!("{name}-{version}");
        names += &format!("{folder}: {licence}\n");
        texts.extend(licence_texts(&folder)?.into_iter().map(|text| (folder.clone(), text)));
    }
    Ok(format!("{names}\n{}", join_texts(texts)))
}

/// Texts below the names of all packages that have them, in the order in which they occur first.
fn join_texts(texts: Vec<(String, String)>) -> String {
    let mut joined: Vec<(String, String)> = Vec::new();
    for (package, text) in texts {
        let is_same = |other: &str| other.split_whitespace().eq(text.split_whitespace());
        match joined.iter_mut().find(|(_, other)| is_same(other)) {
            Some((packages, _)) => *packages += &format!(", {package}"),
            None => joined.push((package, text)),
        }
    }
    joined.iter().map(|(packages, text)| format!("==== {packages}\n\n{}\n\n", text.trim())).collect()
}

/// The licence texts in a dependency's sources.
fn licence_texts(package: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for registry in fs::read_dir(cargo_home().join("registry/src")).map_err(error_text)?.flatten() {
        for file in fs::read_dir(registry.path().join(package)).into_iter().flatten().flatten() {
            let name = file.file_name().to_string_lossy().to_uppercase();
            if ["LICEN", "COPYING", "NOTICE", "COPYRIGHT"].iter().any(|start| name.starts_with(start)) {
                found.push(file.path());
            }
        }
    }
    found.sort();
    Ok(found.iter().filter(|path| path.is_file()).flat_map(fs::read_to_string).collect())
}

/// The version, as the workspace has it.
fn version() -> Result<String, String> {
    let manifest = fs::read_to_string(crate::root().join("Cargo.toml")).map_err(error_text)?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = "));
    line.map(|version| version.trim_matches('"').to_owned()).ok_or_else(|| "Cargo.toml: no version".to_owned())
}

fn error_text(error: io::Error) -> String {
    error.to_string()
}

fn run(words: &[&str]) -> Result<(), String> {
    passed(command(words, &[]))
}

fn passed(ended: Ended) -> Result<(), String> {
    match ended {
        Ended::Passed => Ok(()),
        Ended::Skipped(reason) | Ended::Failed(reason) => Err(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of an ELF program with one program header of this kind.
    fn elf(kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..4].copy_from_slice(b"\x7fELF");
        (bytes[32], bytes[54], bytes[56], bytes[64]) = (64, 56, 1, kind);
        bytes
    }

    #[test]
    fn a_program_that_asks_for_an_interpreter_is_not_static() {
        assert!(is_static(&elf(1)) && !is_static(&elf(3)), "1 is a part to load, 3 an interpreter");
        assert!(!is_static(b"MZ") && !is_static(&fs::read(std::env::current_exe().unwrap()).unwrap()));
    }

    #[test]
    fn a_licence_text_stands_once_below_all_that_have_it() {
        let texts = [("a-1", "MIT\n  text"), ("b-2", "Apache"), ("c-3", "MIT text\n")];
        let joined = join_texts(texts.map(|(package, text)| (package.to_owned(), text.to_owned())).to_vec());
        assert_eq!(joined, "==== a-1, c-3\n\nMIT\n  text\n\n==== b-2\n\nApache\n\n");
    }

    #[test]
    fn the_version_is_the_workspaces() {
        assert_eq!(version().unwrap(), env!("CARGO_PKG_VERSION"));
        let citation = include_str!("../../CITATION.cff");
        assert!(citation.lines().any(|line| line.strip_prefix("version: ") == Some(env!("CARGO_PKG_VERSION"))));
    }

    #[test]
    fn a_bill_names_each_dependency_with_its_licence() {
        let bill: serde_json::Value = serde_json::from_str(&bill_of_materials(LINUX.triple).unwrap()).unwrap();
        let components = bill["components"].as_array().unwrap();
        assert!(components.iter().any(|it| it["name"] == "clap"), "{components:?}");
        assert!(components.iter().all(|it| it["licenses"][0]["expression"] != "" && it["name"] != "seekwise"));
    }
}
