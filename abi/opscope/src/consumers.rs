use std::cell::RefCell;
use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope::consumers::attach;
use opscope_border::{Out, exported};

use crate::border::{Failure, KeptText, keep};

thread_local! {
    /// The text of this thread's last search.
    static SKIPPED: RefCell<Option<KeptText>> = const { RefCell::new(None) };
}

/// Searches for consumers, libraries that receive reports of what this program runs, and attaches those that are not
/// attached yet: loaded libraries that export `opscope_attach_producer` (`opscope_producer.h`), and libraries with
/// known names in the directory in `OPSCOPE_LIB_DIR` and beside libopscope.so. The first session that is loaded does
/// the same.
///
/// Writes to `attached` how many were attached by this call, and to `skipped` a text with one line for each library
/// that was not, and why; NULL if there is none. Both may be NULL. The text is valid until the same thread calls this
/// again.
#[exported]
pub fn opscope_attach_consumers(attached: Out<'_, usize>, skipped: Out<'_, *const c_char>) -> Result<(), Failure> {
    let report = attach(PROGRAM);
    let lines: Vec<String> = report.skipped.iter().map(ToString::to_string).collect();
    let text = (!lines.is_empty()).then(|| KeptText::new(&lines.join("\n")));
    let pointer = text.map_or(Ok(ptr::null()), |text| keep(&SKIPPED, text, KeptText::as_ptr))?;
    attached.write_if_given(report.attached.len());
    skipped.write_if_given(pointer);
    Ok(())
}

/// The name by which consumers know programs that use this library.
const PROGRAM: &std::ffi::CStr = c"libopscope";

/// Attaches consumers before the first session is loaded.
pub(crate) fn attach_once() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    // Takes no lock, because a consumer may itself load a model while it is attached. A consumer that is attached late
    // receives the models at their next run.
    if !BEGUN.swap(true, Ordering::AcqRel) {
        drop(attach(PROGRAM));
    }
}
