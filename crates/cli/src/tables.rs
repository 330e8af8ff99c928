//! Tables as all commands draw them, and the one place that decides how a table fits a narrow screen. Numbers, names
//! and words are never broken. In this order:
//!
//! 1. headings and text break between words; a last column of text goes below its row where little room is left;
//! 2. a table of figures is turned round, figures as rows;
//! 3. columns are left out, the least important first, and a line below names them.
//!
//! Columns with nothing in them are left out in silence. Spaces that must not break are U+00A0, see [`unbreakable`].

use std::fmt;

use seekwise::keys::nearest;

use crate::exit::CommandError;
use crate::output::to_printable;
use crate::screen::{self, text_columns};

/// Columns between two columns.
const GAP: usize = 2;

/// Columns of text, if it needs so many, before columns are left out.
const TEXT: usize = 24;

/// Names in the first column break, between words, where they are longer.
const NAME: usize = 32;

/// Columns of names and text on a narrower screen, before columns are left out.
const TIGHT: usize = 12;

/// Columns with which a last column of text stays beside its row.
const BESIDE: usize = 48;

/// Indent of text below its row.
const BELOW: usize = 4;

/// A table: the first column says what a row is about.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<String>>,
    /// Columns that were asked for, in that order.
    chosen: Option<Vec<usize>>,
    /// The command has `--columns`.
    choosable: bool,
}

#[derive(Clone, Debug)]
struct TableColumn {
    heading: String,
    /// Flush right, and in one line.
    figure: bool,
    /// Text gets at least so many columns, or all that it needs.
    least: usize,
    /// Columns with a higher rank are left out first.
    rank: usize,
    /// Shown only if `--columns` names it.
    on_request: bool,
}

/// The layout of a table that fits.
struct Layout {
    /// Widths of the shown columns.
    widths: Vec<usize>,
    last: LastColumnPlace,
}

/// The place of the last column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastColumnPlace {
    /// Beside the others, as one of them.
    Beside,
    /// Beside them, if it takes one line; else below its row.
    WhereItFits,
    /// Below its row.
    Below,
}

/// An empty table of text.
pub fn new_table<const N: usize>(header: [&str; N]) -> Table {
    table_with_headings(header.map(str::to_owned).to_vec())
}

/// An empty table of text with any number of columns.
pub fn table_with_headings(header: Vec<String>) -> Table {
    let column = |(place, heading): (usize, String)| TableColumn {
        heading,
        figure: false,
        least: if place == 0 { NAME } else { TEXT },
        rank: place,
        on_request: false,
    };
    Table {
        columns: header.into_iter().enumerate().map(column).collect(),
        rows: Vec::new(),
        chosen: None,
        choosable: false,
    }
}

/// Marks the columns from `first` on as figures: flush right, never broken.
pub fn mark_figures_from(table: &mut Table, first: usize) {
    for column in table.columns.iter_mut().skip(first) {
        column.figure = true;
    }
}

/// Marks the columns with these headings as figures.
pub fn mark_figures(table: &mut Table, headings: &[&str]) {
    for column in table.columns.iter_mut().filter(|column| headings.contains(&column.heading.as_str())) {
        column.figure = true;
    }
}

/// Marks the columns with these headings as never broken, not even between words.
pub fn mark_unbroken(table: &mut Table, headings: &[&str]) {
    for column in table.columns.iter_mut().filter(|column| headings.contains(&column.heading.as_str())) {
        column.least = usize::MAX;
    }
}

