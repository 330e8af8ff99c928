//! Checks documentation. Public items have it: functions, types, traits and their items, constants, modules; methods of
//! private types need none. Fields and variants have it only if it adds to their names. The author decides; a rule
//! finds comments that only repeat a name. The crate `cli` is exempt from both rules: it is a program and no library,
//! and its comments are the help of its options. Public records and results can grow (`#[non_exhaustive]`).

use super::Text;
use super::source::{code_only, without_tests};

/// The words that begin an item's declaration, after its modifiers.
const KINDS: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"];

/// Words that may stand before the kind.
const MODIFIERS: [&str; 3] = ["unsafe", "async", "extern"];

/// Words that add nothing to a name.
const FILLERS: [&str; 9] = ["a", "an", "the", "its", "this", "of", "one", "in", "for"];

/// Runs the rules.
pub fn check(files: &[Text], faults: &mut Vec<String>) {
    let is_checked =
        |file: &&Text| file.is_rust() && file.path.starts_with("crates/") && !file.path.starts_with("crates/cli/");
    for file in files.iter().filter(is_checked) {
        let code = without_tests(&code_only(&file.text));
        if file.path.contains("/src/") {
            check_documentation(file, &code, faults);
        }
        check_repetitions(file, &code, faults);
    }
}

/// Finds public items without documentation, and results that cannot grow.
fn check_documentation(file: &Text, code: &str, faults: &mut Vec<String>) {
    let lines: Vec<&str> = code.lines().collect();
    let text: Vec<&str> = file.text.lines().collect();
    for (line, name) in find_public_items(code) {
        // The item's lines begin behind the item before it, or behind the brace around both.
        let start = lines[..line].iter().rposition(|before| before.contains([';', '{', '}'])).map_or(0, |end| end + 1);
        let is_documentation = |line: &&str| ["///", "#[doc"].iter().any(|start| line.trim_start().starts_with(start));
        if !text[start..line].iter().any(is_documentation) {
            faults.push(format!("{}:{}: `{name}` is public and has no documentation", file.path, line + 1));
        }
        let can_grow = lines[start..line].iter().any(|before| before.trim() == "#[non_exhaustive]");
        if !can_grow && lines[line].starts_with("pub struct") && is_result(&file.path, name) {
            faults.push(format!("{}:{}: `{name}` grows and is not `#[non_exhaustive]`", file.path, line + 1));
        }
    }
}

/// Whether a name is that of a record or a result that users of the library read; later versions add figures to it.
fn is_result(path: &str, name: &str) -> bool {
    ["lab", "seekwise"].iter().any(|krate| path.starts_with(&format!("crates/{krate}/src/")))
        && ["Record", "Result"].iter().any(|end| name.ends_with(end))
}

/// Public items and the items of public traits: their lines, from 0, and names.
fn find_public_items(code: &str) -> Vec<(usize, &str)> {
    let private_types: Vec<&str> = code.lines().filter_map(private_type_name).collect();
    let mut found = Vec::new();
    let mut depth = 0;
    let (mut trait_depth, mut private_depth) = (usize::MAX, usize::MAX);
    for (number, line) in code.lines().enumerate() {
        let declaration = line.trim_start();
        let trait_item = (trait_depth == depth).then_some(declaration);
        let public = declaration.strip_prefix("pub ").or(trait_item).filter(|_| depth < private_depth);
        if let Some((kind, name)) = public.and_then(kind_and_name) {
            found.push((number, name));
            if kind == "trait" {
                trait_depth = depth + 1;
            }
        }
        if impl_subject(declaration).is_some_and(|name| private_types.contains(&name)) {
            private_depth = depth + 1;
        }
        depth = (depth + line.matches('{').count()).saturating_sub(line.matches('}').count());
        if line.contains('}') {
            let unless_left = |inside: usize| if depth < inside { usize::MAX } else { inside };
            (trait_depth, private_depth) = (unless_left(trait_depth), unless_left(private_depth));
        }
    }
    found
}

/// The name of the private type that a line declares.
fn private_type_name(line: &str) -> Option<&str> {
    let declaration = line.trim_start();
    let declaration =
        declaration.strip_prefix("pub(").map_or(declaration, |rest| rest.split_once(") ").map_or("", |parts| parts.1));
    kind_and_name(declaration).filter(|(kind, _)| ["struct", "enum", "union"].contains(kind)).map(|(_, name)| name)
}

