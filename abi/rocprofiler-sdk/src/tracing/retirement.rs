use opscope_clock::Ticks;

use crate::kinds::Domain;
use crate::layout::RetirementRecord;
use crate::services::routes;
use crate::stored_records::TRACING;

/// Records that an internal correlation id is no longer used, if a context wants that.
#[inline(always)]
pub fn retire(internal: u64) {
    let routes = routes(Domain::CorrelationIdRetirement);
    if !routes.is_empty() {
        tell(internal);
    }
}

#[cold]
fn tell(internal: u64) {
    for route in routes(Domain::CorrelationIdRetirement).iter().filter(|route| route.context.is_started()) {
        if let Some(service) = &route.buffered {
            let record = RetirementRecord {
                size: size_of::<RetirementRecord>() as u64,
                kind: service.kind,
                reserved: 0,
                timestamp: Ticks::now().as_raw(),
                internal_correlation_id: internal,
            };
            service.buffer.put(TRACING, service.kind, &record);
        }
    }
}
