use std::ffi::CString;
use std::sync::Arc;

use opscope::tensor::Tensor;

use super::region::{Region, Side};
use crate::border::{Failure, codes};
use crate::data::{DataBuffer, Dataset, MemoryRange};
use crate::memory;
use crate::models::{Model, Port};
use crate::tensors::{TensorDesc, format_of_rank, number_of};

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
