//! A model file that is changed and written again.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::mem;
use std::path::{Path, PathBuf};

use opscope_files::part_of;
use opscope_tensor::{DType, Tensor};
use prost::Message;
use prost::bytes::Bytes;

use crate::proto::{AttributeProto, DATA_IS_EXTERNAL, GraphProto, ModelProto, StringStringEntryProto, TensorProto};
use crate::{Graph, OnnxError};

/// The messages of a graph's file, to be changed and written as another file.
///
/// Weights are not copied before the file is written: they stay parts of the original's bytes, or in the files beside
/// it.
#[derive(Debug, Clone)]
pub struct ModelFile<'g> {
    /// The messages.
    pub proto: ModelProto,
    graph: &'g Graph,
    /// Tensors that are written with elements of another floating-point type, by name.
    stored_as: HashMap<String, DType>,
}

/// Why a model file cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The data of the original cannot be read.
    #[error(transparent)]
    Original(#[from] OnnxError),
    /// The new file, or the file with its data, cannot be written.
    #[error("the model {path:?} cannot be written: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The most bytes of tensors in a file without external data. ONNX allows 2 GiB for the whole file.
const MOST_INSIDE: u64 = 3 << 29;

/// The smallest tensor that is stored outside of a large model's file, and the alignment of such tensors, in bytes.
const OUTSIDE: usize = 4096;

impl<'g> ModelFile<'g> {
    /// Reads the messages of a graph's file again.
    ///
    /// # Errors
    /// Returns an error if the bytes are no longer those of a model.
    pub fn of(graph: &'g Graph) -> Result<Self, OnnxError> {
        let damaged = |reason: String| OnnxError::NotOnnx { path: graph.source.path.clone(), reason };
        let proto = ModelProto::decode(graph.source.bytes.clone()).map_err(|error| damaged(error.to_string()))?;
        if proto.graph.is_none() {
            return Err(damaged("there is no graph in it".to_owned()));
        }
        Ok(Self { proto, graph, stored_as: HashMap::new() })
    }

    /// Returns the main graph.
    pub fn main(&mut self) -> &mut GraphProto {
        self.proto.graph.get_or_insert_default()
    }

    /// Returns the name of each operator's node in the file, by id. A node without a name has that of the operator.
    pub fn node_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.graph.all_operators().map(|operator| operator.name.clone()).collect();
        let Some(main) = &self.proto.graph else { return names };
        self.graph.each_graph(main, &mut |proto, operators, _| {
            for operator in operators {
                if let Some(node) = proto.node.get(operator.position).filter(|node| !node.name.is_empty()) {
                    names[operator.id.index()].clone_from(&node.name);
                }
            }
        });
        names
    }

    /// Requests that the tensor with this name be written with elements of another floating-point type. The message
    /// keeps the type and the data that the tensor has.
    pub fn store_as(&mut self, name: &str, dtype: DType) {
        self.stored_as.insert(name.to_owned(), dtype);
    }

    /// Returns the messages with all data in them.
    ///
    /// # Errors
    /// Returns an error if data of the original cannot be read.
    pub fn encode(&self) -> Result<Bytes, OnnxError> {
        let mut proto = self.proto.clone();
        for_each_tensor(proto.graph.get_or_insert_default(), &mut |tensor| {
            if (tensor.data_location == DATA_IS_EXTERNAL || self.stored_as.contains_key(&tensor.name))
                && let Some(data) = self.data(tensor)?
            {
                let raw_data = Bytes::copy_from_slice(data.bytes());
                *tensor = TensorProto { raw_data, ..without_data(tensor, data.dtype()) };
            }
            Ok::<(), OnnxError>(())
        })?;
        Ok(proto.encode_to_vec().into())
    }

    /// Writes the file, and replaces one that is there. The data of a model that would have more than 1.5 GiB goes to a
    /// file beside it, whose name is that of the model with `.data` behind it. A file without its data is never left.
    ///
    /// # Errors
    /// Returns an error if data of the original cannot be read, or if a file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        self.write_within(path, MOST_INSIDE)
    }

    /// Writes the file, with the data beside it if that has more bytes than `most_inside`.
    fn write_within(&self, path: &Path, most_inside: u64) -> Result<(), WriteError> {
        let failed = |source| WriteError::Io { path: path.to_owned(), source };
        let mut proto = self.proto.clone();
        let main = proto.graph.get_or_insert_default();
        if self.size(main) <= most_inside {
            return opscope_files::replace_whole(path, &self.encode()?).map_err(failed);
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".data");
        let beside = path.with_file_name(&name);
        let part = part_of(&beside).map_err(failed)?;
        let mut file = BufWriter::new(part.as_file());
        let mut end = 0;
        for_each_tensor(main, &mut |tensor| {
            let Some(data) = self.data(tensor)? else { return Ok(()) };
            let mut stored = without_data(tensor, data.dtype());
            if data.bytes().len() < OUTSIDE {
                stored.raw_data = Bytes::copy_from_slice(data.bytes());
            } else {
                let start = usize::next_multiple_of(end, OUTSIDE);
                file.write_all(&vec![0; start - end]).and_then(|()| file.write_all(data.bytes())).map_err(failed)?;
                end = start + data.bytes().len();
                let entry = |key: &str, value: String| StringStringEntryProto { key: key.to_owned(), value };
                stored.data_location = DATA_IS_EXTERNAL;
                stored.external_data = vec![
                    entry("location", name.to_string_lossy().into_owned()),
                    entry("offset", start.to_string()),
                    entry("length", data.bytes().len().to_string()),
                ];
            }
            *tensor = stored;
            Ok::<(), WriteError>(())
        })?;
        file.flush().map_err(failed)?;
        drop(file);
        part.persist(&beside).map_err(|error| failed(error.error))?;
        opscope_files::replace_whole(path, &proto.encode_to_vec()).map_err(failed)
    }

    /// Returns the bytes that all tensors of a graph take in the file.
    fn size(&self, graph: &mut GraphProto) -> u64 {
        let mut size = 0;
        let counted = for_each_tensor(graph, &mut |tensor| {
            let dtype = self.stored_as.get(&tensor.name).copied().or(DType::from_onnx(tensor.data_type));
            let elements = tensor.dims.iter().map(|&dim| dim.max(0) as usize).product();
            size += dtype.and_then(|dtype| dtype.bytes_of(elements)).unwrap_or(0) as u64;
            Ok::<(), std::convert::Infallible>(())
        });
        counted.map_or_else(|never| match never {}, |()| size)
    }

    /// Returns a tensor as it is written, or `None` for strings, which have no representation in bytes.
    fn data(&self, tensor: &TensorProto) -> Result<Option<Tensor>, OnnxError> {
        let damaged = |reason: String| OnnxError::NotOnnx { path: self.graph.source.path.clone(), reason };
        let Some(dtype) = DType::from_onnx(tensor.data_type).filter(|dtype| *dtype != DType::String) else {
            return Ok(None);
        };
        let shape: Vec<usize> = tensor.dims.iter().map(|&dim| dim.max(0) as usize).collect();
        let original = Tensor::new(dtype, shape, self.graph.bytes(tensor, dtype)?);
        let original = original.map_err(|error| damaged(error.to_string()))?;
        match self.stored_as.get(&tensor.name) {
            None => Ok(Some(original)),
            Some(&wanted) => original
                .cast(wanted)
                .map(Some)
                .ok_or_else(|| damaged(format!("tensor '{}' is {dtype} and cannot become {wanted}", tensor.name))),
        }
    }
}