/// The name of the type whose methods a line begins.
fn impl_subject(declaration: &str) -> Option<&str> {
    let header = declaration.strip_prefix("impl")?.trim_end_matches(['{', ' ']);
    let behind = if header.starts_with('<') { header.split_once("> ")?.1 } else { header };
    let path = behind.split_once(" for ").map_or(behind, |(_, path)| path).trim_start();
    path.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).next()
}

/// The kind and name of a declared item; `None` for a field, a re-export, and a module in another file, whose head says
/// what it is.
fn kind_and_name(declaration: &str) -> Option<(&str, &str)> {
    let words =
        declaration.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).filter(|word| !word.is_empty());
    let mut words = words.skip_while(|word| MODIFIERS.contains(word));
    let kind = words.next().filter(|word| KINDS.contains(word))?;
    let (kind, name) = match (kind, words.next()?) {
        ("const", "fn") => ("fn", words.next()?),
        pair => pair,
    };
    (kind != "mod" || !declaration.contains(';')).then_some((kind, name))
}

/// Finds comments on fields and variants that only repeat the name.
fn check_repetitions(file: &Text, code: &str, faults: &mut Vec<String>) {
    let mut comment = String::new();
    for (number, (line, code)) in file.text.lines().zip(code.lines()).enumerate() {
        let (line, code) = (line.trim_start(), code.trim());
        if let Some(text) = line.strip_prefix("///") {
            comment += text;
        } else if !code.is_empty() && !code.starts_with("#[") {
            if let Some(name) = field_name(code).or(variant_name(code))
                && is_repetition(&comment, name)
            {
                let path = &file.path;
                faults.push(format!("{path}:{number}: the comment says no more than the name `{name}`"));
            }
            comment.clear();
        }
    }
}

/// The name of the field that a line declares.
fn field_name(code: &str) -> Option<&str> {
    let (before, _) = code.split_once(": ")?;
    let name = before.rsplit(' ').next()?;
    let visible = before.strip_suffix(name)?.trim_end();
    let is_restricted = visible.starts_with("pub(") && visible.ends_with(')');
    (is_restricted || ["", "pub"].contains(&visible)).then_some(name)
}

/// The name of the variant that a line declares.
fn variant_name(code: &str) -> Option<&str> {
    let name = code.split(['(', '{', ',', '=']).next()?.trim_end();
    let is_word = name.chars().all(char::is_alphanumeric);
    (is_word && name.starts_with(char::is_uppercase)).then_some(name)
}

