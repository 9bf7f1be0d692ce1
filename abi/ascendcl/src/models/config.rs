use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::load::{load, with_memory};
use super::source;
use crate::border::{Failure, call, text, value};
use crate::objects::Table;

/// What a program knows a [`Config`] as.
#[repr(C)]
pub struct aclmdlConfigHandle {
    _private: [u8; 0],
}

/// How to load a model.
#[derive(Default, Clone)]
struct Config {
    load_type: usize,
    path: Option<CString>,
    model: Place,
    work: Place,
    weights: Place,
}

#[derive(Clone, Copy)]
struct Place {
    address: *mut c_void,
    size: usize,
}

impl Default for Place {
    fn default() -> Self {
        Self { address: ptr::null_mut(), size: 0 }
    }
}

// SAFETY: nothing is read by having the addresses. They are the program's, which says when they are read.
unsafe impl Send for Place {}

static CONFIGS: Table<aclmdlConfigHandle, Mutex<Config>> = Table::new("configuration handle", || CONFIGS.held());

// The attributes that have an effect, or values to check.
const PRIORITY: c_int = 0;
const LOAD_TYPE: c_int = 1;
const PATH: c_int = 2;
const MEM_ADDRESS: c_int = 3;
const MEM_SIZE: c_int = 4;
const WEIGHT_ADDRESS: c_int = 5;
const WEIGHT_SIZE: c_int = 6;
const WORKSPACE_ADDRESS: c_int = 7;
const WORKSPACE_SIZE: c_int = 8;
/// The last attribute whose size is known to be that of a pointer or `size_t`.
const FIFO_SIZE: c_int = 27;
const WITHOUT_GRAPH: c_int = 28;
const PERFORMANCE_MODE: c_int = 29;

/// Makes a configuration handle without attributes.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlCreateConfigHandle() -> *mut aclmdlConfigHandle {
    value(ptr::null_mut(), || Ok(CONFIGS.insert(Mutex::default())))
}

/// Destroys a configuration handle.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlDestroyConfigHandle(handle: *mut aclmdlConfigHandle) -> c_int {
    call(|| CONFIGS.remove(handle).map(drop))
}

/// Sets an attribute. Texts are copied, addresses are not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlSetConfigOpt(
    handle: *mut aclmdlConfigHandle,
    attribute: c_int,
    attribute_value: *const c_void,
    value_size: usize,
) -> c_int {
    call(|| {
        let config = CONFIGS.get(handle)?;
        if attribute_value.is_null() {
            return Err(Failure::null("attrValue"));
        }
        check_size(attribute, value_size)?;
        let number = || -> usize {
            // SAFETY: it is not NULL, and has the size that the caller says, which was checked.
            unsafe { attribute_value.cast::<usize>().read_unaligned() }
        };
        let address = || -> *mut c_void {
            // SAFETY: as above.
            unsafe { attribute_value.cast::<*mut c_void>().read_unaligned() }
        };
        let mut config = config.lock().unwrap_or_else(PoisonError::into_inner);
        match attribute {
            PRIORITY => {
                // SAFETY: as above.
                let priority = unsafe { attribute_value.cast::<i32>().read_unaligned() };
                if !(0..=7).contains(&priority) {
                    return Err(Failure::wrong_value("ACL_MDL_PRIORITY_INT32", priority, "it is 0 to 7"));
                }
            }
            LOAD_TYPE => match number() {
                known @ 1..=6 => config.load_type = known,
                other => return Err(Failure::wrong_value("ACL_MDL_LOAD_TYPE_SIZET", other, "it is 1 to 6")),
            },
            // SAFETY: the caller promises that it is NULL or a text.
            PATH => config.path = Some(unsafe { text(address().cast::<c_char>(), "ACL_MDL_PATH_PTR")? }.to_owned()),
            MEM_ADDRESS => config.model.address = address(),
            MEM_SIZE => config.model.size = number(),
            WEIGHT_ADDRESS => config.weights.address = address(),
            WEIGHT_SIZE => config.weights.size = number(),
            WORKSPACE_ADDRESS => config.work.address = address(),
            WORKSPACE_SIZE => config.work.size = number(),
            // They have no effect here.
            _ => {}
        }
        Ok(())
    })
}

fn check_size(attribute: c_int, size: usize) -> Result<(), Failure> {
    let right: &[usize] = match attribute {
        PRIORITY | WITHOUT_GRAPH => &[4],
        LOAD_TYPE..=FIFO_SIZE => &[8],
        PERFORMANCE_MODE => &[4, 8],
        _ => return Err(Failure::wrong_value("attr", attribute, "it is no aclmdlConfigAttr")),
    };
    if right.contains(&size) {
        return Ok(());
    }
    let reason = format!("the value of attribute {attribute} has {} bytes", right[0]);
    Err(Failure::wrong_value("valueSize", size, &reason))
}

/// Loads a model as a configuration handle says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlLoadWithConfig(handle: *const aclmdlConfigHandle, model_id: *mut u32) -> c_int {
    call(|| {
        let config = CONFIGS.get(handle)?.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let read = || {
            let graph = match config.load_type {
                1 | 2 => source::load(config.path.as_deref().ok_or_else(|| missing("ACL_MDL_PATH_PTR"))?)?,
                3 | 4 if config.model.address.is_null() => return Err(missing("ACL_MDL_MEM_ADDR_PTR")),
                3 | 4 if config.model.size == 0 => return Err(missing("ACL_MDL_MEM_SIZET")),
                // SAFETY: the caller promises that the memory has that size.
                3 | 4 => unsafe { source::read_memory(config.model.address, config.model.size)? },
                5 | 6 => return Err(Failure::unsupported("loading a model with queues")),
                _ => return Err(missing("ACL_MDL_LOAD_TYPE_SIZET")),
            };
            let place = |place: Place| (place.address, place.size);
            // Memory counts for the types that say so.
            if matches!(config.load_type, 2 | 4) {
                return with_memory(graph, place(config.work), place(config.weights));
            }
            Ok(graph)
        };
        // SAFETY: as the caller promises.
        unsafe { load(model_id, read) }
    })
}

fn missing(attribute: &str) -> Failure {
    Failure::wrong_value("handle", attribute, "the attribute is required, and is not set")
}
