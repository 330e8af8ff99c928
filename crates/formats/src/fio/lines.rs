//! Splits a job file into sections and lines: drops comments and reads included files. Then expands `${VAR}` and `$keyword` in
//! options. Options are not interpreted here.
//!
//! The rules are those of fio's parser: a line is cut at the first `;` and then at the first `#`, anywhere; an included file has
//! only options; `${VAR}` is empty if unset.

use seekwise_drives::diagnostic::Diagnostic;

use super::job_option::{ExpandedOption, FileLine};
use super::{arithmetic, options};

/// The deepest nesting of includes; fio has no limit and loops forever on a file that includes itself.
const DEEPEST_INCLUDE: usize = 16;

/// The environment of a job file: variables, includes and the machine.
pub struct FioContext<'a> {
    /// The value of an environment variable.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file named by `include`, or why it cannot be read. The path is tried first relative to the including
    /// file, then as given.
    pub include: &'a dyn Fn(&str) -> Result<String, String>,
    /// `$pagesize`, bytes.
    pub page_size: u64,
    /// `$mb_memory`, mebibytes.
    pub memory_mb: u64,
    /// `$ncpus`.
    pub processors: u64,
}

impl FioContext<'_> {
    /// No variables, no files to include, 4 KiB pages, 1 GiB of memory and one processor.
    pub fn bare() -> FioContext<'static> {
        FioContext {
            environment: &|_| None,
            include: &|_| Err("there are no files to include here".to_owned()),
            page_size: 4096,
            memory_mb: 1024,
            processors: 1,
        }
    }
}

/// A section and its lines, including those of included files.
pub(super) struct RawSection {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) lines: Vec<RawLine>,
    /// The files included so far.
    included: Vec<String>,
}

impl RawSection {
    fn new(name: &str, line: usize) -> RawSection {
        RawSection { name: name.to_owned(), line, lines: Vec::new(), included: Vec::new() }
    }
}

/// An option's line, without comments and outer blanks.
#[derive(Clone, Debug)]
pub(super) struct RawLine {
    pub(super) text: String,
    pub(super) place: FileLine,
}

/// The text before a comment, without outer blanks.
fn strip_comment(line: &str) -> &str {
    let line = line.split(';').next().unwrap_or("");
    line.split('#').next().unwrap_or("").trim_matches(|c: char| c.is_whitespace() || c.is_control())
}

/// Splits a file into its sections.
pub(super) fn split_sections(
    file: &str,
    text: &str,
    context: &FioContext,
    errors: &mut Vec<Diagnostic>,
) -> Vec<RawSection> {
    let mut sections: Vec<RawSection> = Vec::new();
    let mut has_stray_line = false;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let (line, number) = (strip_comment(line), index + 1);
        if line.is_empty() {
            continue;
        }
        if line.starts_with('[') {
            match header_name(line) {
                Some(name) => sections.push(RawSection::new(name, number)),
                None => {
                    let wrong = Diagnostic::at(file, number, format!("the section header {line} is not closed"));
                    errors.push(wrong.with_expected("[name]"));
                    sections.push(RawSection::new("", number));
                }
            }
        } else if let Some(section) = sections.last_mut() {
            let raw = RawLine { text: line.to_owned(), place: (file.to_owned(), number) };
            add_line(raw, section, context, errors, 0);
        } else if !has_stray_line {
            has_stray_line = true;
            let key = line.split('=').next().unwrap_or(line).trim();
            errors.push(match line.contains('=') {
                true => Diagnostic::at(file, number, "an option before any section")
                    .with_key(key)
                    .with_expected("a header such as [global] or [job] first"),
                false => Diagnostic::at(file, number, "not recognised as a job or a trace").with_key(key).with_expected(
                    "a fio job, which begins with a header such as [job], an Iometer .icf, a scene, or a trace in a known \
                     format (docs/traces.md)",
                ),
            });
        }
    }
    sections
}

/// The name in a section header; fio takes everything up to the last character of the line.
fn header_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?.strip_suffix(']')?;
    (!name.is_empty()).then_some(name)
}

