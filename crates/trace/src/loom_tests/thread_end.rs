//! A thread ends, and another one continues its chunk.

use loom::thread;

use super::{TestBuffer, check};

#[test]
fn what_a_thread_leaves_is_delivered_before_what_follows_it() {
    check(|| {
        let buffer = TestBuffer::new(4, 4, 2);
        let run = |thread: u32, numbers: [u64; 2]| {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let writer = buffer.open_slot(thread);
                numbers.into_iter().for_each(|number| buffer.emit(&writer, number));
                buffer.lock().close_slot(writer.own);
            })
        };
        let first = run(1, [1, 2]);
        let mut seen = buffer.flush();
        first.join().expect("it emits");
        let second = run(2, [3, 4]);
        seen.extend(buffer.flush());
        second.join().expect("it emits");
        seen.extend(buffer.flush());
        assert_eq!(seen, [1, 2, 3, 4]);
    });
}
