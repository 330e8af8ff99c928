//! The file of `--page`: checks that it may be written, and writes it. The end of each page is the command that makes it again.

use std::ffi::OsString;
use std::path::Path;

use seekwise::Error;
use seekwise::outputs::{prepare_output, write_whole};
use seekwise::pictures::Page;
use seekwise::reading::mark_inputs;
use seekwise::shell::quote_for_shell;

use crate::args::PageArgs;
use crate::exit::CommandError;
use crate::output::print_to_stderr;

impl PageArgs {
    /// Checks that the file may be written, before a command works for it; `inputs` are files that it reads.
    pub fn check_path(&self, force: bool, inputs: &[&str]) -> Result<(), CommandError> {
        mark_inputs(inputs);
        match &self.page {
            Some(path) => Ok(prepare_output(path, force).map_err(|why| Error::of_file(path, &why))?),
            None => Ok(()),
        }
    }

    /// Whether a page is requested.
    pub fn is_requested(&self) -> bool {
        self.page.is_some()
    }

    /// Writes the page that `make` makes, with the command `words` at its end, and prints its path.
    pub fn write(&self, force: bool, words: &[OsString], make: impl FnOnce() -> Page) -> Result<(), CommandError> {
        self.write_html(force, || {
            let mut page = make();
            page.add_command(&command_line(words));
            page.render()
        })
    }

    /// Writes a page that is HTML already, and prints its path.
    pub fn write_html(&self, force: bool, make: impl FnOnce() -> String) -> Result<(), CommandError> {
        self.page.as_deref().map_or(Ok(()), |path| write_page(path, &make(), force))
    }
}

fn write_page(path: &Path, html: &str, force: bool) -> Result<(), CommandError> {
    write_whole(path, html.as_bytes(), force).map_err(|why| Error::of_file(path, &why))?;
    print_to_stderr(format!("Page: {}", path.display()));
    Ok(())
}

/// The command without the files that it wrote and without words on how to print, as it can be pasted.
pub fn command_line(words: &[OsString]) -> String {
    const WITH_VALUE: [&str; 7] = ["--page", "--svg", "--png", "--out", "--log", "--keep", "--format"];
    const ALONE: [&str; 2] = ["--force", "--json"];
    let mut line = "seekwise".to_owned();
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        let option = word.split_once('=').map_or(&*word, |(option, _)| option);
        match (WITH_VALUE.contains(&option), ALONE.contains(&option)) {
            (true, _) if word.contains('=') => {}
            (true, _) => drop(words.next()),
            (_, true) => {}
            _ => line += &format!(" {}", quote_for_shell(&word)),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_no_file_that_it_wrote() {
        let words =
            ["/x/seekwise", "rebuild", "--on", "a b", "--page", "p.html", "--png=p.png", "--force", "--users", "5"];
        let line = command_line(&words.map(OsString::from));
        assert_eq!(line, "seekwise rebuild --on 'a b' --users 5");
    }
}
