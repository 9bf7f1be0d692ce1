//! How a buffer stores records: their categories, and their times, which are raw ticks until delivery.

use std::mem::offset_of;

use crate::kinds::{BUFFERED, Domain};
use crate::layout::{ApiRecord, RetirementRecord};

/// The category of the records that this library makes.
pub const TRACING: u8 = 1;
/// The number of categories that a tool may use.
pub const MOST_CATEGORIES: u8 = 200;
/// Added to a tool's category, so that no record here has one of opscope's own categories.
pub const CATEGORY_OFFSET: u8 = 16;

/// Returns which words of a record are ticks. The records of producers have their times in nanoseconds already, as have
/// a tool's own records.
#[inline]
pub fn ticks_of(category: u32, kind: u32) -> &'static [usize] {
    if category != u32::from(TRACING) {
        return &[];
    }
    match BUFFERED.get(kind as usize).and_then(|kind| kind.domain) {
        Some(Domain::MarkerCore | Domain::MarkerControl | Domain::MarkerName | Domain::MarkerRange) => API_TIMES,
        Some(Domain::CorrelationIdRetirement) => RETIREMENT_TIMES,
        _ => &[],
    }
}

const API_TIMES: &[usize] = &[offset_of!(ApiRecord, start) / 8, offset_of!(ApiRecord, end) / 8];
const RETIREMENT_TIMES: &[usize] = &[offset_of!(RetirementRecord, timestamp) / 8];
