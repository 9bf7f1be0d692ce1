use std::ffi::c_void;
use std::num::NonZeroUsize;

use opscope::Session;
use opscope::model::{Fidelity, LoadOptions};
use opscope_border::{Bytes, Out, Text, exported};

use super::consumers::attach_once;
use super::model::{Model, ModelId};
use super::preparation::prepare_once;
use super::sizes::Sizes;
use super::source::{Source, read_file, read_memory};
use super::table::{add, next_id};
use crate::border::{Failure, codes};
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
