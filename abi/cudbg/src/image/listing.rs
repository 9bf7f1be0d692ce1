//! The listing, which is the text that a debugger shows as a model's source code, with a line for each operator; and
//! the names of symbols, which are the names in the file, in a form that debuggers can parse.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use opscope_text::shown_text;
use rustix::process::geteuid;
use xxhash_rust::xxh3::xxh3_64;

use crate::graph::{Graph, Value};

/// A line has at most this many characters of a name, and this many inputs and outputs.
const MOST_NAME: usize = 200;
const MOST_SLOTS: usize = 64;

/// A listing and the place of its file.
#[derive(Debug)]
pub struct Listing {
    pub text: String,
    /// The directory of its file.
    pub directory: PathBuf,
    /// The file's name. It contains a hash of the text, so different texts are in different files.
    pub file: String,
}

impl Listing {
    /// Makes the listing of a graph. Does not write it.
    pub fn new(graph: &Graph, directory: PathBuf) -> Self {
        let mut text = String::new();
        for (index, operator) in graph.operators.iter().enumerate() {
            let _ = write!(text, "#{index} {} {}: ", shown(&operator.op_type), shown(&operator.name));
            slots(&mut text, graph, &operator.inputs);
            text.push_str(" -> ");
            slots(&mut text, graph, &operator.outputs);
            text.push('\n');
        }
        let name: String =
            graph.name.chars().filter(|sign| sign.is_ascii_alphanumeric() || "_-".contains(*sign)).take(64).collect();
        let name = if name.is_empty() { "model" } else { &name };
        let file = format!("{name}-{:016x}.txt", xxh3_64(text.as_bytes()));
        Self { text, directory, file }
    }

    /// Writes the file, unless it exists. Makes the directory if it does not exist; only its user can access it then.
    ///
    /// # Errors
    /// Returns an error of the file system, or an error if the directory is a link, belongs to another user, or can be
    /// written to by other users.
    pub fn write(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        check_owner(&self.directory)?;
        let path = self.directory.join(&self.file);
        if opscope_files::read(&path, self.text.len() as u64).is_ok_and(|there| there == self.text.as_bytes()) {
            return Ok(());
        }
        let beside = self.directory.join(format!("{}.{}", self.file, std::process::id()));
        fs::File::create(&beside)?.write_all(self.text.as_bytes())?;
        fs::rename(beside, path)
    }
}

/// Returns the directory for listings: `OPSCOPE_LISTINGS` if it is an absolute path, or `opscope/listings` in the
/// user's cache.
pub fn directory() -> PathBuf {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| Path::new(value).is_absolute()).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let fallback = || std::env::temp_dir().join(format!("opscope-{}", geteuid().as_raw()));
    let own = || cache().map_or_else(fallback, |cache| cache.join("opscope")).join("listings");
    variable("OPSCOPE_LISTINGS").unwrap_or_else(own)
}

/// Checks that no other user can write a file to this directory.
fn check_owner(directory: &Path) -> io::Result<()> {
    let found = directory.symlink_metadata()?;
    if found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let place = directory.display();
    Err(io::Error::other(format!("other users can write to {place}; set OPSCOPE_LISTINGS to a directory of your own")))
}

fn slots(line: &mut String, graph: &Graph, slots: &[Option<u32>]) {
    for (index, slot) in slots.iter().take(MOST_SLOTS).enumerate() {
        line.push_str(if index > 0 { ", " } else { "" });
        match slot.and_then(|value| graph.values.get(value as usize)) {
            Some(value) => tensor(line, value),
            None => line.push('_'),
        }
    }
    if slots.len() > MOST_SLOTS {
        let _ = write!(line, ", ... {} more", slots.len() - MOST_SLOTS);
    }
}

fn tensor(line: &mut String, value: &Value) {
    line.push_str(&shown(&value.name));
    if let Some(dtype) = &value.dtype {
        let _ = write!(line, " {}", dtype);
    }
    if let Some(shape) = &value.shape {
        let dimensions: Vec<_> = shape.iter().map(|dimension| shown(dimension)).collect();
        let _ = write!(line, "[{}]", dimensions.join(", "));
    }
}

/// Returns a text of the model's file, shortened, and printable on one line.
fn shown(text: &str) -> String {
    let end = text.char_indices().nth(MOST_NAME).map_or(text.len(), |(end, _)| end);
    let dots = if end < text.len() { "..." } else { "" };
    format!("{}{dots}", shown_text(&text[..end]))
}

/// How many bytes of a name are kept. The rest is cut off.
const MOST: usize = 512;

/// The symbols of a model. No two are the same.
#[derive(Debug)]
pub struct Names {
    /// The symbols of the operators by index.
    pub operators: Vec<String>,
    /// The symbols of the values by index.
    pub values: Vec<String>,
}

impl Names {
    /// Returns symbols for the operators and values of a graph. A name of the file is kept unchanged if every debugger
    /// can parse it.
    pub fn new(graph: &Graph) -> Self {
        let mut taken = HashSet::new();
        let operators = graph.operators.iter().enumerate();
        let operators =
            operators.map(|(index, operator)| unique(&mut taken, &operator.name, "operator", index)).collect();
        let values = graph.values.iter().enumerate();
        let values = values.map(|(index, value)| unique(&mut taken, &value.name, "value", index)).collect();
        Self { operators, values }
    }

    /// Returns the operator with this symbol.
    pub fn operator(&self, symbol: &str) -> Option<u32> {
        self.operators.iter().position(|name| name == symbol).map(|index| index as u32)
    }
}

/// Returns a symbol for a name. It differs from all that are taken.
fn unique(taken: &mut HashSet<String>, name: &str, kind: &str, index: usize) -> String {
    let plain = plain(name);
    // A name must not begin with a digit, because a debugger takes a number for a line.
    let named = match plain.starts_with(|first: char| first.is_ascii_alphabetic() || "_/".contains(first)) {
        true => plain,
        false if plain.is_empty() => format!("{kind}_{index}"),
        false => format!("_{plain}"),
    };
    let mut symbol = named.clone();
    let mut attempt = index;
    while !taken.insert(symbol.clone()) {
        symbol = format!("{named}.{attempt}");
        attempt += 1;
    }
    symbol
}

/// Replaces characters that the parsers of debuggers cannot read in a name, such as spaces, colons, brackets, quotes,
/// and all that are not ASCII.
fn plain(name: &str) -> String {
    let allowed = |sign: char| sign.is_ascii_alphanumeric() || "_./$".contains(sign);
    name.chars().map(|sign| if allowed(sign) { sign } else { '_' }).take(MOST).collect()
}
