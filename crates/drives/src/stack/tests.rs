//! Tests of stacks: the built stack, and the texts of errors.

use seekwise_disk::block::Control;
use seekwise_disk::block::setting::{DriverSetting, LayerSetting};
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::controller::ControllerSpec;
use seekwise_disk::host::driver::deadline::DeadlineSpec;
use seekwise_disk::host::driver::fair::FairSpec;
use seekwise_disk::host::driver::{FlushPolicy, ForcedWritePolicy, PowerOffPolicy, SchedulerSpec};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::time::Span;

use super::kinds::KINDS;
use super::*;

const DRIVE: &str = include_str!("../../profiles/barracuda-7200.7.toml");

fn profile_text(name: &str) -> Result<String, Vec<Diagnostic>> {
    if name == "barracuda" { Ok(DRIVE.to_owned()) } else { Err(vec![Diagnostic::at("", 0, "no such drive")]) }
}

fn driver_discipline(built: &BuiltStack) -> Discipline {
    match built.stack.drivers().next().unwrap().scheduler {
        SchedulerSpec::Order(discipline) => discipline,
        other => panic!("{other:?}"),
    }
}

fn build_errors(text: &str) -> String {
    let built = StackFile::parse("s.toml", text).and_then(|stack| stack.build(&profile_text));
    let errors = built.err().unwrap_or_default();
    errors.iter().map(|error| format!("{error}\n")).collect()
}

fn controller_spec(built: &BuiltStack) -> Option<ControllerSpec> {
    let spec_of = |layer: &model::Layer| if let model::Layer::Controller(spec) = layer { Some(*spec) } else { None };
    built.stack.layers.iter().find_map(spec_of)
}

#[test]
fn a_bare_name_measures_the_drive() {
    let built = StackFile::named_drive("barracuda").build(&profile_text).unwrap();
    let driver = built.stack.drivers().next().copied().unwrap();
    assert_eq!(driver_discipline(&built).policy, Policy::Fcfs);
    assert_eq!(driver.max_transfer, 65_536);
    assert!(controller_spec(&built).is_none());
}

#[test]
fn names_and_overrides_make_a_stack() {
    let text = "driver = \"windows-xp\"\n[controller]\nname = \"sii-3112\"\nrate_mb_s = 90\n\
                [drive]\nname = \"barracuda\"\ncache.segments = 8\n";
    let mut stack = StackFile::parse("s.toml", text).unwrap();
    stack.set("drive.cache.write_back", "false").unwrap();
    stack.set("driver.queue.window", "4").unwrap();
    stack.set("driver.queue.round_percent", "100").unwrap();
    stack.set("drive.firmware.queue.patience", "2").unwrap();
    stack.set("drive.firmware.destage.round_percent", "50").unwrap();
    let built = stack.build(&profile_text).unwrap();
    let driver = built.stack.drivers().next().copied().unwrap();
    assert_eq!((driver_discipline(&built).policy, driver_discipline(&built).window), (Policy::CLook, 4));
    assert_eq!((driver_discipline(&built).round, driver_discipline(&built).patience), (100, 0));
    let firmware = built.stack.profile.firmware;
    assert_eq!((firmware.queue.round, firmware.queue.patience), (0, 2));
    assert_eq!((firmware.destage.round, firmware.destage.patience), (50, 0));
    assert_eq!(driver.max_transfer, 256);
    let controller = controller_spec(&built).unwrap();
    assert_eq!((controller.depth, controller.rate), (1, 90_000_000));
    assert_eq!(built.stack.profile.cache.segments, 8);
    assert!(!built.stack.profile.cache.write_back);
    let find = |key: &str| built.settings.iter().find(|s| s.key == key).unwrap();
    assert_eq!(find("controller.rate_mb_s").source, "s.toml:4");
    assert_eq!(find("drive.cache.write_back").source, "--set drive.cache.write_back=false");
    assert_eq!(find("controller.depth").kind, Origin::Datasheet);
}

#[test]
fn none_leaves_the_driver_out() {
    let mut stack = StackFile::named_drive("barracuda");
    stack.set("driver", "none").unwrap();
    assert!(stack.build(&profile_text).unwrap().stack.drivers().next().is_none());
}

