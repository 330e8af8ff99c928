//! Pictures that a command is asked for: checks where they may be written, and writes them.

use std::path::Path;

use seekwise::Error;
use seekwise::outputs::{prepare_output, write_whole};
use seekwise::pictures::render_png;
use seekwise::reading::mark_inputs;

use crate::args::PictureArgs;
use crate::exit::CommandError;
use crate::output::print_to_stderr;

impl PictureArgs {
    /// Checks, before work is done for them, that they may be written; `inputs` are files that the command reads.
    pub fn check_paths(&self, force: bool, inputs: &[&str]) -> Result<(), CommandError> {
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
        mark_inputs(inputs);
        for (_, _, path) in both.into_iter().flatten() {
            prepare_output(path, force).map_err(|why| Error::of_file(path, &why))?;
        }
        Ok(())
    }

    /// Whether any is asked for.
    pub fn are_requested(&self) -> bool {
        self.svg.is_some() || self.png.is_some()
    }

    /// Writes the pictures that are asked for, and prints their paths; `draw` makes the SVG.
    pub fn write(&self, force: bool, draw: impl FnOnce() -> String) -> Result<(), CommandError> {
        if !self.are_requested() {
            return Ok(());
        }
        let svg = draw();
        if let Some(path) = &self.svg {
            write_picture(path, svg.as_bytes(), force)?;
        }
        self.png.as_deref().map_or(Ok(()), |path| write_picture(path, &render_png(&svg), force))
    }
}

fn write_picture(path: &Path, picture: &[u8], force: bool) -> Result<(), CommandError> {
    write_whole(path, picture, force).map_err(|why| Error::of_file(path, &why))?;
    print_to_stderr(format!("Picture: {}", path.display()));
    Ok(())
}
