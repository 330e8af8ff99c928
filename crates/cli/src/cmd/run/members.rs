//! The members of an array in the text of `seekwise run`: below the anatomy, what writes had to read first; then a table of the
//! members, and the bytes at the members for each byte.

use seekwise::run::{ArrayRecord, MemberRecord};

use crate::screen::wrap_text;
use crate::tables::{Table, mark_dispensable, mark_figures_from, table_with_headings};

/// A column of megabytes that is shown if a member has any.
type PurposeColumn = (&'static str, fn(&MemberRecord) -> u64);

/// Bytes among those read: old data, old parity, the rest of rows.
const BEFORE_WRITES: PurposeColumn = ("MB read before writes", MemberRecord::bytes_read_before_writes);

/// Columns that a narrow screen leaves out first.
const DISPENSABLE: [&str; 2] = ["reads", "writes"];

/// Work that no request asked for.
const OWN_WORK: [PurposeColumn; 2] =
    [("MB of rebuild", MemberRecord::sync_bytes), ("MB of bitmap", |member| member.bitmap_written_bytes)];

/// The sentence below the anatomy, the table of members, and the sentence on bytes. `writes` is the number of the job's counted writes.
pub fn format_members(array: &ArrayRecord, writes: u64, width: usize) -> String {
    let before = array
        .reads_before_writes_sentence(writes)
        .map_or(String::new(), |sentence| format!("{}\n", wrap_text(&sentence, width)));
    let table = members_table(array).draw(width);
    let bytes = wrap_text(&array.bytes_sentence(), width);
    format!("{before}\nWhat the members did:\n{table}\n{bytes}\n")
}

fn members_table(array: &ArrayRecord) -> Table {
    let is_used = |(_, bytes): &PurposeColumn| array.members.iter().any(|member| bytes(member) > 0);
    let before_writes = Some(BEFORE_WRITES).filter(is_used);
    let own_work: Vec<PurposeColumn> = OWN_WORK.into_iter().filter(is_used).collect();
    let heading = |(heading, _): &PurposeColumn| *heading;
    let headings = ["member", "reads", "MB read"]
        .into_iter()
        .chain(before_writes.iter().map(heading))
        .chain(["writes", "MB written"])
        .chain(own_work.iter().map(heading))
        .chain(["busy %"]);
    let mut table = table_with_headings(headings.map(str::to_owned).collect());
    mark_figures_from(&mut table, 1);
    mark_dispensable(&mut table, &DISPENSABLE);
    let mb = |bytes: u64| format!("{:.2}", bytes as f64 / 1e6);
    for member in &array.members {
        let purpose = |(_, bytes): &PurposeColumn| mb(bytes(member));
        let mut row = vec![member.member.to_string(), member.reads.to_string(), mb(member.read_bytes)];
        row.extend(before_writes.iter().map(purpose));
        row.extend([member.writes.to_string(), mb(member.written_bytes)]);
        row.extend(own_work.iter().map(purpose));
        row.push(format!("{:.1}", member.busy_percent));
        table.add_row(row);
    }
    table
}
