//! Gears: shapes that the user fixes in advance, as the vendor's converter does. A program queries them, and chooses
//! one for runs with a dataset.

use opscope_border::{In, ItemsOut, Out, exported};

use super::desc::{aclmdlDesc, described};
use super::dims::{aclmdlIODims, write};
use crate::border::{Failure, codes};
use crate::data::{DATASETS, MemoryRange, aclmdlDataset};
use crate::models::{CHOICE, Gear, GearKind, Gears, MOST_GEARS, ModelId, find};

/// The batch sizes of a model.
#[repr(C)]
pub struct aclmdlBatch {
    count: usize,
    sizes: [u64; MOST_GEARS],
}

/// The heights and widths of an input.
#[repr(C)]
pub struct aclmdlHW {
    count: usize,
    sizes: [[u64; 2]; MOST_GEARS],
}

const _: () = assert!(size_of::<aclmdlBatch>() == 1032);
const _: () = assert!(size_of::<aclmdlHW>() == 2056);

/// Returns the user's numbers for each gear of a description. Empty if the gears are not of this kind.
fn gears_of(desc: *const aclmdlDesc, kind: GearKind) -> Result<Vec<Vec<u64>>, Failure> {
    let gears = described(desc)?.gears.clone();
    let of_kind = gears.filter(|gears| gears.kind == kind);
    let sizes = |gear: &Gear| gear.sizes.iter().map(|&size| size as u64).collect();
    Ok(of_kind.map(|gears| gears.all.iter().map(sizes).collect()).unwrap_or_default())
}

/// Writes the batch sizes of a model.
#[exported]
pub fn aclmdlGetDynamicBatch(desc: *const aclmdlDesc, batch: Out<'_, aclmdlBatch>) -> Result<(), Failure> {
    let sizes = || {
        let gears = gears_of(desc, GearKind::Batch)?;
        let mut value = aclmdlBatch { count: gears.len(), sizes: [0; MOST_GEARS] };
        value.sizes.iter_mut().zip(gears.iter().flatten()).for_each(|(to, size)| *to = *size);
        Ok(value)
    };
    write(batch, sizes)
}

/// Writes the heights and widths of a model. The index is ignored.
#[exported]
pub fn aclmdlGetDynamicHW(desc: *const aclmdlDesc, _index: usize, hw: Out<'_, aclmdlHW>) -> Result<(), Failure> {
    let sizes = || {
        let gears = gears_of(desc, GearKind::ImageSize)?;
        let mut value = aclmdlHW { count: gears.len(), sizes: [[0; 2]; MOST_GEARS] };
        value.sizes.iter_mut().zip(&gears).for_each(|(to, gear)| to.copy_from_slice(gear));
        Ok(value)
    };
    write(hw, sizes)
}

/// Writes the number of a model's gears that fix all free dimensions; 0 if its gears are of another kind.
#[exported]
pub fn aclmdlGetInputDynamicGearCount(
    desc: *const aclmdlDesc,
    index: usize,
    gear_count: Out<'_, usize>,
) -> Result<(), Failure> {
    let count = || {
        let gears = gears_of(desc, GearKind::Dims)?;
        of_all_inputs(index).map(|()| gears.len())
    };
    write(gear_count, count)
}

/// Writes the shapes of all gears that fix all free dimensions: for each gear, the shapes of all inputs one after
/// another. Writes nothing if the model's gears are of another kind.
#[exported]
pub fn aclmdlGetInputDynamicDims(
    desc: *const aclmdlDesc,
    index: usize,
    #[counted_by(gear_count)] dims: ItemsOut<'_, aclmdlIODims>,
    gear_count: usize,
) -> Result<(), Failure> {
    let described = described(desc)?;
    if dims.is_null() {
        return Err(Failure::null("dims"));
    }
    of_all_inputs(index)?;
    let Some(gears) = described.gears.as_ref().filter(|gears| gears.kind == GearKind::Dims) else { return Ok(()) };
    let count = gears.all.len();
    if gear_count < count {
        return Err(Failure::wrong_value("gearCount", gear_count, &format!("the model has {count} gears")));
    }
    let shapes = gears.all.iter().map(|gear| aclmdlIODims::new(&inputs_of(gear))).collect::<Result<Vec<_>, _>>()?;
    dims.get("dims")?.iter_mut().zip(shapes).for_each(|(to, shape)| _ = to.write(shape));
    Ok(())
}

/// Returns the shapes of all inputs one after another.
fn inputs_of(gear: &Gear) -> Vec<i64> {
    gear.inputs.iter().flatten().map(|&size| size as i64).collect()
}

