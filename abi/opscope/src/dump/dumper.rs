//! The dumper, and what it reports.

use std::ffi::c_char;
use std::ops::Deref;
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Weak};

use opscope::dump::{DumpFormat, DumpInfo, DumpReport, Dumper, Handle, Request, Sink};
use opscope_border::{Out, SizedIn, SizedOut, Text, exported, sized, value};
use opscope_sys::Mutex;

use super::sink::{CallbackSink, opscope_dump_request_t, opscope_sink_t, read_request};
use super::stream::{OriginForC, opscope_stream_t};
use crate::border::opscope_status_t::{OPSCOPE_ERROR_INCOMPLETE, OPSCOPE_ERROR_NOT_FOUND};
use crate::border::{Failure, KeptText, get, handle, insert, remove};
use crate::session::{LoadedSession, opscope_session_t};

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

/// The instrument that captures tensors and delivers them to sinks. Free it with `opscope_dumper_free`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_dumper_t {
    /// 0 is no dumper.
    pub id: u64,
}
handle!(opscope_dumper_t => DumperForC, "dumper");

/// A sink of a dumper. End it with `opscope_dumper_unsubscribe` or `opscope_dumper_finish`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_subscription_t {
    /// 0 is no subscription.
    pub id: u64,
}
handle!(opscope_subscription_t => Subscription, "subscription");

/// A dumper, and the handles of its subscriptions.
#[derive(Default)]
pub struct DumperForC {
    dumper: Dumper,
    subscriptions: Mutex<Vec<opscope_subscription_t>>,
}

/// The dumper of a sink, and the dumper's handle for that sink.
pub struct Subscription {
    dumper: Weak<DumperForC>,
    handle: Handle,
}

impl Deref for DumperForC {
    type Target = Dumper;

    fn deref(&self) -> &Dumper {
        &self.dumper
    }
}

impl DumperForC {
    /// Ends all sinks. Their handles become invalid.
    fn end(&self) -> Result<DumpReport, Failure> {
        let report = self.dumper.finish()?;
        let ended = std::mem::take(&mut *self.subscriptions.lock());
        // Some of these handles may be invalid already, because their sinks were unsubscribed.
        ended.into_iter().for_each(|subscription| drop(remove(subscription)));
        Ok(report)
    }
}

/// Creates a dumper without sinks.
#[exported]
pub fn opscope_dumper_create(dumper: Out<'_, opscope_dumper_t>) -> Result<(), Failure> {
    let dumper = dumper.place("dumper")?;
    dumper.write(insert(DumperForC::default()));
    Ok(())
}

/// Adds a sink that calls back. It receives nothing from runs that have already begun. `subscription` may be NULL.
#[exported]
pub fn opscope_dumper_subscribe(
    dumper: opscope_dumper_t,
    request: SizedIn<'_, opscope_dump_request_t<'_>>,
    sink: SizedIn<'_, opscope_sink_t>,
    subscription: Out<'_, opscope_subscription_t>,
) -> Result<(), Failure> {
    let dumper = get(dumper)?;
    let (request, sink) = (read_request(request)?, CallbackSink::read(sink)?);
    subscribe(dumper, request, Box::new(sink), subscription)
}

/// Adds a sink that writes files into a new directory. `format` is "npy" (the default for NULL), "ascend" or
/// "statistics". `subscription` may be NULL.
#[exported]
pub fn opscope_dumper_subscribe_directory(
    dumper: opscope_dumper_t,
    request: SizedIn<'_, opscope_dump_request_t<'_>>,
    session: opscope_session_t,
    directory: Text<'_>,
    format: Text<'_>,
    subscription: Out<'_, opscope_subscription_t>,
) -> Result<(), Failure> {
    let (dumper, loaded) = (get(dumper)?, get(session)?);
    let (directory, format) = (directory.path("directory")?, format.given_str("format")?);
    // The request is read first, so that a wrong one leaves no directory.
    let request = read_request(request)?;
    let sink = directory_sink(&loaded, &directory, format.unwrap_or(DumpFormat::NPY.name))?;
    subscribe(dumper, request, sink, subscription)
}

/// Ends a sink: waits for the call in progress, delivers what is queued, and closes the sink, which is not called
/// afterwards. If `report` is not NULL, writes a report to it, which the caller frees. Returns
/// `OPSCOPE_ERROR_INCOMPLETE` if something is missing, and `OPSCOPE_ERROR_BUSY` inside the sink.
#[exported]
pub fn opscope_dumper_unsubscribe(
    subscription: opscope_subscription_t,
    report: Out<'_, opscope_dump_report_t>,
) -> Result<(), Failure> {
    let found = get(subscription)?;
    let ended = found.dumper.upgrade().map_or(Ok(None), |dumper| dumper.unsubscribe(found.handle))?;
    // If another call has ended the sink, that call returns the report.
    let removed = remove(subscription);
    let Some(ended) = ended else { return removed.map(drop) };
    give(&DumpReport { subscriptions: vec![ended] }, report)
}

/// Ends all sinks of a dumper, as `opscope_dumper_unsubscribe` ends one.
#[exported]
pub fn opscope_dumper_finish(dumper: opscope_dumper_t, report: Out<'_, opscope_dump_report_t>) -> Result<(), Failure> {
    give(&get(dumper)?.end()?, report)
}

/// Frees a dumper, and ends its sinks.
#[exported]
pub fn opscope_dumper_free(dumper: opscope_dumper_t) -> Result<(), Failure> {
    get(dumper)?.end()?;
    remove(dumper).map(drop)
}

fn subscribe(
    dumper: Arc<DumperForC>,
    request: Request,
    sink: Box<dyn Sink>,
    subscription: Out<'_, opscope_subscription_t>,
) -> Result<(), Failure> {
    let handle = dumper.subscribe(sink, request)?;
    if let Some(subscription) = subscription.given() {
        let made = insert(Subscription { dumper: Arc::downgrade(&dumper), handle });
        dumper.subscriptions.lock().push(made);
        subscription.write(made);
    }
    Ok(())
}

fn directory_sink(loaded: &LoadedSession, directory: &Path, format: &str) -> Result<Box<dyn Sink>, Failure> {
    let known = DumpFormat::ALL.iter().find(|known| known.name == format);
    let format = known.ok_or_else(|| {
        let names: Vec<_> = DumpFormat::ALL.iter().map(|known| known.name).collect();
        Failure::argument(format!("'{format}' is not a format of dumps; it is one of {}", names.join(", ")))
    })?;
    let session = &loaded.session;
    let info =
        DumpInfo::new(session.graph(), session.model().fidelity(), session.engine().name(), session.engine().version());
    Ok(format.create(directory, &info, false)?)
}

fn give(report: &DumpReport, to: Out<'_, opscope_dump_report_t>) -> Result<(), Failure> {
    let report = ReportForC::new(report);
    let incomplete = (!report.is_complete()).then(|| Failure::new(OPSCOPE_ERROR_INCOMPLETE, report.incomplete()));
    // The report is kept only if the caller can free it.
    if let Some(place) = to.given() {
        place.write(insert(report));
    }
    incomplete.map_or(Ok(()), Err)
}
