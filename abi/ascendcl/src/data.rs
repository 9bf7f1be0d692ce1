//! Data buffers and datasets: the memory of a model's inputs and outputs.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use opscope_border::exported;
use opscope_sys::{Mutex, MutexGuard};

use crate::border::{Failure, value};
use crate::handles::Table;
use crate::tensors::{DESCS, TensorDesc, aclTensorDesc};

/// The type by which a program knows a [`DataBuffer`].
#[repr(C)]
pub struct aclDataBuffer {
    _private: [u8; 0],
}

/// An address and a size. The memory belongs to the program.
pub struct DataBuffer(Mutex<MemoryRange>);

/// A range of the program's memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryRange {
    pub address: *mut c_void,
    pub size: usize,
}

// SAFETY: the address alone gives no access. The program knows that other threads read and write its buffers.
#[allow(unsafe_code, reason = "addresses of the program go to other threads")]
unsafe impl Send for MemoryRange {}

/// Every data buffer that exists.
pub static BUFFERS: Table<aclDataBuffer, DataBuffer> = Table::new("data buffer", || BUFFERS.held());

impl DataBuffer {
    /// Returns the address and the size.
    pub fn place(&self) -> MemoryRange {
        *self.0.lock()
    }

    /// Sets the address and the size.
    pub fn set(&self, place: MemoryRange) {
        *self.0.lock() = place;
    }
}

/// Creates a data buffer. It may be empty: NULL and 0.
#[exported]
pub fn aclCreateDataBuffer(data: *mut c_void, size: usize) -> *mut aclDataBuffer {
    value(ptr::null_mut(), || Ok(BUFFERS.insert(DataBuffer(Mutex::new(MemoryRange { address: data, size })))))
}

/// Destroys a data buffer, but not its memory.
#[exported]
pub fn aclDestroyDataBuffer(buffer: *const aclDataBuffer) -> Result<(), Failure> {
    BUFFERS.remove(buffer).map(drop)
}

/// Sets the address and the size of a data buffer.
#[exported]
pub fn aclUpdateDataBuffer(buffer: *mut aclDataBuffer, data: *mut c_void, size: usize) -> Result<(), Failure> {
    BUFFERS.get(buffer)?.set(MemoryRange { address: data, size });
    Ok(())
}

/// Returns the address; NULL if the argument is not a data buffer.
#[exported]
pub fn aclGetDataBufferAddr(buffer: *const aclDataBuffer) -> *mut c_void {
    value(ptr::null_mut(), || Ok(BUFFERS.get(buffer)?.place().address))
}

/// Returns the size; 0 if the argument is not a data buffer.
#[exported]
pub fn aclGetDataBufferSizeV2(buffer: *const aclDataBuffer) -> usize {
    value(0, || Ok(BUFFERS.get(buffer)?.place().size))
}

/// Returns the lower 32 bits of the size; 0 if the argument is not a data buffer.
#[exported]
pub fn aclGetDataBufferSize(buffer: *const aclDataBuffer) -> u32 {
    value(0, || Ok(BUFFERS.get(buffer)?.place().size as u32))
}

/// The type by which a program knows a [`Dataset`].
#[repr(C)]
pub struct aclmdlDataset {
    _private: [u8; 0],
}

/// The data buffers of a model's inputs or outputs, in the model's order, and the shapes that the program or a run has
/// set for them.
#[derive(Default)]
pub struct Dataset {
    entries: Mutex<Vec<Entry>>,
    /// The gear that the program chose for runs with this dataset: the model, and the gear's index.
    gear: Mutex<Option<(u32, usize)>>,
}

struct Entry {
    buffer: *mut aclDataBuffer,
    /// NULL, or a description that this dataset owns.
    desc: *mut aclTensorDesc,
}

// SAFETY: both pointers are looked up as numbers, and never dereferenced.
#[allow(unsafe_code, reason = "addresses of the program go to other threads")]
unsafe impl Send for Entry {}

/// Every dataset that exists.
pub static DATASETS: Table<aclmdlDataset, Dataset> = Table::new("dataset", || DATASETS.held());

impl Dataset {
    /// Returns the buffers.
    pub fn buffers(&self) -> Result<Vec<Arc<DataBuffer>>, Failure> {
        self.entries().iter().map(|entry| BUFFERS.get(entry.buffer)).collect()
    }

