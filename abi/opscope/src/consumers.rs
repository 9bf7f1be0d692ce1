use std::cell::RefCell;
use std::ffi::c_char;
use std::ptr;
use std::sync::Once;

use opscope::consumers::attach;

use crate::border::{Text, call, opscope_status_t};

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
        // SAFETY: the caller promises that what is not NULL is writable.
        unsafe {
            if !attached.is_null() {
                attached.write(report.attached.len());
            }
            if !skipped.is_null() {
                skipped.write(text.as_ref().map_or(ptr::null(), Text::as_ptr));
            }
        }
        let _ = SKIPPED.try_with(|place| place.replace(text));
        Ok(())
    })
}

/// The name by which consumers know a program that uses this library.
const PROGRAM: &std::ffi::CStr = c"libopscope";

/// Attaches consumers before the first session is loaded.
pub(crate) fn attach_once() {
    static ATTACHED: Once = Once::new();
    ATTACHED.call_once(|| drop(attach(PROGRAM)));
}
