use opscope::tensor::{DType, Tensor};

use super::region::{Region, Side};
use super::shapes::{shapes, wrong_shape};
use crate::border::{Failure, codes};
use crate::data::Dataset;
use crate::models::{Model, Port, bytes_of};

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