    /// Returns the shapes of the buffers; `None` for each that is not set.
    pub fn descs(&self) -> Result<Vec<Option<Arc<TensorDesc>>>, Failure> {
        self.entries().iter().map(|entry| DESCS.get_unless_null(entry.desc)).collect()
    }

    /// Returns the number of buffers.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Sets or removes the description of a buffer.
    pub fn describe(&self, index: usize, desc: Option<TensorDesc>) -> Result<(), Failure> {
        let mut entries = self.entries();
        let count = entries.len();
        let reason = || format!("the dataset has {count} buffers");
        let entry = entries.get_mut(index).ok_or_else(|| Failure::wrong_value("index", index, &reason()))?;
        match desc {
            // A program may keep the pointer, so the pointer must not change.
            Some(desc) if !entry.desc.is_null() => DESCS.replace(entry.desc, desc)?,
            Some(desc) => entry.desc = DESCS.insert(desc),
            None => entry.forget_desc(),
        }
        Ok(())
    }

    /// Chooses a gear of a model for runs with this dataset.
    pub fn choose(&self, model: u32, gear: usize) {
        *self.gear.lock() = Some((model, gear));
    }

    /// Returns the gear that was chosen for a model.
    pub fn gear(&self, of: u32) -> Option<usize> {
        let chosen = *self.gear.lock();
        chosen.filter(|(model, _)| *model == of).map(|(_, gear)| gear)
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock()
    }
}

impl Entry {
    fn forget_desc(&mut self) {
        let desc = std::mem::replace(&mut self.desc, ptr::null_mut());
        if !desc.is_null() {
            drop(DESCS.remove(desc));
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.forget_desc();
    }
}

/// Creates a dataset without buffers.
#[exported]
pub fn aclmdlCreateDataset() -> *mut aclmdlDataset {
    value(ptr::null_mut(), || Ok(DATASETS.insert(Dataset::default())))
}

/// Destroys a dataset, but not its buffers.
#[exported]
pub fn aclmdlDestroyDataset(dataset: *const aclmdlDataset) -> Result<(), Failure> {
    DATASETS.remove(dataset).map(drop)
}

/// Appends a buffer.
#[exported]
pub fn aclmdlAddDatasetBuffer(dataset: *mut aclmdlDataset, buffer: *mut aclDataBuffer) -> Result<(), Failure> {
    let dataset = DATASETS.get(dataset)?;
    BUFFERS.get(buffer)?;
    dataset.entries().push(Entry { buffer, desc: ptr::null_mut() });
    Ok(())
}

/// Returns the number of buffers; 0 if the argument is not a dataset.
#[exported]
pub fn aclmdlGetDatasetNumBuffers(dataset: *const aclmdlDataset) -> usize {
    value(0, || Ok(DATASETS.get(dataset)?.len()))
}

/// Returns a buffer, even a destroyed one; NULL for a wrong argument.
#[exported]
pub fn aclmdlGetDatasetBuffer(dataset: *const aclmdlDataset, index: usize) -> *mut aclDataBuffer {
    value(ptr::null_mut(), || of_entry(dataset, index, |entry| entry.buffer))
}

/// Sets the shape of an input for the next runs. The description is copied; NULL removes it.
#[exported]
pub fn aclmdlSetDatasetTensorDesc(
    dataset: *mut aclmdlDataset,
    desc: *mut aclTensorDesc,
    index: usize,
) -> Result<(), Failure> {
    let dataset = DATASETS.get(dataset)?;
    let copy = DESCS.get_unless_null(desc)?.map(|desc| desc.copy_for_dataset());
    dataset.describe(index, copy)
}

/// Returns the shape that the program or the last run has set; NULL if there is none, and for a wrong argument. It
/// belongs to the dataset.
#[exported]
pub fn aclmdlGetDatasetTensorDesc(dataset: *const aclmdlDataset, index: usize) -> *mut aclTensorDesc {
    value(ptr::null_mut(), || of_entry(dataset, index, |entry| entry.desc))
}

fn of_entry<T>(dataset: *const aclmdlDataset, index: usize, part: impl Fn(&Entry) -> T) -> Result<T, Failure> {
    let dataset = DATASETS.get(dataset)?;
    let entries = dataset.entries();
    let reason = || format!("the dataset has {} buffers", entries.len());
    entries.get(index).map(part).ok_or_else(|| Failure::wrong_value("index", index, &reason()))
}
