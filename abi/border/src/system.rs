//! Calls of the system that no safe crate has, or not without what a library should not bring along.

use std::ffi::{CStr, CString, c_char};
use std::ptr::NonNull;

unsafe extern "C" {
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// Returns the value of a variable of the environment that is not empty. As the loader's own, they do not count in a
/// program with more rights than its user.
pub fn variable(name: &CStr) -> Option<CString> {
    // SAFETY: the name ends with NUL.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: the C library gives a C string. It lives until the variable is changed, which a program with threads must
    // not do.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_owned()).filter(|value| !value.is_empty())
}

/// Sets a variable of the environment. A program that uses its environment in another thread meanwhile has the same
/// problem with the vendor's library.
pub fn set_variable(name: &CStr, value: &CStr) {
    // SAFETY: both end with NUL, and the C library has a lock of its own for what it changes.
    unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) };
}

/// Returns a copy of a text that a program frees; `None` if there is no memory.
pub fn duplicate(text: &CStr) -> Option<NonNull<c_char>> {
    // SAFETY: it ends with NUL.
    NonNull::new(unsafe { libc::strdup(text.as_ptr()) })
}

/// Returns the number that the kernel gives the calling thread. It is asked each time, so the child of a fork gets its
/// own.
#[inline]
pub fn thread_id() -> u64 {
    // SAFETY: the system call has no arguments and always succeeds.
    u64::from(unsafe { libc::gettid() }.unsigned_abs())
}

/// Returns the calling thread as the thread library names it.
pub fn thread_handle() -> u64 {
    // SAFETY: the call has no conditions.
    unsafe { libc::pthread_self() }
}

/// Returns the number of the process.
#[inline]
pub fn process_id() -> i32 {
    // SAFETY: the call has no conditions.
    unsafe { libc::getpid() }
}

/// Returns whether a thread of this process has a number.
pub fn is_own_thread(number: i32) -> bool {
    // SAFETY: the call has no conditions. Signal 0 is not sent.
    number > 0 && unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), number, 0) } == 0
}

/// Returns the bytes of a page of memory.
pub fn page_size() -> usize {
    // SAFETY: the call has no conditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Returns the bytes of the machine's memory; 0 if the system does not say.
pub fn memory() -> u64 {
    // SAFETY: the call has no conditions.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(0) * page_size() as u64
}

/// Returns a random number; 0 if the system has none now.
pub fn random() -> u64 {
    let mut bytes = [0_u8; 8];
    // SAFETY: the buffer has 8 bytes.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    u64::from_ne_bytes(bytes)
}

/// Lets a function be called when the process exits, before the destructors of all objects that exist now. Returns
/// whether the system had memory for that.
pub fn at_exit(function: extern "C" fn()) -> bool {
    // SAFETY: the function is never unloaded: opscope's libraries are linked so.
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
