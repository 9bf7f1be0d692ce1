//! The names of threads.

use std::fs;

use opscope_trace::{ThreadId, current_thread};

/// Returns the name of the calling thread: the one with which it was started, `main` for the first thread of the
/// process, or the system's name for it. `None` if it has no name.
pub(crate) fn name_of_this_thread() -> Option<String> {
    match std::thread::current().name() {
        Some(name) => Some(name.to_owned()),
        None => name_of_thread(current_thread()),
    }
}

/// Returns the name of a live thread of this process.
pub(crate) fn name_of_thread(thread: ThreadId) -> Option<String> {
    if thread.0 == std::process::id() {
        return Some("main".to_owned());
    }
    let name = fs::read_to_string(format!("/proc/self/task/{}/comm", thread.0)).ok()?;
    // A thread without its own name has that of the process.
    let of_process = fs::read_to_string("/proc/self/comm").unwrap_or_default();
    (name != of_process).then(|| name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_the_names_that_they_were_started_with() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let worker = std::thread::Builder::new().name("a worker with a long name".to_owned()).spawn(move || {
            sender.send((current_thread(), name_of_this_thread())).expect("the test receives it");
            // The wait ends when the other side is dropped.
            let _ = held.recv();
        });
        let (thread, own) = receiver.recv().expect("a thread");
        assert_eq!(own.as_deref(), Some("a worker with a long name"));
        // The system keeps 15 characters.
        assert_eq!(name_of_thread(thread).as_deref(), Some("a worker with a"));
        assert_eq!(name_of_thread(ThreadId(std::process::id())).as_deref(), Some("main"));
        drop(hold);
        worker.expect("a thread").join().expect("no panic");
    }
}
