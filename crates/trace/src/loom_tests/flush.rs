//! Flush during a write.

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;

use super::{Model, check};

#[test]
fn a_flush_delivers_what_was_emitted_before_it() {
    check(|| {
        let model = Model::new(4, 4, 2);
        let emitted = Arc::new(AtomicU64::new(0));
        let producer = {
            let (model, emitted) = (model.clone(), emitted.clone());
            thread::spawn(move || {
                let writer = model.open_desk(1);
                for number in 1..=2 {
                    model.emit(&writer, number);
                    emitted.store(number, Ordering::Release);
                }
            })
        };
        let before = emitted.load(Ordering::Acquire);
        let seen = model.flush();
        assert!(seen.len() as u64 >= before, "{before} were emitted before, {seen:?} delivered");
        producer.join().expect("it emits");
    });
}
