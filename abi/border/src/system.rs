//! System calls that no safe crate offers, or only one with too many dependencies.

use std::ffi::{CStr, CString, c_char};
use std::ptr::NonNull;

unsafe extern "C" {
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// Returns the value of an environment variable, unless it is empty. As with the loader's own variables, it is ignored
/// in a program with more privileges than its user.
pub fn variable(name: &CStr) -> Option<CString> {
    // SAFETY: the name ends with NUL.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: the C library returns a C string. It lives until the variable is changed, which a program with threads
    // must not do.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_owned()).filter(|value| !value.is_empty())
}

/// Sets an environment variable. This is a race if another thread of the program reads the environment meanwhile; the
/// vendor's library has the same race.
pub fn set_variable(name: &CStr, value: &CStr) {
    // SAFETY: both end with NUL, and the C library has its own lock for changes.
    unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) };
}

/// Returns a copy of a text, which the program frees; `None` if there is no memory.
pub fn duplicate(text: &CStr) -> Option<NonNull<c_char>> {
    // SAFETY: it ends with NUL.
    NonNull::new(unsafe { libc::strdup(text.as_ptr()) })
}

/// Returns the calling thread's number in the system, as gettid() gives it. It is queried each time, so it is right in
/// the child of a fork.
#[inline]
pub fn thread_id() -> u64 {
    opscope_sys::thread_id().into()
}

/// Returns the calling thread's identifier in the thread library, as pthread_self() gives it.
pub fn thread_handle() -> u64 {
    // SAFETY: the call has no conditions.
    unsafe { libc::pthread_self() }
}

/// Returns the process's number, as getpid() gives it.
#[inline]
pub fn process_id() -> i32 {
    // SAFETY: the call has no conditions.
    unsafe { libc::getpid() }
}

/// Returns whether this process has a thread with this number in the system.
pub fn is_own_thread(number: i32) -> bool {
    // SAFETY: the call has no conditions. Signal 0 is not sent.
    number > 0 && unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), number, 0) } == 0
}

/// Returns the size of a memory page in bytes.
pub fn page_size() -> usize {
    // SAFETY: the call has no conditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Returns the size of the machine's memory in bytes; 0 if the system does not say.
pub fn memory() -> u64 {
    // SAFETY: the call has no conditions.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(0) * page_size() as u64
}

/// Returns a random number; 0 if the system has none at the moment.
pub fn random() -> u64 {
    let mut bytes = [0_u8; 8];
    // SAFETY: the buffer has 8 bytes.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    u64::from_ne_bytes(bytes)
}

/// Registers a function to be called when the process exits, before the destructors of all objects that exist now.
/// Returns whether the system had memory for that.
pub fn at_exit(function: extern "C" fn()) -> bool {
    // SAFETY: the function is never unloaded, because opscope's libraries are linked in such a way.
    unsafe { libc::atexit(function) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calling_thread_is_one_of_this_process() {
        let thread = i32::try_from(thread_id()).expect("a number of the kernel");
        assert!(is_own_thread(thread) && !is_own_thread(0) && !is_own_thread(-1));
        assert_ne!(std::thread::spawn(thread_id).join().expect("no panic"), thread_id());
    }

    #[test]
    fn the_machine_has_whole_pages_of_memory() {
        assert!(page_size().is_power_of_two() && memory() > 0);
        assert_eq!(memory() % page_size() as u64, 0);
    }
}
