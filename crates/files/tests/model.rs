//! A plain model of files and of what a power cut may leave of them, for the laws. It knows operations and their
//! completions, nothing of the layer below.
//!
//! Each page of a file has its versions since the last promise: a cut may leave any of them, and with torn sectors any for
//! each sector. Names are those after some number of operations, and not before the last that was promised.

use std::collections::BTreeMap;

use seekwise_files::operation::{RecoveredFile, Tear};

pub const PAGE: usize = 4096;

/// A file's contents through time.
#[derive(Clone, Debug, Default)]
pub struct ModelFile {
    pub bytes: Vec<u8>,
    /// By page: the versions that a cut may leave, each with the step that wrote it.
    versions: BTreeMap<usize, Vec<(u64, Vec<u8>)>>,
    lengths: Vec<(u64, usize)>,
    /// The step of its last change of name.
    named: u64,
}

/// A file or directory in the tree of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    File(u32),
    Directory,
}

type Tree = BTreeMap<String, Node>;

/// All files.
#[derive(Clone, Debug)]
pub struct Model {
    tear: Tear,
    pub step: u64,
    pub files: BTreeMap<u32, ModelFile>,
    /// The tree after each step that changed names.
    trees: Vec<(u64, Tree)>,
    /// The tree is at least as new as this step.
    promised_names: u64,
    next_file: u32,
}

fn page_of(bytes: &[u8], page: usize) -> Vec<u8> {
    let mut held = vec![0; PAGE];
    let from = (page * PAGE).min(bytes.len());
    let to = bytes.len().min(from + PAGE);
    held[..to - from].copy_from_slice(&bytes[from..to]);
    held
}

/// Drops versions that a promise at `step` excludes.
fn keep_since<T>(versions: &mut Vec<(u64, T)>, step: u64) {
    let first = versions.iter().rposition(|version| version.0 <= step).unwrap_or(0);
    versions.drain(..first);
}

impl Model {
    pub fn new(tear: Tear) -> Model {
        let trees = vec![(0, Tree::new())];
        Model { tear, step: 0, files: BTreeMap::new(), trees, promised_names: 0, next_file: 0 }
    }

    pub fn tree(&self) -> &Tree {
        &self.trees.last().expect("there is always one").1
    }

    fn change_tree(&mut self, change: impl FnOnce(&mut Tree)) {
        let mut tree = self.tree().clone();
        change(&mut tree);
        self.trees.push((self.step, tree));
    }

    pub fn create(&mut self, path: &str, is_directory: bool) -> Option<u32> {
        self.step += 1;
        let file = self.next_file;
        let node = if is_directory { Node::Directory } else { Node::File(file) };
        self.change_tree(|tree| _ = tree.insert(path.into(), node));
        if is_directory {
            return None;
        }
        self.next_file += 1;
        let lengths = vec![(self.step, 0)];
        self.files.insert(file, ModelFile { lengths, named: self.step, ..ModelFile::default() });
        Some(file)
    }

    pub fn rename(&mut self, from: &str, to: &str) {
        self.step += 1;
        let node = self.tree()[from];
        self.change_tree(|tree| {
            tree.remove(from);
            tree.insert(to.into(), node);
        });
        if let Node::File(file) = node {
            self.files.get_mut(&file).unwrap().named = self.step;
        }
    }

    pub fn remove(&mut self, path: &str) {
        self.step += 1;
        self.change_tree(|tree| _ = tree.remove(path));
    }

    pub fn write(&mut self, file: u32, from: usize, data: &[u8]) {
        self.step += 1;
        let step = self.step;
        let held = self.files.get_mut(&file).unwrap();
        let old = held.bytes.len();
        let end = from + data.len();
        if old < end {
            held.bytes.resize(end, 0);
            held.lengths.push((step, end));
        }
        held.bytes[from..end].copy_from_slice(data);
        for page in from.min(old) / PAGE..end.div_ceil(PAGE) {
            let version = (step, page_of(&held.bytes, page));
            held.versions.entry(page).or_insert_with(|| vec![(0, vec![0; PAGE])]).push(version);
        }
    }

    /// Cuts or extends a file; the bytes after a cut are zeros from then on.
    pub fn set_len(&mut self, file: u32, len: usize) {
        self.step += 1;
        let step = self.step;
        let held = self.files.get_mut(&file).unwrap();
        let old = held.bytes.len();
        held.bytes.resize(len, 0);
        held.lengths.push((step, len));
        for page in len.min(old) / PAGE..old.div_ceil(PAGE) {
            let version = (step, page_of(&held.bytes, page));
            held.versions.entry(page).or_insert_with(|| vec![(0, vec![0; PAGE])]).push(version);
        }
    }

