//! `seekwise explore`: says where the page Explore lies. `cargo xtask web` makes it, an archive has it beside the program.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{print_json, print_text};
use crate::exit::{CommandAnswer, CommandError, CommandResult};

/// The page's name.
const PAGE: &str = "explore.html";

/// Where the page may lie, from the program's folder: in an archive, in a checkout's target folder, below a prefix.
const PLACES: [&str; 3] = ["", "../web", "../share/seekwise"];

/// Runs the command.
pub fn run_command(json: bool) -> CommandResult {
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let folder = program.ok().and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
    let Some(page) = find_page(&folder) else {
        return Err(CommandError::new(format!(
            "explore: {} does not exist; expected the page beside the program: an archive has it, `cargo xtask web` makes it in a checkout",
            folder.join(PAGE).display()
        )));
    };
    match json {
        true => print_json(&json!({ "page": page }))?,
        false => print_text(&format!(
            "page: {}\nOpen it in a browser; it needs no network. What is computed there is what this program computes.",
            page.display()
        ))?,
    }
    Ok(CommandAnswer::Done)
}

fn find_page(folder: &Path) -> Option<PathBuf> {
    let found = PLACES.iter().map(|place| folder.join(place).join(PAGE)).find(|path| path.is_file())?;
    found.canonicalize().ok()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_page_is_found_beside_the_program_and_in_a_target_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("release");
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(find_page(&folder), None);
        for place in ["../web", ""] {
            fs::create_dir_all(folder.join(place)).unwrap();
            let page = folder.join(place).join(PAGE);
            fs::write(&page, "x").unwrap();
            assert_eq!(find_page(&folder), page.canonicalize().ok());
        }
    }
}
