//! A registry of crates in a folder, in the form of cargo's local registries
//! (<https://doc.rust-lang.org/cargo/reference/registry-index.html>): the packages of the workspace as they would be
//! published, and all that they may depend on, from cargo's cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{error_of, pypi};

/// Makes the registry. Returns how many crates of ours it has, and their bytes.
pub fn make_index(folder: &Path) -> Result<(usize, u64), String> {
    fs::create_dir_all(folder).map_err(|why| error_of(folder, &why))?;
    let (mut own, mut bytes) = (0, 0);
    for package in packages()? {
        let Some(file) = crate_file(&package) else { continue };
        let content = fs::read(&file).map_err(|why| error_of(&file, &why))?;
        let name = package["name"].as_str().unwrap_or_default();
        let copy = folder.join(file.file_name().expect("a file has a name"));
        fs::write(&copy, &content).map_err(|why| error_of(&copy, &why))?;
        let entry = folder.join("index").join(entry_place(name));
        fs::create_dir_all(entry.parent().expect("it is in the folder")).map_err(|why| error_of(&entry, &why))?;
        let before = fs::read_to_string(&entry).unwrap_or_default();
        fs::write(&entry, format!("{before}{}\n", index_line(&package, &pypi::sum(&content))))
            .map_err(|why| error_of(&entry, &why))?;
        if package["source"].is_null() {
            (own, bytes) = (own + 1, bytes + content.len() as u64);
        }
    }
    Ok((own, bytes))
}

/// All packages of Cargo.lock, as cargo describes them.
fn packages() -> Result<Vec<Value>, String> {
    let words = ["metadata", "--format-version", "1", "--locked"];
    let output = Command::new("cargo").args(words).current_dir(crate::root()).output();
    let output = output.map_err(|why| format!("`cargo metadata` did not start: {why}"))?;
    let mut metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|why| format!("`cargo metadata`: {why}"))?;
    match metadata["packages"].take() {
        Value::Array(packages) => Ok(packages),
        _ => Err("`cargo metadata` names no package".to_owned()),
    }
}

/// The file of a package: ours as `cargo package` made it, others as cargo fetched it. `None` if it cannot be published.
fn crate_file(package: &Value) -> Option<PathBuf> {
    let file = format!("{}-{}.crate", package["name"].as_str()?, package["version"].as_str()?);
    if package["source"].is_null() {
        return package["publish"].is_null().then(|| crate::target().join("package").join(file));
    }
    // …/registry/src/INDEX/NAME-VERSION/Cargo.toml
    let index = Path::new(package["manifest_path"].as_str()?).parent()?.parent()?;
    Some(index.parent()?.parent()?.join("cache").join(index.file_name()?).join(file))
}

/// The place of a package's entry in an index.
fn entry_place(name: &str) -> String {
    match name.len() {
        1 | 2 => format!("{}/{name}", name.len()),
        3 => format!("3/{}/{name}", &name[..1]),
        _ => format!("{}/{}/{name}", &name[..2], &name[2..4]),
    }
}

/// The line of a package in its entry. Dependencies of our tests without a version are left out, as `cargo package` does.
fn index_line(package: &Value, checksum: &str) -> Value {
    let dependency = |it: &Value| {
        let is_renamed = it["rename"].is_string();
        json!({
            "name": if is_renamed { &it["rename"] } else { &it["name"] },
            "package": if is_renamed { &it["name"] } else { &Value::Null },
            "req": it["req"],
            "features": it["features"],
            "optional": it["optional"],
            "default_features": it["uses_default_features"],
            "target": it["target"],
            "kind": it["kind"].as_str().unwrap_or("normal"),
        })
    };
    let all = package["dependencies"].as_array().into_iter().flatten();
    json!({
        "name": package["name"],
        "vers": package["version"],
        "deps": all.filter(|it| it["kind"] != "dev" || it["req"] != "*").map(dependency).collect::<Vec<_>>(),
        "features": package["features"],
        "links": package["links"],
        "rust_version": package["rust_version"],
        "cksum": checksum,
        "yanked": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_renamed_dependencies_and_none_without_a_version() {
        let package = json!({
            "name": "a", "version": "1.0.0", "features": {"x": ["dep:c"]}, "links": null, "rust_version": "1.89",
            "dependencies": [
                {"name": "b", "rename": null, "req": "^1", "kind": null, "features": [], "optional": false,
                 "uses_default_features": true, "target": null},
                {"name": "getrandom", "rename": "c", "req": "^0.3", "kind": "build", "features": ["std"], "optional": true,
                 "uses_default_features": false, "target": "cfg(unix)"},
                {"name": "a", "rename": null, "req": "*", "kind": "dev"},
            ],
        });
        let line = index_line(&package, "00");
        let names: Vec<_> =
            line["deps"].as_array().unwrap().iter().map(|it| (&it["name"], &it["package"], &it["kind"])).collect();
        assert_eq!(
            names,
            [(&json!("b"), &Value::Null, &json!("normal")), (&json!("c"), &json!("getrandom"), &json!("build"))]
        );
        assert_eq!((&line["vers"], &line["cksum"]), (&json!("1.0.0"), &json!("00")));
    }

    #[test]
    fn entries_lie_where_cargo_looks_for_them() {
        assert_eq!(["a", "nb", "log", "seekwise"].map(entry_place), ["1/a", "2/nb", "3/l/log", "se/ek/seekwise"]);
    }
}
