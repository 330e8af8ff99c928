//! The tables of all commands, and how a table is fitted to a narrow screen. Numbers, names and words are never broken. These
//! steps are tried in this order:
//!
//! 1. headings and text are wrapped between words; a last column of text goes below its row where little room is left;
//! 2. a table of figures is transposed, so that each figure has a row;
//! 3. columns are left out, the least important first, and a line below the table names them.
//!
//! Empty columns are left out without such a line. Spaces that must not break are U+00A0, see [`unbreakable`].

use std::fmt;

use seekwise::keys::nearest;

use crate::exit::CommandError;
use crate::output::to_printable;
use crate::screen::{self, text_columns};

/// Screen columns between two columns of a table.
const COLUMN_GAP: usize = 2;

/// The least width of a column of text, unless its text is shorter. Widths are in columns of the screen.
const TEXT_WIDTH: usize = 24;

/// The least width of the first column (names), unless its text is shorter.
const NAME_WIDTH: usize = 32;

/// The least width of names and text on a narrower screen, before columns are left out.
const TIGHT_WIDTH: usize = 12;

/// With this width, a last column of text stays beside the others.
const BESIDE_WIDTH: usize = 48;

/// Indent of text below its row.
const BELOW_INDENT: usize = 4;

/// A table: the first column says what a row is about.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<String>>,
    /// The columns that `--columns` names, in that order.
    chosen: Option<Vec<usize>>,
    /// Whether the command has `--columns`.
    has_columns_option: bool,
}

#[derive(Clone, Debug)]
struct TableColumn {
    heading: String,
    /// A figure is flush right, and in one line.
    is_figure: bool,
    /// The least width of text that is longer; `usize::MAX` if the text is never broken.
    least_width: usize,
    /// Columns with a higher rank are left out first.
    rank: usize,
    /// Whether it is shown only if `--columns` names it.
    on_request: bool,
}

/// The widths of the shown columns, and where the last one stands.
struct Layout {
    widths: Vec<usize>,
    last: LastColumnPlace,
}

/// The place of the last column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastColumnPlace {
    /// Beside the others.
    Beside,
    /// Beside the others in rows where it takes one line, below the row otherwise.
    WhereItFits,
    /// Below each row.
    Below,
}

/// An empty table of text.
pub fn new_table<const N: usize>(header: [&str; N]) -> Table {
    table_with_headings(header.map(str::to_owned).to_vec())
}

/// An empty table of text with any number of columns.
pub fn table_with_headings(header: Vec<String>) -> Table {
    let column = |(index, heading): (usize, String)| TableColumn {
        heading,
        is_figure: false,
        least_width: if index == 0 { NAME_WIDTH } else { TEXT_WIDTH },
        rank: index,
        on_request: false,
    };
    Table {
        columns: header.into_iter().enumerate().map(column).collect(),
        rows: Vec::new(),
        chosen: None,
        has_columns_option: false,
    }
}

/// Marks the columns from `first` on as figures: flush right, never broken.
pub fn mark_figures_from(table: &mut Table, first: usize) {
    for column in table.columns.iter_mut().skip(first) {
        column.is_figure = true;
    }
}

/// Marks the columns with these headings as figures.
pub fn mark_figures(table: &mut Table, headings: &[&str]) {
    for column in table.columns.iter_mut().filter(|column| headings.contains(&column.heading.as_str())) {
        column.is_figure = true;
    }
}

/// Marks the columns with these headings as never broken, not even between words.
pub fn mark_unbroken(table: &mut Table, headings: &[&str]) {
    for column in table.columns.iter_mut().filter(|column| headings.contains(&column.heading.as_str())) {
        column.least_width = usize::MAX;
    }
}

/// Marks the columns that a table that is too wide leaves out first, in this order; then it leaves out the others from the right.
pub fn mark_dispensable(table: &mut Table, headings: &[&str]) {
    let highest_rank = table.columns.len() + headings.len();
    for (index, heading) in headings.iter().enumerate() {
        for column in table.columns.iter_mut().filter(|column| column.heading == *heading) {
            column.rank = highest_rank - index;
        }
    }
}