#[test]
fn errors_name_key_and_nearest() {
    assert_eq!(
        build_errors("drive = \"barracuda\"\ndriver = \"windows-xq\"\n"),
        "s.toml:2: `driver`: unknown driver `windows-xq`; \
         expected none or one of direct, intel-ata, linux-bfq, linux-mq-deadline, linux-none, nforce-sw, via-ide, \
         windows-2000, windows-98, windows-me, windows-scsi, windows-xp; did you mean `windows-xp`?\n"
    );
    assert_eq!(
        build_errors("[drive]\nname = \"barracuda\"\ncache.segmets = 8\n"),
        "s.toml:3: `drive.cache.segmets`: unknown key; did you mean `drive.cache.segments`?\n"
    );
    assert_eq!(
        build_errors("drve = \"barracuda\"\n"),
        "s.toml: `drive`: missing key; expected the name of a drive, or the path of a profile\n\
         s.toml:1: `drve`: unknown key; did you mean `drive`?\n"
    );
    assert_eq!(build_errors("drive = \"x\"\n"), "s.toml:1: `drive`: `x`: no such drive\n");
    assert_eq!(
        build_errors("drive = \"barracuda\"\n[controller]\ndepth = 1\nrate_mb_s = 5\n"),
        "s.toml:2: `controller.command_ms`: missing key; \
         expected a number from 0 to 10000, or the name of a preset\n"
    );
    let mut stack = StackFile::named_drive("barracuda");
    assert_eq!(
        stack.set("drves.depth", "1").unwrap_err()[0].to_string(),
        "--set: `drves.depth`: unknown key; expected a key of a stack layer or of the job (see `seekwise keys`); \
         did you mean `driver.depth`?"
    );
}

#[test]
fn a_driver_has_its_policies() {
    let text = "drive = \"barracuda\"\n[driver]\nname = \"linux-mq-deadline\"\nqueue.fifo_batch = 1\nflush = \"drop\"\n\
                power_off = \"pause\"\npower_off_pause_ms = 2000\n";
    let driver = StackFile::parse("s.toml", text)
        .unwrap()
        .build(&profile_text)
        .unwrap()
        .stack
        .drivers()
        .next()
        .copied()
        .unwrap();
    let SchedulerSpec::Deadline(deadline) = driver.scheduler else { panic!("{driver:?}") };
    assert_eq!((deadline.fifo_batch, deadline.read_expire), (1, Span::from_millis(500)));
    assert_eq!((driver.flush, driver.power_off), (FlushPolicy::Drop, PowerOffPolicy::Pause(Span::from_secs(2))));
    let mut stack = StackFile::named_drive("barracuda");
    stack.set("driver", "windows-xp").unwrap();
    let driver = stack.build(&profile_text).unwrap().stack.drivers().next().copied().unwrap();
    assert_eq!(
        (driver.flush, driver.write_through),
        (FlushPolicy::Cached, ForcedWritePolicy::Fua),
        "flushed where the drive caches"
    );
}

#[test]
fn a_link_sleeps_only_where_it_is_said() {
    let wake = |set: Option<&str>| {
        let mut stack = StackFile::named_drive("barracuda");
        stack.set("controller", "ahci").unwrap();
        set.into_iter().for_each(|us| stack.set("controller.link_wake_us", us).unwrap());
        controller_spec(&stack.build(&profile_text).unwrap()).unwrap().wake
    };
    assert_eq!(wake(None), Span::ZERO);
    assert_eq!(wake(Some("50")), Span::from_micros(50));
    assert_eq!(
        build_errors("drive = \"barracuda\"\n[controller]\nname = \"ahci\"\nlink_wake_us = -1\n"),
        "s.toml:4: `controller.link_wake_us`: -1 is out of range; expected a number from 0.001 to 100000\n"
    );
}

#[test]
fn a_key_that_changes_nothing_is_an_error() {
    assert_eq!(
        build_errors("drive = \"barracuda\"\n[driver]\nname = \"linux-none\"\nqueue.fifo_batch = 1\n"),
        "s.toml:2: `driver.queue.fifo_batch`: has no effect here; \
         expected `driver.queue.policy` = deadline as well\n"
    );
    assert_eq!(
        build_errors("drive = \"barracuda\"\n[driver]\nname = \"direct\"\nretries = 2\n"),
        "s.toml:2: `driver.retries`: has no effect here; expected `driver.timeout_ms` as well\n"
    );
    assert_eq!(
        build_errors("drive = \"barracuda\"\n[controller]\nname = \"ahci\"\ncoalesce = 4\n"),
        "s.toml:2: `controller.coalesce`: has no effect here; expected `controller.coalesce_us` as well\n"
    );
    assert_eq!(
        build_errors("drive = \"barracuda\"\n[array]\nname = \"raid-0\"\nparity = \"modify\"\n"),
        "s.toml:2: `array.parity`: has no effect here; \
         expected `array.level` or `array.second` = raid-5 or raid-6 as well\n"
    );
}

