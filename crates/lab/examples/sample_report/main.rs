//! Writes sample reports into a folder, to look at the page without running a study.
//!
//! Every figure in them is made up by a formula (see `sample.rs`); none is a result.
//!
//! ```sh
//! cargo run -p seekwise-lab --example sample_report -- out
//! ```

#![allow(clippy::disallowed_methods, reason = "its pages are for tests of ours")]

use std::path::Path;

use seekwise_lab::report::render_html;

mod sample;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "out".to_owned());
    std::fs::create_dir_all(&folder)?;
    for (name, report) in [("study", sample::study()), ("compare", sample::compare()), ("run", sample::run())] {
        let path = Path::new(&folder).join(format!("sample-{name}.html"));
        std::fs::write(&path, render_html(&report))?;
        println!("{}", path.display());
    }
    Ok(())
}
