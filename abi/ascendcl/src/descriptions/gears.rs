//! Gears: the sizes that a converted model fixes in advance. An ONNX file has none.

use std::ffi::c_int;

use super::desc::{aclmdlDesc, described};
use super::dims::{aclmdlIODims, write};
use crate::border::{Failure, call, codes, out};
use crate::data::{DATASETS, aclmdlDataset};
use crate::models::{ModelId, find};

/// The batch sizes of a model.
#[repr(C)]
pub struct aclmdlBatch {
    count: usize,
    sizes: [u64; 128],
}

/// The heights and widths of an input.
#[repr(C)]
pub struct aclmdlHW {
    count: usize,
    sizes: [[u64; 2]; 128],
}

const _: () = assert!(size_of::<aclmdlBatch>() == 1032);
const _: () = assert!(size_of::<aclmdlHW>() == 2056);

/// Writes that a model has no batch sizes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlGetDynamicBatch(desc: *const aclmdlDesc, batch: *mut aclmdlBatch) -> c_int {
    let none = || described(desc).map(|_| aclmdlBatch { count: 0, sizes: [0; 128] });
    // SAFETY: as the caller promises.
    call(|| unsafe { write(batch, none) })
}

/// Writes that a model has no heights and widths. The index is not looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlGetDynamicHW(desc: *const aclmdlDesc, _index: usize, hw: *mut aclmdlHW) -> c_int {
    let none = || described(desc).map(|_| aclmdlHW { count: 0, sizes: [[0; 2]; 128] });
    // SAFETY: as the caller promises.
    call(|| unsafe { write(hw, none) })
}

/// Writes that a model has no gears.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlGetInputDynamicGearCount(
    desc: *const aclmdlDesc,
    index: usize,
    gear_count: *mut usize,
) -> c_int {
    let none = || {
        described(desc)?;
        of_all_inputs(index).map(|()| 0)
    };
    // SAFETY: as the caller promises.
    call(|| unsafe { write(gear_count, none) })
}

/// Writes the shapes of all gears: none.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlGetInputDynamicDims(
    desc: *const aclmdlDesc,
    index: usize,
    dims: *mut aclmdlIODims,
    _gear_count: usize,
) -> c_int {
    call(|| {
        described(desc)?;
        out(dims, "dims")?;
        of_all_inputs(index)
    })
}

fn of_all_inputs(index: usize) -> Result<(), Failure> {
    if index == usize::MAX { Ok(()) } else { Err(Failure::wrong_value("index", index, "it is (size_t)-1")) }
}

/// Chooses one of a model's batch sizes, of which there are none.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlSetDynamicBatchSize(
    model_id: u32,
    dataset: *mut aclmdlDataset,
    index: usize,
    batch_size: u64,
) -> c_int {
    call(|| choose(model_id, dataset, index, batch_size != 0))
}

/// Chooses one of a model's heights and widths, of which there are none.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlSetDynamicHWSize(
    model_id: u32,
    dataset: *mut aclmdlDataset,
    index: usize,
    height: u64,
    width: u64,
) -> c_int {
    call(|| choose(model_id, dataset, index, height != 0 && width != 0))
}

/// Chooses one of a model's gears, of which there are none.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlSetInputDynamicDims(
    model_id: u32,
    dataset: *mut aclmdlDataset,
    index: usize,
    dims: *const aclmdlIODims,
) -> c_int {
    call(|| {
        out(dims.cast_mut(), "dims")?;
        choose(model_id, dataset, index, true)
    })
}

fn choose(id: ModelId, dataset: *mut aclmdlDataset, index: usize, is_size: bool) -> Result<(), Failure> {
    let buffers = DATASETS.get(dataset)?.len();
    if index >= buffers {
        return Err(Failure::wrong_value("index", index, &format!("the dataset has {buffers} buffers")));
    }
    if !is_size {
        return Err(Failure::wrong_value("the size", 0, "a dimension has at least one element"));
    }
    find(id)?;
    let text = "an ONNX model has no gears; aclmdlSetDatasetTensorDesc sets the shape of an input";
    Err(Failure::new(codes::MODEL_NOT_DYNAMIC, "EH0012", text))
}
