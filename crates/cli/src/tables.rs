//! Tables as all commands draw them.

use comfy_table::{CellAlignment, ContentArrangement, Table};
use seekwise_lab::catalogue::show::RULED;

/// An empty table that fits the terminal; without a terminal, 120 columns.
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = wide(header.map(str::to_owned).to_vec());
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if table.width().is_none() {
        table.set_width(120);
    }
    table
}

/// An empty table as wide as its content.
pub fn wide(header: Vec<String>) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_header(header);
    table
}

/// Sets the columns from `first` on flush right, as figures are read.
pub fn figures_from(table: &mut Table, first: usize) {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
