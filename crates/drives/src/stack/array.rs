//! An array of drives: its keys, and how to build it.

use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{
    ArraySpec, BesideUsers, BitmapSpec, ParityWrite, ReadBalance, SyncPieces, SyncPolicy, SyncSpeed,
};
use seekwise_disk::stack::Layer;
use seekwise_disk::time::Span;

use super::kind::{KeyCondition, LayerContext, LayerKind, LayerMisfit};
use crate::concern::Concern;
use crate::figure::{Figures, KeyDomain, ProfileKey};
use crate::profile::queue_discipline;

pub(super) static ARRAY: LayerKind = LayerKind {
    name: "array",
    otherwise: "none: one drive",
    what: "several drives as one, each with its own controller",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Array,
    shared: false,
    build,
};

const LEVELS: &[&str] = &["linear", "raid-0", "raid-1", "raid-10", "raid-5", "raid-6"];

/// The largest speed of a rebuild or a check that can be set, in KiB/s: as high as the other rates of a stack.
const MAX_SYNC_SPEED: u64 = 100_000_000;

static KEYS: &[ProfileKey] = &[
    ProfileKey::must("level", "", KeyDomain::Word(LEVELS), "RAID level of the first volume").also(&[
        "raid",
        "raid level",
        "mirror",
        "stripe",
        "jbod",
        "concatenation",
    ]),
    ProfileKey::must("drives", "", KeyDomain::Whole(2, 32), "number of drives").also(&["members", "disks"]),
    ProfileKey::must("chunk_kib", "KiB", KeyDomain::Whole(4, 65_536), "chunk size").also(&[
        "stripe size",
        "stripe unit",
        "strip",
    ]),
    ProfileKey::must("percent", "%", KeyDomain::Whole(1, 100), "share of each drive that the first volume takes"),
    ProfileKey::may(
        "second",
        "",
        KeyDomain::Word(LEVELS),
        "one volume",
        "RAID level of a second volume after the first",
    )
    .also(&["matrix raid"]),
    ProfileKey::must("depth", "", KeyDomain::Whole(1, 65_536), "requests in flight at once"),
    ProfileKey::must(
        "queue.policy",
        "",
        KeyDomain::Word(&["fcfs", "sstf", "look", "clook"]),
        "order of the requests that wait for a drive",
    ),
    ProfileKey::must(
        "read",
        "",
        KeyDomain::Word(&["nearest", "idle", "round-robin", "first"]),
        "which copy of a mirror is read: `nearest` as in md, a sequential reader keeps its drive; `idle`, an idle drive before \
         a busy one, each time",
    )
    .also(&["read balance"]),
    ProfileKey::must(
        "parity",
        "",
        KeyDomain::Word(&["fewest", "modify", "reconstruct"]),
        "how parity is updated: with the fewest reads, always by read-modify-write, or always by reconstruction",
    )
    .also(&["read-modify-write", "rmw"]),
    ProfileKey::may(
        "stripe_cache",
        "",
        KeyDomain::Whole(17, 32_768),
        "256",
        "pages of 4 KiB of each drive in the stripe cache, in which writes gather",
    )
    .also(&["stripe_cache_size", "stripes", "stripe cache"]),
    ProfileKey::must(
        "sync_speed_min",
        "KiB/s",
        KeyDomain::Whole(1, MAX_SYNC_SPEED),
        "speed up to which a rebuild or a check ignores users; above it, it waits for them",
    )
    .also(&["rebuild", "resync", "speed_limit_min"]),
    ProfileKey::must(
        "sync_speed_max",
        "KiB/s",
        KeyDomain::Whole(1, MAX_SYNC_SPEED),
        "highest speed of a rebuild or a check, on each drive",
    )
    .also(&["rebuild_mb_s", "resync", "speed_limit_max"]),
    ProfileKey::may(
        "sync_policy",
        "",
        KeyDomain::Word(&["md", "idle", "steady", "zfs"]),
        "md",
        "how a rebuild or a check treats users: `md` by its two speeds; `idle`, a piece begins only while no request is in the array; \
         `steady`, pieces go on whatever the users do; `zfs`, by OpenZFS's credits",
    )
    .also(&["rebuild policy", "resilver", "scrub", "zfs_vdev_nia_credit", "rebuild priority"]),
    ProfileKey::may(
        "sync_piece_kib",
        "KiB",
        KeyDomain::Whole(4, 65_536),
        "1024",
        "length of a piece on each drive, with another policy than md's",
    )
    .also(&["rebuild piece", "zfs_vdev_aggregation_limit"]),
    ProfileKey::may(
        "sync_in_flight",
        "",
        KeyDomain::Whole(1, 16),
        "1; `zfs` 3",
        "pieces in flight at once, with another policy than md's",
    )
    .also(&["zfs_vdev_scrub_max_active", "sync_io_depth", "osd_recovery_max_active"]),
    ProfileKey::may(
        "sync_group_kib",
        "KiB",
        KeyDomain::Whole(4, 1 << 20),
        "by address",
        "a rebuild or a check takes groups of this length in random order, as an object store takes its objects; with another policy than md's",
    )
    .also(&["rebuild order", "backfill", "object store", "random order"]),
    ProfileKey::may(
        "sync_target",
        "",
        KeyDomain::Word(&["drive", "files"]),
        "drive",
        "what a rebuild writes: the drive's sectors, or `files`: each piece, a flush, the record of its name at the drive's beginning, and a \
         flush; with another policy than md's; a page of each drive is kept for the records",
    )
    .also(&["rebuild files", "backfill", "object store", "rename"]),
    ProfileKey::may(
        "lose",
        "",
        KeyDomain::Whole(0, 31),
        "none",
        "a drive that is missing from the start, counted from 0; `none`: the array is whole",
    )
    .also(&["degraded", "failed drive"]),
    ProfileKey::may(
        "bitmap",
        "",
        KeyDomain::Word(&["none", "internal"]),
        "none",
        "write-intent bitmap on the drives: a region's bit is stored there before data of it are written",
    )
    .also(&["write intent bitmap", "write intent", "mdadm --bitmap"]),
    ProfileKey::may(
        "bitmap_chunk_kib",
        "KiB",
        KeyDomain::Whole(4, 1 << 24),
        "65536, or what makes the bitmap fit in 128 KiB",
        "size of the region of one bit; a power of 2",
    )
    .also(&["bitmap-chunk"]),
    ProfileKey::may(
        "bitmap_delay_ms",
        "ms",
        KeyDomain::Number(1.0, 1e6),
        "5000",
        "interval at which the bitmap is searched for bits to clear",
    )
    .also(&["daemon_sleep"]),
];

