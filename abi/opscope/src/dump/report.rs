use std::ffi::c_char;
use std::ptr;

use opscope::dump::DumpReport;
use opscope_border::{Out, SizedOut, exported, sized, value};

use super::stream::{OriginForC, opscope_stream_t};
use crate::border::opscope_status_t::OPSCOPE_ERROR_NOT_FOUND;
use crate::border::{Failure, KeptText, get, handle, remove};

/// The result of a dumper. Free it with `opscope_dump_report_free`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_dump_report_t {
    /// 0 is no report.
    pub id: u64,
}
handle!(opscope_dump_report_t => ReportForC, "dump report");

/// The counts of a report.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_dump_counts_t {
    /// `sizeof(opscope_dump_counts_t)`.
    pub size: usize,
    /// Tensors that sinks accepted.
    pub tensors: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Tensors that were selected but not delivered.
    pub missing: u64,
    /// How many of those have a name in the report: the first 100,000 of each sink.
    pub named: u64,
    /// Other problems: sinks that failed, runs that failed.
    pub errors: u64,
    /// 1 if everything that was selected was delivered, else 0.
    pub complete: u32,
    /// 0.
    pub reserved: u32,
}
sized!(opscope_dump_counts_t, 56);

/// A report with texts for C.
pub struct ReportForC {
    counts: opscope_dump_counts_t,
    missing: Vec<(OriginForC, KeptText)>,
    errors: Vec<KeptText>,
}

impl ReportForC {
    pub(super) fn new(report: &DumpReport) -> Self {
        let subscriptions = &report.subscriptions;
        let named = subscriptions.iter().flat_map(|one| one.losses.named());
        let missing: Vec<_> =
            named.map(|missing| (OriginForC::new(&missing.origin), KeptText::new(&missing.reason))).collect();
        let errors: Vec<_> =
            subscriptions.iter().flat_map(|one| &one.errors).map(|error| KeptText::new(error)).collect();
        let counts = opscope_dump_counts_t {
            size: size_of::<opscope_dump_counts_t>(),
            tensors: subscriptions.iter().map(|one| one.delivered.tensors).sum(),
            bytes: subscriptions.iter().map(|one| one.delivered.bytes).sum(),
            missing: subscriptions.iter().map(|one| one.losses.count()).sum(),
            named: missing.len() as u64,
            errors: errors.len() as u64,
            complete: u32::from(report.is_complete()),
            reserved: 0,
        };
        Self { counts, missing, errors }
    }

    /// Returns a sentence that says what is missing.
    pub(super) fn incomplete(&self) -> String {
        let opscope_dump_counts_t { missing, errors, .. } = self.counts;
        format!("{missing} tensors are missing, and {errors} errors happened; the report names them")
    }

    pub(super) fn is_complete(&self) -> bool {
        self.counts.complete == 1
    }
}

/// Writes the counts of a report to `counts`, whose `size` must be set.
#[exported]
pub fn opscope_dump_report_counts(
    report: opscope_dump_report_t,
    counts: SizedOut<'_, opscope_dump_counts_t>,
) -> Result<(), Failure> {
    Ok(counts.write(&get(report)?.counts)?)
}

/// Writes a tensor that was not delivered to `tensor`, whose `size` must be set, and the reason to `reason`. Its type
/// and shape are unknown. Both are valid until the report is freed.
#[exported]
pub fn opscope_dump_report_missing(
    report: opscope_dump_report_t,
    index: usize,
    tensor: SizedOut<'_, opscope_stream_t>,
    reason: Out<'_, *const c_char>,
) -> Result<(), Failure> {
    let (report, reason) = (get(report)?, reason.place("reason")?);
    let (origin, why) = found(&report.missing, index, "missing tensor")?;
    tensor.write(&origin.alone())?;
    reason.write(why.as_ptr());
    Ok(())
}

/// Returns one of the other problems; NULL if there is no such one. The text is valid until the report is freed.
#[exported]
pub fn opscope_dump_report_error(report: opscope_dump_report_t, index: usize) -> *const c_char {
    value(ptr::null(), || found(&get(report)?.errors, index, "error").map(KeptText::as_ptr))
}

/// Frees a report.
#[exported]
pub fn opscope_dump_report_free(report: opscope_dump_report_t) -> Result<(), Failure> {
    remove(report).map(drop)
}

fn found<'a, T>(list: &'a [T], index: usize, name: &str) -> Result<&'a T, Failure> {
    list.get(index).ok_or_else(|| {
        Failure::new(OPSCOPE_ERROR_NOT_FOUND, format!("there is no {name} {index}; the report has {}", list.len()))
    })
}
