//! `examples/disk.c`, compiled by the system's C compiler, prints the same as the same calls in Rust. `examples/save.c` is built against
//! the installed library alone, as other people's programs are. Skipped without a compiler, on Linux also without pkg-config.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, LandingKind, Op, Request, Status};
use seekwise_disk::record::Part;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;
use seekwise_drives::drives;

const DRIVE: &str = "barracuda-7200.7-ncq";

#[test]
fn an_installed_library_is_found_by_pkg_config_and_restores_a_profile_of_ones_own() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !cfg!(target_os = "linux") || !has("cc") || !has("pkg-config") {
        return println!("skipped: not Linux, no C compiler `cc`, or no pkg-config");
    }
    let (folder, root) = (tempfile::tempdir().unwrap(), Path::new(env!("CARGO_MANIFEST_DIR")));
    let (prefix, built) = (folder.path().join("prefix"), std::env::current_exe().unwrap());
    let script = root.join("install.sh");
    let run = |command: &mut Command| {
        let ran = command.current_dir(folder.path()).output().unwrap();
        assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    run(Command::new("sh").arg(&script).arg(&prefix).arg(built.parent().unwrap()));
    // The installed folder may be moved.
    let moved = folder.path().join("moved");
    std::fs::rename(&prefix, &moved).unwrap();
    let libraries = moved.join("lib");
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.env("PKG_CONFIG_PATH", libraries.join("pkgconfig"));
    assert_eq!(run(pkg_config.args(["--modversion", "seekwise"])).trim(), env!("CARGO_PKG_VERSION"));
    let mut pkg_config = Command::new("pkg-config");
    let flags =
        run(pkg_config.env("PKG_CONFIG_PATH", libraries.join("pkgconfig")).args(["--cflags", "--libs", "seekwise"]));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]).arg(root.join("examples/save.c"));
    run(compiler.args(flags.split_whitespace()).args(["-o", "save"]));

    // Programs look for the name with the version's first two parts, not for that of the linker.
    std::fs::remove_file(libraries.join("libseekwise.so")).unwrap();
    let profile = root.join("../drives/profiles/cheetah-15k.4.toml");
    let mut program = Command::new(folder.path().join("save"));
    let said = run(program.arg(&profile).env("LD_LIBRARY_PATH", &libraries));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(said, format!("seekwise {version}: 16 writes may still land; equal answers after the restore\n"));

    let text = std::fs::read_to_string(&profile).unwrap();
    let line = 1 + text.lines().position(|line| line.starts_with("rpm")).expect("a drive has a speed");
    std::fs::write(folder.path().join("wrong.toml"), text.replace("\nrpm", "\nrpn")).unwrap();
    let mut program = Command::new(folder.path().join("save"));
    let ran = program.arg(folder.path().join("wrong.toml")).env("LD_LIBRARY_PATH", &libraries).output().unwrap();
    let errors = String::from_utf8(ran.stderr).unwrap();
    assert!(errors.starts_with(&format!("profile.toml:{line}: `")) && errors.contains("did you mean `"), "{errors}");
}

/// Compiles the example into `folder`; the error says why the test is skipped.
fn compiled(folder: &Path) -> Result<PathBuf, &'static str> {
    if cfg!(windows) || Command::new("cc").arg("--version").output().is_err() {
        return Err("no C compiler `cc`");
    }
    let (root, program) = (Path::new(env!("CARGO_MANIFEST_DIR")), folder.join("disk"));
    // Built beside this test, as its dependency.
    let library = std::env::current_exe().unwrap().with_file_name("libseekwise_capi.a");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(root.join("include"));
    compiler.arg(root.join("examples/disk.c")).arg(library).arg("-o").arg(&program);
    compiler.args(if cfg!(target_os = "macos") { vec![] } else { vec!["-lpthread", "-ldl", "-lm"] });
    let compiled = compiler.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    Ok(program)
}

/// Runs a program: its standard output, its standard error, and whether it succeeded.
fn ran(program: &Path, words: &[&str]) -> (String, String, bool) {
    let ran = Command::new(program).args(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(ran.stdout), text(ran.stderr), ran.status.success())
}

#[test]
fn c_and_rust_get_the_same_disk() {
    let folder = tempfile::tempdir().unwrap();
    let program = match compiled(folder.path()) {
        Ok(program) => program,
        Err(why) => return println!("skipped: {why}"),
    };
    let (said, errors, ended_well) = ran(&program, &[]);
    assert!(ended_well, "{errors}");
    assert_eq!(said, run_in_rust());
    assert!(said.contains("rotation") && said.contains("on the medium") && said.ends_with("lost\n"), "{said}");

    let (said, errors, ended_well) = ran(&program, &["exos-x81"]);
    assert_eq!((said.as_str(), ended_well), ("", false));
    assert!(errors.ends_with("did you mean `exos-x18`?\n"), "{errors}");
}

/// The text that the example prints, made by the same calls of the model itself.
fn run_in_rust() -> String {
    let mut disk = Stack::bare(drives::load(DRIVE).unwrap().profile().unwrap()).build(Seed(1));
    disk.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
    let mut said = String::new();
    submit(&mut disk, Instant::ZERO, (1, Op::Read, 1_000_000, 8));
    submit(&mut disk, Instant::ZERO, (2, Op::Read, 150_000_000, 8));
    submit(&mut disk, Instant::ZERO, (3, Op::Write, 2_000_000, 64));
    let mut now = Instant::ZERO;
    for _ in 0..4 {
        let done = disk.proceed(Instant::FAR).unwrap();
        now = done.finished;
        print(&mut said, &done);
        if done.tag == 3 {
            submit(&mut disk, now, (4, Op::Flush, 0, 0));
        }
    }
    submit(&mut disk, now, (5, Op::Write, 3_000_000, 64));
    now = disk.proceed(Instant::FAR).unwrap().finished;
    disk.control(now, &Control::PowerCut).unwrap();
    while let Some(left) = disk.poll_landing() {
        let what = if left.kind == LandingKind::Landed { "on the medium" } else { "lost" };
        writeln!(said, "write {}: {} sectors at {} {what}", left.stamp, left.sectors, left.lba).unwrap();
    }
    said
}

fn submit(disk: &mut Box<dyn Device>, now: Instant, (tag, op, lba, sectors): (u32, Op, u64, u32)) {
    let stamp = u64::from(tag);
    disk.submit(now, Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp }).unwrap();
}

fn print(said: &mut String, done: &Completion) {
    assert_eq!(done.status, Status::Done);
    writeln!(said, "request {}: outcome 0, {} ns", done.tag, done.parts.total().nanos()).unwrap();
    for part in Part::ALL.into_iter().filter(|&part| done.parts.get(part).nanos() > 0) {
        writeln!(said, "  {:10} {:10} ns", part.name(), done.parts.get(part).nanos()).unwrap();
    }
}