/// Marks the columns that are shown only if `--columns` names them.
pub fn mark_on_request(table: &mut Table, headings: &[&str]) {
    for column in table.columns.iter_mut().filter(|column| headings.contains(&column.heading.as_str())) {
        column.on_request = true;
    }
}

/// Replaces the spaces of `text` by spaces at which it does not break.
pub fn unbreakable(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// Restricts tables to the columns that `--columns` names; an empty list changes nothing. A name is a heading or its first
/// words. The first column always stays; a table that has no named column is shown in full. Fails if no table has a column of
/// some name.
pub fn choose_columns(tables: &mut [&mut Table], names: &[String]) -> Result<(), CommandError> {
    for table in tables.iter_mut() {
        table.has_columns_option = true;
    }
    for name in names {
        let mut known = false;
        for table in tables.iter_mut() {
            let found = table.matching_columns(name);
            if !found.is_empty() {
                known = true;
                let chosen = table.chosen.get_or_insert_with(|| vec![0]);
                chosen.extend(found);
                let mut seen = Vec::new();
                chosen.retain(|column| {
                    !seen.contains(column) && {
                        seen.push(*column);
                        true
                    }
                });
            }
        }
        if !known {
            let mut possible: Vec<String> = Vec::new();
            for table in tables.iter() {
                possible.extend((1..table.columns.len()).map(|column| table.shortest_name(column)));
            }
            let mut seen = std::collections::BTreeSet::new();
            possible.retain(|name| seen.insert(name.clone()));
            let near = nearest(name, possible.iter().map(String::as_str));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(CommandError::new(format!(
                "--columns: unknown column `{name}`; expected some of {}{hint}",
                possible.join(", ")
            )));
        }
    }
    Ok(())
}

impl Table {
    /// Adds a row; it has as many cells as the table has columns, or fewer.
    pub fn add_row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut row: Vec<String> = cells.into_iter().map(|cell| to_printable(&cell.to_string())).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The headings and the rows of all columns that are not empty.
    pub fn headings_and_rows(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let is_filled = |column: &usize| *column == 0 || self.rows.iter().any(|row| !row[*column].is_empty());
        let columns: Vec<usize> = (0..self.columns.len()).filter(is_filled).collect();
        let headings = columns.iter().map(|&column| self.columns[column].heading.clone()).collect();
        let row = |row: &Vec<String>| columns.iter().map(|&column| row[column].clone()).collect();
        (headings, self.rows.iter().map(row).collect())
    }

    /// The columns whose heading is `name`, or else those whose heading begins with it.
    fn matching_columns(&self, name: &str) -> Vec<usize> {
        let plain = |text: &str| text.to_lowercase().replace(['-', '_'], " ");
        let wanted = plain(name.trim());
        let columns_with = |is_match: &dyn Fn(&str) -> bool| {
            let headings = self.columns.iter().map(|column| plain(&column.heading)).enumerate();
            headings.filter(|(_, heading)| is_match(heading)).map(|(column, _)| column).collect::<Vec<_>>()
        };
        let exact = columns_with(&|heading| heading == wanted);
        let begins = |heading: &str| {
            heading.strip_prefix(&wanted).is_some_and(|rest| rest.starts_with([' ', ':', ',']) && !wanted.is_empty())
        };
        if exact.is_empty() { columns_with(&begins) } else { exact }
    }

    /// The shortest name by which `--columns` finds this column and no other.
    fn shortest_name(&self, column: usize) -> String {
        let heading = &self.columns[column].heading;
        let word = heading.split([' ', ':', ',']).next().unwrap_or_default();
        if self.matching_columns(word) == [column] { word.to_owned() } else { heading.replace(' ', "-") }
    }

    /// Draws the table, no wider than `width` if possible.
    pub fn draw(&self, width: usize) -> String {
        let is_filled = |column: usize| self.rows.iter().any(|row| !row[column].is_empty());
        let is_shown = |&column: &usize| column == 0 || !self.columns[column].on_request && is_filled(column);
        let shown: Vec<usize> = match &self.chosen {
            Some(chosen) => chosen.clone(),
            None => (0..self.columns.len()).filter(is_shown).collect(),
        };
        if let Some(layout) = self.fit_layout(&shown, width, false) {
            return self.draw_upright(&shown, &layout, width);
        }
        self.draw_transposed(&shown, width).unwrap_or_else(|| self.draw_without_some_columns(shown, width))
    }

    /// Leaves out columns until the others fit, the highest rank first, and adds a line that names them. The first column and a
    /// last column of long text stay.
    fn draw_without_some_columns(&self, mut shown: Vec<usize>, width: usize) -> String {
        let mut left_out = Vec::new();
        let layout = loop {
            let layout = self.fit_layout(&shown, width, false).or_else(|| self.fit_layout(&shown, width, true));
            if let Some(layout) = layout {
                break layout;
            }
            let may_leave_out_more = shown.len() > 2 || !self.may_stand_below(&shown);
            let candidates = shown.iter().skip(1).copied().filter(|&column| !self.is_long_last(column));
            let dispensable = candidates.max_by_key(|&column| self.columns[column].rank);
            match dispensable.filter(|_| may_leave_out_more) {
                Some(column) => {
                    shown.retain(|&other| other != column);
                    left_out.push(column);
                }
                None => {
                    let below = self.may_stand_below(&shown);
                    let last = if below { LastColumnPlace::Below } else { LastColumnPlace::Beside };
                    let widths = shown.iter().map(|&column| self.least_column_width(column, true)).collect();
                    break Layout { widths, last };
                }
            }
        };
        let text = self.draw_upright(&shown, &layout, width);
        match left_out.is_empty() {
            true => text,
            false => format!("{text}\n{}", screen::wrap_text(&self.left_out_note(&mut left_out), width)),
        }
    }

    fn left_out_note(&self, left_out: &mut [usize]) -> String {
        left_out.sort_unstable();
        let list = |name_of: &dyn Fn(usize) -> String, separator: &str| {
            left_out.iter().map(|&column| name_of(column)).collect::<Vec<_>>().join(separator)
        };
        let headings = list(&|column| unbreakable(&self.columns[column].heading), ", ");
        let hint = if self.chosen.is_some() || !self.has_columns_option {
            ".".to_owned()
        } else {
            format!("; --columns {} shows them.", list(&|column| self.shortest_name(column), ","))
        };
        format!("Not shown: {headings}{hint}")
    }

    /// All cells of a column, without its heading.
    fn column_cells(&self, column: usize) -> impl Iterator<Item = &String> {
        self.rows.iter().map(move |row| &row[column])
    }

    fn longest_cell(&self, column: usize) -> usize {
        self.column_cells(column).map(|cell| text_columns(cell)).max().unwrap_or(0)
    }

    /// The least width of a column: no word is broken, and longer text has its least width, or `TIGHT_WIDTH` if `tight`.
    fn least_column_width(&self, column: usize, tight: bool) -> usize {
        let longest = self.longest_cell(column);
        let cells = match self.columns[column] {
            TableColumn { is_figure: true, .. } | TableColumn { least_width: usize::MAX, .. } => longest,
            TableColumn { least_width, .. } => {
                let word = self.column_cells(column).map(|cell| longest_word(cell)).max().unwrap_or(0);
                word.max(longest.min(if tight { TIGHT_WIDTH } else { least_width }))
            }
        };
        cells.max(longest_word(&self.columns[column].heading))
    }

    /// Whether the column is the table's last, and long text.
    fn is_long_last(&self, column: usize) -> bool {
        let TableColumn { is_figure, least_width, .. } = self.columns[column];
        column == self.columns.len() - 1
            && column > 0
            && !is_figure
            && self.longest_cell(column) > TEXT_WIDTH
            && least_width < usize::MAX
    }

    /// Whether the last of the shown columns may stand below its row.
    fn may_stand_below(&self, shown: &[usize]) -> bool {
        shown.last().is_some_and(|&column| self.is_long_last(column))
    }

    /// The layout of these columns within `width`; nothing if they do not fit.
    fn fit_layout(&self, shown: &[usize], width: usize, tight: bool) -> Option<Layout> {
        let mut widths: Vec<usize> = shown.iter().map(|&column| self.least_column_width(column, tight)).collect();
        let last = widths.len() - 1;
        let may_stand_below = self.may_stand_below(shown);
        if may_stand_below {
            widths[last] = 0;
        }
        let mut spare = width.checked_sub(widths.iter().sum::<usize>() + COLUMN_GAP * last)?;
        let mut last_place = LastColumnPlace::Beside;
        if may_stand_below {
            last_place = self.last_column_place(shown[last], spare);
            widths[last] = self.last_column_width(shown[last], last_place, spare);
            spare -= widths[last];
        }
        // The spare width goes to the text from the left, then to the headings, which take a second line once, not in each row.
        let others = || shown.iter().enumerate().filter(|(index, _)| !may_stand_below || *index < last);
        let texts = others().map(|(index, &column)| (index, self.longest_cell(column)));
        let headings = others().map(|(index, &column)| (index, text_columns(&self.columns[column].heading)));
        for (index, wanted) in texts.chain(headings) {
            let more = wanted.saturating_sub(widths[index]).min(spare);
            widths[index] += more;
            spare -= more;
        }
        if may_stand_below && last_place == LastColumnPlace::Beside {
            widths[last] += spare;
        }
        Some(Layout { widths, last: last_place })
    }

    /// The place of a last column of text if the others leave a width of `spare`.
    fn last_column_place(&self, column: usize, spare: usize) -> LastColumnPlace {
        let heading = &self.columns[column].heading;
        let longest = self.longest_cell(column).max(text_columns(heading));
        let is_one_line = |cell: &&String| !cell.contains('\n') && text_columns(cell) <= spare;
        if spare >= longest.min(BESIDE_WIDTH) {
            LastColumnPlace::Beside
        } else if longest_word(heading) <= spare
            && 2 * self.column_cells(column).filter(is_one_line).count() > self.rows.len()
        {
            LastColumnPlace::WhereItFits
        } else {
            LastColumnPlace::Below
        }
    }

    /// The part of the width `spare` that a last column of text takes at its place.
    fn last_column_width(&self, column: usize, place: LastColumnPlace, spare: usize) -> usize {
        let longest = self.longest_cell(column).max(text_columns(&self.columns[column].heading));
        match place {
            LastColumnPlace::Beside => longest.min(BESIDE_WIDTH.max(spare / 2)),
            LastColumnPlace::WhereItFits => spare,
            LastColumnPlace::Below => 0,
        }
    }

    /// Draws headings, a line and the rows.
    fn draw_upright(&self, shown: &[usize], layout: &Layout, width: usize) -> String {
        let headings: Vec<&str> = shown.iter().map(|&column| self.columns[column].heading.as_str()).collect();
        let all_below = layout.last == LastColumnPlace::Below;
        let mut text = self.row_lines(&headings, shown, &layout.widths, all_below.then_some(width));
        let mut body: Vec<String> = Vec::new();
        for row in &self.rows {
            let cells: Vec<&str> = shown.iter().map(|&column| row[column].as_str()).collect();
            let last = cells.len() - 1;
            let fits = !cells[last].contains('\n') && text_columns(cells[last]) <= layout.widths[last];
            let below = all_below || (layout.last == LastColumnPlace::WhereItFits && !fits);
            body.extend(self.row_lines(&cells, shown, &layout.widths, below.then_some(width)));
        }
        let line_width = text.iter().chain(&body).map(|line| text_columns(line)).max().unwrap_or(0);
        text.push("─".repeat(line_width));
        text.extend(body);
        text.join("\n")
    }

    /// The lines of one row. With `below_width`, the last cell stands below the others, wrapped to that width.
    fn row_lines(&self, cells: &[&str], shown: &[usize], widths: &[usize], below_width: Option<usize>) -> Vec<String> {
        let last = cells.len() - 1;
        let beside = if below_width.is_some() { last } else { cells.len() };
        let wrap = |cell: &&str, width: usize| -> Vec<String> {
            cell.lines().flat_map(|line| screen::wrap_line(line, width, 0)).collect()
        };
        let wrapped: Vec<Vec<String>> =
            cells[..beside].iter().zip(widths).map(|(cell, &width)| wrap(cell, width)).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = Vec::new();
        for line_number in 0..height {
            let mut line = String::new();
            for (index, cell_lines) in wrapped.iter().enumerate() {
                let cell = cell_lines.get(line_number).map_or("", String::as_str);
                let padding = " ".repeat(widths[index].saturating_sub(text_columns(cell)));
                let gap = if index == 0 { String::new() } else { " ".repeat(COLUMN_GAP) };
                line += &match self.columns[shown[index]].is_figure {
                    true => format!("{gap}{padding}{cell}"),
                    false => format!("{gap}{cell}{padding}"),
                };
            }
            lines.push(line.trim_end().to_owned());
        }
        if let Some(width) = below_width {
            let indent = " ".repeat(BELOW_INDENT);
            let below = cells[last].lines().flat_map(|line| screen::wrap_line(&format!("{indent}{line}"), width, 2));
            lines.extend(below);
        }
        lines
    }

    /// Draws each figure as a row; nothing for a table of text, or if the transposed table does not fit either.
    fn draw_transposed(&self, shown: &[usize], width: usize) -> Option<String> {
        if shown.len() < 2 || shown[1..].iter().any(|&column| !self.columns[column].is_figure) {
            return None;
        }
        let names = self.column_cells(0).cloned();
        let headings = std::iter::once(self.columns[0].heading.clone()).chain(names);
        let mut transposed = table_with_headings(headings.collect());
        for &column in &shown[1..] {
            transposed.add_row(std::iter::once(&self.columns[column].heading).chain(self.column_cells(column)));
        }
        mark_figures_from(&mut transposed, 1);
        let columns: Vec<usize> = (0..transposed.columns.len()).collect();
        let layout = transposed.fit_layout(&columns, width, false)?;
        Some(transposed.draw_upright(&columns, &layout, width))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.draw(screen::output_width()))
    }
}