#[test]
fn every_preset_builds() {
    for host in hosts().unwrap() {
        let mut stack = StackFile::named_drive("barracuda");
        stack.set(host.layer, &host.name).unwrap();
        let built = stack.build(&profile_text).unwrap();
        assert_eq!(controller_spec(&built).is_some(), host.layer == "controller");
        assert!(host.figures.iter().all(|figure| !figure.source.is_empty()));
    }
}

#[test]
fn a_limited_number_of_segments_is_a_warning() {
    let text = include_str!("../../profiles/cheetah-15k.4.toml");
    let mut stack = StackFile::named_drive("cheetah");
    stack.set("drive.cache.segments", "128").unwrap();
    let built = stack.build(&|_| Ok(text.to_owned())).unwrap();
    assert_eq!(built.stack.profile.cache.segments, 64);
    assert_eq!(built.stack.profile.cache.segment_sectors, 221);
    assert_eq!(built.warnings.len(), 1);
}

#[test]
fn an_array_is_a_layer_with_its_drives() {
    let text = "drive = \"barracuda\"\narray = \"raid-5\"\nbus = \"pci-32-33\"\n";
    let mut stack = StackFile::parse("s.toml", text).unwrap();
    stack.set("array.drives", "4").unwrap();
    stack.set("array.chunk_kib", "64").unwrap();
    stack.set("array.lose", "2").unwrap();
    let built = stack.build(&profile_text).unwrap();
    let array = built.stack.array().unwrap();
    assert_eq!((array.members, array.chunk, array.lost), (4, 128, 0b100));
    assert_eq!(array.shares, [VolumeShare { level: RaidLevel::Raid5, permille: 1000 }]);
    assert!(built.stack.layers.contains(&model::Layer::Bus(100_000_000)));
    stack.set("array", "matrix").unwrap();
    let shares = stack.build(&profile_text).unwrap().stack.array().unwrap().shares.clone();
    assert_eq!(shares.iter().map(|share| share.level).collect::<Vec<_>>(), [RaidLevel::Raid0, RaidLevel::Raid1]);
}

