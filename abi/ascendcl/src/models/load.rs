//! How models are measured, loaded and unloaded.

use std::ffi::c_void;
use std::num::NonZeroUsize;

use opscope::Session;
use opscope::engine::embedded;
use opscope::model::{Fidelity, LoadOptions};
use opscope::onnx::Producer;
use opscope_border::{Bytes, Out, Text, exported};

use super::model::{Model, ModelId, add, attach_once, next_id};
use super::port::{Port, bytes_of};
use super::source::{Source, read_file, read_memory};
use crate::border::{Failure, codes};
use crate::forks::Shared;
use crate::{contexts, dump, recordings};

/// The address and size of memory that a program provides for a model.
pub(super) type Memory = (*mut c_void, usize);

/// Loads a model's file.
#[exported]
pub fn aclmdlLoadFromFile(model_path: Text<'_>, model_id: Out<'_, u32>) -> Result<(), Failure> {
    load(model_id, || read_file(model_path))
}

/// Loads a model from memory, which it copies.
#[exported]
pub fn aclmdlLoadFromMem(
    #[counted_by(model_size)] model: Bytes<'_>,
    model_size: usize,
    model_id: Out<'_, u32>,
) -> Result<(), Failure> {
    load(model_id, || read_memory(model))
}

/// Loads a model's file, with memory that the program provides.
#[exported]
pub fn aclmdlLoadFromFileWithMem(
    model_path: Text<'_>,
    model_id: Out<'_, u32>,
    work: *mut c_void,
    work_size: usize,
    weights: *mut c_void,
    weight_size: usize,
) -> Result<(), Failure> {
    load(model_id, || with_memory(read_file(model_path)?, (work, work_size), (weights, weight_size)))
}

/// Loads a model from memory, which it copies, with memory that the program provides.
#[exported]
pub fn aclmdlLoadFromMemWithMem(
    #[counted_by(model_size)] model: Bytes<'_>,
    model_size: usize,
    model_id: Out<'_, u32>,
    work: *mut c_void,
    work_size: usize,
    weights: *mut c_void,
    weight_size: usize,
) -> Result<(), Failure> {
    let read = || with_memory(read_memory(model)?, (work, work_size), (weights, weight_size));
    load(model_id, read)
}

/// Checks the memory that the program provides for a model, and returns the model.
pub(super) fn with_memory(source: Source, work: Memory, weights: Memory) -> Result<Source, Failure> {
    Sizes::of(&source).check(work, weights)?;
    Ok(source)
}

/// Loads a graph, and writes the model's number.
pub(super) fn load(id: Out<'_, ModelId>, read: impl FnOnce() -> Result<Source, Failure>) -> Result<(), Failure> {
    let to = id.place("modelId")?;
    let Source { graph, gears } = read()?;
    contexts::check_current()?;
    attach_once();
    prepare_once();
    let fidelity = if dump::wants_exact() { Fidelity::Exact } else { Fidelity::Optimised };
    let options = LoadOptions::new(fidelity, NonZeroUsize::MIN);
    let session = Session::with_graph(graph, &options).map_err(|error| {
        Failure::new(codes::GE_LOAD_MODEL, "EH0012", format!("the model cannot be loaded: {error}"))
    })?;
    let id = next_id();
    dump::loaded(id, &session);
    recordings::loaded(id, &session);
    add(Model::new(id, session, gears));
    to.write(id);
    Ok(())
}

/// Whether the engine has prepared the state that all models share.
static IS_PREPARED: Shared<bool> = Shared::new(false, || IS_PREPARED.held(|_| ()));

/// Prepares the state of the engine that all models share, before the first model is loaded. A fork waits for this,
/// because the child would not have the thread that finishes it.
pub(super) fn prepare_once() {
    let mut is_prepared = IS_PREPARED.lock();
    if !*is_prepared {
        embedded().prepare();
        *is_prepared = true;
    }
}

/// The sizes of the memory that a program provides for a model.
///
/// The engine has its own memory and does not use the program's, so these sizes only have to be plausible. `work` is
/// the size of the inputs and outputs, as far as the file says it. `weights` is the size of the weights.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub work: usize,
    pub weights: usize,
}

impl Sizes {
    /// Returns the sizes of a model. Neither is 0, because programs allocate them.
    pub fn of(Source { graph, gears }: &Source) -> Self {
        let (inputs, outputs) = (Port::of(graph, &graph.inputs), Port::of(graph, &graph.outputs));
        let gears = gears.as_deref();
        let inputs =
            inputs.iter().enumerate().map(|(index, port)| (port, gears.and_then(|all| all.largest_input(index))));
        let outputs =
            outputs.iter().enumerate().map(|(index, port)| (port, gears.and_then(|all| all.largest_output(index))));
        let bytes = |(port, largest): (&Port, Option<&[usize]>)| port.largest_bytes(largest);
        let work = inputs.chain(outputs).filter_map(bytes).fold(0, usize::saturating_add);
        let weights = graph.values.iter().filter(|value| value.producer == Producer::Initializer);
        let bytes = weights.filter_map(|value| {
            let port = Port { name: String::new(), dtype: value.dtype, dims: value.shape.clone() };
            bytes_of(port.dtype?, &port.fixed()?)
        });
        Self { work: work.max(1), weights: bytes.fold(0, usize::saturating_add).max(1) }
    }

    /// Checks memory that a program provides: address and size. If an address is NULL, the library provides the memory.
    pub fn check(&self, work: (*mut c_void, usize), weights: (*mut c_void, usize)) -> Result<(), Failure> {
        for (name, (address, size), least) in [("workSize", work, self.work), ("weightSize", weights, self.weights)] {
            if !address.is_null() && size < least {
                let reason = format!("this model takes at least {least}");
                return Err(Failure::wrong_value_of(codes::GE_PARAM_INVALID, name, size, &reason));
            }
        }
        Ok(())
    }
}

/// Writes the sizes of the memory that the model in a file needs.
#[exported]
pub fn aclmdlQuerySize(
    file_name: Text<'_>,
    work_size: Out<'_, usize>,
    weight_size: Out<'_, usize>,
) -> Result<(), Failure> {
    write(work_size, weight_size, || read_file(file_name).map(|source| Sizes::of(&source)))
}

/// Writes the sizes of the memory that a model needs.
#[exported]
pub fn aclmdlQuerySizeFromMem(
    #[counted_by(model_size)] model: Bytes<'_>,
    model_size: usize,
    work_size: Out<'_, usize>,
    weight_size: Out<'_, usize>,
) -> Result<(), Failure> {
    write(work_size, weight_size, || read_memory(model).map(|source| Sizes::of(&source)))
}

fn write(
    work: Out<'_, usize>,
    weights: Out<'_, usize>,
    sizes: impl FnOnce() -> Result<Sizes, Failure>,
) -> Result<(), Failure> {
    let (work, weights) = (work.place("workSize")?, weights.place("weightSize")?);
    let sizes = sizes()?;
    work.write(sizes.work);
    weights.write(sizes.weights);
    Ok(())
}