fn longest_word(text: &str) -> usize {
    text.split([' ', '\n']).map(text_columns).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rows of figures, as a run has them.
    fn run_table() -> Table {
        let mut table = new_table(["", "requests", "requests/s", "mean ms", "p50 ms", "max ms"]);
        mark_figures_from(&mut table, 1);
        mark_dispensable(&mut table, &["p50 ms"]);
        for name in ["reads", "writes", "all"] {
            table.add_row([name, "123456", "1234.5", "109.098", "114.819", "1234.567"]);
        }
        table
    }

    #[test]
    fn a_table_that_fits_stands_upright() {
        let wanted = "        requests  requests/s  mean ms   p50 ms    max ms
────────────────────────────────────────────────────────
reads     123456      1234.5  109.098  114.819  1234.567
writes    123456      1234.5  109.098  114.819  1234.567
all       123456      1234.5  109.098  114.819  1234.567";
        assert_eq!(run_table().draw(56), wanted);
        assert_eq!(run_table().draw(1000), wanted);
    }

    #[test]
    fn figures_are_transposed_before_any_is_left_out() {
        let wanted = "               reads    writes       all
────────────────────────────────────────
requests      123456    123456    123456
requests/s    1234.5    1234.5    1234.5
mean ms      109.098   109.098   109.098
p50 ms       114.819   114.819   114.819
max ms      1234.567  1234.567  1234.567";
        assert_eq!(run_table().draw(45), wanted);
    }

    #[test]
    fn the_least_important_columns_go_first_and_are_named() {
        let mut table = run_table();
        for place in 0..10 {
            table.add_row([&format!("more {place}"), "1", "2", "3", "4", "5"]);
        }
        let text = table.draw(48);
        assert!(text.starts_with("        requests  requests/s  mean ms    max ms\n"), "{text}");
        assert!(text.ends_with("\nNot shown: p50 ms."), "{text}");
        choose_columns(&mut [&mut table], &[]).unwrap();
        let text = table.draw(40);
        assert!(text.starts_with("        requests  requests/s  mean ms\n"), "{text}");
        assert!(text.ends_with("\nNot shown: p50 ms, max ms; --columns\n  p50,max shows them."), "{text}");
        assert!(text.lines().all(|line| text_columns(line) <= 40), "{text}");
    }

    #[test]
    fn columns_are_chosen_by_heading_or_its_first_words() {
        let mut table = run_table();
        choose_columns(&mut [&mut table], &["max".to_owned(), "requests".to_owned()]).unwrap();
        assert_eq!(table.draw(80).lines().next(), Some("          max ms  requests"));
        let mut other = super::new_table(["loss", "writes: mean", "writes: most"]);
        other.add_row(["FUA", "1", "2"]);
        choose_columns(&mut [&mut table, &mut other], &["writes".to_owned()]).unwrap();
        assert_eq!(other.draw(80).lines().next(), Some("loss  writes: mean  writes: most"));
        let unknown = choose_columns(&mut [&mut run_table()], &["p05".to_owned()]).unwrap_err().0;
        let wanted = "--columns: unknown column `p05`; expected some of requests, requests/s, mean, p50, max; did you mean `p50`?";
        assert_eq!(unknown, [wanted]);
    }

    #[test]
    fn long_text_goes_below_its_row() {
        let mut table = new_table(["claim", "reproduced", "figures"]);
        table.add_row([
            "Q1",
            "yes",
            "the sum over all cells, wanted at least 100:\n  deep: 10.0\u{a0}±\u{a0}0.5 requests/s",
        ]);
        table.add_row(["Q2", "yes", "short"]);
        table.add_row(["Q3", "no", "short"]);
        let wanted = "\
claim  reproduced  figures
───────────────────────────
Q1     yes
    the sum over all cells,
      wanted at least 100:
      deep: 10.0 ± 0.5
        requests/s
Q2     yes         short
Q3     no          short";
        assert_eq!(table.draw(32), wanted);
        let below = table.draw(24);
        assert!(below.starts_with("claim  reproduced\n    figures\n"), "{below}");
        assert!(below.ends_with("\nQ3     no\n    short"), "{below}");
        assert!(table.draw(80).contains("\nQ1     yes         the sum over all cells, wanted at least 100:\n  "));
    }

    #[test]
    fn names_and_columns_that_must_not_break_do_not() {
        let mut table = new_table(["name", "interface", "study"]);
        mark_unbroken(&mut table, &["interface"]);
        table.add_row(["a-drive-with-a-name-of-more-than-32-columns", "SATA 1.5 Gb/s (bridged), TCQ 32", ""]);
        let text = table.draw(60);
        assert!(text.contains("\na-drive-with-a-name-of-more-than-32-columns\n"), "{text}");
        assert!(text.contains("Not shown: interface."), "{text}");
        assert!(!table.draw(120).contains("study"), "a column with nothing in it");
        assert!(table.draw(120).ends_with("columns  SATA 1.5 Gb/s (bridged), TCQ 32"));
    }
}
