//! Directories with a file for each tensor, and single files with tensors.

use std::collections::BTreeMap;
use std::path::Path;

use opscope_dump::{Io, StoredDump};

use super::names::{self, TensorRtLlmName};
use super::one_file::tensors;
use super::{Format, msprobe, walk};
use crate::ImportError;
use crate::dump::files::Named;
use crate::dump::found::{Content, Elements, Found, Place, Rank, Unreadable};

/// The ends of the names of files with tensors.
const EXTENSIONS: [&str; 5] = ["pt", "pth", "npy", "npz", "safetensors"];

/// Returns whether a directory has the dumps of ranks that opscope wrote.
pub(super) fn is_of_ranks(path: &Path) -> bool {
    StoredDump::ranks(path)
        .iter()
        .any(|(_, rank)| Format::of(rank).is_none() && rank.join(opscope_dump::INDEX).exists())
}

/// Returns the format of a directory, from the names of its files.
pub(super) fn format(root: &Path) -> Option<Format> {
    let mut found = None;
    for (path, way) in walk::files(root) {
        let name = way.last().map_or("", String::as_str);
        if name == msprobe::FILE && Format::of_file(&path) == Some(Format::Msprobe) {
            return Some(Format::Msprobe);
        }
        let Some((stem, extension)) = tensor_file(name) else { continue };
        match (names::sglang(stem), names::tensorrt_llm(stem)) {
            (Some(_), _) if extension == "pt" => return Some(Format::Sglang),
            (_, Some(_)) => return Some(Format::TensorRtLlm),
            _ if extension == "npy" => found = found.or(Some(Format::Npy)),
            _ => found = Some(Format::Files),
        }
    }
    found
}

fn tensor_file(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.').filter(|(_, extension)| EXTENSIONS.contains(extension))
}

/// Returns what a directory or a file has, for each rank.
pub(super) fn read(format: Format, source: &Path) -> Result<Vec<Rank>, ImportError> {
    if !source.is_dir() {
        let tensors = tensors(source).map_err(|reason| ImportError::unknown(source, reason))?;
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let found = |named: Named| {
            let name = if named.name.is_empty() { stem.clone().into_owned() } else { named.name };
            plain(None, name, content(named.tensor))
        };
        return Ok(vec![Rank { tensors: tensors.into_iter().map(found).collect(), ..Rank::default() }]);
    }
    let mut ranks: BTreeMap<Option<u64>, Vec<(Order, Found)>> = BTreeMap::new();
    let mut problems: BTreeMap<Option<u64>, Vec<String>> = BTreeMap::new();
    for (path, way) in walk::files(source) {
        let Some((stem, _)) = way.last().and_then(|name| tensor_file(name)) else { continue };
        let sglang = names::sglang(stem).filter(|_| format == Format::Sglang);
        let rank = sglang.as_ref().and_then(|name| name.rank).or_else(|| walk::rank(&way));
        let named = match tensors(&path) {
            Ok(named) => named,
            Err(reason) => {
                // A tensor that is named by its file is missing by its name.
                problems.entry(rank).or_default().push(format!("{}: {reason}", way.join("/")));
                continue;
            }
        };
        let tensorrt_llm = names::tensorrt_llm(stem).filter(|_| format == Format::TensorRtLlm);
        let of_rank = ranks.entry(rank).or_default();
        for named in named {
            of_rank.extend(match (&sglang, &tensorrt_llm) {
                (Some(name), _) => of_sglang(name, named),
                (_, Some(name)) => Some(of_tensorrt_llm(name, walk::step(&way), named)),
                _ => Some(of_path(&way, stem, named)),
            });
        }
    }
    let mut found = Vec::new();
    for number in ranks.keys().chain(problems.keys()).copied().collect::<std::collections::BTreeSet<_>>() {
        let mut tensors = ranks.remove(&number).unwrap_or_default();
        tensors.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut tensors: Vec<Found> = tensors.into_iter().map(|(_, found)| found).collect();
        number_slots(&mut tensors);
        found.push(Rank { number, tensors, problems: problems.remove(&number).unwrap_or_default() });
    }
    if found.is_empty() {
        return Err(ImportError::unknown(source, "it has no file with tensors"));
    }
    Ok(found)
}

/// The order in which tensors were computed, as far as their names say so.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    step: Option<u64>,
    index: u64,
    modules: Vec<(u64, String)>,
    is_output: bool,
}

fn of_sglang(name: &names::SglangName, named: Named) -> Option<(Order, Found)> {
    // A file has the value, and what is known of it.
    let inner = match named.name.as_str() {
        meta if meta == "meta" || meta.starts_with("meta.") => return None,
        "value" | "" => "",
        inner => inner.strip_prefix("value.").unwrap_or(inner),
    };
    let full = if inner.is_empty() { name.name.clone() } else { format!("{}.{inner}", name.name) };
    let order = Order { step: name.step, index: name.index, modules: Vec::new(), is_output: true };
    Some((order, plain(Some(name.step.unwrap_or(0)), full, content(named.tensor))))
}

fn of_tensorrt_llm(name: &TensorRtLlmName, step: Option<u64>, named: Named) -> (Order, Found) {
    let (path, io) = (name.path(), name.io());
    let class = name.modules.last().map(|(_, name)| name.clone()).unwrap_or_default();
    let mut value = format!("{path}:{io}.{}", name.tensor);
    if !named.name.is_empty() {
        value += &format!(".{}", named.name);
    }
    let place = Place { name: path.clone(), op_type: class.clone(), module: Some((path, class)), ..Place::default() };
    let order = Order { step, index: 0, modules: name.modules.clone(), is_output: name.is_output };
    (order, Found { run: Some(step.unwrap_or(0)), place, io, slot: 0, value, content: content(named.tensor) })
}

fn of_path(way: &[String], stem: &str, named: Named) -> (Order, Found) {
    let (step, rank) = (walk::step(way), walk::rank(way));
    let is_number = |part: &&String| {
        let alone = std::slice::from_ref(*part);
        (step.is_some() && walk::step(alone) == step) || (rank.is_some() && walk::rank(alone) == rank)
    };
    let above = way.split_last().map_or(&[][..], |(_, above)| above);
    let mut parts: Vec<&str> = above.iter().filter(|part| !is_number(part)).map(String::as_str).collect();
    parts.push(stem);
    let mut name = parts.join("/");
    if !named.name.is_empty() {
        name += &format!(".{}", named.name);
    }
    let order = Order { step, index: 0, modules: Vec::new(), is_output: true };
    (order, plain(step, name, content(named.tensor)))
}

/// Returns a tensor of which only the name is known.
fn plain(run: Option<u64>, name: String, content: Content) -> Found {
    let place = Place { name: name.clone(), op_type: "Tensor".to_owned(), ..Place::default() };
    Found { run, place, io: Io::Output, slot: 0, value: name, content }
}

fn content(tensor: Result<Elements, Unreadable>) -> Content {
    match tensor {
        Ok((dtype, shape, data)) => Content::Elements(dtype, shape, data),
        Err(Unreadable(reason)) => Content::Missing(reason),
    }
}

/// Numbers the tensors of each operator that come one after the other, because the names of arguments are no numbers.
fn number_slots(tensors: &mut [Found]) {
    for at in 1..tensors.len() {
        let before = &tensors[at - 1];
        let is_next = (before.run, before.io) == (tensors[at].run, tensors[at].io) && before.place == tensors[at].place;
        if is_next && before.value != tensors[at].value {
            tensors[at].slot = before.slot + 1;
        }
    }
}
