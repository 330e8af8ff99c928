//! What is found in a source and what is left alone.

use super::*;

/// The kinds, texts and changes of all sites of a function's body, `a` and `b` being its arguments.
fn found(body: &str) -> Vec<(FaultKind, String, Vec<String>)> {
    of_text(&format!("fn f(a: u8, b: u8) -> Opaque {{ {body} }}"))
}

fn of_text(text: &str) -> Vec<(FaultKind, String, Vec<String>)> {
    let sites = find_sites("crates/run/src/a.rs", text, &mut Vec::new()).unwrap();
    sites.into_iter().map(|site| (site.kind, text[site.span].to_owned(), site.changes)).collect()
}

fn one(kind: FaultKind, text: &str, changes: &[&str]) -> (FaultKind, String, Vec<String>) {
    (kind, text.to_owned(), changes.iter().map(|&change| change.to_owned()).collect())
}

#[test]
fn each_kind_is_found_with_its_changes() {
    assert_eq!(found("a < b"), [one(FaultKind::Comparison, "a < b", &["a <= b", "a > b"])]);
    assert_eq!(found("a + b"), [one(FaultKind::Arithmetic, "a + b", &["a - b"])]);
    assert_eq!(found("a && b"), [one(FaultKind::Condition, "a && b", &["a || b"])]);
    assert_eq!(found("if a {}"), [one(FaultKind::Condition, "a", &["!(a)"])]);
    assert_eq!(found("4u64"), [one(FaultKind::Constant, "4u64", &["5u64", "8u64"])]);
    assert_eq!(found("0x10"), [one(FaultKind::Constant, "0x10", &["17", "32"])]);
    assert_eq!(found("0"), [one(FaultKind::Constant, "0", &["1"])]);
    assert_eq!(found("0.5"), [one(FaultKind::Constant, "0.5", &["1.5", "1.0"])]);
    assert_eq!(found("true"), [one(FaultKind::Constant, "true", &["false"])]);
    assert_eq!(found("a.push(b)?; a"), [one(FaultKind::Statement, "a.push(b)?;", &[""])]);
    assert_eq!(found("a = b; a"), [one(FaultKind::Statement, "a = b;", &[""])]);
    let added = [one(FaultKind::Arithmetic, "a += b", &["a -= b"]), one(FaultKind::Statement, "a += b;", &[""])];
    assert_eq!(found("a += b; a"), added);
}

#[test]
fn a_function_returns_at_once_what_its_type_has() {
    let returned = |output: &str| of_text(&format!("fn f() {output} {{ g }}"))[0].2.clone();
    assert_eq!(returned(""), ["return;"]);
    assert_eq!(returned("-> bool"), ["return false;", "return true;"]);
    assert_eq!(returned("-> u64"), ["return Default::default();"]);
    assert_eq!(returned("-> Option<Drive>"), ["return None;"]);
    assert_eq!(returned("-> io::Result<()>"), ["return Ok(());"]);
    assert_eq!(returned("-> Result<Vec<u8>, Why>"), ["return Ok(Default::default());"]);
    assert_eq!(of_text("fn f() -> Drive { g }"), []);
    // An empty one does that already.
    assert_eq!(of_text("fn f() {}"), []);
}

#[test]
fn nothing_is_planted_where_no_switch_can_stand_or_no_user_would_see_it() {
    for text in [
        "const A: u8 = 1 + 2; static B: [u8; 3] = [4; 5]; enum C { D = 6 }",
        "const fn f(a: u8) -> bool { a < 7 }",
        "#[cfg(test)] mod tests { fn f(a: u8) -> bool { a < 7 } }",
        "#[cfg(test)] fn f(a: u8) -> bool { a < 7 }",
        "#[cfg(any(test, feature = \"testing\"))] impl A { fn f(a: u8) -> bool { a < 7 } }",
        "#[cfg(windows)] fn f(a: u8) -> bool { a < 7 }",
        "trait A { const B: u8 = 1; fn f(a: u8) -> bool; }",
        "fn f(a: [u8; 3]) -> Opaque { g::<4>(a) }",
        "fn f() -> Opaque { match g { 0 | 1..=2 => h, _ => i } }",
        "fn f() -> Opaque { println!(\"{}\", 1 + 2); h }",
        "fn f() -> Opaque { const { 1 + 2 } }",
        "fn f() -> Opaque { const A: u8 = 1; A }",
        "fn f() -> Opaque { g + \"text\" + &h }",
        "fn f() -> Opaque { if let Some(x) = g {} }",
        "#[cfg(test)] use a::b; macro_rules! m { () => { 1 + 2 } }",
    ] {
        assert_eq!(of_text(text), [], "{text}");
    }
    // The same where it can.
    assert_eq!(of_text("#[cfg(not(test))] fn f(a: u8) -> Opaque { a < b }").len(), 1);
    assert_eq!(found("[a < b; 5]"), [one(FaultKind::Comparison, "a < b", &["a <= b", "a > b"])]);
}

#[test]
fn a_module_that_is_another_file_and_only_for_tests_is_left_out() {
    let text = "#[cfg(test)] mod tests; mod a; mod inner { #[cfg(test)] mod b; } #[cfg(windows)] mod c;";
    let left_out = |file: &str| {
        let mut left_out = Vec::new();
        find_sites(file, text, &mut left_out).unwrap();
        left_out
    };
    assert_eq!(left_out("x/src/lib.rs"), ["x/src/tests", "x/src/inner/b", "x/src/c"]);
    assert_eq!(left_out("x/src/y.rs"), ["x/src/y/tests", "x/src/y/inner/b", "x/src/y/c"]);
}

#[test]
fn a_site_has_its_line_and_its_bytes_behind_letters_of_several() {
    let text = "fn f() -> Opaque {\n    // „größer“\n    a < b\n}\n";
    let sites = find_sites("x.rs", text, &mut Vec::new()).unwrap();
    assert_eq!((sites[0].line, &text[sites[0].span.clone()]), (3, "a < b"));
}
