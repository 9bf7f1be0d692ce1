use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock};

use super::described::Described;
use crate::border::{Failure, call, codes, value};
use crate::models::{find, read_file, read_memory};
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
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlCreateDesc() -> *mut aclmdlDesc {
    value(ptr::null_mut(), || Ok(DESCS.insert(Desc::default())))
}

/// Destroys a description, and its texts.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlDestroyDesc(desc: *mut aclmdlDesc) -> c_int {
    call(|| DESCS.remove(desc).map(drop))
}

/// Fills a description from a model that is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlGetDesc(desc: *mut aclmdlDesc, model_id: u32) -> c_int {
    call(|| fill(desc, || Ok(Described::new(Some(model_id), find(model_id)?.session.graph()))))
}

/// Fills a description from a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlGetDescFromFile(desc: *mut aclmdlDesc, model_path: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    call(|| fill(desc, || unsafe { read_file(model_path) }.map(|graph| Described::new(None, &graph))))
}

/// Fills a description from a model in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlGetDescFromMem(desc: *mut aclmdlDesc, model: *const c_void, model_size: usize) -> c_int {
    // SAFETY: as the caller promises.
    call(|| fill(desc, || unsafe { read_memory(model, model_size) }.map(|graph| Described::new(None, &graph))))
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