static BELONGS: &[KeyCondition] = &[
    ("read", &["level", "second"], &["raid-1", "raid-10"]),
    ("parity", &["level", "second"], &["raid-5", "raid-6"]),
    ("stripe_cache", &["level", "second"], &["raid-5", "raid-6"]),
    ("sync_piece_kib", &["sync_policy"], &["idle", "steady", "zfs"]),
    ("sync_in_flight", &["sync_policy"], &["idle", "steady", "zfs"]),
    ("sync_group_kib", &["sync_policy"], &["idle", "steady", "zfs"]),
    ("sync_target", &["sync_policy"], &["idle", "steady", "zfs"]),
    ("bitmap", &["level"], &["raid-1", "raid-10", "raid-5", "raid-6"]),
    ("bitmap_chunk_kib", &["bitmap"], &["internal"]),
    ("bitmap_delay_ms", &["bitmap"], &["internal"]),
];

fn raid_level(word: &str) -> RaidLevel {
    match word {
        "linear" => RaidLevel::Linear,
        "raid-1" => RaidLevel::Raid1,
        "raid-10" => RaidLevel::Raid10,
        "raid-5" => RaidLevel::Raid5,
        "raid-6" => RaidLevel::Raid6,
        _ => RaidLevel::Raid0,
    }
}

/// md's default of `stripe_cache_size` (`NR_STRIPES`, drivers/md/raid5.c); its bounds are 17 and 32,768.
const STRIPES: u32 = 256;

/// md's default of `daemon_sleep`, 5 s (drivers/md/md-bitmap.c). The default size of a region is the model's
/// ([`BitmapSpec::chunk`]).
const BITMAP_DELAY: Span = Span::from_millis(5000);

/// A mebibyte, to which OpenZFS gathers neighbours (`zfs_vdev_aggregation_limit`), in sectors.
const PIECE: u32 = 2048;

/// `zfs_vdev_scrub_max_active` since OpenZFS 2.1.
const ZFS_IN_FLIGHT: u32 = 3;

/// Builds the policy of rebuilds and checks.
fn build_sync_policy(figures: &Figures<'_>) -> Result<SyncPolicy, LayerMisfit> {
    let (beside_users, in_flight) = match figures.may_word("sync_policy") {
        Some("idle") => (BesideUsers::Wait, 1),
        Some("steady") => (BesideUsers::GoOn, 1),
        Some("zfs") => (BesideUsers::Credit, ZFS_IN_FLIGHT),
        _ => return Ok(SyncPolicy::Md),
    };
    let sectors = figures.may_whole("sync_piece_kib").map_or(PIECE, |kib| 2 * kib as u32);
    let in_flight = figures.may_whole("sync_in_flight").map_or(in_flight, |most| most as u32);
    let group_kib = figures.may_whole("sync_group_kib").unwrap_or(0);
    if !group_kib.is_multiple_of(4) {
        return Err(("sync_group_kib", "a multiple of 4, whole pages".to_owned()));
    }
    let as_files = figures.may_word("sync_target") == Some("files");
    Ok(SyncPolicy::Pieces(SyncPieces { sectors, in_flight, beside_users, group: 2 * group_kib as u32, as_files }))
}