/// Adds a line to a section, or the lines of the file that it includes.
fn add_line(
    raw: RawLine,
    section: &mut RawSection,
    context: &FioContext,
    errors: &mut Vec<Diagnostic>,
    include_depth: usize,
) {
    let Some(path) = raw.text.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t'])) else {
        section.lines.push(raw);
        return;
    };
    let (path, (file, number)) = (path.trim().to_owned(), raw.place);
    let fault = |message: String| Diagnostic::at(&file, number, message).with_key("include");
    if include_depth == DEEPEST_INCLUDE {
        errors.push(fault(format!("{path} is included more than {DEEPEST_INCLUDE} files deep")));
        return;
    }
    let beside = join_relative(&file, &path);
    let included = (context.include)(&beside).map(|text| (beside, text));
    let included = included.or_else(|_| (context.include)(&path).map(|text| (path.clone(), text)));
    let (name, text) = match included {
        Ok(included) => included,
        Err(reason) => return errors.push(fault(format!("{path} cannot be read: {reason}"))),
    };
    // A repeated file has no effect, and files that include each other would loop forever.
    if section.included.contains(&name) {
        return errors.push(fault(format!("{name} is included twice in one section")));
    }
    section.included.push(name.clone());
    for (index, line) in text.lines().enumerate() {
        let line = strip_comment(line);
        if line.starts_with('[') {
            errors.push(Diagnostic::at(&name, index + 1, "a section in an included file").with_key("include"));
        } else if !line.is_empty() {
            let raw = RawLine { text: line.to_owned(), place: (name.clone(), index + 1) };
            add_line(raw, section, context, errors, include_depth + 1);
        }
    }
}

/// `path`, relative to the directory of `file`.
fn join_relative(file: &str, path: &str) -> String {
    match file.rfind(['/', '\\']) {
        Some(end) if !path.starts_with('/') => format!("{}{path}", &file[..=end]),
        _ => path.to_owned(),
    }
}

impl RawLine {
    /// Expands variables and keywords, and splits name from value. Invalid arithmetic is an error.
    pub(super) fn expand(&self, context: &FioContext, errors: &mut Vec<Diagnostic>) -> Option<ExpandedOption> {
        let (text, unset) = expand_environment(&self.text, context);
        let (text, has_keyword) = expand_keywords(&text, context);
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
            None => (text.trim(), None),
        };
        let name = options::find_option(name).map_or(name, |known| known.name).to_owned();
        let mut expanded = ExpandedOption { name, value, unset, place: self.place.clone() };
        if let Some(value) = expanded.value.as_ref().filter(|value| has_keyword && value.contains(['+', '-', '*', '/']))
        {
            match arithmetic::evaluate_plain(value) {
                Ok(number) => expanded.value = Some(number.to_string()),
                // A path is text that contains an operator; it is kept.
                Err(_) if value.contains(|c: char| c.is_alphabetic()) => {}
                Err(fault) => {
                    errors.push(expanded.diagnostic(fault));
                    return None;
                }
            }
        }
        Some(expanded)
    }
}

/// Replaces each `${NAME}` by its value; also returns the names that are not set.
fn expand_environment(text: &str, context: &FioContext) -> (String, Vec<String>) {
    let (mut out, mut unset, mut rest) = (String::new(), Vec::new(), text);
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        let name = &rest[start + 2..start + length];
        out.push_str(&rest[..start]);
        match (context.environment)(name) {
            Some(value) => out.push_str(&value),
            None => unset.push(name.to_owned()),
        }
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    (out, unset)
}

/// Replaces fio's keywords by their values; also returns true if there was one.
fn expand_keywords(text: &str, context: &FioContext) -> (String, bool) {
    let keywords =
        [("$pagesize", context.page_size), ("$mb_memory", context.memory_mb), ("$ncpus", context.processors)];
    let replace = |text: String, (word, value): (&str, u64)| text.replace(word, &value.to_string());
    let out = keywords.into_iter().fold(text.to_owned(), replace);
    let has_keyword = out != text;
    (out, has_keyword)
}
