//! A run of a model: its inputs and their shapes, and its outputs.

use std::ffi::CString;
use std::sync::Arc;

use opscope::model::{EngineError, Instrument};
use opscope::tensor::{DType, Tensor};

use super::region::{Region, Side};
use crate::border::{Failure, codes};
use crate::contexts::aclrtStream;
use crate::data::{DATASETS, DataBuffer, Dataset, MemoryRange, aclmdlDataset};
use crate::models::{Model, ModelId, Port, bound_sizes, bytes_of, find};
use crate::streams::Stream;
use crate::tensors::{TensorDesc, format_of_rank, number_of};
use crate::{contexts, dump, memory, recordings};

/// A run whose arguments were checked.
pub struct Run {
    model: Arc<Model>,
    inputs: Vec<Input>,
    outputs: Outputs,
    stream: Arc<Stream>,
    /// The instrument that records it, even if the model is unloaded before the run takes place.
    recording: Option<Box<dyn Instrument>>,
}

impl Run {
    /// Checks the arguments of a run in a stream. NULL means the default stream of the current context.
    pub fn prepare(
        model: ModelId,
        input: *const aclmdlDataset,
        output: *mut aclmdlDataset,
        stream: aclrtStream,
        empty: Empty,
    ) -> Result<Self, Failure> {
        let (input, output) = (DATASETS.get(input)?, DATASETS.get(output)?);
        let model = find(model)?;
        let stream = contexts::stream(stream)?;
        let inputs = Input::all_of(&model, &input)?;
        let outputs = Outputs::of(&model, output, empty)?;
        let recording = recordings::instrument(model.id);
        Ok(Self { model, inputs, outputs, stream, recording })
    }

    /// Returns the stream.
    pub fn stream(&self) -> Arc<Stream> {
        Arc::clone(&self.stream)
    }

    /// Runs the model on this thread, after the model's previous run has ended. Writes the outputs only if `is_wanted`
    /// returns true.
    pub fn execute(self, is_wanted: impl FnOnce() -> bool) -> Result<(), Failure> {
        let Self { model, inputs, outputs, stream, recording } = self;
        let mut running = model.run()?;
        let tensors = inputs.iter().map(Input::read).collect::<Result<Vec<_>, _>>()?;
        let dumped =
            dump::instrument(model.id, &model.session, &tensors, stream.id()).map_err(|error| failure(&error))?;
        let instruments = [dumped, recording];
        let instruments: Vec<&dyn Instrument> = instruments.iter().flatten().map(|one| &**one).collect();
        let computed = model.session.run(&tensors, &instruments).map_err(|error| failure(&error))?;
        running.last.output_shapes = computed.iter().map(|tensor| tensor.shape().to_vec()).collect();
        if is_wanted() { outputs.write(&model, &computed) } else { Ok(()) }
    }
}

fn failure(error: &EngineError) -> Failure {
    let code = match error {
        EngineError::InputShape { .. } => codes::GE_SHAPE_INVALID,
        EngineError::InputCount { .. } | EngineError::InputType { .. } => codes::GE_PARAM_INVALID,
        _ => codes::RT_MODEL_EXECUTE,
    };
    Failure::new(code, "E13025", format!("the model failed: {error}"))
}

/// Memory that is read as an input.
pub struct Input {
    region: Region,
    dtype: DType,
    shape: Vec<usize>,
    bytes: usize,
}

impl Input {
    /// Checks a dataset against a model's inputs, and returns the memory of each.
    pub fn all_of(model: &Model, dataset: &Dataset) -> Result<Vec<Self>, Failure> {
        let (buffers, descs) = (dataset.buffers()?, dataset.descs()?);
        // With gears, one more buffer carries the choice of the gear.
        Side::Input.check_count(buffers.len(), model.inputs.len() + usize::from(model.gears.is_some()))?;
        let shapes = shapes(model, dataset.gear(model.id), &descs)?;
        let regions = model.inputs.iter().zip(buffers);
        let regions = regions.map(|(port, buffer)| (port, Region::new(Side::Input, &port.name, buffer.place())));
        regions.zip(shapes).map(|((port, region), shape)| Self::new(port, region, shape)).collect()
    }

    fn new(port: &Port, region: Region, shape: Vec<usize>) -> Result<Self, Failure> {
        let dtype = port.dtype.filter(|dtype| *dtype != DType::String);
        let dtype = dtype.ok_or_else(|| Failure::unsupported(&format!("the type of input '{}'", port.name)))?;
        let bytes =
            bytes_of(dtype, &shape).ok_or_else(|| wrong_shape(&port.name, &format!("{shape:?} is too large")))?;
        region.check(bytes)?;
        Ok(Self { region, dtype, shape, bytes })
    }

    /// Copies the input out of its memory.
    pub fn read(&self) -> Result<Tensor, Failure> {
        let bytes = self.region.read(self.bytes)?;
        let tensor = match self.dtype {
            // A program may use any byte but 0 for true; the engine accepts only 1.
            DType::Bool => {
                let bytes: Vec<u8> = bytes.iter().map(|&byte| u8::from(byte != 0)).collect();
                Tensor::new(self.dtype, self.shape.clone(), bytes)
            }
            _ => Tensor::new(self.dtype, self.shape.clone(), bytes),
        };
        tensor.map_err(|error| Failure::new(codes::INTERNAL_ERROR, "EE9999", error.to_string()))
    }
}

/// How empty output buffers are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// The library allocates memory for them. This is possible because the run is over when the call returns.
    Allocate,
    /// They are refused, because the program must provide memory.
    Refuse,
}

/// The memory for the outputs of a run.
pub struct Outputs {
    dataset: Arc<Dataset>,
    outputs: Vec<(Arc<DataBuffer>, Region)>,
}