/// Returns the message of a tensor without its data, with this element type.
fn without_data(tensor: &mut TensorProto, dtype: DType) -> TensorProto {
    TensorProto {
        dims: mem::take(&mut tensor.dims),
        name: mem::take(&mut tensor.name),
        doc_string: mem::take(&mut tensor.doc_string),
        metadata_props: mem::take(&mut tensor.metadata_props),
        data_type: dtype.onnx_code(),
        ..TensorProto::default()
    }
}

/// Calls `visit` for every tensor of a graph: initializers and those in attributes, at any depth.
fn for_each_tensor<E>(
    graph: &mut GraphProto,
    visit: &mut dyn FnMut(&mut TensorProto) -> Result<(), E>,
) -> Result<(), E> {
    graph.initializer.iter_mut().try_for_each(&mut *visit)?;
    for attribute in graph.node.iter_mut().flat_map(|node| &mut node.attribute) {
        let AttributeProto { t, g, tensors, graphs, .. } = attribute;
        t.iter_mut().chain(tensors).try_for_each(&mut *visit)?;
        g.iter_mut().chain(graphs).try_for_each(|graph| for_each_tensor(graph, visit))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{NodeProto, OperatorSetIdProto, TensorTypeProto, TypeProto, ValueInfoProto};

    fn value(name: &str) -> ValueInfoProto {
        let tensor_type = Some(TensorTypeProto { elem_type: 1, shape: None });
        let r#type = Some(TypeProto { tensor_type, ..TypeProto::default() });
        ValueInfoProto {
            name: name.to_owned(),
            r#type,
            doc_string: Bytes::from_static(b"kept"),
            ..ValueInfoProto::default()
        }
    }

    fn weight(name: &str, elements: usize) -> TensorProto {
        let float_data = (0..elements).map(|number| number as f32).collect();
        TensorProto {
            name: name.to_owned(),
            dims: vec![elements as i64],
            data_type: 1,
            float_data,
            ..TensorProto::default()
        }
    }

    /// x + large + small, where `large` has 4096 bytes and `small` 4092.
    fn model() -> ModelProto {
        let add = |name: &str, inputs: [&str; 2], output: &str| NodeProto {
            name: name.to_owned(),
            op_type: "Add".to_owned(),
            input: inputs.map(str::to_owned).to_vec(),
            output: vec![output.to_owned()],
            doc_string: Bytes::from_static(b"as it was"),
            ..NodeProto::default()
        };
        let graph = GraphProto {
            name: "graph".to_owned(),
            node: vec![add("", ["x", "large"], "a"), add("second", ["a", "small"], "y")],
            input: vec![value("x")],
            output: vec![value("y")],
            initializer: vec![weight("large", 1024), weight("small", 1023)],
            ..GraphProto::default()
        };
        let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 17 }];
        ModelProto { ir_version: 8, graph: Some(graph), opset_import, ..ModelProto::default() }
    }

    fn graph() -> Graph {
        Graph::from_bytes("model.onnx".as_ref(), model().encode_to_vec().into()).unwrap()
    }

    /// Returns the elements of the initializers of a file, by name.
    fn stored(path: &Path) -> Vec<(String, DType, Vec<u8>)> {
        let graph = Graph::load(path).unwrap();
        let mut found = Vec::new();
        let read = graph.initializers::<OnnxError>(
            |_| true,
            |id, tensor| {
                found.push((graph.value(id).name.clone(), tensor.dtype(), tensor.bytes().to_vec()));
                Ok(())
            },
        );
        read.unwrap();
        found
    }

    fn floats(elements: u16) -> Vec<u8> {
        (0..elements).flat_map(|number| f32::from(number).to_le_bytes()).collect()
    }

    #[test]
    fn a_file_that_is_not_changed_is_written_as_it_was() {
        let graph = graph();
        let encoded = ModelFile::of(&graph).unwrap().encode().unwrap();
        assert_eq!(ModelProto::decode(encoded).unwrap(), model());
    }

    #[test]
    fn nodes_have_the_names_of_the_file_and_those_without_the_names_of_their_operators() {
        let graph = graph();
        assert_eq!(ModelFile::of(&graph).unwrap().node_names(), ["Add_0", "second"]);
    }

    #[test]
    fn a_tensor_is_stored_in_another_type_and_the_others_in_theirs() {
        let graph = graph();
        let mut file = ModelFile::of(&graph).unwrap();
        file.store_as("small", DType::F16);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model.onnx");
        file.write(&path).unwrap();
        // 1 and 1022 as numbers of fp16, by hand: 0x3c00 and 0x63fc.
        let [large, small] = &stored(&path)[..] else { panic!("there are two") };
        assert_eq!(*large, ("large".to_owned(), DType::F32, floats(1024)));
        assert_eq!((small.1, &small.2[2..4], &small.2[2044..]), (DType::F16, &[0x00, 0x3c][..], &[0xfc, 0x63][..]));
    }

    #[test]
    fn data_beyond_the_limit_lies_beside_the_file_and_each_tensor_begins_a_page() {
        let graph = graph();
        let file = ModelFile::of(&graph).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (path, beside) = (directory.path().join("model.onnx"), directory.path().join("model.onnx.data"));
        // Exactly the bytes of both tensors.
        file.write_within(&path, 8188).unwrap();
        assert!(!beside.exists());
        let inside = stored(&path);
        file.write_within(&path, 8187).unwrap();
        assert_eq!(stored(&path), inside);
        // Only the large tensor lies there: the other one is smaller than a page.
        assert_eq!(fs::read(&beside).unwrap(), floats(1024));
        let mut two = ModelFile::of(&graph).unwrap();
        two.main().initializer[1] = weight("small", 1025);
        two.main().initializer.push(weight("third", 1024));
        two.write_within(&path, 0).unwrap();
        let bytes = fs::read(&beside).unwrap();
        assert_eq!(bytes.len(), 12288 + 4096);
        assert_eq!((&bytes[4096..8196], &bytes[8196..12288]), (&floats(1025)[..], &[0; 4092][..]));
        assert_eq!(stored(&path)[2].2, floats(1024));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_with_its_path() {
        let graph = graph();
        let error = ModelFile::of(&graph).unwrap().write("/nowhere/model.onnx".as_ref()).unwrap_err();
        assert!(error.to_string().starts_with("the model \"/nowhere/model.onnx\" cannot be written: "), "{error}");
    }
}
