/// Returns the system's number of the calling thread (`gettid`). It is a system call each time, so the number is also
/// right in the child of a fork, whose thread has a new one.
#[inline]
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Gives the calling thread, and those that it starts from now on, the lowest priority: whatever else wants a processor
/// comes first. Where the system refuses, nothing changes.
pub fn yield_processors() {
    const LOWEST: i32 = 19;
    // For the system, a thread's number is a process to which a priority can be given.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), LOWEST);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_yields_has_the_lowest_priority_and_no_other_has() {
        fn nice() -> i32 {
            rustix::process::getpriority_process(Some(rustix::thread::gettid())).expect("this thread exists")
        }
        let before = nice();
        let work = || {
            yield_processors();
            (nice(), std::thread::spawn(nice).join().expect("no panic"))
        };
        assert_eq!(std::thread::spawn(work).join().expect("no panic"), (19, 19));
        assert_eq!(nice(), before);
    }

    #[test]
    fn threads_have_different_numbers_and_the_first_has_that_of_the_process() {
        let here = thread_id();
        assert_eq!(thread_id(), here);
        assert_ne!(std::thread::spawn(thread_id).join().expect("no panic"), here);
        let task = std::path::PathBuf::from(format!("/proc/self/task/{here}"));
        assert!(task.is_dir(), "{here} is not a thread of this process");
    }
}
