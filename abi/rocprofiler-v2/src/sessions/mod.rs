//! Sessions with their filters and buffers, and the destinations of the active session's records.

mod list;
pub mod sync;
pub mod targets;

use std::any::Any;
use std::ffi::c_int;

use opscope_border::Counted;

use crate::border::Status;
use crate::kinds::DOMAINS;
use crate::layout::{FilterProperty, Handle};
pub use list::{Session, find_buffer, put_slowly, with_session, with_sessions};
pub use sync::SyncCallback;
pub use targets::Wanted;

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(list::lock()), Box::new(sync::lock())]
}

/// Removes everything that belongs to the parent's other threads, and to records that the child does not have.
pub fn reset_in_child() {
    list::reset_in_child();
    sync::reset_in_child();
}

/// What a filter lets through.
pub enum FilterKind {
    /// Dispatches with their times.
    DispatchTimestamps,
    /// Calls and activities of these domains.
    ApiTrace(Vec<c_int>),
}

/// A filter of a session.
pub struct Filter {
    pub id: Handle,
    pub kind: FilterKind,
    pub buffer: Option<Handle>,
    pub sync: Option<SyncCallback>,
}

const DISPATCH_TIMESTAMPS: c_int = 1;
const COUNTERS: c_int = 2;
const ATT: c_int = 4;
pub const API_TRACE: c_int = 6;
const COUNTERS_SAMPLER: c_int = 7;

/// The properties by number, each with the kinds of filters that have it.
const PROPERTIES: [&[c_int]; 7] = [
    &[],
    // The functions of HSA and HIP.
    &[API_TRACE],
    &[API_TRACE],
    // The names of GPUs, and ranges.
    &[COUNTERS, DISPATCH_TIMESTAMPS],
    &[COUNTERS, DISPATCH_TIMESTAMPS],
    // The names of kernels.
    &[COUNTERS, DISPATCH_TIMESTAMPS, ATT],
    // The ids of dispatches.
    &[DISPATCH_TIMESTAMPS, COUNTERS, 3, ATT, 5, API_TRACE, COUNTERS_SAMPLER],
];

impl FilterKind {
    /// Reads the kind of a filter, and its data.
    pub fn read(kind: c_int, data: Counted<'_, c_int>, property: &FilterProperty) -> Result<Self, Status> {
        let is_kind = (DISPATCH_TIMESTAMPS..=COUNTERS_SAMPLER).contains(&kind);
        if !is_kind {
            return Err(Status::FilterNotSupported);
        }
        let kinds = usize::try_from(property.kind).ok().and_then(|kind| PROPERTIES.get(kind));
        if kinds.is_some_and(|kinds| !kinds.is_empty() && !kinds.contains(&kind)) {
            return Err(Status::SessionFilterDataMismatch);
        }
        match kind {
            DISPATCH_TIMESTAMPS => Ok(Self::DispatchTimestamps),
            API_TRACE => domains(data).map(Self::ApiTrace),
            _ => Err(Status::FilterNotSupported),
        }
    }

    /// Returns whether it lets records of a domain through.
    pub fn traces(&self, domain: c_int) -> bool {
        matches!(self, Self::ApiTrace(domains) if domains.contains(&domain))
    }
}

fn domains(data: Counted<'_, c_int>) -> Result<Vec<c_int>, Status> {
    if data.count() == 0 {
        return Err(Status::InvalidArguments);
    }
    let domains = data.at_most(DOMAINS as usize * 64, "data")?.to_vec();
    if domains.iter().all(|domain| (0..DOMAINS).contains(domain)) { Ok(domains) } else { Err(Status::InvalidDomainId) }
}
