//! `cargo xtask site`: makes a site of the documents, in `target/site`, by mdBook (installed to `target/tools` if it is
//! missing), with the page Explore as its first page, and checks all links and anchors of the built pages. It is no part of `ci`, in which `tidy` checks the
//! links of the sources.
//!
//! The documents link to one another and to files of the repository by their paths there. So the book's sources are
//! laid out like the repository: the chapters that `docs/SUMMARY.md` names, and the files that these link to. Chapters
//! that are notebooks are executed first, and shown with their output.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::links::find_links;
use crate::python;
use crate::steps::{Ended, command};
use crate::tidy::SUMMARY;
use crate::web;

/// The mdBook that the site was written with.
const MDBOOK: &str = "0.5.4";

/// The command that installs mdBook without its server: only the part that builds is needed.
const INSTALL: [&str; 7] = ["cargo", "install", "mdbook", "--locked", "--no-default-features", "--features", "search"];

/// The ending of a notebook's name.
const NOTEBOOK: &str = ".ipynb";

/// Pages that mdBook adds, whose links are made for another place.
const UNCHECKED_PAGES: [&str; 2] = ["404.html", "toc.html"];

/// Runs the command.
pub fn site() -> ExitCode {
    match try_site() {
        Ok(pages) => {
            println!("{pages} pages, every link leads somewhere: {}", site_folder().join("README.html").display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Where the site is built.
fn site_folder() -> PathBuf {
    crate::target().join("site")
}

/// Builds the site and checks its links; returns the number of pages.
fn try_site() -> Result<usize, String> {
    let book = crate::empty_folder("site").map_err(|error| error.to_string())?;
    let notebooks = lay_out_sources(&book).map_err(|error| format!("the book's sources: {error}"))?;
    for (folder, files) in notebooks {
        python::render_notebooks(&files, &book.join("src").join(folder))?;
    }
    let (program, output) = (find_or_install_mdbook()?, site_folder());
    let words = [&program, "build", &book.to_string_lossy(), "--dest-dir", &output.to_string_lossy()];
    passed(command(&words, &[]))?;
    passed(web::build_explore())?;
    put_explore_first(&output).map_err(|error| format!("the page Explore: {error}"))?;
    let mut pages = Vec::new();
    collect_pages(&output, &mut pages);
    pages.retain(|page| !UNCHECKED_PAGES.iter().any(|name| page.ends_with(name)));
    let broken: Vec<String> = pages.iter().flat_map(|page| broken_links(page)).collect();
    if broken.is_empty() { Ok(pages.len()) } else { Err(broken.join("\n")) }
}

/// Lets the site begin with the page Explore, from which a link leads to the manual.
fn put_explore_first(site: &Path) -> std::io::Result<()> {
    let page = fs::read_to_string(web::explore_page())?;
    let manual = "<p class=\"bar\"><a href=\"README.html\">The manual</a></p>\n<div id=\"page\">";
    fs::write(site.join("index.html"), page.replacen("<div id=\"page\">", manual, 1))
}

/// Lays out the chapters, except for notebooks, and the files that they link to. Returns the notebooks by their
/// folders.
fn lay_out_sources(book: &Path) -> std::io::Result<BTreeMap<String, Vec<String>>> {
    let root = crate::root();
    let prepare_place = |name: &str| {
        let to = book.join("src").join(name);
        fs::create_dir_all(to.parent().expect("a file lies in a folder")).map(|()| to)
    };
    let summary = fs::read_to_string(root.join(SUMMARY))?;
    let chapters: Vec<String> = find_links(&summary).into_iter().map(|(_, link)| from_root("docs", &link)).collect();
    let mut notebooks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for chapter in &chapters {
        let folder = Path::new(chapter).parent().expect("a file lies in a folder").to_string_lossy().into_owned();
        let text = fs::read_to_string(root.join(chapter))?;
        if chapter.ends_with(NOTEBOOK) {
            notebooks.entry(folder).or_default().push(root.join(chapter).display().to_string());
            continue;
        }
        fs::write(prepare_place(chapter)?, with_links_to_pages(&text))?;
        for (_, link) in find_links(&text) {
            let name = from_root(&folder, link.split('#').next().unwrap_or_default());
            if root.join(&name).is_file() && !chapters.contains(&name) {
                fs::copy(root.join(&name), prepare_place(&name)?)?;
            }
        }
    }
    let rooted_summary = find_links(&summary).into_iter().fold(summary.clone(), |text, (_, link)| {
        text.replace(&format!("]({link})"), &format!("]({})", from_root("docs", &link)))
    });
    // Documents link to the table of contents too, so it is a page as well.
    fs::write(prepare_place(SUMMARY)?, with_links_to_pages(&summary))?;
    let book_summary = rooted_summary.replacen("](README.md)", &format!("](README.md)\n[Contents]({SUMMARY})"), 1);
    fs::write(book.join("src/SUMMARY.md"), with_links_to_pages(&book_summary))?;
    fs::copy(root.join("docs/book.toml"), book.join("book.toml"))?;
    Ok(notebooks)
}

/// The text of a document, with links to notebooks led to their pages.
fn with_links_to_pages(text: &str) -> String {
    text.replace(&format!("{NOTEBOOK})"), ".md)")
}

/// A link of a document in `folder`, as a path from the root.
fn from_root(folder: &str, link: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The path of mdBook, which is installed if it is missing.
fn find_or_install_mdbook() -> Result<String, String> {
    let tools = crate::target().join("tools");
    let ours = tools.join("bin/mdbook").to_string_lossy().into_owned();
    for name in [&ours, "mdbook"] {
        if Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()) {
            return Ok(name.to_owned());
        }
    }
    let root = tools.to_string_lossy();
    passed(command(&[&INSTALL[..], &["--version", MDBOOK, "--root", &root]].concat(), &[]))?;
    Ok(ours)
}

fn passed(ended: Ended) -> Result<(), String> {
    match ended {
        Ended::Passed => Ok(()),
        Ended::Skipped(reason) | Ended::Failed(reason) => Err(reason),
    }
}

/// All pages below a folder, sorted.
fn collect_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match path.is_dir() {
            true => collect_pages(&path, pages),
            false if path.extension().is_some_and(|end| end == "html") => pages.push(path),
            false => {}
        }
    }
}

/// The links of a page that lead nowhere, with what is missing.
fn broken_links(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap_or_default();
    let links: BTreeSet<String> = ["href", "src"].iter().flat_map(|name| attributes(&text, name)).collect();
    let is_external = |link: &String| link.contains(':') || link.starts_with("//");
    let fault =
        |link: String| missing_target(page, &text, &link).map(|what| format!("{}: `{link}`: {what}", page.display()));
    links.into_iter().filter(|link| !is_external(link)).filter_map(fault).collect()
}

/// What is missing at the target of a page's link.
fn missing_target(page: &Path, text: &str, link: &str) -> Option<&'static str> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = page.parent().expect("a page lies in a folder").join(path);
    if !path.is_empty() && !target.exists() {
        return Some("no such file");
    }
    let other = if path.is_empty() { text.to_owned() } else { fs::read_to_string(target).unwrap_or_default() };
    let there = anchor.is_empty() || attributes(&other, "id").iter().any(|id| id == anchor);
    (!there).then_some("no such place in it")
}

/// The values of an attribute in a page.
fn attributes(text: &str, name: &str) -> Vec<String> {
    let start = format!(" {name}=\"");
    let value =
        |(at, _): (usize, &str)| text[at + start.len()..].split('"').next().unwrap_or_default().replace("&amp;", "&");
    text.match_indices(&start).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_paths_from_the_root() {
        assert_eq!(from_root("docs", "../validation/README.md"), "validation/README.md");
        assert_eq!(from_root("", "docs/./claims.md"), "docs/claims.md");
    }

    #[test]
    fn links_to_notebooks_lead_to_their_pages() {
        assert_eq!(with_links_to_pages("[a](b/c.ipynb), [c.ipynb](d.md)"), "[a](b/c.md), [c.ipynb](d.md)");
    }

    #[test]
    fn broken_links_of_a_page_are_found() {
        let folder = crate::target().join("xtask-site-test");
        fs::create_dir_all(&folder).unwrap();
        let page = folder.join("a.html");
        let text = "<a href=\"a.html#x\"> <p id=\"x\"> <a href=\"#y\"> <img src=\"b.svg\"> <a href=\"https://z\">";
        fs::write(&page, text).unwrap();
        let found: Vec<String> =
            broken_links(&page).iter().map(|told| told.split(": ").skip(1).collect::<Vec<_>>().join(": ")).collect();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, ["`#y`: no such place in it", "`b.svg`: no such file"]);
    }
}
