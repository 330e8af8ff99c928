//! The options `--svg` and `--png` of commands that can draw their answer, and `--page` of those that can write it as a page.

use std::path::PathBuf;

use clap::Args;

/// Files for one picture.
#[derive(Args, Debug, Default)]
#[group(id = "pictures", multiple = true)]
pub struct PictureArgs {
    /// Also draw the answer, as SVG.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Also draw the answer, as PNG.
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
}

/// The file of a page.
#[derive(Args, Debug, Default)]
pub struct PageArgs {
    /// Also write the answer as an HTML page, with its picture and tables.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}
