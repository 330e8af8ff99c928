//! Counts functions, types, statics and literals of sources, from their syntax trees.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, FnArg, ImplItem, Item, ItemMod, LitStr, Signature, TraitItem, Visibility};

/// The counts; a file that is no Rust adds nothing.
#[derive(Default)]
pub struct Items {
    /// Functions and methods, trait methods and their implementations too.
    pub functions: usize,
    /// Functions whose name is one word.
    pub one_word: usize,
    /// Functions whose name is a participle alone, such as `told`.
    pub participles: usize,
    /// Functions named `of`.
    pub named_of: usize,
    /// Functions that are named as predicates and take `&mut self`.
    pub changing_predicates: usize,
    /// Structs, enums and traits that are not public.
    pub private_types: usize,
    /// Private types whose name another type has too.
    pub shared_types: usize,
    /// Statics and thread-locals in libraries whose value can change.
    pub state: usize,
    /// Literals such as `drive.rpm` outside the crate that knows keys.
    pub dotted_keys: usize,
    /// Items that are `pub`.
    pub public: usize,
    /// Lines with code.
    pub code_lines: usize,
    /// The places of counted names.
    pub places: Vec<String>,
}

/// Participles that do not end in -ed.
const IRREGULAR: [&str; 52] = [
    "begun",
    "bound",
    "brought",
    "built",
    "caught",
    "chosen",
    "come",
    "done",
    "drawn",
    "driven",
    "fallen",
    "felt",
    "forgotten",
    "found",
    "given",
    "gone",
    "grown",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "led",
    "left",
    "lent",
    "lost",
    "made",
    "meant",
    "met",
    "paid",
    "ran",
    "risen",
    "said",
    "seen",
    "sent",
    "shown",
    "shut",
    "sought",
    "spent",
    "split",
    "spoken",
    "spread",
    "stood",
    "stolen",
    "struck",
    "taken",
    "thought",
    "told",
    "torn",
    "thrown",
    "understood",
    "written",
];

/// Verbs that end as a participle does.
const VERBS: [&str; 8] = ["need", "feed", "seed", "embed", "speed", "exceed", "split", "spread"];

/// The first words of dotted keys.
const LAYERS: [&str; 20] = [
    "drive",
    "driver",
    "job",
    "array",
    "volume",
    "pagecache",
    "firmware",
    "cache",
    "link",
    "scheduler",
    "program",
    "wire",
    "power",
    "medium",
    "read_ahead",
    "write_back",
    "zoned",
    "fs",
    "run",
    "load",
];

/// Counts the items of all sources.
pub fn count(sources: &BTreeMap<String, String>) -> Items {
    let mut counter = Counter { items: Items::default(), file: "", text: "", types: Vec::new() };
    for (file, text) in sources {
        let Ok(tree) = syn::parse_file(text) else { continue };
        (counter.file, counter.text) = (file, text);
        counter.visit_file(&tree);
        counter.items.code_lines += code_lines(text, &tree);
    }
    counter.count_types();
    counter.items
}

struct Counter<'a> {
    items: Items,
    file: &'a str,
    text: &'a str,
    /// Types: the name, whether it is private, and the place.
    types: Vec<(String, bool, String)>,
}

/// Whether these attributes keep code for tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        attribute.path().is_ident("test")
            || is_cfg && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

fn is_participle(name: &str) -> bool {
    !VERBS.contains(&name) && (name.ends_with("ed") || IRREGULAR.contains(&name))
}

