use std::ptr;
use std::sync::Arc;

use opscope_border::{Bytes, Text, exported};
use opscope_sys::RwLock;

use super::description::Description;
use crate::border::{Failure, codes, value};
use crate::models::{Source, find, read_file, read_memory};
use crate::objects::Table;

/// The type by which a program knows a [`Desc`].
#[repr(C)]
pub struct aclmdlDesc {
    _private: [u8; 0],
}

/// A place for a model's description; empty until it is filled.
#[derive(Default)]
struct Desc(RwLock<Option<Arc<Description>>>);

static DESCS: Table<aclmdlDesc, Desc> = Table::new("model description", || DESCS.held());

/// Returns the description in a place.
pub fn described(desc: *const aclmdlDesc) -> Result<Arc<Description>, Failure> {
    let held = DESCS.get(desc)?.0.read().clone();
    held.ok_or_else(|| {
        let text = "the model description is empty; aclmdlGetDesc fills it";
        Failure::new(codes::INVALID_PARAM, "EH0012", text)
    })
}

/// Creates an empty description.
#[exported]
pub fn aclmdlCreateDesc() -> *mut aclmdlDesc {
    value(ptr::null_mut(), || Ok(DESCS.insert(Desc::default())))
}

/// Destroys a description. The texts that were returned from it become invalid.
#[exported]
pub fn aclmdlDestroyDesc(desc: *mut aclmdlDesc) -> Result<(), Failure> {
    DESCS.remove(desc).map(drop)
}

/// Fills a description from a loaded model.
#[exported]
pub fn aclmdlGetDesc(desc: *mut aclmdlDesc, model_id: u32) -> Result<(), Failure> {
    fill(desc, || {
        let model = find(model_id)?;
        Ok(Description::new(Some(model_id), model.session.graph(), model.gears.clone()))
    })
}

/// Fills a description from a file.
#[exported]
pub fn aclmdlGetDescFromFile(desc: *mut aclmdlDesc, model_path: Text<'_>) -> Result<(), Failure> {
    fill(desc, || read_file(model_path).map(of_source))
}

/// Fills a description from a model in memory.
#[exported]
pub fn aclmdlGetDescFromMem(
    desc: *mut aclmdlDesc,
    #[counted_by(model_size)] model: Bytes<'_>,
    model_size: usize,
) -> Result<(), Failure> {
    fill(desc, || read_memory(model).map(of_source))
}

fn of_source(source: Source) -> Description {
    Description::new(None, &source.graph, source.gears)
}

fn fill(desc: *mut aclmdlDesc, describe: impl FnOnce() -> Result<Description, Failure>) -> Result<(), Failure> {
    let desc = DESCS.get(desc)?;
    let filled = describe();
    let (held, result) = match filled {
        Ok(described) => (Some(Arc::new(described)), Ok(())),
        // A description that cannot be filled becomes empty. It does not keep its old content.
        Err(failure) => (None, Err(failure)),
    };
    *desc.0.write() = held;
    result
}
