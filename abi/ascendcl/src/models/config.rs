use std::ffi::{CString, c_int, c_void};
use std::ptr;

use opscope_border::{Bytes, Counted, Out, Text, exported};
use opscope_sys::Mutex;

use super::load::{load, with_memory};
use super::source;
use crate::border::{Failure, value};
use crate::handles::Table;

/// The type by which a program knows a [`Config`].
#[repr(C)]
pub struct aclmdlConfigHandle {
    _private: [u8; 0],
}

/// How to load a model.
#[derive(Default, Clone)]
struct Config {
    load_type: usize,
    path: Option<CString>,
    model: ProgramMemory,
    work: ProgramMemory,
    weights: ProgramMemory,
}

#[derive(Clone, Copy)]
struct ProgramMemory {
    address: *mut c_void,
    size: usize,
}

impl Default for ProgramMemory {
    fn default() -> Self {
        Self { address: ptr::null_mut(), size: 0 }
    }
}

// SAFETY: the address alone gives no access. The memory belongs to the program, which decides when it is read.
unsafe impl Send for ProgramMemory {}

static CONFIGS: Table<aclmdlConfigHandle, Mutex<Config>> = Table::new("configuration handle", || CONFIGS.held());

// The attributes that have an effect, or whose values are checked.
const PRIORITY: c_int = 0;
const LOAD_TYPE: c_int = 1;
const PATH: c_int = 2;
const MEM_ADDRESS: c_int = 3;
const MEM_SIZE: c_int = 4;
const WEIGHT_ADDRESS: c_int = 5;
const WEIGHT_SIZE: c_int = 6;
const WORKSPACE_ADDRESS: c_int = 7;
const WORKSPACE_SIZE: c_int = 8;
/// The last of the attributes whose values have the size of a pointer or `size_t`.
const FIFO_SIZE: c_int = 27;
const WITHOUT_GRAPH: c_int = 28;
const PERFORMANCE_MODE: c_int = 29;

/// Creates a configuration handle without attributes.
#[exported]
pub fn aclmdlCreateConfigHandle() -> *mut aclmdlConfigHandle {
    value(ptr::null_mut(), || Ok(CONFIGS.insert(Mutex::default())))
}

/// Destroys a configuration handle.
#[exported]
pub fn aclmdlDestroyConfigHandle(handle: *mut aclmdlConfigHandle) -> Result<(), Failure> {
    CONFIGS.remove(handle).map(drop)
}

/// Sets an attribute. Texts are copied, addresses are not.
#[exported]
pub fn aclmdlSetConfigOpt(
    handle: *mut aclmdlConfigHandle,
    attribute: c_int,
    #[counted_by(value_size)] attribute_value: Bytes<'_>,
    value_size: usize,
) -> Result<(), Failure> {
    let config = CONFIGS.get(handle)?;
    if attribute_value.is_null() {
        return Err(Failure::null("attrValue"));
    }
    check_size(attribute, value_size)?;
    let value = attribute_value.get("attrValue")?;
    let word = || value.first_chunk().copied().map_or(0, usize::from_ne_bytes);
    let address = || std::ptr::with_exposed_provenance_mut::<c_void>(word());
    let mut config = config.lock();
    match attribute {
        PRIORITY => {
            let priority = value.first_chunk().copied().map_or(0, i32::from_ne_bytes);
            if !(0..=7).contains(&priority) {
                return Err(Failure::wrong_value("ACL_MDL_PRIORITY_INT32", priority, "it is 0 to 7"));
            }
        }
        LOAD_TYPE => match word() {
            known @ 1..=6 => config.load_type = known,
            other => return Err(Failure::wrong_value("ACL_MDL_LOAD_TYPE_SIZET", other, "it is 1 to 6")),
        },
        // SAFETY: the program guarantees that this attribute's value is NULL or a text.
        PATH => config.path = Some(unsafe { Text::from_ptr(address().cast()) }.c_str("ACL_MDL_PATH_PTR")?.to_owned()),
        MEM_ADDRESS => config.model.address = address(),
        MEM_SIZE => config.model.size = word(),
        WEIGHT_ADDRESS => config.weights.address = address(),
        WEIGHT_SIZE => config.weights.size = word(),
        WORKSPACE_ADDRESS => config.work.address = address(),
        WORKSPACE_SIZE => config.work.size = word(),
        // The other attributes have no effect here.
        _ => {}
    }
    Ok(())
}

fn check_size(attribute: c_int, size: usize) -> Result<(), Failure> {
    let right: &[usize] = match attribute {
        PRIORITY | WITHOUT_GRAPH => &[4],
        LOAD_TYPE..=FIFO_SIZE => &[8],
        PERFORMANCE_MODE => &[4, 8],
        _ => return Err(Failure::wrong_value("attr", attribute, "it is not an aclmdlConfigAttr")),
    };
    if right.contains(&size) {
        return Ok(());
    }
    let reason = format!("the value of attribute {attribute} has {} bytes", right[0]);
    Err(Failure::wrong_value("valueSize", size, &reason))
}

/// Loads a model with the attributes of a configuration handle.
#[exported]
pub fn aclmdlLoadWithConfig(handle: *const aclmdlConfigHandle, model_id: Out<'_, u32>) -> Result<(), Failure> {
    let config = CONFIGS.get(handle)?.lock().clone();
    let read = || {
        let source = match config.load_type {
            1 | 2 => source::load(config.path.as_deref().ok_or_else(|| missing("ACL_MDL_PATH_PTR"))?)?,
            3 | 4 if config.model.address.is_null() => return Err(missing("ACL_MDL_MEM_ADDR_PTR")),
            3 | 4 if config.model.size == 0 => return Err(missing("ACL_MDL_MEM_SIZET")),
            3 | 4 => {
                // SAFETY: the program guarantees that the memory has this size until the model is loaded.
                source::read_memory(unsafe { Counted::from_raw_parts(config.model.address.cast(), config.model.size) })?
            }
            5 | 6 => return Err(Failure::unsupported("loading a model with queues")),
            _ => return Err(missing("ACL_MDL_LOAD_TYPE_SIZET")),
        };
        let place = |place: ProgramMemory| (place.address, place.size);
        // The program's memory is checked only for the types that use it.
        if matches!(config.load_type, 2 | 4) {
            return with_memory(source, place(config.work), place(config.weights));
        }
        Ok(source)
    };
    load(model_id, read)
}

fn missing(attribute: &str) -> Failure {
    Failure::wrong_value("handle", attribute, "the attribute is required, and is not set")
}
