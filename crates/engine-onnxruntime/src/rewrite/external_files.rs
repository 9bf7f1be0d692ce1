//! External data. The library receives the files' contents as memory: since it is given the model as bytes, it would
//! look for the files relative to the working directory. From memory it accepts no tensor of more than two gigabytes;
//! for a model with such a tensor, it is given the directory of the files, and reads them itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use opscope_files::open_regular;
use opscope_onnx::{Graph, data_file};
use opscope_tensor::DType;
use prost::Message;
use prost::bytes::Bytes;
use prost::encoding::{DecodeContext, decode_key, skip_field};

use crate::errors::Refusal;
use crate::proto::{GraphProto, ModelProto, TensorHead};

/// The files that a model stores data in.
#[derive(Default)]
pub(crate) struct ExternalFiles {
    /// Their contents, by the names that the model has for them.
    contents: Vec<(String, Mmap)>,
    /// The directory of the files, if the library has to read them itself.
    place: Option<FileDirectory>,
}

/// The directory of all files. The library follows no link out of it, so the files' real names are used.
struct FileDirectory {
    directory: PathBuf,
    names: BTreeMap<String, String>,
}

/// The field number of a tensor's external data.
const EXTERNAL_DATA: u32 = 13;

/// The size in bytes from which the library does not accept a tensor from memory.
const LARGEST_IN_MEMORY: u64 = 1 << 31;

impl ExternalFiles {
    /// Maps the files of a model.
    ///
    /// # Errors
    /// Returns the system's error, with the file.
    pub fn map(graph: &Graph, proto: &ModelProto) -> Result<Self, Refusal> {
        let mut names = BTreeMap::new();
        proto.graph.iter().for_each(|graph| locations(graph, &mut names));
        let largest = names.values().max().copied().unwrap_or(0);
        let place = (largest > LARGEST_IN_MEMORY).then(|| FileDirectory::of(&graph.source.path, names.keys()));
        let map = |name: String| {
            let path = data_file(&graph.source.path, &name).map_err(|error| error.to_string())?;
            let file = open_regular(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            // SAFETY: as for every mapped file, no process may truncate it while it is used, because a read would then
            // end this process.
            #[allow(unsafe_code)]
            let contents = unsafe { Mmap::map(&file) }.map_err(|error| format!("{}: {error}", path.display()))?;
            Ok((name, contents))
        };
        let contents = names.into_keys().map(map).collect::<Result<_, Refusal>>()?;
        Ok(Self { contents, place: place.flatten() })
    }

    /// Returns the directory that the library reads them from, unless it receives their contents.
    pub fn directory(&self) -> Option<&Path> {
        self.place.as_ref().map(|place| place.directory.as_path())
    }

    /// Replaces the names of the files in a model by their names in the [directory](Self::directory).
    pub fn name_in(&self, model: &mut ModelProto) {
        if let (Some(place), Some(graph)) = (&self.place, &mut model.graph) {
            place.name_in(graph);
        }
    }

    /// Returns each file's name and contents.
    pub fn contents(&self) -> Vec<(String, &[u8])> {
        self.contents.iter().map(|(name, contents)| (name.clone(), &contents[..])).collect()
    }
}

impl FileDirectory {
    /// Returns the directory of a model's files; `None` if they are not in one directory.
    fn of<'a>(model: &Path, names: impl Iterator<Item = &'a String>) -> Option<Self> {
        let mut place = Self { directory: PathBuf::new(), names: BTreeMap::new() };
        for name in names {
            let file = data_file(model, name).ok()?;
            // A file that is not a link, in a directory below that of the model.
            let below = Path::new(name).components().count();
            let is_named = file.ends_with(name);
            let directory = file.ancestors().nth(if is_named { below } else { 1 })?;
            if place.names.is_empty() {
                place.directory = directory.to_owned();
            }
            let real = file.strip_prefix(&place.directory).ok()?.to_str()?;
            place.names.insert(name.clone(), real.to_owned());
        }
        Some(place)
    }

    fn name_in(&self, graph: &mut GraphProto) {
        for tensor in &mut graph.initializer {
            self.name(tensor);
        }
        for attribute in graph.node.iter_mut().flat_map(|node| &mut node.attribute) {
            attribute.t.iter_mut().chain(&mut attribute.tensors).for_each(|tensor| self.name(tensor));
            attribute.g.iter_mut().chain(&mut attribute.graphs).for_each(|graph| self.name_in(graph));
        }
    }

    fn name(&self, tensor: &mut Bytes) {
        let Ok(mut head) = TensorHead::decode(tensor.clone()) else { return };
        let location = head.external_data.iter_mut().find(|entry| entry.key == "location");
        let Some(location) = location.filter(|_| head.data_location == 1) else { return };
        let Some(real) = self.names.get(&location.value).filter(|real| **real != location.value) else { return };
        location.value = real.clone();
        let entries = TensorHead { external_data: head.external_data, ..TensorHead::default() };
        if let Some(others) = without_external_data(tensor) {
            *tensor = [others, entries.encode_to_vec()].concat().into();
        }
    }
}

/// Returns the bytes of a tensor's fields without its external data. This code does not know all of the other fields.
fn without_external_data(tensor: &Bytes) -> Option<Vec<u8>> {
    let (mut rest, mut kept) = (tensor.clone(), Vec::new());
    while !rest.is_empty() {
        let field = rest.clone();
        let (number, wire_type) = decode_key(&mut rest).ok()?;
        skip_field(wire_type, number, &mut rest, DecodeContext::default()).ok()?;
        if number != EXTERNAL_DATA {
            kept.extend_from_slice(&field[..field.len() - rest.len()]);
        }
    }
    Some(kept)
}

/// Collects the names of files, each with the size of the largest tensor in it.
fn locations(graph: &GraphProto, names: &mut BTreeMap<String, u64>) {
    let attributes = || graph.node.iter().flat_map(|node| &node.attribute);
    let tensors = attributes().flat_map(|attribute| attribute.t.iter().chain(&attribute.tensors));
    for tensor in graph.initializer.iter().chain(tensors) {
        let Ok(head) = TensorHead::decode(tensor.clone()) else { continue };
        let location = head.external_data.into_iter().find(|entry| entry.key == "location");
        if let Some(location) = location.filter(|_| head.data_location == 1) {
            let elements = head.dims.iter().try_fold(1usize, |all, &dim| all.checked_mul(usize::try_from(dim).ok()?));
            let bytes = elements.and_then(|elements| DType::from_onnx(head.data_type)?.bytes_of(elements));
            let largest: &mut u64 = names.entry(location.value).or_default();
            *largest = bytes.map_or(0, |bytes| bytes as u64).max(*largest);
        }
    }
    for inner in attributes().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs)) {
        locations(inner, names);
    }
}
