use std::ffi::c_char;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use opscope::dump::{DumpFormat, DumpInfo, DumpReport, Dumper, Handle, Request, Sink};

use super::report::{ReportForC, opscope_dump_report_t};
use super::request::{opscope_dump_request_t, read_request};
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
handle!(opscope_dumper_t => DumperForC, "dumper");

/// A sink of a dumper. It ends with `opscope_dumper_unsubscribe` or `opscope_dumper_finish`.
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

/// A dumper and its number for the sink.
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
    /// Ends all sinks. Their handles are invalid from then on.
    fn end(&self) -> Result<DumpReport, Failure> {
        let report = self.dumper.finish()?;
        let ended = std::mem::take(&mut *self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner));
        // Some were unsubscribed before.
        ended.into_iter().for_each(|subscription| drop(remove(subscription)));
        Ok(report)
    }
}

/// Creates a dumper without sinks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_dumper_create(dumper: *mut opscope_dumper_t) -> opscope_status_t {
    call(|| {
        let dumper = out(dumper, "dumper")?;
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { dumper.write(insert(DumperForC::default())) };
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
        let (request, sink) = unsafe { (read_request(request)?, CallbackSink::read(sink)?) };
        // SAFETY: as the caller promises.
        unsafe { subscribe(dumper, request, Box::new(sink), subscription) }
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
        // The request comes first: a wrong one leaves no directory.
        // SAFETY: as the caller promises.
        let request = unsafe { read_request(request)? };
        let sink = directory_sink(&loaded, &directory, format.unwrap_or(DumpFormat::NPY.name))?;
        // SAFETY: as the caller promises.
        unsafe { subscribe(dumper, request, sink, subscription) }
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
        let ended = found.dumper.upgrade().map_or(Ok(None), |dumper| dumper.unsubscribe(found.handle))?;
        // Whoever ended it gets the report.
        let removed = remove(subscription);
        let Some(ended) = ended else { return removed.map(drop) };
        // SAFETY: as the caller promises.
        unsafe { give(&DumpReport { subscriptions: vec![ended] }, report) }
    })
}

/// Ends all sinks of a dumper, as `opscope_dumper_unsubscribe` ends one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_dumper_finish(
    dumper: opscope_dumper_t,
    report: *mut opscope_dump_report_t,
) -> opscope_status_t {
    // SAFETY: as the caller promises.
    call(|| unsafe { give(&get(dumper)?.end()?, report) })
}

/// Frees a dumper, and ends its sinks.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_dumper_free(dumper: opscope_dumper_t) -> opscope_status_t {
    call(|| {
        get(dumper)?.end()?;
        remove(dumper).map(drop)
    })
}

unsafe fn subscribe(
    dumper: Arc<DumperForC>,
    request: Request,
    sink: Box<dyn Sink>,
    subscription: *mut opscope_subscription_t,
) -> Result<(), Failure> {
    let handle = dumper.subscribe(sink, request)?;
    if !subscription.is_null() {
        let made = insert(Subscription { dumper: Arc::downgrade(&dumper), handle });
        dumper.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).push(made);
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { subscription.write(made) };
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
