//! What a program sees of the drives below it: which blocks of the volumes lie where a drive was written, as a read
//! after the cut would find them.
//!
//! Of a mirror the first member counts that is there. After a cut Linux's md reads the first one until the copies are
//! brought in line, and brings the others in line with it (`read_balance` in `drivers/md/raid1.c` and `raid10.c`: the
//! first disk beyond `recovery_cp`; `raid1_sync_request`): what only another has is lost. Of rows with parity the data
//! count as they stand. A drive by itself is a view of one member.

use seekwise_model::host::array::layout::{Role, Volume};
use seekwise_model::stack::Stack;

use super::risk::Run;

/// The view.
#[derive(Clone, Debug, Default)]
pub struct View {
    volumes: Vec<Volume>,
    /// Members that are not there, one bit each.
    lost: u64,
}

impl View {
    /// Of a stack, or why cuts of it are not judged.
    pub fn of(stack: &Stack) -> Result<View, String> {
        if let Some(change) = stack.changes.iter().find(|change| !change.key.starts_with("driver.")) {
            let key = &change.key;
            return Err(format!("power cuts are not judged while `{key}` changes: only what a driver does may change"));
        }
        let Some(spec) = stack.array() else {
            return Ok(View::default());
        };
        let view = View { volumes: stack.volumes(), lost: spec.lost };
        if stack.drivers().any(|driver| driver.merge) {
            return Err(
                "power cuts are not judged where a driver merges above an array: set `driver.merge` to false, \
                        or name a driver that does not"
                    .to_owned(),
            );
        }
        if stack.accelerators().next().is_some() {
            return Err("power cuts are not judged where a cache in memory (`accelerator`) stands above an array: it \
                        joins writes, whose parts reach the drives one by one"
                .to_owned());
        }
        if view.has_parity() && view.lost != 0 {
            return Err("power cuts are not judged on rows with parity that have lost a member (`array.lose`): what \
                        is lost there is not on any drive, but in what all others have together"
                .to_owned());
        }
        Ok(view)
    }

    /// Drives.
    pub fn members(&self) -> usize {
        self.volumes.first().map_or(1, |volume| volume.members as usize)
    }

    /// Some volume has rows with parity.
    pub fn has_parity(&self) -> bool {
        self.volumes.iter().any(|volume| volume.parities() > 0)
    }

    /// The volumes.
    pub fn volumes(&self) -> &[Volume] {
        &self.volumes
    }

    /// Tells `seen` the blocks that are read from these sectors of a member, in runs.
    pub fn blocks(&self, member: u32, run: Run, mut seen: impl FnMut(Run)) {
        if self.volumes.is_empty() {
            return seen(run);
        }
        let mut start = 0;
        for volume in &self.volumes {
            let (mut from, end) = (run.0.max(volume.first), run.1.min(volume.end()));
            while from < end {
                let row = (from - volume.first) / volume.chunk;
                let to = (volume.row_start(row) + volume.chunk).min(end);
                if let Some((Role::Data { column, copy }, block)) = volume.block(member, from) {
                    let there = |copy: &u32| self.lost >> volume.member(row, column, *copy) & 1 == 0;
                    if (0..volume.copies()).find(there) == Some(copy) {
                        seen((start + block, start + block + (to - from)));
                    }
                }
                from = to;
            }
            start += volume.capacity();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_model::host::array::layout::Level;

    fn blocks(level: Level, members: u32, lost: u64, member: u32, run: Run) -> Vec<Run> {
        let volume = Volume { level, members, chunk: 8, first: 0, sectors: 80 };
        let mut found = Vec::new();
        View { volumes: vec![volume], lost }.blocks(member, run, |run| found.push(run));
        found
    }

    #[test]
    fn blocks_are_where_a_read_would_look_for_them() {
        assert_eq!(blocks(Level::Raid0, 2, 0, 1, (4, 12)), [(12, 16), (24, 28)]);
        assert_eq!(blocks(Level::Raid1, 2, 0, 0, (4, 6)), [(4, 6)]);
        assert_eq!(blocks(Level::Raid1, 2, 0, 1, (4, 6)), [], "the second copy");
        assert_eq!(blocks(Level::Raid1, 2, 1, 1, (4, 6)), [(4, 6)], "the first is not there");
        assert_eq!(blocks(Level::Raid10, 4, 0, 2, (0, 4)), [(8, 12)]);
        assert_eq!(blocks(Level::Raid5, 3, 0, 2, (0, 16)), [(16, 24)], "parity in row 0, data in row 1");
        let mut one = Vec::new();
        View::default().blocks(0, (3, 9), |run| one.push(run));
        assert_eq!(one, [(3, 9)]);
    }
}