/// Whether all words of a comment are in the name, and it has words.
fn is_repetition(comment: &str, name: &str) -> bool {
    let mut parts = String::new();
    for letter in name.chars() {
        parts.extend(letter.is_uppercase().then_some(' '));
        parts.extend(if letter == '_' { ' '.to_lowercase() } else { letter.to_lowercase() });
    }
    let stem = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
    let parts: Vec<String> = parts.split(' ').map(stem).collect();
    let comment = comment.to_lowercase();
    let mut words = comment.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.filter(|word| !FILLERS.contains(word)).all(|word| parts.contains(&stem(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said against one file.
    fn faults(path: &str, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        check(&[Text { path: path.to_owned(), text: text.to_owned() }], &mut faults);
        faults
    }

    #[test]
    fn public_items_have_documentation() {
        let kinds = ["fn a() {}", "const fn a() {}", "async fn a() {}", "struct a;", "enum a {}", "trait a {}"];
        for kind in kinds.into_iter().chain(["type a = u8;", "const a: u8 = 1;", "static a: u8 = 1;", "mod a {}"]) {
            let bare = format!("//! A.\nuse b;\n#[inline]\npub {kind}\n");
            let told = faults("crates/lab/src/plan.rs", &bare);
            assert_eq!(told, ["crates/lab/src/plan.rs:4: `a` is public and has no documentation"], "{kind}");
            let documented = bare.replace("#[inline]", "/// Adds.\n// Why.\n#[inline]\n#[must_use]");
            assert!(faults("crates/lab/src/plan.rs", &documented).is_empty(), "{kind}");
            assert!(faults("crates/cli/src/main.rs", &bare).is_empty(), "{kind}");
            assert!(faults("crates/lab/tests/plan.rs", &bare).is_empty(), "{kind}");
        }
    }

    #[test]
    fn records_and_results_can_grow() {
        let closed = "//! A.\n/// B.\npub struct RunRecord {\n}\n";
        let told = faults("crates/lab/src/run.rs", closed);
        assert_eq!(told, ["crates/lab/src/run.rs:3: `RunRecord` grows and is not `#[non_exhaustive]`"]);
        let open = closed.replace("pub", "#[non_exhaustive]\npub");
        assert!(faults("crates/lab/src/run.rs", &open).is_empty());
        assert!(faults("crates/os/src/real.rs", closed).is_empty());
    }

    #[test]
    fn fields_files_and_private_items_need_none() {
        let text = "//! A.\npub mod b;\npub use c::d;\nfn e() {}\nmod f { fn g() {} }\npub(crate) fn h() {}\n\
                    /// Two.\npub struct I {\n    pub j: u8,\n}\n#[cfg(test)]\nmod tests {\n    pub fn k() {}\n}\n\
                    trait L {\n    fn m();\n}\n";
        assert!(faults("crates/lab/src/plan.rs", text).is_empty());
    }

    #[test]
    fn methods_of_types_that_are_not_public_need_none() {
        for (declared, begun, told) in [
            ("pub(super) struct A<T>(T);", "impl<T: B> A<T> {", 0),
            ("enum A { B }", "impl A {", 0),
            ("/// A.\npub struct A;", "impl A {", 1),
            ("struct B;", "impl A {", 1),
        ] {
            let text = format!("//! A.\n{declared}\n{begun}\n    pub fn b() {{\n    }}\n}}\n/// C.\npub fn c() {{}}\n");
            assert_eq!(faults("crates/lab/src/plan.rs", &text).len(), told, "{declared} {begun}");
        }
        let after = "//! A.\nstruct A;\nimpl A {\n    pub fn b() {}\n}\npub fn c() {}\n";
        assert_eq!(faults("crates/lab/src/plan.rs", after).len(), 1);
    }

    #[test]
    fn what_a_public_trait_demands_has_documentation() {
        let text = "//! A.\n/// B.\npub trait B\nwhere\n    C: D,\n{\n    /// E.\n    fn e() {\n        fn f() {}\n    }\n    \
                    fn g();\n}\nfn h() {}\n";
        let told = faults("crates/disk/src/block.rs", text);
        assert_eq!(told, ["crates/disk/src/block.rs:11: `g` is public and has no documentation"]);
    }

    #[test]
    fn a_comment_that_repeats_the_name_is_told() {
        let with = |comment: &str, declared: &str| {
            faults(
                "crates/lab/src/plan.rs",
                &format!("//! A.\n/// B.\nstruct B {{\n    /// {comment}\n    #[x]\n    {declared}\n}}\n"),
            )
            .len()
        };
        for (comment, declared) in [
            ("The stack.", "pub stack: Stack,"),
            ("Its first block.", "first_block: u64,"),
            ("Hard disks.", "HardDisk,"),
            ("Media cache", "MediaCache(u8),"),
            ("A read.", "pub(crate) reads: u8,"),
        ] {
            assert_eq!(with(comment, declared), 1, "{comment}");
        }
        for (comment, declared) in [
            ("In sectors.", "pub size: u32,"),
            ("The stack, drive first.", "pub stack: Stack,"),
            ("Adds.", "fn adds() {"),
            ("A volume.", "pub fn at(&self, volume: u8) -> &Volume {"),
            ("Hits.", "let hits = 1;"),
        ] {
            assert_eq!(with(comment, declared), 0, "{comment}");
        }
    }

    /// A check of the rule: each comment that is removed from a real file is missed.
    #[test]
    fn documentation_taken_from_a_real_file_is_missed() {
        let path = "crates/disk/src/slab.rs";
        let text = std::fs::read_to_string(crate::root().join(path)).expect("a file of the model");
        assert_eq!(faults(path, &text), [""; 0]);
        let lines: Vec<&str> = text.lines().collect();
        let begins = |line: usize, with: &str| lines[line].trim_start().starts_with(with);
        let mut taken = 0;
        for item in (0..lines.len()).filter(|&line| begins(line, "pub ")) {
            let ends = (0..item).rfind(|&line| !begins(line, "#[")).expect("a header");
            let before = (0..=ends).rfind(|&line| !begins(line, "///")).expect("a header");
            let without = [&lines[..=before], &lines[ends + 1..]].concat().join("\n");
            assert_eq!(faults(path, &without).len(), 1, "line {}", item + 1);
            taken += 1;
        }
        assert!(taken > 4, "only {taken} comments were taken");
    }
}
