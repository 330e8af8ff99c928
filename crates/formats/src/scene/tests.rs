//! Scenes that are read and built, and the errors about those that are not.

use super::*;

/// A drive of 160 GB, in sectors.
const DRIVE: u64 = 312_581_808;

const COPY: &str = "[system]\nfamily = 'windows-nt'\n[volume.d]\nfs = 'ntfs'\nsize_gib = 20\n[volume.c]\nfs = 'fat32'\n\
    size_gib = 8\n[program.copy]\nname = 'total-commander'\non = 'd'\nto = 'c'\n";

fn build(text: &str, settings: &[(&str, &str)]) -> Result<BuiltScene, String> {
    build_with_cache(text, settings, &LayoutCache::default())
}

fn build_with_cache(text: &str, settings: &[(&str, &str)], cache: &LayoutCache) -> Result<BuiltScene, String> {
    let first_error = |faults: Errors| faults[0].to_string();
    let mut scene = SceneFile::parse("s.toml", text).map_err(first_error)?;
    for (key, value) in settings {
        scene.set(key, value).map_err(first_error)?;
    }
    scene.build(DRIVE, None, cache).map_err(first_error)
}

fn error_of(text: &str) -> String {
    build(text, &[]).map(|_| ()).unwrap_err()
}

#[test]
fn a_scene_is_what_its_words_say() {
    let scene = build(COPY, &[("program.copy.block_kib", "1024")]).unwrap();
    assert_eq!(scene.spec.programs[0].name, "copy");
    let ProgramSpec::Copy(copy) = &scene.spec.programs[0].doing else { panic!("a copy") };
    assert_eq!((copy.from, copy.to, copy.block), (0, 1, 1 << 20), "volumes stand in the order of the file");
    let find =
        |key: &str| scene.settings.iter().find(|setting| setting.key == key).map(|setting| setting.value.as_str());
    assert_eq!(find("volume.c.fs"), Some("fat32"));
    assert_eq!(find("program.copy.block_kib"), Some("1024"));
    assert_eq!(find("program.copy.buffers"), Some("0"), "every figure that went in");
    assert_eq!(find("partitions.order"), Some("d, c"));
}

#[test]
fn a_volume_lies_on_the_device_that_it_names() {
    let text = COPY.replace("fs = 'fat32'", "fs = 'fat32'\ndevice = 'stick'");
    let text = format!("[device.stick]\nsize_gib = 16\nwrite_ms = 5\n{text}");
    let scene = build(&text, &[]).unwrap();
    let units: Vec<u8> = scene.spec.volumes.iter().map(|volume| volume.unit).collect();
    assert_eq!(units, [0, 1]);
    assert_eq!((scene.beside[0].sectors, scene.beside[0].write), (16 << 21, Span::from_millis(5)));
    let find = |key: &str| scene.settings.iter().find(|setting| setting.key == key).unwrap();
    assert_eq!(find("device.stick.write_ms").kind, FigureOrigin::Set);
    // Every figure that went in, and where from.
    let read = find("device.stick.read_ms");
    assert!(read.value == "0.7" && read.kind == FigureOrigin::Inferred && read.source.contains("0.4 to 1.5"));
    assert_eq!(find("volume.c.device").value, "stick");
    assert!(error_of(&text.replace("= 'stick'", "= 'stik'")).contains("expected stick; did you mean `stick`?"));
    assert!(
        error_of(&COPY.replace("fs = 'fat32'", "fs = 'fat32'\ndevice = 'x'"))
            .contains("expected a table [device.NAME]")
    );
    assert!(error_of(&text.replace("write_ms", "writ_ms")).contains("did you mean `device.stick.write_ms`?"));
    assert!(error_of(&text.replace("device = ", "devise = ")).contains("did you mean `volume.c.device`?"));
    assert!(error_of(&text.replace("size_gib = 16\n", "")).contains("`device.stick.size_gib`: missing key"));
}

#[test]
fn programs_come_one_after_another() {
    let text = format!("{COPY}[program.scan]\nname = 'set-read'\non = 'c'\nafter = ['copy']\ncold = true\n");
    let scene = build(&text, &[]).unwrap();
    assert_eq!(scene.spec.programs[1].after, [0]);
    assert!(scene.spec.programs[1].cold && !scene.spec.programs[0].cold);
}

