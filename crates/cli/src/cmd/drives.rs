//! `seekwise drives`: the catalogue as a list; one drive with its figures, checks and curves.

use seekwise_formats::profile;
use seekwise_lab::catalogue::{self, plot, show};

use super::{print, print_json, warn};
use crate::args;
use crate::exit::{Answer, Failure, Outcome};
use crate::files;
use crate::results::write_whole;

/// Columns where there is no terminal.
const WIDTH: u16 = 120;

/// Pixels of one curve in a picture.
const PICTURE: (u32, u32) = (760, 400);

/// Runs the command.
pub fn drives(args: &args::Drives, json: bool) -> Outcome {
    let width = comfy_table::Table::new().width().unwrap_or(WIDTH);
    let Some(name) = &args.name else {
        if json {
            print_json(&show::summaries()?)?;
        } else {
            print(&show::list(width)?)?;
        }
        return Ok(Answer::Done);
    };
    let drive = match (catalogue::text(name), files::find(name)?) {
        (None, Some(text)) => profile::parse(name, &text)?,
        _ => catalogue::load(name)?,
    };
    let sheet = show::sheet(&drive)?;
    warn(drive.warnings());
    if let Some(path) = &args.svg {
        let picture = picture(&sheet);
        write_whole(path, picture.as_bytes()).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        eprintln!("Picture: {}", path.display());
    }
    if json {
        print_json(&sheet)?;
    } else {
        print(&show::show(&drive, width)?)?;
    }
    // "No" is a figure that the drive does not meet and the profile does not own up to.
    Ok(if sheet.checks.iter().all(|check| check.ok) { Answer::Done } else { Answer::No })
}

/// Both curves, one above the other.
fn picture(sheet: &show::Sheet) -> String {
    let (width, height) = PICTURE;
    let seek = plot::svg(&show::seek_picture(sheet), width, height);
    let rate = plot::svg(&show::rate_picture(sheet), width, height);
    let total = 2 * height;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{total}\">\n<g>{}</g>\n\
         <g transform=\"translate(0 {height})\">{}</g>\n</svg>\n",
        inner(&seek),
        inner(&rate)
    )
}

/// An SVG document without its XML declaration, so that it may stand in another.
fn inner(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |start| &svg[start..])
}
