use std::cell::RefCell;
use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope::consumers::attach;
use opscope_border::{Out, exported};

use crate::border::{Failure, KeptText, keep};

thread_local! {
    /// The text of the search that this thread made last.
    static SKIPPED: RefCell<Option<KeptText>> = const { RefCell::new(None) };
}

/// Looks for consumers, libraries that receive what this program runs, and attaches those that are not attached yet: loaded
/// libraries that export `opscope_attach_producer` (`opscope_producer.h`), and libraries of known names in the directory that
/// `OPSCOPE_LIB_DIR` names and beside libopscope.so. The first session that is loaded does the same.
///
/// Writes the number of those that were attached now to `attached`, and to `skipped` a text with a line for each library that was
/// not, and why; NULL where there is none. Both may be NULL. The text is valid until the same thread asks again.
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
