use std::ptr;
use std::sync::{Arc, PoisonError, RwLock};

use opscope_border::{Bytes, Text, exported};

use super::described::Described;
use crate::border::{Failure, codes, value};
use crate::models::{Source, find, read_file, read_memory};
use crate::objects::Table;

/// What a program knows a [`Desc`] as.
#[repr(C)]
pub struct aclmdlDesc {
    _private: [u8; 0],
}

/// The place for a model's description; empty before it is filled.
#[derive(Default)]
struct Desc(RwLock<Option<Arc<Described>>>);

static DESCS: Table<aclmdlDesc, Desc> = Table::new("model description", || DESCS.held());

/// Returns the description that a place holds.
pub fn described(desc: *const aclmdlDesc) -> Result<Arc<Described>, Failure> {
    let held = DESCS.get(desc)?.0.read().unwrap_or_else(PoisonError::into_inner).clone();
    held.ok_or_else(|| {
        let text = "the model description is empty; aclmdlGetDesc fills it";
        Failure::new(codes::INVALID_PARAM, "EH0012", text)
    })
}

/// Makes an empty description.
#[exported]
pub fn aclmdlCreateDesc() -> *mut aclmdlDesc {
    value(ptr::null_mut(), || Ok(DESCS.insert(Desc::default())))
}

/// Destroys a description, and its texts.
#[exported]
pub fn aclmdlDestroyDesc(desc: *mut aclmdlDesc) -> Result<(), Failure> {
    DESCS.remove(desc).map(drop)
}

/// Fills a description from a model that is loaded.
#[exported]
pub fn aclmdlGetDesc(desc: *mut aclmdlDesc, model_id: u32) -> Result<(), Failure> {
    fill(desc, || {
        let model = find(model_id)?;
        Ok(Described::new(Some(model_id), model.session.graph(), model.gears.clone()))
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

fn of_source(source: Source) -> Described {
    Described::new(None, &source.graph, source.gears)
}

fn fill(desc: *mut aclmdlDesc, describe: impl FnOnce() -> Result<Described, Failure>) -> Result<(), Failure> {
    let desc = DESCS.get(desc)?;
    let filled = describe();
    let (held, result) = match filled {
        Ok(described) => (Some(Arc::new(described)), Ok(())),
        // A description that cannot be filled is empty, not the old one.
        Err(failure) => (None, Err(failure)),
    };
    *desc.0.write().unwrap_or_else(PoisonError::into_inner) = held;
    result
}
