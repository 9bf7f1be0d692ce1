use opscope_clock::Timestamp;

use super::event::{Event, Phase};
use crate::kinds::Domain;
use crate::layout::{RuntimeInitializationData, RuntimeInitializationRecord};
use crate::stored_records::TRACING;

/// Reports that a runtime registered itself. `operation` says which one.
pub fn announce_runtime(operation: i32, version: u64, instance: u64) {
    let domain = Domain::RuntimeInitialization;
    let Some(mut event) = Event::uncorrelated(domain, |route| route.wants(operation)) else { return };
    event.call(operation, Phase::None, || RuntimeInitializationData {
        size: size_of::<RuntimeInitializationData>() as u64,
        version,
        instance,
    });
    event.record(operation, |service, correlation_id| {
        let record = RuntimeInitializationRecord {
            size: size_of::<RuntimeInitializationRecord>() as u64,
            kind: service.kind,
            operation,
            correlation_id,
            thread_id: event.thread,
            timestamp: Timestamp::now().as_nanos(),
            version,
            instance,
        };
        service.buffer.put(TRACING, service.kind, &record);
    });
}