fn is_dotted_key(text: &str) -> bool {
    let mut parts = text.split('.');
    let is_word = |part: &str| {
        part.starts_with(|letter: char| letter.is_ascii_lowercase())
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    parts.next().is_some_and(|first| LAYERS.contains(&first)) && text.contains('.') && parts.all(is_word)
}

impl Counter<'_> {
    fn count_function(&mut self, signature: &Signature) {
        let name = signature.ident.to_string();
        let place = format!("{}:{}: fn {name}", self.file, signature.ident.span().start().line);
        self.items.functions += 1;
        let is_one_word = !name.trim_matches('_').contains('_');
        self.items.one_word += usize::from(is_one_word);
        let is_predicate = ["is_", "has_", "was_"].iter().any(|start| name.starts_with(start));
        let changes_self = matches!(signature.inputs.first(), Some(FnArg::Receiver(receiver)) if receiver.mutability.is_some() && receiver.reference.is_some());
        for (is_counted, count) in [
            (is_one_word && is_participle(&name), &mut self.items.participles),
            (name == "of", &mut self.items.named_of),
            (is_predicate && changes_self, &mut self.items.changing_predicates),
        ] {
            if is_counted {
                *count += 1;
                self.items.places.push(place.clone());
            }
        }
    }

    fn count_types(&mut self) {
        for (name, _, place) in self.types.iter().filter(|(_, is_private, _)| *is_private) {
            self.items.private_types += 1;
            if self.types.iter().filter(|(other, ..)| other == name).count() > 1 {
                self.items.shared_types += 1;
                self.items.places.push(format!("{place}: type {name}"));
            }
        }
    }

    fn count_visibility(&mut self, visibility: &Visibility) {
        self.items.public += usize::from(matches!(visibility, Visibility::Public(_)));
    }

    fn add_type(&mut self, name: &syn::Ident, visibility: &Visibility) {
        let place = format!("{}:{}", self.file, name.span().start().line);
        self.types.push((name.to_string(), matches!(visibility, Visibility::Inherited), place));
        self.count_visibility(visibility);
    }

    fn is_library(&self) -> bool {
        !["crates/cli/", "crates/python/", "crates/explore/"].iter().any(|front| self.file.starts_with(front))
    }
}

impl<'ast> Visit<'ast> for Counter<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Struct(definition) => self.add_type(&definition.ident, &definition.vis),
            Item::Enum(definition) => self.add_type(&definition.ident, &definition.vis),
            Item::Trait(definition) => self.add_type(&definition.ident, &definition.vis),
            Item::Type(definition) => self.count_visibility(&definition.vis),
            Item::Const(definition) => self.count_visibility(&definition.vis),
            Item::Static(definition) => {
                self.count_visibility(&definition.vis);
                let kind = &self.text[definition.ty.span().byte_range()];
                let can_change =
                    ["Mutex", "RwLock", "Once", "Lazy", "Atomic", "Cell"].iter().any(|word| kind.contains(word));
                self.items.state += usize::from(can_change && self.is_library());
            }
            Item::Macro(definition)
                if definition.mac.path.segments.last().is_some_and(|last| last.ident == "thread_local") =>
            {
                self.items.state += usize::from(self.is_library());
            }
            Item::Fn(definition) if is_test(&definition.attrs) => return,
            Item::Fn(definition) => {
                self.count_visibility(&definition.vis);
                self.count_function(&definition.sig);
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if let ImplItem::Fn(definition) = item {
            self.count_visibility(&definition.vis);
            self.count_function(&definition.sig);
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if let TraitItem::Fn(definition) = item {
            self.count_function(&definition.sig);
        }
        visit::visit_trait_item(self, item);
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        let knows_keys = ["crates/drives/", "crates/formats/"].iter().any(|folder| self.file.starts_with(folder));
        self.items.dotted_keys += usize::from(!knows_keys && is_dotted_key(&text.value()));
    }
}

/// Lines that hold a token, tests aside.
fn code_lines(text: &str, tree: &syn::File) -> usize {
    let mut is_test_line = vec![false; text.lines().count() + 1];
    for item in &tree.items {
        if let Item::Mod(module) = item
            && is_test(&module.attrs)
        {
            let span = module.span();
            is_test_line[span.start().line - 1..span.end().line].fill(true);
        }
    }
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    text.lines().zip(&is_test_line).filter(|(line, is_test)| !**is_test && is_code(line)).count()
}
