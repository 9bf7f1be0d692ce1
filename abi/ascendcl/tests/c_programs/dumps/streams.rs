//! Dump files as tensors, and the tensors that they should have.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use opscope::Session;
use opscope::dump::ascend::AscendFile;
use opscope::dump::{Dumper, Io, IoSelection, KeepSink, Request, Selection};
use opscope::model::{Fidelity, RunId};
use opscope::tensor::{DType, Tensor, npy};
use opscope_c_programs::models;

/// A file, as a callback received it or as it is on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// What identifies a tensor: the model's number, the index of the dump, the operator, its input or output, the slot.
pub type Place = (u32, usize, String, Io, usize);

/// A tensor's type, shape and bytes.
pub type Value = (DType, Vec<usize>, Vec<u8>);

/// The tensors of dump files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content(pub BTreeMap<Place, Value>);

/// The path of a dump file, by its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpPath {
    /// `<dump_path>`.
    pub root: String,
    /// `<YYYYMMDDHHMMSS>`.
    pub time: String,
    pub device: String,
    pub model: String,
    pub model_id: u32,
    pub index: usize,
    pub op_type: String,
    pub op_name: String,
    pub task: u64,
    pub stream: u64,
    pub microseconds: u64,
}

impl DumpPath {
    /// Reads a path, which must have all parts.
    pub fn parse(path: &str) -> Self {
        let mut parts: Vec<&str> = path.rsplitn(7, '/').collect();
        assert!(parts.len() >= 6, "{path}");
        parts.resize(7, "");
        let [file, index, model_id, model, device, time, root] = parts[..] else { unreachable!() };
        let of_file: Vec<&str> = file.split('.').collect();
        let [op_type, op_name, task, stream, microseconds] = of_file[..] else { panic!("{file} is not a dump file") };
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{path}: {text} is not a number"));
        assert!(time.len() == 14 && number(time) > 20_200_000_000_000, "{path}");
        Self {
            root: root.to_owned(),
            time: time.to_owned(),
            device: device.to_owned(),
            model: model.to_owned(),
            model_id: number(model_id) as u32,
            index: number(index) as usize,
            op_type: op_type.to_owned(),
            op_name: op_name.to_owned(),
            task: number(task),
            stream: number(stream),
            microseconds: number(microseconds),
        }
    }
}

impl Content {
    /// Reads files, each of which must be whole and have a tensor that no other has.
    pub fn of(streams: &[Stream]) -> Self {
        let mut content = Self::default();
        for stream in streams {
            let path = DumpPath::parse(&stream.name);
            content.add(path.model_id, path.index, &stream.bytes);
        }
        content
    }

    /// Adds the tensors of a file.
    pub fn add(&mut self, model_id: u32, index: usize, bytes: &[u8]) {
        let file = AscendFile::from_bytes(Path::new("stream"), bytes).expect("a dump file");
        assert_eq!(file.version, "2.0");
        for tensor in &file.tensors {
            let data = bytes[tensor.offset as usize..][..tensor.bytes as usize].to_vec();
            let place = (model_id, index, file.op_name.clone(), tensor.io, tensor.slot);
            let value = (tensor.dtype.expect("a type"), tensor.shape.clone(), data);
            assert!(self.0.insert(place.clone(), value).is_none(), "{place:?} is there twice");
        }
    }

    /// Returns the tensors that the library's own dumper captures in runs of a model. The model gets this number.
    pub fn expected(model: &str, model_id: u32, runs: &[&[&str]], selection: Selection) -> Self {
        let session = Session::load(&models().join(model), Fidelity::Exact, NonZeroUsize::MIN).expect("a model");
        let (sink, kept) = KeepSink::new(u64::MAX, std::env::temp_dir());
        let dumper = Dumper::new();
        let dumped: Vec<u64> = (0..runs.len() as u64).filter(|run| selection.runs.contains(RunId(*run))).collect();
        dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() }).expect("a subscription");
        for inputs in runs {
            let inputs: Vec<Tensor> =
                inputs.iter().map(|name| npy::read_file(&models().join(name)).expect("npy")).collect();
            let plan = session.plan(&inputs).expect("a plan");
            dumper.add_plan(&**session.model(), &*plan).expect("a plan");
            session.run(&inputs, &[&dumper]).expect("a run");
        }
        dumper.finish().expect("an end");
        let mut content = Self::default();
        for tensor in kept.dump().tensors {
            let place = &tensor.place;
            let operator = place.operator.clone().expect("an operator");
            let read = tensor.read().expect("a tensor");
            let value = (read.dtype(), read.shape().to_vec(), read.bytes().to_vec());
            // Tensors that are the same in every run are in the files of each run.
            for run in place.run.map_or_else(|| dumped.clone(), |run| vec![run]) {
                let (io, slot) = (place.io.expect("a side"), place.slot.expect("a slot"));
                let place = (model_id, run as usize, operator.clone(), io, slot);
                assert!(content.0.insert(place, value.clone()).is_none());
            }
        }
        assert!(!content.0.is_empty());
        content
    }

    /// The same with the outputs of all operators.
    pub fn outputs(model: &str, model_id: u32, runs: &[&[&str]]) -> Self {
        Self::expected(model, model_id, runs, Selection { io: IoSelection::Outputs, ..Selection::default() })
    }

    /// Returns the tensors of both.
    pub fn and(mut self, other: Self) -> Self {
        for (place, value) in other.0 {
            assert!(self.0.insert(place, value).is_none());
        }
        self
    }

    /// Compares them tensor by tensor.
    #[track_caller]
    pub fn is(&self, expected: &Self) {
        let places = |content: &Self| content.0.keys().cloned().collect::<Vec<_>>();
        assert_eq!(places(self), places(expected), "the tensors that there are");
        for (place, value) in &self.0 {
            assert!(expected.0[place] == *value, "{place:?} differs");
        }
    }
}
