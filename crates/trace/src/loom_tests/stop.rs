//! A stop during an emit.

use loom::thread;

use super::{Sent, TestBuffer, check};
use crate::chunk::header_word;
use crate::record::Category;

#[test]
fn nothing_is_written_without_the_lock_once_the_writers_are_locked_out() {
    check(|| {
        let buffer = TestBuffer::new(8, 8, 2);
        let writer = Sent(buffer.open_slot(1));
        // From here on the thread can write without the lock.
        buffer.emit(&writer.0, 1);
        let producer = thread::spawn(move || {
            let writer = writer;
            let header = header_word(Category(1), 1, 8);
            // A record that would take the lock finds the context stopped, and is not emitted.
            let fits = |number: &u64| writer.0.try_append(header, &number.to_le_bytes());
            (2..=3).take_while(fits).count()
        });
        buffer.lock().lock_all_out();
        let seen = buffer.flush();
        let emitted = 1 + producer.join().expect("it emits");
        assert_eq!(seen.len(), emitted, "what was emitted is delivered, and nothing follows");
        assert!(buffer.flush().is_empty());
    });
}