/// Marks the columns that a table that is too wide leaves out first, in this order; then the others from the right.
pub fn mark_dispensable(table: &mut Table, headings: &[&str]) {
    let most = table.columns.len() + headings.len();
    for (place, heading) in headings.iter().enumerate() {
        for column in table.columns.iter_mut().filter(|column| column.heading == *heading) {
            column.rank = most - place;
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

/// Restricts tables to the columns in `names`, as `--columns` lists them; an empty list changes nothing. A name is a
/// heading or its first words. The first column always stays; a table that has none of them is shown in full. Fails if
/// no table has such a column.
pub fn choose_columns(tables: &mut [&mut Table], names: &[String]) -> Result<(), CommandError> {
    for table in tables.iter_mut() {
        table.choosable = true;
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
            let all =
                tables.iter().flat_map(|table| (1..table.columns.len()).map(|column| table.shortest_name(column)));
            let mut all: Vec<String> = all.collect();
            let mut seen = std::collections::BTreeSet::new();
            all.retain(|name| seen.insert(name.clone()));
            let near = nearest(name, all.iter().map(String::as_str));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(CommandError::new(format!(
                "--columns: unknown column `{name}`; expected some of {}{hint}",
                all.join(", ")
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

    /// The columns that `name` means.
    fn matching_columns(&self, name: &str) -> Vec<usize> {
        let plain = |text: &str| text.to_lowercase().replace(['-', '_'], " ");
        let name = plain(name.trim());
        let is = |fits: &dyn Fn(&str) -> bool| {
            let heads = self.columns.iter().enumerate().map(|(place, column)| (place, plain(&column.heading)));
            heads.filter(|(_, heading)| fits(heading)).map(|(place, _)| place).collect::<Vec<_>>()
        };
        let exact = is(&|heading| heading == name);
        let begins = |heading: &str| {
            heading.strip_prefix(&name).is_some_and(|rest| rest.starts_with([' ', ':', ',']) && !name.is_empty())
        };
        if exact.is_empty() { is(&begins) } else { exact }
    }

    /// The shortest name of a column that means no other.
    fn shortest_name(&self, column: usize) -> String {
        let heading = &self.columns[column].heading;
        let word = heading.split([' ', ':', ',']).next().unwrap_or_default();
        if self.matching_columns(word) == [column] { word.to_owned() } else { heading.replace(' ', "-") }
    }

    /// Draws the table on `width` columns.
    pub fn draw(&self, width: usize) -> String {
        let is_filled = |column: usize| self.rows.iter().any(|row| !row[column].is_empty());
        let has = |&column: &usize| column == 0 || !self.columns[column].on_request && is_filled(column);
        let mut shown: Vec<usize> = match &self.chosen {
            Some(chosen) => chosen.clone(),
            None => (0..self.columns.len()).filter(has).collect(),
        };
        if let Some(layout) = self.fit_layout(&shown, width, false) {
            return self.draw_upright(&shown, &layout, width);
        }
        if let Some(turned) = self.draw_turned(&shown, width) {
            return turned;
        }
        let mut left_out = Vec::new();
        let layout = loop {
            let fits = self.fit_layout(&shown, width, false).or_else(|| self.fit_layout(&shown, width, true));
            let least = shown.iter().skip(1).copied().filter(|_| shown.len() > 2 || !self.may_hang(&shown));
            let least =
                least.filter(|&column| !self.is_long_last(column)).max_by_key(|&column| self.columns[column].rank);
            match (fits, least) {
                (Some(layout), _) => break layout,
                (None, Some(least)) => {
                    shown.retain(|&column| column != least);
                    left_out.push(least);
                }
                (None, None) => {
                    let widths = shown.iter().map(|&column| self.least_width(column, true)).collect();
                    break Layout {
                        widths,
                        last: if self.may_hang(&shown) { LastColumnPlace::Below } else { LastColumnPlace::Beside },
                    };
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
        let list = |of: &dyn Fn(usize) -> String, between: &str| {
            left_out.iter().map(|&column| of(column)).collect::<Vec<_>>().join(between)
        };
        let headings = list(&|column| unbreakable(&self.columns[column].heading), ", ");
        let asked = self.chosen.is_some() || !self.choosable;
        let hint = if asked {
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

    /// The least width of a column: no word is broken, and text has its least number of columns; `TIGHT` if `tight`.
    fn least_width(&self, column: usize, tight: bool) -> usize {
        let longest = self.longest_cell(column);
        let cells = match &self.columns[column] {
            TableColumn { figure: true, .. } | TableColumn { least: usize::MAX, .. } => longest,
            TableColumn { least, .. } => {
                let word = self.column_cells(column).map(|cell| longest_word(cell)).max().unwrap_or(0);
                word.max(longest.min(if tight { TIGHT } else { *least }))
            }
        };
        cells.max(longest_word(&self.columns[column].heading))
    }

    /// Whether the column is the table's last, and long text.
    fn is_long_last(&self, column: usize) -> bool {
        let TableColumn { figure, least, .. } = self.columns[column];
        column == self.columns.len() - 1
            && column > 0
            && !figure
            && self.longest_cell(column) > TEXT
            && least < usize::MAX
    }

    /// Whether the last of the shown columns may stand below its row.
    fn may_hang(&self, shown: &[usize]) -> bool {
        shown.last().is_some_and(|&column| self.is_long_last(column))
    }

    /// Fits these columns into `width` columns; nothing if they do not fit.
    fn fit_layout(&self, shown: &[usize], width: usize, tight: bool) -> Option<Layout> {
        let mut widths: Vec<usize> = shown.iter().map(|&column| self.least_width(column, tight)).collect();
        let place = widths.len() - 1;
        let hangs = self.may_hang(shown);
        if hangs {
            widths[place] = 0;
        }
        let mut spare = width.checked_sub(widths.iter().sum::<usize>() + GAP * place)?;
        let mut last = LastColumnPlace::Beside;
        if hangs {
            (last, widths[place]) = self.place_last(shown[place], spare);
            spare -= widths[place];
        }
        // Spare columns go to the text from the left, then to the headings, which take a second line once, not in each row.
        let others = || shown.iter().enumerate().filter(|(at, _)| !hangs || *at < place);
        let headings = others().map(|(at, &column)| (at, text_columns(&self.columns[column].heading)));
        let texts = others().map(|(at, &column)| (at, self.longest_cell(column)));
        for (at, goal) in texts.chain(headings) {
            let more = goal.saturating_sub(widths[at]).min(spare);
            widths[at] += more;
            spare -= more;
        }
        if hangs && last == LastColumnPlace::Beside {
            widths[place] += spare;
        }
        Some(Layout { widths, last })
    }

    /// The place of a last column of text if there are `spare` columns, and how many of them it takes.
    fn place_last(&self, column: usize, spare: usize) -> (LastColumnPlace, usize) {
        let heading = text_columns(&self.columns[column].heading);
        let longest = self.longest_cell(column).max(heading);
        let fit = self.column_cells(column).filter(|cell| !cell.contains('\n') && text_columns(cell) <= spare).count();
        match spare {
            spare if spare >= longest.min(BESIDE) => (LastColumnPlace::Beside, longest.min(BESIDE.max(spare / 2))),
            spare if longest_word(&self.columns[column].heading) <= spare && 2 * fit > self.rows.len() => {
                (LastColumnPlace::WhereItFits, spare)
            }
            _ => (LastColumnPlace::Below, 0),
        }
    }

    /// Draws headings, a line and the rows.
    fn draw_upright(&self, shown: &[usize], layout: &Layout, width: usize) -> String {
        let heads: Vec<&str> = shown.iter().map(|&column| self.columns[column].heading.as_str()).collect();
        let head_below = layout.last == LastColumnPlace::Below;
        let mut text = self.row_lines(&heads, shown, &layout.widths, head_below.then_some(width));
        let mut body: Vec<String> = Vec::new();
        for row in &self.rows {
            let cells: Vec<&str> = shown.iter().map(|&column| row[column].as_str()).collect();
            let last = cells.len() - 1;
            let fits = !cells[last].contains('\n') && text_columns(cells[last]) <= layout.widths[last];
            let below = head_below || (layout.last == LastColumnPlace::WhereItFits && !fits);
            body.extend(self.row_lines(&cells, shown, &layout.widths, below.then_some(width)));
        }
        let line = text.iter().chain(&body).map(|line| text_columns(line)).max().unwrap_or(0);
        text.push("─".repeat(line));
        text.extend(body);
        text.join("\n")
    }

    /// The lines of one row; `below`: its last cell stands below it, up to so many columns.
    fn row_lines(&self, cells: &[&str], shown: &[usize], widths: &[usize], below: Option<usize>) -> Vec<String> {
        let last = cells.len() - 1;
        let beside = if below.is_some() { last } else { cells.len() };
        let wrap = |cell: &&str, width: usize| -> Vec<String> {
            cell.lines().flat_map(|line| screen::wrap_line(line, width, 0)).collect()
        };
        let wrapped: Vec<Vec<String>> =
            cells[..beside].iter().zip(widths).map(|(cell, &width)| wrap(cell, width)).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = Vec::new();
        for at in 0..height {
            let mut line = String::new();
            for (place, cell) in wrapped.iter().enumerate() {
                let cell = cell.get(at).map_or("", String::as_str);
                let room = " ".repeat(widths[place].saturating_sub(text_columns(cell)));
                let gap = if place == 0 { "" } else { "  " };
                line += &match self.columns[shown[place]].figure {
                    true => format!("{gap}{room}{cell}"),
                    false => format!("{gap}{cell}{room}"),
                };
            }
            lines.push(line.trim_end().to_owned());
        }
        if let Some(width) = below {
            let indent = " ".repeat(BELOW);
            let under = cells[last].lines().flat_map(|line| screen::wrap_line(&format!("{indent}{line}"), width, 2));
            lines.extend(under);
        }
        lines
    }

    /// Draws figures as rows; nothing for a table of text, or if that does not fit either.
    fn draw_turned(&self, shown: &[usize], width: usize) -> Option<String> {
        if shown.len() < 2 || shown[1..].iter().any(|&column| !self.columns[column].figure) {
            return None;
        }
        let names = self.column_cells(0).cloned();
        let mut turned = table_with_headings(std::iter::once(self.columns[0].heading.clone()).chain(names).collect());
        for &column in &shown[1..] {
            turned.add_row(std::iter::once(&self.columns[column].heading).chain(self.column_cells(column)));
        }
        mark_figures_from(&mut turned, 1);
        let all: Vec<usize> = (0..turned.columns.len()).collect();
        let layout = turned.fit_layout(&all, width, false)?;
        Some(turned.draw_upright(&all, &layout, width))
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
    fn run() -> Table {
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
        assert_eq!(run().draw(56), wanted);
        assert_eq!(run().draw(1000), wanted);
    }

    #[test]
    fn figures_are_turned_round_before_any_is_left_out() {
        let wanted = "               reads    writes       all
────────────────────────────────────────
requests      123456    123456    123456
requests/s    1234.5    1234.5    1234.5
mean ms      109.098   109.098   109.098
p50 ms       114.819   114.819   114.819
max ms      1234.567  1234.567  1234.567";
        assert_eq!(run().draw(45), wanted);
    }

    #[test]
    fn the_least_important_columns_go_first_and_are_named() {
        let mut table = run();
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
        let mut table = run();
        choose_columns(&mut [&mut table], &["max".to_owned(), "requests".to_owned()]).unwrap();
        assert_eq!(table.draw(80).lines().next(), Some("          max ms  requests"));
        let mut other = super::new_table(["loss", "writes: mean", "writes: most"]);
        other.add_row(["FUA", "1", "2"]);
        choose_columns(&mut [&mut table, &mut other], &["writes".to_owned()]).unwrap();
        assert_eq!(other.draw(80).lines().next(), Some("loss  writes: mean  writes: most"));
        let unknown = choose_columns(&mut [&mut run()], &["p05".to_owned()]).unwrap_err().0;
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