/// Builds the write-intent bitmap, if the array has one.
fn build_bitmap(
    figures: &Figures<'_>,
    volumes: usize,
    least_chunk_sectors: u64,
) -> Result<Option<BitmapSpec>, LayerMisfit> {
    if figures.may_word("bitmap") != Some("internal") {
        return Ok(None);
    }
    if volumes > 1 {
        return Err(("bitmap", "an array of one volume: md has a bitmap for each".to_owned()));
    }
    let chunk_kib = figures.may_whole("bitmap_chunk_kib");
    if chunk_kib.is_some_and(|kib| !kib.is_power_of_two()) {
        return Err(("bitmap_chunk_kib", "a power of 2".to_owned()));
    }
    let chunk = chunk_kib.map(|kib| 2 * kib);
    if chunk.is_some_and(|sectors| sectors < least_chunk_sectors) {
        let least_kib = least_chunk_sectors / 2;
        let expected = format!("at least {least_kib} on this drive: the bitmap has room for 128 KiB of bits");
        return Err(("bitmap_chunk_kib", expected));
    }
    Ok(Some(BitmapSpec { chunk, delay: figures.may_span("bitmap_delay_ms").unwrap_or(BITMAP_DELAY) }))
}

fn build(figures: &Figures<'_>, context: &mut LayerContext<'_>) -> Result<Layer, LayerMisfit> {
    let kib_to_sectors = |key: &str| figures.count(key) * 2;
    let members = figures.count("drives");
    let (first_permille, second) = (figures.count("percent") * 10, figures.may_word("second"));
    let mut shares = vec![VolumeShare { level: raid_level(figures.word("level")), permille: first_permille }];
    match (second, first_permille) {
        (None, 1000) => {}
        (None, _) => return Err(("second", "a level for the rest of each drive".to_owned())),
        (_, 1000) => return Err(("percent", "less than 100, since there is a second volume".to_owned())),
        (Some(word), _) => shares.push(VolumeShare { level: raid_level(word), permille: 1000 - first_permille }),
    }
    let least_chunk_sectors = BitmapSpec::least_chunk(shares[0].level, members, context.profile.geometry.sectors());
    for share in &shares {
        let least_members = share.level.least_members();
        if members < least_members {
            return Err(("drives", format!("at least {least_members}")));
        }
        if share.level == RaidLevel::Raid10 && !members.is_multiple_of(2) {
            return Err(("drives", "an even number, to form pairs".to_owned()));
        }
    }
    let lost = figures.may_whole("lose");
    if lost.is_some_and(|member| member >= u64::from(members)) {
        return Err(("lose", format!("a number from 0 to {}", members - 1)));
    }
    let sync_speed =
        SyncSpeed { min_kib_s: figures.count("sync_speed_min"), max_kib_s: figures.count("sync_speed_max") };
    if sync_speed.min_kib_s > sync_speed.max_kib_s {
        let most = sync_speed.max_kib_s;
        return Err(("sync_speed_min", format!("at most `sync_speed_max`, which is {most} KiB/s")));
    }
    let bitmap = build_bitmap(figures, shares.len(), least_chunk_sectors)?;
    Ok(Layer::Array(ArraySpec {
        members,
        shares,
        chunk: kib_to_sectors("chunk_kib"),
        depth: figures.count("depth"),
        queue: queue_discipline(figures.word("queue.policy"), 0, 0, 0, 0.0),
        balance: match figures.word("read") {
            "round-robin" => ReadBalance::RoundRobin,
            "first" => ReadBalance::First,
            "idle" => ReadBalance::Idle,
            _ => ReadBalance::Nearest,
        },
        parity: match figures.word("parity") {
            "modify" => ParityWrite::Modify,
            "reconstruct" => ParityWrite::Reconstruct,
            _ => ParityWrite::Fewest,
        },
        stripe_cache: figures.may_whole("stripe_cache").map_or(STRIPES, |pages| pages as u32),
        sync_speed,
        sync_policy: build_sync_policy(figures)?,
        lost: lost.map_or(0, |member| 1 << member),
        bitmap,
    }))
}
