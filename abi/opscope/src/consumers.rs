use std::cell::RefCell;
use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope::consumers::attach;

use crate::border::{Text, call, keep, opscope_status_t};

thread_local! {
    /// The text of the search that this thread made last.
    static SKIPPED: RefCell<Option<Text>> = const { RefCell::new(None) };
}

/// Looks for consumers, libraries that receive what this program runs, and attaches those that are not attached yet: loaded
/// libraries that export `opscope_attach_producer` (`opscope_producer.h`), and libraries of known names in the directory that
/// `OPSCOPE_LIB_DIR` names and beside libopscope.so. The first session that is loaded does the same.
///
/// Writes the number of those that were attached now to `attached`, and to `skipped` a text with a line for each library that was
/// not, and why; NULL where there is none. Both may be NULL. The text is valid until the same thread asks again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attach_consumers(
    attached: *mut usize,
    skipped: *mut *const c_char,
) -> opscope_status_t {
    call(|| {
        let report = attach(PROGRAM);
        let lines: Vec<String> = report.skipped.iter().map(ToString::to_string).collect();
        let text = (!lines.is_empty()).then(|| Text::new(&lines.join("\n")));
        let pointer = text.map_or(Ok(ptr::null()), |text| keep(&SKIPPED, text, Text::as_ptr))?;
        // SAFETY: the caller promises that what is not NULL is writable.
        unsafe {
            if !attached.is_null() {
                attached.write(report.attached.len());
            }
            if !skipped.is_null() {
                skipped.write(pointer);
            }
        }
        Ok(())
    })
}

/// The name by which consumers know a program that uses this library.
const PROGRAM: &std::ffi::CStr = c"libopscope";

/// Attaches consumers before the first session is loaded.
pub(crate) fn attach_once() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    // No lock: a consumer may itself load a model while it is attached. One that comes late learns of models with their next run.
    if !BEGUN.swap(true, Ordering::AcqRel) {
        drop(attach(PROGRAM));
    }
}
