use std::ffi::c_int;
use std::ptr;
use std::time::Duration;

use opscope_border::{Bytes, exported};
use opscope_sys::Mutex;

use crate::border::{Failure, value};
use crate::objects::Table;

/// The type by which a program knows an [`ExecConfig`].
#[repr(C)]
pub struct aclmdlExecConfigHandle {
    _private: [u8; 0],
}

/// How to run a model.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExecConfig {
    /// How long to wait for the run; `None` means forever.
    pub timeout: Option<Duration>,
}

static CONFIGS: Table<aclmdlExecConfigHandle, Mutex<ExecConfig>> =
    Table::new("execution configuration handle", || CONFIGS.held());

const STREAM_SYNC_TIMEOUT: c_int = 0;
const EVENT_SYNC_TIMEOUT: c_int = 1;
const LAST_ATTRIBUTE: c_int = 9;

/// Returns the content of an execution configuration.
pub fn exec_config(handle: *const aclmdlExecConfigHandle) -> Result<ExecConfig, Failure> {
    Ok(*CONFIGS.get(handle)?.lock())
}

/// Creates an execution configuration.
#[exported]
pub fn aclmdlCreateExecConfigHandle() -> *mut aclmdlExecConfigHandle {
    value(ptr::null_mut(), || Ok(CONFIGS.insert(Mutex::default())))
}

/// Destroys an execution configuration.
#[exported]
pub fn aclmdlDestroyExecConfigHandle(handle: *const aclmdlExecConfigHandle) -> Result<(), Failure> {
    CONFIGS.remove(handle).map(drop)
}

/// Sets an attribute: a timeout in milliseconds, or -1 for none. Other attributes have no effect.
#[exported]
pub fn aclmdlSetExecConfigOpt(
    handle: *mut aclmdlExecConfigHandle,
    attribute: c_int,
    #[counted_by(value_size)] attribute_value: Bytes<'_>,
    value_size: usize,
) -> Result<(), Failure> {
    let config = CONFIGS.get(handle)?;
    if attribute_value.is_null() {
        return Err(Failure::null("attrValue"));
    }
    match attribute {
        STREAM_SYNC_TIMEOUT | EVENT_SYNC_TIMEOUT if value_size != size_of::<i32>() => {
            Err(Failure::wrong_value("valueSize", value_size, "the value of a timeout has 4 bytes"))
        }
        STREAM_SYNC_TIMEOUT | EVENT_SYNC_TIMEOUT => {
            let value = attribute_value.get("attrValue")?.first_chunk().copied();
            let timeout = match value.map_or(-1, i32::from_ne_bytes) {
                -1 => None,
                milliseconds => Some(u64::try_from(milliseconds).map(Duration::from_millis).map_err(|_| {
                    Failure::wrong_value("the timeout", milliseconds, "it is a number of milliseconds, or -1")
                })?),
            };
            // A run never waits for an event by itself.
            if attribute == STREAM_SYNC_TIMEOUT {
                config.lock().timeout = timeout;
            }
            Ok(())
        }
        2..=LAST_ATTRIBUTE => Ok(()),
        _ => Err(Failure::wrong_value("attr", attribute, "it is not an aclmdlExecConfigAttr")),
    }
}
