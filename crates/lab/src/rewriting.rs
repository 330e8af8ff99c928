//! Rewrites a drive's profile as TOML text: replaces figures and removes sources; comments and order stay.

use toml_edit::{DocumentMut, Item, Table};

/// Sets the figure at a dotted key: it replaces the one that is there, or is added at the end of its section.
pub(crate) fn replace_figure(root: &mut Table, key: &str, figure: Item) {
    let mut sections: Vec<&str> = key.split('.').collect();
    let Some(last) = sections.pop() else { return };
    let mut table: &mut dyn toml_edit::TableLike = root;
    for section in sections {
        let item = table.entry(section).or_insert_with(toml_edit::table);
        let Some(inner) = item.as_table_like_mut() else { return };
        table = inner;
    }
    match (table.get_mut(last), figure) {
        // A figure that is a section keeps its place in the file.
        (Some(Item::Table(old)), Item::Table(new)) => {
            old.clear();
            old.extend(new);
        }
        (Some(old), figure) => {
            let comment = old.as_value().and_then(|value| value.decor().suffix()?.as_str().map(str::to_owned));
            *old = figure;
            if let (Some(comment), Some(value)) = (comment, old.as_value_mut()) {
                value.decor_mut().set_suffix(comment);
            }
            if let Some(value) = old.as_value_mut() {
                value.decor_mut().set_prefix(" ");
            }
        }
        (None, figure) => {
            table.insert(last, figure);
        }
    }
}

/// Removes the entries of `[sources]` that no figure cites: the profile's reader refuses them.
pub(crate) fn remove_uncited_sources(document: &mut DocumentMut) {
    let Some(names) = document.get("sources").and_then(Item::as_table_like) else { return };
    let names: Vec<String> = names.iter().map(|(name, _)| name.to_owned()).collect();
    let text = document.to_string();
    let cited = |name: &str| {
        text.match_indices(&format!("@{name}")).any(|(offset, citation)| {
            let next = text[offset + citation.len()..].chars().next();
            next.is_none_or(|next| !next.is_ascii_alphanumeric() && next != '_')
        })
    };
    let uncited: Vec<&String> = names.iter().filter(|name| !cited(name)).collect();
    if let Some(sources) = document.get_mut("sources").and_then(Item::as_table_like_mut) {
        uncited.into_iter().for_each(|name| {
            sources.remove(name);
        });
    }
}
