use std::ffi::{c_char, c_int};

use opscope_border::{Out, exported};

use super::desc::{NAME_BYTES, Tensor, aclmdlDesc, described};
use crate::border::{Failure, codes, value};
use crate::models::find;

/// `ACL_MAX_DIM_CNT`.
pub const MOST_DIMS: usize = 128;

/// A shape with the name of its tensor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct aclmdlIODims {
    name: [c_char; NAME_BYTES],
    pub(super) dim_count: usize,
    dims: [i64; MOST_DIMS],
}

/// The smallest and the largest size of each dimension.
#[repr(C)]
pub struct aclmdlIODimsRange {
    range_count: usize,
    range: [[i64; 2]; MOST_DIMS],
}

const _: () = assert!(size_of::<aclmdlIODims>() == 1160);
const _: () = assert!(size_of::<aclmdlIODimsRange>() == 2056);

/// A free dimension whose range the file does not give: at least 1, without an upper limit.
const ANY: [i64; 2] = [1, -1];

/// Returns the number of inputs; 0 if the argument is not a description.
#[exported]
pub fn aclmdlGetNumInputs(desc: *mut aclmdlDesc) -> usize {
    value(0, || Ok(described(desc)?.inputs.len()))
}

/// Returns the number of outputs; 0 if the argument is not a description.
#[exported]
pub fn aclmdlGetNumOutputs(desc: *mut aclmdlDesc) -> usize {
    value(0, || Ok(described(desc)?.outputs.len()))
}

/// Returns the size of an input in bytes; 0 if a dimension is free, and for a wrong argument.
#[exported]
pub fn aclmdlGetInputSizeByIndex(desc: *mut aclmdlDesc, index: usize) -> usize {
    value(0, || Ok(described(desc)?.input(index)?.bytes))
}

/// Returns the size of an output in bytes; 0 if a dimension is free, and for a wrong argument.
#[exported]
pub fn aclmdlGetOutputSizeByIndex(desc: *mut aclmdlDesc, index: usize) -> usize {
    value(0, || Ok(described(desc)?.output(index)?.bytes))
}

/// Writes the shape of an input. A free dimension is -1.
#[exported]
pub fn aclmdlGetInputDims(desc: *const aclmdlDesc, index: usize, dims: Out<'_, aclmdlIODims>) -> Result<(), Failure> {
    write(dims, || shape(described(desc)?.input(index)?))
}

/// Writes the shape of an input, which is the same as from [`aclmdlGetInputDims`], because no model here has AIPP.
#[exported]
pub fn aclmdlGetInputDimsV2(desc: *const aclmdlDesc, index: usize, dims: Out<'_, aclmdlIODims>) -> c_int {
    aclmdlGetInputDims(desc, index, dims)
}

/// Writes the shape of an output. A free dimension is -1.
#[exported]
pub fn aclmdlGetOutputDims(desc: *const aclmdlDesc, index: usize, dims: Out<'_, aclmdlIODims>) -> Result<(), Failure> {
    write(dims, || shape(described(desc)?.output(index)?))
}

/// Writes the current shape of an output. If a gear was chosen, that is the output's shape in the gear that was chosen
/// last. Otherwise it is the declared shape; if that has free dimensions, the shape of the last run.
#[exported]
pub fn aclmdlGetCurOutputDims(
    desc: *const aclmdlDesc,
    index: usize,
    dims: Out<'_, aclmdlIODims>,
) -> Result<(), Failure> {
    let current = || {
        let described = described(desc)?;
        let output = described.output(index)?;
        let model = described.model.ok_or_else(|| {
            let text = "a description of a file has no current shapes; load the model, and use aclmdlGetDesc";
            Failure::new(codes::INVALID_PARAM, "EH0012", text)
        })?;
        let model = find(model)?;
        let sizes = |shape: &[usize]| shape.iter().map(|&size| size as i64).collect::<Vec<_>>();
        if let Some(chosen) = model.chosen().and_then(|gear| gear.outputs.get(index)?.as_deref()) {
            return io_dims(output, &sizes(chosen));
        }
        match model.last_output_shapes().get(index) {
            Some(last) if output.bytes == 0 => io_dims(output, &sizes(last)),
            _ => shape(output),
        }
    };
    write(dims, current)
}

/// Writes the smallest and the largest size of each dimension of an input. If the model has gears, writes no ranges.
#[exported]
pub fn aclmdlGetInputDimsRange(
    desc: *const aclmdlDesc,
    index: usize,
    range: Out<'_, aclmdlIODimsRange>,
) -> Result<(), Failure> {
    let ranges = || {
        let described = described(desc)?;
        let input = described.input(index)?;
        let mut value = aclmdlIODimsRange { range_count: count(&input.dims)?, range: [[0; 2]; MOST_DIMS] };
        if described.gears.is_some() {
            value.range_count = 0;
            return Ok(value);
        }
        for (range, &dim) in value.range.iter_mut().zip(&input.dims) {
            *range = if dim < 0 { ANY } else { [dim; 2] };
        }
        Ok(value)
    };
    write(range, ranges)
}

fn shape(tensor: &Tensor) -> Result<aclmdlIODims, Failure> {
    io_dims(tensor, &tensor.dims)
}

fn io_dims(tensor: &Tensor, sizes: &[i64]) -> Result<aclmdlIODims, Failure> {
    let mut value = aclmdlIODims::new(sizes)?;
    for (to, &byte) in value.name.iter_mut().zip(tensor.short_name.as_bytes()) {
        *to = byte as c_char;
    }
    Ok(value)
}

impl aclmdlIODims {
    /// Makes a shape without a name.
    pub(super) fn new(sizes: &[i64]) -> Result<Self, Failure> {
        let mut value = Self { name: [0; NAME_BYTES], dim_count: count(sizes)?, dims: [0; MOST_DIMS] };
        value.dims[..sizes.len()].copy_from_slice(sizes);
        Ok(value)
    }

    /// Returns the sizes; `None` if there are more than the struct can hold.
    pub(super) fn sizes(&self) -> Option<&[i64]> {
        self.dims.get(..self.dim_count)
    }
}

fn count(sizes: &[i64]) -> Result<usize, Failure> {
    if sizes.len() > MOST_DIMS {
        let text = format!("the tensor has {} dimensions, and there is room for {MOST_DIMS}", sizes.len());
        return Err(Failure::new(codes::STORAGE_OVER_LIMIT, "EH0012", text));
    }
    Ok(sizes.len())
}

pub(super) fn write<T>(to: Out<'_, T>, value: impl FnOnce() -> Result<T, Failure>) -> Result<(), Failure> {
    let to = to.place("the result")?;
    let value = value()?;
    to.write(value);
    Ok(())
}
