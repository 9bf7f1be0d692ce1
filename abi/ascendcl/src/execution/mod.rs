//! Runs of models, on the calling thread or in a stream.

#[allow(unsafe_code, reason = "it copies from and to memory that the program names")]
mod region;
mod run;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use opscope_border::{Bytes, exported};
use opscope_sys::Mutex;

use crate::border::{Failure, codes, value};
use crate::contexts::aclrtStream;
use crate::data::aclmdlDataset;
use crate::handles::Table;
use crate::streams::refuse_in_callback;
use run::{Empty, Run};

/// Runs a model on this thread.
#[exported]
pub fn aclmdlExecute(model_id: u32, input: *const aclmdlDataset, output: *mut aclmdlDataset) -> Result<(), Failure> {
    Run::prepare(model_id, input, output, ptr::null_mut(), Empty::Allocate)?.execute(|| true)
}

/// Runs a model in a stream, and waits for it as long as the configuration allows.
#[exported]
pub fn aclmdlExecuteV2(
    model_id: u32,
    input: *const aclmdlDataset,
    output: *mut aclmdlDataset,
    stream: aclrtStream,
    handle: *const aclmdlExecConfigHandle,
) -> Result<(), Failure> {
    let timeout = exec_config(handle)?.timeout.unwrap_or(Duration::MAX);
    let run = Run::prepare(model_id, input, output, stream, Empty::Allocate)?;
    let stream = run.stream();
    // The stream may be waiting for this call to return.
    refuse_in_callback()?;
    let given_up = Arc::new(AtomicBool::new(false));
    let (done, result) = channel();
    let seen = Arc::clone(&given_up);
    // A failure of the run is returned by this call, and not by the stream's next synchronization.
    let work = move || {
        drop(done.send(contained(|| run.execute(|| !seen.load(Ordering::Acquire)))));
        Ok(())
    };
    stream.run(work)?;
    result.recv_timeout(timeout).unwrap_or_else(|error| {
        given_up.store(true, Ordering::Release);
        Err(match error {
            RecvTimeoutError::Timeout => {
                let text = format!("the run did not end within {} ms", timeout.as_millis());
                Failure::new(codes::RT_STREAM_SYNC_TIMEOUT, "EE1001", text)
            }
            RecvTimeoutError::Disconnected => {
                let text = "the stream was destroyed before the run, or stopped when work before it failed";
                Failure::new(codes::RT_MODEL_EXECUTE, "EE1001", text)
            }
        })
    })
}

/// Queues a run of a model in a stream. Which buffers are used is fixed now. Their content is read and written when the
/// model runs.
#[exported]
pub fn aclmdlExecuteAsync(
    model_id: u32,
    input: *const aclmdlDataset,
    output: *mut aclmdlDataset,
    stream: aclrtStream,
) -> Result<(), Failure> {
    let run = Run::prepare(model_id, input, output, stream, Empty::Refuse)?;
    let stream = run.stream();
    let work = move || run.execute(|| true).map_err(|failure| Failure { code: codes::RT_MODEL_EXECUTE, ..failure });
    stream.run(work)
}

/// Runs work of a stream, and turns a panic into a failure of the work.
fn contained(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Failure::new(codes::RT_MODEL_EXECUTE, "EE9999", "opscope failed in a run")))
}

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
