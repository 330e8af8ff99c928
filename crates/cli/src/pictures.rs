//! The files of `--svg` and `--png`: checks that they may be written, and writes them.

use std::path::Path;

use seekwise::Error;
use seekwise::outputs::{prepare_output, write_whole};
use seekwise::pictures::render_png;
use seekwise::reading::mark_inputs;

use crate::args::PictureArgs;
use crate::exit::CommandError;
use crate::output::print_to_stderr;

impl PictureArgs {
    /// Checks that the files may be written, before a command works for them; `inputs` are files that it reads.
    pub fn check_paths(&self, force: bool, inputs: &[&str]) -> Result<(), CommandError> {
        let has_ending =
            |path: &Path, ending: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
        for (path, format, other_format) in [(&self.svg, "svg", "png"), (&self.png, "png", "svg")] {
            let Some(path) = path.as_deref().filter(|path| has_ending(path, other_format)) else { continue };
            let (path, kind) = (path.display(), format.to_uppercase());
            return Err(CommandError::new(format!(
                "--{format} {path}: {kind} would be in it; expected --{other_format} {path}"
            )));
        }
        mark_inputs(inputs);
        for path in self.svg.iter().chain(&self.png) {
            prepare_output(path, force).map_err(|why| Error::of_file(path, &why))?;
        }
        Ok(())
    }

    /// Whether a picture is requested.
    pub fn are_requested(&self) -> bool {
        self.svg.is_some() || self.png.is_some()
    }

    /// Writes the requested pictures and prints their paths; `draw` makes the SVG.
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
