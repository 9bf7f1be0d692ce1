use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use opscope_border::exported;

use super::config::{aclmdlExecConfigHandle, exec_config};
use super::outputs::Empty;
use super::run::Run;
use crate::border::{Failure, codes};
use crate::contexts::aclrtStream;
use crate::data::aclmdlDataset;
use crate::streams::refuse_in_callback;

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
