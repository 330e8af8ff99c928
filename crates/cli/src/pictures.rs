//! Pictures that a command is asked for: where they may be written, and how they are.

use std::path::Path;

use seekwise::whole::{admit, write_whole};
use seekwise_lab::plot::png;

use crate::args::PictureArgs;
use crate::exit::CommandError;
use crate::output::say;

impl PictureArgs {
    /// Makes sure, before there is work done for them, that they may be written.
    pub fn admit(&self, force: bool) -> Result<(), CommandError> {
        let both = [("--svg", "svg", &self.svg), ("--png", "png", &self.png)];
        let both = both.map(|(option, ending, path)| path.as_deref().map(|path| (option, ending, path)));
        let ends = |path: &Path, with: &str| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(with));
        for (given, other) in [(both[0], "png"), (both[1], "svg")] {
            let Some((option, ending, path)) = given else { continue };
            if ends(path, other) {
                let path = path.display();
                let kind = ending.to_uppercase();
                return Err(CommandError::new(format!(
                    "{option} {path}: {kind} would be in it; expected --{other} {path}"
                )));
            }
        }
        if let [Some((_, _, svg)), Some((_, _, png))] = both
            && svg == png
        {
            return Err(CommandError::new(format!("--svg and --png: both name {}; expected two files", svg.display())));
        }
        Ok(both.into_iter().flatten().try_for_each(|(_, _, path)| admit(path, force))?)
    }

    /// Whether any is asked for.
    pub fn any(&self) -> bool {
        self.svg.is_some() || self.png.is_some()
    }

    /// Writes what was let pass, and says where it is; `svg` draws the picture, where one is asked for.
    pub fn write(&self, svg: impl FnOnce() -> String) -> Result<(), CommandError> {
        if !self.any() {
            return Ok(());
        }
        let svg = svg();
        if let Some(path) = &self.svg {
            write_picture(path, svg.as_bytes())?;
        }
        self.png.as_deref().map_or(Ok(()), |path| write_picture(path, &png(&svg)))
    }
}

fn write_picture(path: &Path, picture: &[u8]) -> Result<(), CommandError> {
    write_whole(path, picture).map_err(|error| CommandError::new(format!("{}: {error}", path.display())))?;
    say(format!("Picture: {}", path.display()));
    Ok(())
}
