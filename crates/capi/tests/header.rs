//! The committed header equals the one that cbindgen makes from the source today. `SEEKWISE_UPDATE=1` writes it anew.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

use std::fs;
use std::path::Path;

#[test]
fn the_header_is_that_of_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("its keys are cbindgen's");
    let sources = ["values.rs", "disk.rs", "boundary.rs"].map(|name| root.join("src").join(name));
    let builder = sources.into_iter().fold(cbindgen::Builder::new().with_config(config), |b, path| b.with_src(path));
    let mut made = Vec::new();
    builder.generate().expect("what C can have").write(&mut made);
    let (made, path) = (String::from_utf8(made).unwrap(), root.join("include/seekwise.h"));
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == kept,
        "include/seekwise.h is not of today's source: SEEKWISE_UPDATE=1 cargo test -p seekwise-capi --test header"
    );
}