#[test]
fn figures_that_do_not_fit_an_array_are_refused() {
    let errors = |keys: &str| build_errors(&format!("drive = \"barracuda\"\n[array]\n{keys}\n"));
    let fits = "`: contradicts the other figures of the array; expected ";
    let cases = [
        ("name = \"raid-5\"\ndrives = 2", format!("array.drives{fits}at least 3")),
        ("name = \"raid-10\"\ndrives = 5", format!("array.drives{fits}an even number, to form pairs")),
        ("name = \"raid-1\"\nlose = 2", format!("array.lose{fits}a number from 0 to 1")),
        (
            "name = \"raid-5\"\nbitmap = \"internal\"\nbitmap_chunk_kib = 100",
            format!("array.bitmap_chunk_kib{fits}a power of 2"),
        ),
        (
            // 312 million sectors, and room for a million bits: 299 sectors a bit, so 512 of them.
            "name = \"raid-5\"\nbitmap = \"internal\"\nbitmap_chunk_kib = 4",
            format!("array.bitmap_chunk_kib{fits}at least 256 on this drive: the bitmap has room for 128 KiB of bits"),
        ),
        (
            "name = \"raid-1\"\npercent = 50\nsecond = \"raid-1\"\nbitmap = \"internal\"",
            format!("array.bitmap{fits}an array of one volume: md has a bitmap for each"),
        ),
        ("name = \"raid-0\"\npercent = 50", format!("array.second{fits}a level for the rest of each drive")),
        (
            "name = \"raid-0\"\nsecond = \"raid-1\"",
            format!("array.percent{fits}less than 100, since there is a second volume"),
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(errors(keys), format!("s.toml:2: `{expected}\n"));
    }
    assert!(
        errors("name = \"raid-5\"\nlevel = \"raid-7\"")
            .contains("one of linear, raid-0, raid-1, raid-10, raid-5, raid-6")
    );
}

#[test]
fn an_accelerator_is_a_name_and_overrides() {
    let text = "drive = \"barracuda\"\n[accelerator]\nname = \"maxboost\"\nsize_mb = 64\nidle_ms = 2.5\n";
    let mut stack = StackFile::parse("s.toml", text).unwrap();
    stack.set("accelerator.flush", "forward").unwrap();
    let spec = stack.build(&profile_text).unwrap().stack.accelerators().next().copied().unwrap();
    assert_eq!((spec.size, spec.write_back, spec.drops_flushes), (64 << 20, true, false));
    assert_eq!((spec.idle, spec.dirty_share), (Span::from_micros(2_500), 500));
    assert!(StackFile::named_drive("barracuda").build(&profile_text).unwrap().stack.accelerators().next().is_none());
    let errors = build_errors("drive = \"barracuda\"\naccelerator = \"maxbost\"\n");
    assert!(errors.contains("unknown accelerator `maxbost`") && errors.contains("maxboost"), "{errors}");
    let errors = build_errors("drive = \"barracuda\"\n[accelerator]\nsize_mb = 16\n");
    assert!(
        errors.contains("accelerator.hit_us") && errors.contains("`accelerator.size_mb`: needs an accelerator"),
        "{errors}"
    );
    let errors =
        build_errors("drive = \"barracuda\"\n[accelerator]\nname = \"maxboost\"\nwrite_back = false\nidle_ms = 3\n");
    assert!(errors.contains("has no effect") && errors.contains("`accelerator.write_back` = true as well"), "{errors}");
}

#[test]
fn the_guide_names_every_layer_key_and_word() {
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stack.md")).expect("the manual");
    let named = |word: &str| guide.contains(&format!("`{word}`"));
    let missing: Vec<String> = hosts()
        .unwrap()
        .iter()
        .map(|host| host.name.clone())
        .chain(KINDS.iter().flat_map(|kind| kind.keys.iter().map(|key| key.path.to_owned())))
        .chain(KINDS.iter().map(|kind| kind.name.to_owned()))
        .filter(|word| !named(word))
        .collect();
    assert!(missing.is_empty(), "docs/stack.md does not name {missing:?}");
}

/// Names of the layers of a built stack, from the program down.
fn layer_names(text: &str) -> Vec<String> {
    let built = StackFile::parse("s.toml", text).unwrap().build(&profile_text).unwrap();
    built.stack.layer_names().into_iter().rev().collect()
}

const TWO_DRIVERS: &str = "drive = \"barracuda\"\narray = \"raid-1\"\ncontroller = \"ahci\"\n\
                     [driver-2]\nname = \"linux-none\"\nflush = \"drop\"\n";

#[test]
fn layers_have_the_order_that_a_stack_gives() {
    // Of two drivers, `direct` stays above the array, and Linux's stands below it.
    assert_eq!(layer_names(TWO_DRIVERS), ["driver", "array", "driver-2", "controller"]);
    let below = format!("order = [\"driver\", \"array\", \"driver-2\", \"controller\", \"drive\"]\n{TWO_DRIVERS}");
    assert_eq!(layer_names(&below), ["driver", "array", "driver-2", "controller"]);
    let mut stack = StackFile::parse("s.toml", TWO_DRIVERS).unwrap();
    stack.set("order", "array, driver, driver-2, controller").unwrap();
    stack.set("driver-2.depth", "7").unwrap();
    stack.set("at.1 s.driver-2.flush", "forward").unwrap();
    let built = stack.build(&profile_text).unwrap();
    let drivers: Vec<(u32, FlushPolicy)> = built.stack.drivers().map(|it| (it.depth, it.flush)).collect();
    assert_eq!((drivers.len(), drivers[0]), (2, (7, FlushPolicy::Drop)));
    assert_ne!(drivers[1].1, FlushPolicy::Drop);
    let find = |key: &str| built.settings.iter().find(|setting| setting.key == key).map(|it| it.value.clone());
    assert_eq!(find("driver-2.flush").as_deref(), Some("drop"));
    assert_eq!(find("driver-2").as_deref(), Some("linux-none"));
    assert_eq!(find("stack.order").as_deref(), Some("array, driver, driver-2, controller"));
    assert_eq!(find("at.1 s.driver-2.flush").as_deref(), Some("forward"));
    let setting = DriverSetting::Flush(FlushPolicy::Forward);
    let control = Control::Set(LayerSetting::Driver { number: 2, setting });
    let at = Instant::ZERO + Span::from_secs(1);
    assert_eq!(built.stack.changes, [model::SettingChange { at, control }]);
    assert_eq!((&*built.changes[0].key, &*built.changes[0].value), ("driver-2.flush", "forward"));
}

/// The setting `stack.order` of a built stack, with its kind, and the stack's warnings.
fn order_and_warnings(text: &str) -> (Option<(String, Origin)>, Vec<String>) {
    let built = StackFile::parse("s.toml", text).unwrap().build(&profile_text).unwrap();
    let order = built.settings.iter().find(|setting| setting.key == "stack.order");
    let order = order.map(|setting| {
        assert!(!setting.source.is_empty());
        (setting.value.clone(), setting.kind)
    });
    (order, built.warnings.iter().map(ToString::to_string).collect())
}

/// md is bio-based: above an array Linux has no scheduler, below it one for each drive.
#[test]
fn drivers_of_linux_stand_below_an_array() {
    let stack = |driver: &str| {
        format!("drive = \"barracuda\"\nprocessor = \"current\"\ncontroller = \"ahci\"\narray = \"raid-5\"\n{driver}\n")
    };
    let (above, below) =
        (["processor", "driver", "array", "controller"], ["processor", "array", "driver", "controller"]);
    for host in hosts().unwrap().iter().filter(|host| host.layer == "driver") {
        let is_linux = host.name.starts_with("linux-");
        assert_eq!(host.below_array.is_some(), is_linux, "{}", host.name);
        let text = stack(&format!("driver = \"{}\"", host.name));
        assert_eq!(layer_names(&text), if is_linux { below } else { above }, "{}", host.name);
        let order = is_linux.then(|| ("processor, array, driver, controller".to_owned(), Origin::Measured));
        assert_eq!(order_and_warnings(&text), (order, vec![]), "{}", host.name);
    }
    // Overrides leave it there; a driver of keys alone is nobody's.
    let changed = "[driver]\nname = \"linux-none\"\nqueue.policy = \"look\"\nmax_transfer_sectors = 256";
    assert_eq!(layer_names(&stack(changed)), below);
    let keys = "[driver]\nqueue.policy = \"fcfs\"\nmax_transfer_sectors = 256\ncapacity = 64\ndepth = 64";
    assert_eq!(layer_names(&stack(keys)), above);
    assert_eq!(layer_names("drive = \"barracuda\"\ndriver = \"linux-none\"\n"), ["driver"], "there is no array");
    let built = StackFile::parse("s.toml", &stack("driver = \"linux-bfq\"")).unwrap().build(&profile_text).unwrap();
    assert_eq!(built.stack.check(), Ok(()));
}

#[test]
fn a_driver_of_linux_above_an_array_is_told() {
    let asked = "order = [\"driver\", \"array\"]\ndrive = \"barracuda\"\narray = \"raid-0\"\ndriver = \"linux-none\"\n";
    assert_eq!(layer_names(asked), ["driver", "array"]);
    let order = Some(("driver, array".to_owned(), Origin::Set));
    let told = "s.toml:1: `order`: has `driver` above the array, where Linux has none".to_owned();
    assert_eq!(order_and_warnings(asked), (order, vec![told]));
    let asked = asked.replace("linux-none", "windows-xp");
    assert_eq!(order_and_warnings(&asked).1, [""; 0]);
    // No layer of one drive alone stands above a bus that drives share.
    for shared in ["bus = \"pci-32-33\"", "channel = \"ide\"", "scsi = \"ultra160\""] {
        let text = format!("drive = \"barracuda\"\narray = \"raid-0\"\ndriver = \"linux-none\"\n{shared}\n");
        assert_eq!(layer_names(&text)[..2], ["driver", "array"]);
        let told = "s.toml:3: `driver`: stands above the array, where Linux has none: its drives share a bus or a cable, above \
                    which the model has no driver for each of them";
        assert_eq!(order_and_warnings(&text), (None, vec![told.to_owned()]));
    }
}

#[test]
fn a_kind_is_shared_where_its_layer_is() {
    for host in hosts().unwrap() {
        let mut stack = StackFile::named_drive("barracuda");
        stack.set("array", "raid-0").unwrap();
        stack.set(host.layer, &host.name).unwrap();
        let built = stack.build(&profile_text).unwrap();
        let mut layers = built.stack.layers.iter().filter(|layer| layer.kind() == host.layer);
        let shared = layers.next().unwrap().is_shared();
        assert_eq!(KINDS.iter().find(|kind| kind.name == host.layer).unwrap().shared, shared, "{}", host.name);
    }
}

#[test]
fn a_change_that_no_layer_knows_or_whose_value_does_not_fit_is_refused() {
    for (key, value, why) in [
        ("driver.flush", "maybe", "the value does not fit"),
        ("driver.colour", "red", "no layer of the stack can change it while it runs"),
        ("driver-2.flush", "maybe", "no layer of the stack can change it while it runs"),
        ("array.lose", "none", "the value does not fit; expected the number of a drive of the array"),
    ] {
        let text = format!("drive = \"barracuda\"\narray = \"raid-1\"\n[at.\"1 s\"]\n{key} = \"{value}\"\n");
        assert_eq!(build_errors(&text), format!("s.toml: `at`: `{key}` = `{value}` during a run: {why}\n"));
    }
}

#[test]
fn a_check_of_an_array_without_redundancy_is_refused() {
    let text = |array: &str| format!("drive = \"barracuda\"\narray = \"{array}\"\n[at.\"1 s\"]\narray.check = true\n");
    let refused = "s.toml: `at`: `array.check` = `true` during a run: the array has no copies and no parity to compare; expected a \
                   level with redundancy: raid-1, raid-10, raid-5 or raid-6\n";
    assert_eq!(build_errors(&text("raid-0")), refused);
    assert_eq!(build_errors(&text("matrix")), "", "its second volume is a mirror");
}

#[test]
fn an_order_that_makes_no_sense_is_refused_with_the_reason() {
    let errors = |order: &str| build_errors(&format!("order = [{order}]\n{TWO_DRIVERS}"));
    let order = "layers from the program down, such as processor, driver, array, controller";
    assert_eq!(
        errors("\"driver\", \"aray\""),
        format!(
            "s.toml:1: `order`: names `aray`, which is not in the stack; expected {order}, each of which is there; \
             did you mean `array`?\n"
        )
    );
    assert_eq!(
        errors("\"driver\", \"driver-2\", \"array\""),
        "s.toml:1: `order`: omits `controller`; expected each layer of the stack\n"
    );
    assert_eq!(
        errors("\"driver\", \"driver\""),
        "s.toml:1: `order`: names `driver` twice; expected `driver-2` for a second one\n"
    );
    assert_eq!(
        errors("\"driver-2\", \"driver\", \"array\", \"controller\""),
        "s.toml:5: `driver-2`: has the wrong number; expected `driver`: layers of a kind are numbered from the top\n"
    );
    assert_eq!(errors("1"), format!("s.toml:1: `order`: is not a list of layers; expected {order}\n"));
    assert_eq!(
        build_errors("drive = \"barracuda\"\n[driver-3]\nname = \"linux-none\"\n"),
        "s.toml:2: `driver-3`: has the wrong number; expected `driver-2`: layers of a kind are numbered from the top\n"
    );
    let bus =
        "order = [\"driver\", \"bus\", \"array\"]\ndrive = \"barracuda\"\narray = \"raid-0\"\nbus = \"pci-32-33\"\n";
    assert_eq!(
        build_errors(bus),
        "s.toml:1: `bus`: cannot stand there: the array's drives share it: it stands right below the array\n"
    );
    let processor = "order = [\"driver\", \"processor\"]\ndrive = \"barracuda\"\nprocessor = \"pentium-iii-800\"\n";
    assert!(build_errors(processor).contains("it stands on top"), "{}", build_errors(processor));
}

#[test]
fn defaults_of_a_driver_are_those_of_linux() {
    for (policy, linux) in
        [("deadline", SchedulerSpec::Deadline(DeadlineSpec::LINUX)), ("fair", SchedulerSpec::Fair(FairSpec::LINUX))]
    {
        let text = format!("drive = \"barracuda\"\n[driver]\nname = \"direct\"\nqueue.policy = \"{policy}\"\n");
        let built = StackFile::parse("s.toml", &text).unwrap().build(&profile_text).unwrap();
        assert_eq!(built.stack.drivers().next().unwrap().scheduler, linux);
    }
}

/// SCSI port's defaults: a request of 512 KiB is eight commands, and 16 commands are outstanding at once.
#[test]
fn windows_above_a_scsi_adapter_splits_at_64_kib_and_keeps_16() {
    let text = "drive = \"barracuda\"\ndriver = \"windows-scsi\"\ncontroller = \"scsi-u320\"\n";
    let built = StackFile::parse("s.toml", text).unwrap().build(&profile_text).unwrap();
    let driver = built.stack.drivers().next().copied().unwrap();
    assert_eq!((driver.depth, driver.max_transfer * 512), (16, 64 << 10));
    assert_eq!(layer_names(text), ["driver", "controller"]);
}
