//! A chunk is sealed, delivered and used again.

use loom::thread;

use super::{TestBuffer, check};

#[test]
fn a_chunk_that_is_delivered_and_used_again_gives_each_record_once() {
    check(|| {
        // A chunk for each record or two, and as few chunks as possible, so that they are used again.
        let buffer = TestBuffer::new(2, 1, 2);
        let producer = {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let writer = buffer.open_slot(1);
                (1..=2).for_each(|number| buffer.emit(&writer, number));
            })
        };
        let mut seen = buffer.flush();
        producer.join().expect("it emits");
        seen.extend(buffer.flush());
        let writer = buffer.open_slot(2);
        (3..=4).for_each(|number| buffer.emit(&writer, number));
        seen.extend(buffer.flush());
        assert_eq!(seen, [1, 2, 3, 4]);
    });
}
