//! A prefix of a chunk is published and read.

use loom::thread;

use super::{TestBuffer, check};

#[test]
fn a_reader_sees_a_prefix_of_what_a_thread_writes_and_never_a_torn_record() {
    check(|| {
        let buffer = TestBuffer::new(4, 4, 2);
        let producer = {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let writer = buffer.open_slot(1);
                (1..=3).for_each(|number| buffer.emit(&writer, number));
            })
        };
        let mut seen = buffer.flush();
        producer.join().expect("it emits");
        assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
        seen.extend(buffer.flush());
        assert_eq!(seen, [1, 2, 3]);
    });
}
