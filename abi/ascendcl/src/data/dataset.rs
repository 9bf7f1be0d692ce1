use std::ptr;
use std::sync::Arc;

use opscope_border::exported;
use opscope_sys::{Mutex, MutexGuard};

use super::buffer::{BUFFERS, DataBuffer, aclDataBuffer};
use crate::border::{Failure, value};
use crate::objects::Table;
use crate::tensors::{DESCS, TensorDesc, aclTensorDesc};

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