fn of_all_inputs(index: usize) -> Result<(), Failure> {
    if index == usize::MAX { Ok(()) } else { Err(Failure::wrong_value("index", index, "it is (size_t)-1")) }
}

/// Chooses one of a model's batch sizes for runs with a dataset.
#[exported]
pub fn aclmdlSetDynamicBatchSize(
    model_id: u32,
    dataset: *mut aclmdlDataset,
    index: usize,
    batch_size: u64,
) -> Result<(), Failure> {
    choose(model_id, dataset, index, GearKind::Batch, &[batch_size])
}

/// Chooses one of a model's heights and widths for runs with a dataset.
#[exported]
pub fn aclmdlSetDynamicHWSize(
    model_id: u32,
    dataset: *mut aclmdlDataset,
    index: usize,
    height: u64,
    width: u64,
) -> Result<(), Failure> {
    choose(model_id, dataset, index, GearKind::ImageSize, &[height, width])
}

/// Chooses one of a model's gears for runs with a dataset, by the shapes of all inputs one after another.
#[exported]
pub fn aclmdlSetInputDynamicDims(
    model_id: u32,
    dataset: *mut aclmdlDataset,
    index: usize,
    dims: In<'_, aclmdlIODims>,
) -> Result<(), Failure> {
    let dims = dims.get("dims")?;
    let count = dims.dim_count;
    let sizes = dims.sizes().ok_or_else(|| Failure::wrong_value("dims.dimCount", count, "it is at most 128"))?;
    // A negative number is never the size of a gear.
    let sizes: Vec<u64> = sizes.iter().map(|&size| u64::try_from(size).unwrap_or(u64::MAX)).collect();
    choose(model_id, dataset, index, GearKind::Dims, &sizes)
}

fn choose(
    id: ModelId,
    dataset: *mut aclmdlDataset,
    index: usize,
    kind: GearKind,
    sizes: &[u64],
) -> Result<(), Failure> {
    let dataset = DATASETS.get(dataset)?;
    let buffers = dataset.buffers()?;
    let count = buffers.len();
    let buffer = buffers.get(index);
    let buffer =
        buffer.ok_or_else(|| Failure::wrong_value("index", index, &format!("the dataset has {count} buffers")))?;
    if kind != GearKind::Dims && sizes.contains(&0) {
        return Err(Failure::wrong_value("the size", 0, "a dimension has at least one element"));
    }
    let model = find(id)?;
    let Some(gears) = model.gears.as_ref().filter(|gears| gears.kind == kind) else {
        let variable = match kind {
            GearKind::Batch => "OPSCOPE_ACL_DYNAMIC_BATCH",
            GearKind::ImageSize => "OPSCOPE_ACL_DYNAMIC_IMAGE_SIZE",
            GearKind::Dims => "OPSCOPE_ACL_DYNAMIC_DIMS",
        };
        let text =
            format!("the model has no such gears; {variable} gives them, or aclmdlSetDatasetTensorDesc the shape");
        return Err(Failure::new(codes::MODEL_NOT_DYNAMIC, "EH0012", text));
    };
    if index != model.inputs.len() {
        let reason = format!("the input {CHOICE} is {}", model.inputs.len());
        return Err(Failure::wrong_value("index", index, &reason));
    }
    check_place(gears, buffer.place())?;
    let is_asked_for = |gear: &Gear| match kind {
        GearKind::Dims => inputs_of(gear).iter().map(|&size| size as u64).eq(sizes.iter().copied()),
        _ => gear.sizes.iter().map(|&size| size as u64).eq(sizes.iter().copied()),
    };
    let gear = gears.all.iter().position(is_asked_for).ok_or_else(|| {
        let all = gears.all.iter().map(|gear| format!("{:?}", gear.sizes)).collect::<Vec<_>>().join(", ");
        let text = format!("{sizes:?} is not a gear of the model; there are {all}");
        Failure::new(codes::GE_DYNAMIC_BATCH_SIZE_INVALID, "EH0001", text)
    })?;
    dataset.choose(id, gear);
    model.choose(gear);
    Ok(())
}

/// Checks the memory of the input that carries the choice on a device.
fn check_place(gears: &Gears, place: MemoryRange) -> Result<(), Failure> {
    let needed = gears.choice_bytes();
    if place.address.is_null() {
        let text = format!("the buffer of input {CHOICE} has no memory");
        return Err(Failure::new(codes::GE_DYNAMIC_INPUT_ADDR_INVALID, "EH0001", text));
    }
    if place.size < needed {
        let text = format!("the buffer of input {CHOICE} has {} bytes, and {needed} are needed", place.size);
        return Err(Failure::new(codes::GE_DYNAMIC_INPUT_LENGTH_INVALID, "EH0001", text));
    }
    Ok(())
}
