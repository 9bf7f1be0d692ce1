/// Returns the system's number of the calling thread (`gettid`). It is a system call each time, so the number is also
/// right in the child of a fork, whose thread has a new one.
#[inline]
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_different_numbers_and_the_first_has_that_of_the_process() {
        let here = thread_id();
        assert_eq!(thread_id(), here);
        assert_ne!(std::thread::spawn(thread_id).join().expect("no panic"), here);
        let task = std::path::PathBuf::from(format!("/proc/self/task/{here}"));
        assert!(task.is_dir(), "{here} is not a thread of this process");
    }
}
