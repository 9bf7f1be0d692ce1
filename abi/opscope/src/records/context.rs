use opscope::trace::{Context, Operation, Operations};
use opscope_border::{Items, Out, exported};

use super::buffer_handle::opscope_buffer_t;
use super::kinds::kind_of;
use crate::border::{Failure, get, handle, insert, remove, slice};

/// The switch for a set of tracing services: a service traces one kind of records into one buffer while the context is
/// started. Destroy it with `opscope_context_destroy`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_context_t {
    /// 0 is no context.
    pub id: u64,
}
handle!(opscope_context_t => Context, "context");

/// Creates a context without services. It is not started yet.
#[exported]
pub fn opscope_context_create(context: Out<'_, opscope_context_t>) -> Result<(), Failure> {
    let context = context.place("context")?;
    context.write(insert(Context::create()));
    Ok(())
}

/// Adds a service: records of a kind, an `opscope_kind_t`, go into a buffer. `operations` are those that are traced; a
/// `count` of 0 selects all. A buffer serves one context, and a context traces a kind into one buffer.
#[exported]
pub fn opscope_context_configure(
    context: opscope_context_t,
    kind: u16,
    #[counted_by(count)] operations: Items<'_, u32>,
    count: usize,
    buffer: opscope_buffer_t,
) -> Result<(), Failure> {
    let (context, buffer, kind) = (get(context)?, get(buffer)?, kind_of(kind)?);
    let operations = slice(operations, "operations")?;
    let operations: Vec<Operation> = operations.iter().copied().map(Operation).collect();
    let operations = if operations.is_empty() { Operations::All } else { Operations::Only(&operations) };
    Ok(context.configure(kind, operations, &buffer)?)
}

/// Starts tracing. Does nothing if the context is started already.
#[exported]
pub fn opscope_context_start(context: opscope_context_t) -> Result<(), Failure> {
    Ok(get(context)?.start()?)
}

/// Stops tracing. When this returns, every emitted record is in its buffer, and none will follow.
#[exported]
pub fn opscope_context_stop(context: opscope_context_t) -> Result<(), Failure> {
    Ok(get(context)?.stop()?)
}

/// Stops a context and removes its services. Their buffers stay.
#[exported]
pub fn opscope_context_destroy(context: opscope_context_t) -> Result<(), Failure> {
    Ok(remove(context)?.destroy()?)
}
