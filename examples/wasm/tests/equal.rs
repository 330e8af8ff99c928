//! Cells and a comparison give equal results natively and as WebAssembly in node.

use std::path::{Path, PathBuf};
use std::process::Command;

use seekwise_example_wasm::{CELLS, hash, run_cell, run_comparison};

/// Instantiates the module and prints the hash of each cell, then that of the comparison. A dependency that draws in
/// pages (plotters) declares imports, which must not be called here.
const SCRIPT: &str = "const module = new WebAssembly.Module(require('fs').readFileSync(process.argv[1])), imports = {};
for (const { module: from, name } of WebAssembly.Module.imports(module))
    (imports[from] ??= {})[name] = () => { throw new Error(name + ' was called'); };
const { cell, compare } = new WebAssembly.Instance(module, imports).exports;
for (let n = 0; n < Number(process.argv[2]); n++) console.log(BigInt.asUintN(64, cell(n)).toString());
console.log(BigInt.asUintN(64, compare()).toString());";

const TARGET: &str = "wasm32-unknown-unknown";

fn succeeds(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

/// Builds the module in a folder of its own, since the build that runs this test holds the lock of the usual one. The
/// module is hardly optimized: fifty cells are short, and the build is not.
fn build_module() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    let words = ["build", "--package", env!("CARGO_PKG_NAME"), "--lib", "--target", TARGET, "--locked"];
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(words).env("CARGO_TARGET_DIR", &folder);
    for part in ["disk", "work", "run", "lab"] {
        cargo.args(["--config", &format!("profile.dev.package.seekwise-{part}.opt-level=1")]);
    }
    let status = cargo.status().expect("cargo starts");
    assert!(status.success(), "the library builds for {TARGET}");
    folder.join(TARGET).join("debug/seekwise_example_wasm.wasm")
}

#[test]
fn fifty_cells_and_a_comparison_are_equal_natively_and_as_webassembly() {
    for n in 0..CELLS {
        run_cell(n).unwrap_or_else(|fault| panic!("cell {n}: {fault}"));
    }
    let compared = run_comparison().unwrap_or_else(|fault| panic!("comparison: {fault}"));
    assert!(compared.contains("\"ratio\":{"), "{compared}");
    let has_target = succeeds("rustc", &["--print", "target-libdir", "--target", TARGET])
        && Command::new("rustc")
            .args(["--print", "target-libdir", "--target", TARGET])
            .output()
            .is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists());
    if !has_target || !succeeds("node", &["--version"]) {
        println!("skipped: needs `rustup target add {TARGET}` and node");
        return;
    }
    let module = build_module();
    let output = Command::new("node").arg("-e").arg(SCRIPT).arg(&module).arg(CELLS.to_string()).output();
    let output = output.expect("node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Vec<u64> = String::from_utf8_lossy(&output.stdout).lines().map(|line| line.parse().unwrap()).collect();
    let native: Vec<u64> = (0..CELLS).map(run_cell).chain([Ok(compared)]).map(hash).collect();
    assert_eq!(found, native);
}
