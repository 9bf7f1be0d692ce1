//! Dumps of programs, whose operators were found while they ran: what the first step was given.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use opscope_tensor::{DType, Tensor, npy};

use super::{StoredDump, StoredTensor, index};
use crate::InputEntry;

/// A tensor that the modules of a program took in the first step, and that none of them computed.
#[derive(Debug, Clone)]
pub struct ProgramInput<'d> {
    /// Its name: that of the operator outside of modules that computed it, or the operator that takes it first, and the
    /// slot.
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    data: Data<'d>,
}

#[derive(Debug, Clone)]
enum Data<'d> {
    File(PathBuf),
    Tensor(&'d StoredTensor),
}

/// The module of operators that are in none.
const NO_MODULE: &str = "script";

impl StoredDump {
    /// Returns whether it is of a program, whose operators were found while it ran.
    pub fn is_program(&self) -> bool {
        self.tensors.iter().any(|tensor| tensor.place.phase.is_some())
    }

    /// Returns the first step of a program that it has.
    pub fn first_step(&self) -> Option<u64> {
        self.tensors.iter().filter_map(|tensor| tensor.place.run).min()
    }

    /// Returns what the modules of a program were given in the first step of the dump, in the order in which they took
    /// it, without parameters and buffers. Tensors of which the dump has only hashes are missing.
    pub fn program_inputs(&self) -> Vec<ProgramInput<'_>> {
        let step = self.first_step();
        let arguments = self.arguments(step);
        if !arguments.is_empty() {
            return arguments;
        }
        let is_outside = |tensor: &StoredTensor| {
            tensor.place.operator.as_deref().is_some_and(|name| name.split(['/', '@']).next() == Some(NO_MODULE))
        };
        let in_step = || self.tensors.iter().filter(move |tensor| tensor.place.run == step);
        let mut names = HashSet::new();
        let mut inputs = Vec::new();
        let forward = in_step().filter(|tensor| tensor.place.phase.as_deref() == Some("forward"));
        for name in forward.filter(|tensor| !is_outside(tensor)).flat_map(|tensor| tensor.place.inputs.iter().flatten())
        {
            if names.insert(name.as_str()) {
                let computed = in_step().find(|other| other.place.value.as_deref() == Some(name));
                inputs.extend(match computed {
                    Some(tensor) if is_outside(tensor) => ProgramInput::computed(name, tensor),
                    Some(_) => None,
                    None => self.given_entry(step, name).and_then(|entry| self.given_input(entry)),
                });
            }
        }
        inputs
    }

    /// Returns the arguments of the outermost modules, which have names such as `Net:input0`.
    fn arguments(&self, step: Option<u64>) -> Vec<ProgramInput<'_>> {
        let runs = self.manifest.iter().flat_map(|manifest| manifest.given());
        let entries = runs.filter(|(run, _)| Some(*run) == step).flat_map(|(_, entries)| entries);
        let arguments = entries.filter(|entry| !entry.name.contains('/') && entry.name.contains(":input"));
        arguments.filter_map(|entry| self.given_input(entry)).collect()
    }

    fn given_entry(&self, step: Option<u64>, name: &str) -> Option<&InputEntry> {
        let mut runs = self.manifest.as_ref()?.given();
        let (_, entries) = runs.find(|(run, _)| Some(*run) == step)?;
        entries.iter().find(|entry| entry.name == name)
    }

    fn given_input(&self, entry: &InputEntry) -> Option<ProgramInput<'_>> {
        let root = self.path.canonicalize().ok()?;
        let file = index::inside(&root, entry.file.as_deref()?).ok()?;
        let dtype = entry.dtype;
        Some(ProgramInput { name: entry.name.clone(), dtype, shape: entry.shape.clone(), data: Data::File(file) })
    }
}

impl<'d> ProgramInput<'d> {
    fn computed(name: &str, tensor: &'d StoredTensor) -> Option<Self> {
        let has_data = !tensor.is_summary();
        let input = Self {
            name: name.to_owned(),
            dtype: tensor.dtype?,
            shape: tensor.shape.clone(),
            data: Data::Tensor(tensor),
        };
        has_data.then_some(input)
    }

    /// Reads the tensor.
    ///
    /// # Errors
    /// Returns an error if its file cannot be read, or has something else in it.
    pub fn read(&self) -> io::Result<Tensor> {
        let tensor = match &self.data {
            Data::File(path) => npy::read_file(path).map_err(io::Error::other)?,
            Data::Tensor(tensor) => tensor.read()?,
        };
        if (tensor.dtype(), tensor.shape()) != (self.dtype, &self.shape[..]) {
            return Err(io::Error::other(format!("'{}' is not what the manifest says", self.name)));
        }
        Ok(tensor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_arguments_of_the_outermost_modules_are_what_a_program_was_given() {
        let root = tempfile::tempdir().unwrap();
        let entry = |name: &str| json!({ "name": name, "dtype": "float32", "shape": [2], "xxh3": "00000000deadbeef", "file": "given.npy" });
        let names = ["Net:input0", "Net/layer:input0", "Net/layer.weight", "scale", "Net:input1"];
        let manifest = json!({
            "schema": "opscope.dump/1", "complete": true, "writer": "a test", "fidelity": "exact", "contents": "statistics",
            "model": { "path": "train.py", "name": "Net", "xxh3": "00000000deadbeef" },
            "engine": { "name": "paper", "version": "1" }, "tensors": 1, "bytes": 8, "inputs": [names.map(entry)],
            "runs": [{ "run": 0, "inputs": 0, "failure": null, "in_flight": [] }], "raw": [],
            "missing_count": 0, "missing": [], "errors": [],
        });
        let line = json!({
            "run": 0, "operator": "Net/add", "op_type": "add", "phase": "forward", "position": 0, "io": "output", "slot": 0,
            "value": "y", "dtype": "float32", "shape": [2], "file": null, "bytes": 8, "xxh3": "00000000deadbeef",
            "min": 0.0, "max": 1.0, "mean": 0.5, "nan": 0, "inf": 0, "state": "statistics",
        });
        std::fs::write(root.path().join("manifest.json"), manifest.to_string()).unwrap();
        std::fs::write(root.path().join("index.jsonl"), format!("{line}\n")).unwrap();
        let given = Tensor::from_f32(vec![2], &[0.5, 4.0]).unwrap();
        npy::write(&given.view(), &mut std::fs::File::create_new(root.path().join("given.npy")).unwrap()).unwrap();
        let dump = StoredDump::open(root.path()).unwrap();
        let inputs = dump.program_inputs();
        let found: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        assert_eq!(found, ["Net:input0", "Net:input1"]);
        assert_eq!(inputs[0].read().unwrap().bytes(), given.bytes());
    }
}
