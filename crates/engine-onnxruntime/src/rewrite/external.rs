//! Data beside the file. The library gets it as memory: it would look for the files relative to the directory of the process,
//! because it is given the model as bytes.

use std::collections::BTreeMap;
use std::fs::File;

use memmap2::Mmap;
use opscope_onnx::{Graph, data_file};
use prost::Message;

use crate::proto::{GraphProto, ModelProto, TensorHead};

/// The contents of the files that a model keeps data in, by the names that it has for them.
#[derive(Default)]
pub(crate) struct ExternalFiles(Vec<(String, Mmap)>);

impl ExternalFiles {
    /// Maps the files of a model.
    ///
    /// # Errors
    /// Returns the system's error, with the file.
    pub fn map(graph: &Graph, proto: &ModelProto) -> Result<Self, String> {
        let mut names = BTreeMap::new();
        proto.graph.iter().for_each(|graph| locations(graph, &mut names));
        let map = |name: String| {
            let path = data_file(&graph.source.path, &name)?;
            let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            // SAFETY: as with every mapped file, nobody may shorten it while it is used; then a read of it ends the process.
            #[allow(unsafe_code)]
            let contents = unsafe { Mmap::map(&file) }.map_err(|error| format!("{}: {error}", path.display()))?;
            Ok((name, contents))
        };
        names.into_keys().map(map).collect::<Result<_, String>>().map(Self)
    }

    /// Returns each file's name and contents.
    pub fn contents(&self) -> Vec<(String, &[u8])> {
        self.0.iter().map(|(name, contents)| (name.clone(), &contents[..])).collect()
    }
}

fn locations(graph: &GraphProto, names: &mut BTreeMap<String, ()>) {
    let attributes = || graph.node.iter().flat_map(|node| &node.attribute);
    let tensors = attributes().flat_map(|attribute| attribute.t.iter().chain(&attribute.tensors));
    for tensor in graph.initializer.iter().chain(tensors) {
        let Ok(head) = TensorHead::decode(tensor.clone()) else { continue };
        let location = head.external_data.into_iter().find(|entry| entry.key == "location");
        if let Some(location) = location.filter(|_| head.data_location == 1) {
            names.insert(location.value, ());
        }
    }
    for inner in attributes().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs)) {
        locations(inner, names);
    }
}
