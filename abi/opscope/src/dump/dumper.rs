use std::ffi::c_char;
use std::path::Path;
use std::sync::Arc;

use opscope::dump::{DumpFormat, DumpInfo, DumpReport, Dumper, Handle, Sink};

use super::report::{ReportForC, opscope_dump_report_t};
use super::request::{opscope_dump_request_t, request};
use super::sink::{CallbackSink, opscope_sink_t};
use crate::border::opscope_status_t::{self, OPSCOPE_ERROR_INCOMPLETE};
use crate::border::{Failure, call, get, handle, insert, out, read_optional_text, read_path, remove};
use crate::session::{LoadedSession, opscope_session_t};

/// The instrument that captures tensors and delivers them to sinks. Free it with `opscope_dumper_free`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_dumper_t {
    /// 0 is no dumper.
    pub id: u64,
}
handle!(opscope_dumper_t => Dumper, "dumper");

/// A sink of a dumper. It ends with `opscope_dumper_unsubscribe` or `opscope_dumper_finish`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_subscription_t {
    /// 0 is no subscription.
    pub id: u64,
}
handle!(opscope_subscription_t => Subscription, "subscription");

/// A dumper and its number for the sink.
pub struct Subscription {
    dumper: Arc<Dumper>,
    handle: Handle,
}

/// Creates a dumper without sinks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_dumper_create(dumper: *mut opscope_dumper_t) -> opscope_status_t {
    call(|| {
        let dumper = out(dumper, "dumper")?;
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { dumper.write(insert(Dumper::new())) };
        Ok(())
    })
}

/// Adds a sink that calls back. It gets nothing from runs that have begun. `subscription` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_dumper_subscribe(
    dumper: opscope_dumper_t,
    request: *const opscope_dump_request_t,
    sink: *const opscope_sink_t,
    subscription: *mut opscope_subscription_t,
) -> opscope_status_t {
    call(|| {
        let dumper = get(dumper)?;
        // SAFETY: as the caller promises.
        unsafe { subscribe(dumper, Box::new(CallbackSink::read(sink)?), request, subscription) }
    })
}

/// Adds a sink that writes files into a new directory. `format` is "npy" (also where it is NULL), "ascend" or "statistics".
/// `subscription` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_dumper_subscribe_directory(
    dumper: opscope_dumper_t,
    request: *const opscope_dump_request_t,
    session: opscope_session_t,
    directory: *const c_char,
    format: *const c_char,
    subscription: *mut opscope_subscription_t,
) -> opscope_status_t {
    call(|| {
        let (dumper, loaded) = (get(dumper)?, get(session)?);
        // SAFETY: as the caller promises.
        let (directory, format) =
            unsafe { (read_path(directory, "directory")?, read_optional_text(format, "format")?) };
        let sink = directory_sink(&loaded, &directory, format.unwrap_or(DumpFormat::NPY.name))?;
        // SAFETY: as the caller promises.
        unsafe { subscribe(dumper, sink, request, subscription) }
    })
}

/// Ends a sink: waits for the call in flight, delivers what is queued, and closes the sink, which is not called afterwards.
/// Where `report` is not NULL, it gets a report, which the caller frees. Returns `OPSCOPE_ERROR_INCOMPLETE` if something is missing,
/// and `OPSCOPE_ERROR_BUSY` inside of the sink.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_dumper_unsubscribe(
    subscription: opscope_subscription_t,
    report: *mut opscope_dump_report_t,
) -> opscope_status_t {
    call(|| {
        let found = get(subscription)?;
        let ended = found.dumper.unsubscribe(found.handle)?;
        remove(subscription)?;
        // SAFETY: as the caller promises.
        unsafe { give(&DumpReport { subscriptions: ended.into_iter().collect() }, report) }
    })
}

/// Ends all sinks of a dumper, as `opscope_dumper_unsubscribe` ends one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_dumper_finish(
    dumper: opscope_dumper_t,
    report: *mut opscope_dump_report_t,
) -> opscope_status_t {
    // SAFETY: as the caller promises.
    call(|| unsafe { give(&get(dumper)?.finish()?, report) })
}

/// Frees a dumper, and ends its sinks.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_dumper_free(dumper: opscope_dumper_t) -> opscope_status_t {
    call(|| {
        get(dumper)?.finish()?;
        remove(dumper).map(drop)
    })
}

unsafe fn subscribe(
    dumper: Arc<Dumper>,
    sink: Box<dyn Sink>,
    given: *const opscope_dump_request_t,
    subscription: *mut opscope_subscription_t,
) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let handle = dumper.subscribe(sink, unsafe { request(given)? })?;
    if !subscription.is_null() {
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { subscription.write(insert(Subscription { dumper, handle })) };
    }
    Ok(())
}

fn directory_sink(loaded: &LoadedSession, directory: &Path, format: &str) -> Result<Box<dyn Sink>, Failure> {
    let known = DumpFormat::ALL.iter().find(|known| known.name == format);
    let format = known.ok_or_else(|| {
        let names: Vec<_> = DumpFormat::ALL.iter().map(|known| known.name).collect();
        Failure::argument(format!("'{format}' is no format of dumps; it is one of {}", names.join(", ")))
    })?;
    let session = &loaded.session;
    let info =
        DumpInfo::new(session.graph(), session.model().fidelity(), session.engine().name(), session.engine().version());
    Ok(format.create(directory, &info, false)?)
}

unsafe fn give(report: &DumpReport, to: *mut opscope_dump_report_t) -> Result<(), Failure> {
    let report = ReportForC::new(report);
    let incomplete = (!report.is_complete()).then(|| Failure::new(OPSCOPE_ERROR_INCOMPLETE, report.incomplete()));
    if !to.is_null() {
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { to.write(insert(report)) };
    }
    incomplete.map_or(Ok(()), Err)
}
