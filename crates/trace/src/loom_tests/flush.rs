//! A flush during a write.

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;

use super::{TestBuffer, check};

#[test]
fn a_flush_delivers_what_was_emitted_before_it() {
    check(|| {
        let buffer = TestBuffer::new(4, 4, 2);
        let emitted = Arc::new(AtomicU64::new(0));
        let producer = {
            let (buffer, emitted) = (buffer.clone(), emitted.clone());
            thread::spawn(move || {
                let writer = buffer.open_slot(1);
                for number in 1..=2 {
                    buffer.emit(&writer, number);
                    emitted.store(number, Ordering::Release);
                }
            })
        };
        let before = emitted.load(Ordering::Acquire);
        let seen = buffer.flush();
        assert!(seen.len() as u64 >= before, "{before} were emitted before, {seen:?} delivered");
        producer.join().expect("it emits");
    });
}