impl Outputs {
    /// Checks a dataset against a model's outputs, as far as their sizes are known before the run.
    pub fn of(model: &Model, dataset: Arc<Dataset>, empty: Empty) -> Result<Self, Failure> {
        let buffers = dataset.buffers()?;
        Side::Output.check_count(buffers.len(), model.outputs.len())?;
        let region = |(buffer, port): (Arc<DataBuffer>, &Port)| {
            let region = Region::new(Side::Output, &port.name, buffer.place());
            (buffer, region)
        };
        let outputs: Vec<_> = buffers.into_iter().zip(&model.outputs).map(region).collect();
        for (port, (_, region)) in model.outputs.iter().zip(&outputs) {
            if region.is_empty() {
                if empty == Empty::Refuse {
                    let name = &port.name;
                    let text = format!("the buffer of output '{name}' is empty, and a run in a stream allocates none");
                    return Err(Failure::new(codes::GE_PARAM_INVALID, "E13025", text));
                }
            // If a model has free dimensions, the output sizes in its file are often only those of an example.
            } else if let Some(bytes) = port.bytes().filter(|_| model.is_static()) {
                region.check(bytes)?;
            }
        }
        Ok(Self { dataset, outputs })
    }

    /// Writes the outputs of a run: all of them, or none if a buffer is too small.
    pub fn write(&self, model: &Model, tensors: &[Tensor]) -> Result<(), Failure> {
        Side::Output.check_count(self.outputs.len(), tensors.len())?;
        let given = || self.outputs.iter().zip(tensors).filter(|((_, region), _)| !region.is_empty());
        given().try_for_each(|((_, region), tensor)| region.check(tensor.bytes().len()))?;
        given().try_for_each(|((_, region), tensor)| region.write(tensor.bytes()))?;
        for (((buffer, region), tensor), port) in self.outputs.iter().zip(tensors).zip(&model.outputs) {
            if region.is_empty() {
                // An empty tensor still gets memory.
                let size = tensor.bytes().len().max(1);
                let place = MemoryRange { address: memory::allocate_for_program(size)?, size };
                Region::new(Side::Output, &port.name, place).write(tensor.bytes())?;
                buffer.set(place);
            }
        }
        self.describe(model, tensors)
    }

    /// Sets the shapes of the outputs whose shapes are unknown before a run.
    fn describe(&self, model: &Model, tensors: &[Tensor]) -> Result<(), Failure> {
        for (index, (port, tensor)) in model.outputs.iter().zip(tensors).enumerate() {
            if model.is_static() && port.fixed().as_deref() == Some(tensor.shape()) {
                continue;
            }
            let dims = tensor.shape().iter().map(|&size| size as i64).collect();
            let name = CString::new(port.name.replace('\0', "\u{fffd}")).unwrap_or_default();
            let format = format_of_rank(Some(tensor.shape().len()));
            self.dataset
                .describe(index, Some(TensorDesc::of_dataset(number_of(tensor.dtype()), format, dims, &name)))?;
        }
        Ok(())
    }
}

/// Returns the shape of every input. It comes from the file, from the gear that was chosen for the dataset, or from the
/// dataset's description of the input.
pub fn shapes(
    model: &Model,
    gear: Option<usize>,
    descs: &[Option<Arc<TensorDesc>>],
) -> Result<Vec<Vec<usize>>, Failure> {
    let set = |(port, desc): (&Port, &Option<Arc<TensorDesc>>)| desc.as_deref().map(|desc| set(port, desc)).transpose();
    let set: Vec<Option<Vec<usize>>> = model.inputs.iter().zip(descs).map(set).collect::<Result<_, _>>()?;
    if let Some(gears) = &model.gears {
        let gear = gear.and_then(|gear| gears.all.get(gear)).ok_or_else(|| {
            let text = format!("no gear was chosen for this dataset; the model has {}", gears.all.len());
            Failure::new(codes::GE_DYNAMIC_BATCH_SIZE_INVALID, "EH0001", text)
        })?;
        for ((port, set), shape) in model.inputs.iter().zip(&set).zip(&gear.inputs) {
            if set.as_ref().is_some_and(|set| set != shape) {
                return Err(wrong_shape(&port.name, &format!("the gear has {shape:?}")));
            }
        }
        return Ok(gear.inputs.clone());
    }
    // All dimensions with the same name have the same size.
    let given = model.inputs.iter().zip(&set).filter_map(|(port, set)| Some((port, set.as_deref()?)));
    let bound = bound_sizes(given);
    let shape = |(port, set): (&Port, &Option<Vec<usize>>)| {
        let shape = set.clone().or_else(|| port.fixed_with(&bound));
        shape.ok_or_else(|| wrong_shape(&port.name, "it has free dimensions, which aclmdlSetDatasetTensorDesc sets"))
    };
    model.inputs.iter().zip(&set).map(shape).collect()
}

/// Returns the shape that a dataset sets for an input. Checks it, because an engine that ignores a dimension would
/// accept any size.
fn set(port: &Port, desc: &TensorDesc) -> Result<Vec<usize>, Failure> {
    let sizes: Option<Vec<usize>> = desc.dims().iter().map(|&size| usize::try_from(size).ok()).collect();
    let sizes = sizes.ok_or_else(|| wrong_shape(&port.name, "the shape of a run has no free dimensions"))?;
    if !port.takes(&sizes) {
        return Err(wrong_shape(&port.name, &format!("the model takes {}, not {sizes:?}", port.shape())));
    }
    Ok(sizes)
}

pub fn wrong_shape(name: &str, reason: &str) -> Failure {
    Failure::new(codes::GE_SHAPE_INVALID, "E13025", format!("the shape of input '{name}' is wrong: {reason}"))
}
