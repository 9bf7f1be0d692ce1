//! A full buffer, and space that is found.

use loom::thread;

use super::{Sent, TestBuffer, check};

#[test]
fn a_thread_that_waits_for_space_is_woken_and_loses_nothing() {
    check(|| {
        let buffer = TestBuffer::new(1, 1, 2);
        let producer = {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let writer = buffer.open_slot(1);
                (1..=2).for_each(|number| buffer.emit(&writer, number));
            })
        };
        let mut seen = Vec::new();
        while seen.len() < 2 {
            let numbers = buffer.flush();
            if numbers.is_empty() {
                thread::yield_now();
            }
            seen.extend(numbers);
        }
        producer.join().expect("it emits");
        assert_eq!(seen, [1, 2]);
    });
}

#[test]
fn space_that_another_thread_was_granted_and_does_not_use_is_found() {
    check(|| {
        let buffer = TestBuffer::new(3, 3, 2);
        let first = Sent(buffer.open_slot(1));
        buffer.emit(&first.0, 1);
        // The rest of the space is granted to the first thread. It continues while the second one takes the space away.
        let producer = {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let first = first;
                buffer.emit(&first.0, 2);
            })
        };
        let second = buffer.open_slot(2);
        buffer.emit(&second, 10);
        producer.join().expect("it emits");
        let mut seen = buffer.flush();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 10]);
    });
}
