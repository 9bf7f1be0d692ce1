use super::registry::{self, with_routes};
use super::routes::{current_version, traces};
use crate::TraceError;
use crate::buffer::emit::thread_writers::{append_by_buffer, append_by_kind, set_kind_shortcut};
use crate::buffer::interrupts_a_call;
use crate::chunk::header_word;
use crate::record::{Category, DispatchRecord, Kind, Operation, PathLevel, Record};
use crate::sync::Inside;
use crate::sync::inside::{Counter, note_dropped};

/// Returns whether a started context traces this kind. It costs one relaxed load and one branch.
#[inline]
pub fn wanted(kind: Kind) -> bool {
    traces(current_version(), kind)
}

/// Emits a record into the buffers of all started contexts that trace its kind. It costs one relaxed load and one
/// branch if there is none, and 2 to 3 ns if there is one.
///
/// # Errors
/// The first error of a buffer. The other buffers receive the record nevertheless.
#[inline(always)]
pub fn emit<R: Record>(record: &R) -> Result<(), TraceError> {
    let version = current_version();
    if !traces(version, R::KIND) {
        return Ok(());
    }
    let header = const { header_word(Category::TRACING, R::KIND.as_raw(), size_of::<R>()) };
    if append_by_kind(version, R::KIND, record.operation(), header, record.as_bytes()) {
        return Ok(());
    }
    // The record is copied, so that only this path takes its address. On the path above, the caller's values then go
    // from registers into the buffer, and the record need not be in memory.
    match R::read_from_bytes(record.as_bytes()) {
        Ok(copy) => emit_by_routes(version, copy),
        Err(_) => unreachable!("a record is as long as itself"),
    }
}

/// As [`emit`], for a dispatch in the body of an operator: its path follows the record in the payload. It copies the
/// record once more than `emit`, so use it only if the path is not empty.
///
/// # Errors
/// As [`emit`]. A path may be too long for a buffer.
pub fn emit_with_path(
    record: &DispatchRecord,
    path: impl ExactSizeIterator<Item = PathLevel>,
) -> Result<(), TraceError> {
    let (version, kind) = (current_version(), DispatchRecord::KIND);
    if !traces(version, kind) {
        return Ok(());
    }
    record.with_payload(path, |payload| {
        let header = header_word(Category::TRACING, kind.as_raw(), payload.len());
        if append_by_kind(version, kind, record.operation(), header, payload) {
            return Ok(());
        }
        emit_bytes_by_routes(version, kind, record.operation(), header, payload)
    })
}

#[cold]
#[inline(never)]
fn emit_by_routes<R: Record>(version: u64, record: R) -> Result<(), TraceError> {
    let header = const { header_word(Category::TRACING, R::KIND.as_raw(), size_of::<R>()) };
    emit_bytes_by_routes(version, R::KIND, record.operation(), header, record.as_bytes())
}

/// Emits a record into every buffer that its kind is traced into, and sets the thread's shortcut if there is only one.
fn emit_bytes_by_routes(
    version: u64,
    kind: Kind,
    operation: Operation,
    header: u64,
    payload: &[u8],
) -> Result<(), TraceError> {
    if drop_if_interrupting(kind, operation) {
        return Err(TraceError::Interrupted);
    }
    let _inside = Inside::enter();
    with_routes(version, |routes| {
        let mut result = Ok(());
        let mut services = routes.services.iter().filter(|service| service.kind == kind);
        for service in services.clone() {
            if service.operations >> (operation.0 & 63) & 1 != 0
                && !append_by_buffer(service.buffer.id(), header, payload)
            {
                result = result.and(service.buffer.emit(Some(&service.active), header, payload));
            }
        }
        if let (Some(only), None) = (services.next(), services.next()) {
            set_kind_shortcut(routes.version, kind, only.operations, &only.buffer);
        }
        result
    })
}

/// If the caller is a signal handler that [interrupted a call](interrupts_a_call), drops the record that it is about to
/// emit, and counts it in the buffers that trace it. Returns whether it did.
pub(super) fn drop_if_interrupting(kind: Kind, operation: Operation) -> bool {
    let interrupts = interrupts_a_call();
    if interrupts {
        note_dropped(Counter::Contexts, u64::from(kind.as_raw()) << 8 | u64::from(operation.0 & 63));
    }
    interrupts
}

/// Counts records that [`drop_if_interrupting`] dropped, by the key that it noted.
pub(super) fn count_dropped_in_handler(key: u64, records: u64) {
    let (kind, operation) = ((key >> 8) as u16, key & 63);
    for service in &registry::current_routes().services {
        if service.kind.as_raw() == kind && service.operations >> operation & 1 != 0 {
            service.buffer.count_dropped(header_word(Category::TRACING, kind, 0), records);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::record::{EngineCallRecord, Operations};
    use crate::{Buffer, BufferOptions, Context};

    #[test]
    fn a_record_that_a_handler_drops_is_counted_if_its_own_operation_is_traced() {
        let buffer = Buffer::create(BufferOptions::default(), |_| ()).expect("the options are valid");
        let context = Context::create();
        let only = Operations::Only(&[Operation(1)]);
        context.configure(Kind::EngineCall, only, &buffer).expect("it has no such kind yet");
        context.start().expect("it is not destroyed");
        let dropped_after = |operation: u32| {
            // A thread that is inside of a call is what a handler finds.
            let inside = Inside::enter();
            let refused = emit(&EngineCallRecord { operation, ..EngineCallRecord::default() });
            assert!(matches!(refused, Err(TraceError::Interrupted)), "{refused:?}");
            drop(inside);
            buffer.statistics().kind(Kind::EngineCall).dropped
        };
        assert_eq!([1, 0, 2, 1].map(dropped_after), [1, 1, 1, 2]);
    }
}
