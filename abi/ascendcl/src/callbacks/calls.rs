//! The functions for callbacks.

use std::ffi::c_int;
use std::sync::Arc;

use opscope_border::{exported, system};

use super::reports::{Callback, Function};
use super::subscriptions::{of_stream, of_thread, subscribe, unsubscribe};
use crate::border::{Data, Failure, codes, required};
use crate::contexts::{aclrtStream, limit, stream};
use crate::last_error::runtime_call;
use crate::streams::Latch;

const NO_BLOCK: c_int = 0;
const BLOCK: c_int = 1;

/// Lets a thread of the program run the callbacks of a stream. The thread is identified by the value of pthread_self.
#[exported(runtime_call)]
pub fn aclrtSubscribeReport(thread: u64, of: aclrtStream) -> Result<(), Failure> {
    subscribe(thread, &stream(of)?)
}

/// Ends the subscription that aclrtSubscribeReport began. Waiting callbacks are not called; if there are any, the
/// stream's next synchronization fails.
#[exported(runtime_call)]
pub fn aclrtUnSubscribeReport(thread: u64, of: aclrtStream) -> Result<(), Failure> {
    unsubscribe(thread, &stream(of)?)
}

/// Queues a function that the subscribed thread calls. With ACL_CALLBACK_BLOCK the stream waits for it.
#[exported(runtime_call)]
pub fn aclrtLaunchCallback(
    function: Option<Function>,
    data: Data,
    block: c_int,
    on: aclrtStream,
) -> Result<(), Failure> {
    let (function, data) = (required(function, "fn")?, data);
    if block != NO_BLOCK && block != BLOCK {
        let reason = "it is not one of aclrtCallbackBlockType";
        return Err(Failure::wrong_value("blockType", block, reason));
    }
    let stream = stream(on)?;
    of_stream(&stream).ok_or_else(no_thread)?;
    let of = Arc::clone(&stream);
    stream.run(move || {
        let (thread, reports) = of_stream(&of).ok_or_else(no_thread)?;
        let latch = Arc::new(Latch::default());
        reports.push(Callback { function, data, stream: Arc::clone(&of), latch: Arc::clone(&latch) });
        if block == NO_BLOCK || of.wait_for_program(thread, &latch) {
            return Ok(());
        }
        let text = format!("a callback of stream {} was not called: no thread asked for it", of.id());
        Err(Failure::new(codes::RT_STREAM_NO_CB_REG, "EE1003", text))
    })
}

fn no_thread() -> Failure {
    let text = "no thread runs the callbacks of this stream: call aclrtSubscribeReport first";
    Failure::new(codes::RT_STREAM_NO_CB_REG, "EE1003", text)
}

/// Waits until a stream reaches a callback for this thread, and calls all that wait.
#[exported(runtime_call)]
pub fn aclrtProcessReport(milliseconds: i32) -> Result<(), Failure> {
    let limit = limit(milliseconds, 1)?;
    of_thread(system::thread_handle())?.process(limit)
}

/// Queues a function that the stream's own thread calls.
#[exported(runtime_call)]
pub fn aclrtLaunchHostFunc(on: aclrtStream, function: Option<Function>, data: Data) -> Result<(), Failure> {
    let (function, data) = (required(function, "fn")?, data);
    stream(on)?.run(move || {
        function(data);
        Ok(())
    })
}
