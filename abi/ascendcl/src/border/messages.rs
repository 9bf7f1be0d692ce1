use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_border::exported;
use opscope_sys::{Mutex, MutexGuard};

use super::Failure;

/// How many failures are kept: as many as a person would read.
const MOST: usize = 64;

thread_local! {
    /// The failures of this thread, the newest first.
    static OF_THREAD: RefCell<VecDeque<String>> = const { RefCell::new(VecDeque::new()) };
    /// The text that `aclGetRecentErrMsg` returned last on this thread.
    static GIVEN: RefCell<CString> = RefCell::new(CString::default());
}

/// The failures of all threads, if the configuration selects that.
static OF_PROCESS: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());
static IS_PER_PROCESS: AtomicBool = AtomicBool::new(false);

fn of_process() -> MutexGuard<'static, VecDeque<String>> {
    OF_PROCESS.lock()
}

/// Sets whether a thread receives the failures of all threads.
pub fn keep_per_process(per_process: bool) {
    IS_PER_PROCESS.store(per_process, Ordering::Release);
}

/// Keeps the text of a failure, and returns its code.
pub(super) fn keep(failure: Failure) -> i32 {
    note(failure.text);
    failure.code
}

/// Keeps a text for `aclGetRecentErrMsg`: of a failure, or of a success that may surprise the program.
pub fn note(text: String) {
    let add = |texts: &mut VecDeque<String>| {
        texts.push_front(text);
        texts.truncate(MOST);
    };
    if IS_PER_PROCESS.load(Ordering::Acquire) {
        add(&mut of_process());
    } else {
        // While the thread is being torn down, the text is not stored.
        let _ = OF_THREAD.try_with(|texts| add(&mut texts.borrow_mut()));
    }
}

/// Returns the texts of the failures since the last call, the newest first; NULL if there were none. The text is valid
/// until the next call on this thread.
#[exported]
pub fn aclGetRecentErrMsg() -> *const c_char {
    let texts = if IS_PER_PROCESS.load(Ordering::Acquire) {
        std::mem::take(&mut *of_process())
    } else {
        OF_THREAD.try_with(|texts| std::mem::take(&mut *texts.borrow_mut())).unwrap_or_default()
    };
    if texts.is_empty() {
        return std::ptr::null();
    }
    let lines: Vec<String> = texts.into();
    let text = CString::new(lines.join("\n").replace('\0', "\u{fffd}")).unwrap_or_default();
    GIVEN
        .try_with(|given| {
            *given.borrow_mut() = text;
            given.borrow().as_ptr()
        })
        .unwrap_or(std::ptr::null())
}
