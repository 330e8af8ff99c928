//! An index of Python packages in a folder, as PEP 503 has it: pip and uv take its URL.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error_of;

/// The systems whose wheels an index needs, as file names have them.
const SYSTEMS: [&str; 2] = ["x86_64", "aarch64"];

/// Copies wheels and source packages of a folder into an index, and writes its page. Returns their names and sizes.
pub fn make_index(from: &Path, index: &Path) -> Result<Vec<(String, u64)>, String> {
    let folder = index.join("seekwise");
    fs::create_dir_all(&folder).map_err(|why| error_of(&folder, &why))?;
    let entries = fs::read_dir(from).map_err(|why| error_of(from, &why))?;
    let mut names: Vec<String> = entries.flatten().map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    let version = concat!("seekwise-", env!("CARGO_PKG_VERSION"));
    names.retain(|name| name.strip_prefix(version).is_some_and(is_python_package));
    names.sort();
    if let Some(system) = SYSTEMS.iter().find(|system| !names.iter().any(|name| name.contains(**system))) {
        return Err(format!(
            "{}: no wheel of {version} for {system}; expected those of `cargo xtask wheel`",
            from.display()
        ));
    }
    let (mut links, mut sizes) = (String::new(), Vec::new());
    for name in names {
        let content = fs::read(from.join(&name)).map_err(|why| error_of(&from.join(&name), &why))?;
        fs::write(folder.join(&name), &content).map_err(|why| error_of(&folder, &why))?;
        links += &link(&name, &content);
        sizes.push((name, content.len() as u64));
    }
    fs::write(folder.join("index.html"), format!("<!DOCTYPE html>\n<title>seekwise</title>\n{links}"))
        .map_err(|why| error_of(&folder, &why))?;
    Ok(sizes)
}

/// Whether the rest of a file's name, behind name and version, is that of a wheel or a source package.
fn is_python_package(rest: &str) -> bool {
    rest == ".tar.gz" || rest.starts_with('-') && rest.ends_with(".whl")
}

/// The link to a package, with its checksum.
fn link(name: &str, content: &[u8]) -> String {
    format!("<a href=\"{name}#sha256={}\">{name}</a><br>\n", sum(content))
}

/// SHA-256 in hexadecimal digits.
pub fn sum(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_holds_wheels_and_the_source_package_with_their_sums() {
        let folder = crate::empty_folder("pypi-test").unwrap();
        let (from, index) = (folder.join("dist"), folder.join("index"));
        fs::create_dir(&from).unwrap();
        let wheel = |system: &str| format!("seekwise-{}-cp310-abi3-{system}.whl", env!("CARGO_PKG_VERSION"));
        fs::write(from.join(wheel("x86_64")), "abc").unwrap();
        let missing = make_index(&from, &index).unwrap_err();
        assert!(missing.contains("for aarch64") && missing.contains("cargo xtask wheel"), "{missing}");
        // An archive of the program and a wheel of another version are none of its packages.
        let archive = format!("seekwise-{}-x86_64-unknown-linux-musl.tar.gz", env!("CARGO_PKG_VERSION"));
        for name in [&wheel("aarch64"), &archive, "seekwise-0.0.1-cp310-abi3-x86_64.whl"] {
            fs::write(from.join(name), "").unwrap();
        }
        let names: Vec<String> = make_index(&from, &index).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [wheel("aarch64"), wheel("x86_64")]);
        let page = fs::read_to_string(index.join("seekwise/index.html")).unwrap();
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert!(page.contains(&format!("{}#sha256={sum}", wheel("x86_64"))), "{page}");
    }
}