#[test]
fn bad_scenes_say_what_is_wrong() {
    let error_with = |from: &str, to: &str| error_of(&COPY.replace(from, to));
    let error_with_more = |lines: &str| error_of(&format!("{COPY}{lines}"));
    for (error, expected) in [
        (
            error_with_more("files = 1\ntotal_mb = 5000\n"),
            "s.toml:9: `program.copy`: its files do not fit: a file of this file system has at most 4294967295 bytes; \
             expected smaller files, or a file system for larger ones",
        ),
        (
            error_with_more("files = 10\ntotal_mb = 10000\n"),
            "s.toml:9: `program.copy`: its files do not fit: the volume is full; expected fewer or smaller files, or a \
             larger volume",
        ),
        (
            error_with("size_gib = 20", "size_gib = 200"),
            "s.toml:5: `volume.d.size_gib`: would end at 200.001 GiB, and the drive has 149.051 GiB; expected volumes that \
             fit on the drive one after another",
        ),
        (
            error_with("fs = 'fat32'", "fs = 'fat32'\ncluster = 3000"),
            "s.toml:8: `volume.c.cluster`: invalid cluster size; expected a power of two from 512 to 65536 bytes",
        ),
        (
            error_with("total-commander", "totl-commander"),
            "s.toml:10: `program.copy.name`: unknown program `totl-commander`; expected the name of a program (see `seekwise \
             programs`); did you mean `total-commander`?",
        ),
        (
            error_with_more("after = ['scan']\n[program.scan]\nname = 'set-read'\non = 'c'\nafter = ['copy']\n"),
            "s.toml:13: `program.copy.after`: waits for itself: copy after scan after copy; expected programs that can \
             finish before it starts",
        ),
        (
            error_with_more("blok_kib = 64\n"),
            "s.toml:13: `program.copy.blok_kib`: unknown key; did you mean `program.copy.block_kib`?",
        ),
        (
            error_with_more("quux = 64\n"),
            "s.toml:13: `program.copy.quux`: unknown key; expected a figure of that program: `seekwise programs \
             total-commander`",
        ),
        (
            error_with("family = 'windows-nt'\n", "family = 'windows-nt'\nquux = 1\n"),
            "s.toml:3: `system.quux`: unknown key; expected family",
        ),
    ] {
        assert_eq!(error, expected);
    }
}

#[test]
fn words_that_are_none_are_told_from_those_that_are() {
    let error_with = |from: &str, to: &str| error_of(&COPY.replace(from, to));
    for (error, expected) in [
        (error_with("fs = 'fat32'", "fs = 'fat23'"), "`volume.c.fs`"),
        (error_with("on = 'd'", "on = 'e'"), "the scene has no volume `e`"),
        (error_with("on = 'd'\n", ""), "`program.copy.on`: missing key; expected one of d, c"),
        (error_with("[system]\nfamily = 'windows-nt'\n", ""), "`system.family`: missing key"),
        (error_with("fs = 'ntfs'", "fs = 'ntfs'\nbarrier = true"), "`volume.d.barrier`: has no effect here"),
        (error_with("to = 'c'", "to = 'c'\nmib_ms = 1"), "`total-commander` has no such figure"),
        (error_with("to = 'c'", "to = 'c'\nbackground = true"), "in the background"),
        (
            error_of(
                &COPY
                    .replace("fs = 'ntfs'", "fs = 'ext4'")
                    .replace("total-commander", "defragment")
                    .replace("to = 'c'\n", ""),
            ),
            "ext4 has no call to move parts of a file; expected a volume of fat32 or ntfs",
        ),
        (error_with("[volume.d]", "[volme.d]"), "did you mean `volume`?"),
    ] {
        assert!(error.contains(expected), "{error}");
    }
    let error_of_setting = |key: &str| build(COPY, &[(key, "64")]).map(|_| ()).unwrap_err();
    assert!(
        error_of_setting("program.cpy.block_kib").contains("did you mean `copy`?"),
        "{}",
        error_of_setting("program.cpy.block_kib")
    );
    assert!(
        error_of_setting("program.copy.blok_kib").contains("block_kib"),
        "{}",
        error_of_setting("program.copy.blok_kib")
    );
}

/// The layout of a scene that fits is kept: a scene that differs in nothing else that could not fit is not laid out again.
#[test]
fn a_layout_that_fits_is_tried_once_and_another_by_itself() {
    let trial = |block: &str| build(COPY, &[("program.copy.block_kib", block)]).unwrap().spec.trial_layout(DRIVE);
    assert_ne!(trial("64"), trial("256"), "a program's figures are all in it");
    let own = build(COPY, &[]).unwrap().spec;
    let patient = SceneSpec { runtime: Some(Span::from_secs(1)), name: "other".to_owned(), ..own.clone() };
    assert_eq!(own.trial_layout(DRIVE), patient.trial_layout(DRIVE), "where files lie does not depend on it");
    assert_ne!(own.trial_layout(DRIVE), own.trial_layout(DRIVE - 63));
    let cache = LayoutCache::default();
    let small = || SceneFile::parse("s.toml", COPY).unwrap().build(DRIVE / 10, None, &cache);
    // The scene fits, but not with a larger volume or on a smaller drive.
    for _ in 0..2 {
        assert!(build_with_cache(COPY, &[], &cache).is_ok());
        assert!(build_with_cache(COPY, &[("volume.d.size_gib", "160")], &cache).is_err());
        assert!(small().is_err());
    }
    let known = |sectors: u64| cache.contains(&own.trial_layout(sectors));
    assert!(known(DRIVE) && !known(DRIVE / 10));
    cache.add(own.trial_layout(DRIVE / 10));
    assert!(small().is_ok(), "a layout that is known to fit is not tried");
}