    /// A sync of a file that was submitted at `step` has returned.
    pub fn promise(&mut self, file: u32, step: u64, with_names: bool) {
        let held = self.files.get_mut(&file).unwrap();
        held.versions.values_mut().for_each(|versions| keep_since(versions, step));
        keep_since(&mut held.lengths, step);
        if with_names && held.named <= step {
            self.promised_names = self.promised_names.max(held.named);
        }
    }

    /// A sync of everything that was submitted at `step` has returned.
    pub fn promise_all(&mut self, step: u64) {
        for file in self.files.keys().copied().collect::<Vec<_>>() {
            self.promise(file, step, true);
        }
        self.promised_names = self.promised_names.max(step);
    }

    /// An error if a cut must not have left these files.
    pub fn check(&self, found: &[RecoveredFile]) -> Result<(), String> {
        let names: BTreeMap<&str, bool> = found.iter().map(|it| (it.path.as_str(), it.contents.is_none())).collect();
        let first = self.trees.iter().rposition(|tree| tree.0 <= self.promised_names).unwrap_or(0);
        let has_names = |tree: &Tree| {
            tree.len() == names.len()
                && tree.iter().all(|(path, node)| names.get(path.as_str()) == Some(&(*node == Node::Directory)))
        };
        let mut complaint = format!("no tree since step {} has the names {names:?}", self.promised_names);
        for (_, tree) in self.trees[first..].iter().filter(|(_, tree)| has_names(tree)) {
            let check_one = |file: &RecoveredFile| match tree[&file.path] {
                Node::File(number) => self.files[&number].check(file, self.tear),
                Node::Directory => Ok(()),
            };
            match found.iter().try_for_each(check_one) {
                Ok(()) => return Ok(()),
                Err(error) => complaint = error,
            }
        }
        Err(complaint)
    }

    /// Goes on from the files that a mount found; a file with torn sectors is left out.
    pub fn restart(&mut self, found: &[RecoveredFile]) {
        let mut fresh = Model::new(self.tear);
        let mut tree = Tree::new();
        for RecoveredFile { path, contents, unreadable } in found {
            match contents {
                None => _ = tree.insert(path.clone(), Node::Directory),
                Some(bytes) if unreadable.is_empty() => {
                    let number = fresh.next_file;
                    fresh.next_file += 1;
                    let pages = 0..bytes.len().div_ceil(PAGE);
                    let versions = pages.map(|page| (page, vec![(0, page_of(bytes, page))])).collect();
                    let lengths = vec![(0, bytes.len())];
                    fresh.files.insert(number, ModelFile { bytes: bytes.clone(), versions, lengths, named: 0 });
                    tree.insert(path.clone(), Node::File(number));
                }
                Some(_) => {}
            }
        }
        fresh.trees = vec![(0, tree)];
        *self = fresh;
    }
}

impl ModelFile {
    fn check(&self, found: &RecoveredFile, tear: Tear) -> Result<(), String> {
        let (path, bytes) = (&found.path, found.contents.as_ref().expect("a file"));
        if !self.lengths.iter().any(|length| length.1 == bytes.len()) {
            let legal: Vec<usize> = self.lengths.iter().map(|length| length.1).collect();
            return Err(format!("{path} has {} bytes, expected one of {legal:?}", bytes.len()));
        }
        for page in 0..bytes.len().div_ceil(PAGE) {
            let zeros = vec![(0, vec![0; PAGE])];
            let versions = self.versions.get(&page).unwrap_or(&zeros);
            let unit = if tear == Tear::Page { PAGE } else { 512 };
            for at in (0..PAGE).step_by(unit) {
                let from = page * PAGE + at;
                let to = bytes.len().min(from + unit);
                let is_torn =
                    found.unreadable.iter().any(|torn| (torn.start as usize) < to && from < torn.end as usize);
                if from >= to || is_torn {
                    continue;
                }
                // A file cut to an older length has zeros of its own after it.
                let is_one = |version: &(u64, Vec<u8>)| version.1[at..at + to - from] == bytes[from..to];
                if !versions.iter().any(is_one) {
                    return Err(format!("{path}: bytes {from}..{to} are none of {} versions", versions.len()));
                }
            }
        }
        Ok(())
    }
}
