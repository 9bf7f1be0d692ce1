//! Stop against an emit in flight.

use loom::thread;

use super::{Model, check};
use crate::Category;
use crate::chunk::header_word;
use crate::sync::barrier;

#[test]
fn nothing_is_written_without_the_lock_once_the_writers_are_shut_out() {
    check(|| {
        let model = Model::new(8, 8, 2);
        let writer = model.open_desk(1);
        // From here on the thread does not need the lock.
        model.emit(&writer, 1);
        let producer = {
            let header = header_word(Category(1), 1, 8);
            // What would take the lock finds the context stopped, and is not emitted.
            thread::spawn(move || {
                let fits = |number: &u64| writer.try_append(header, &number.to_le_bytes(), barrier::light);
                (2..=3).take_while(fits).count()
            })
        };
        model.lock().shut_all_out();
        let seen = model.flush();
        let emitted = 1 + producer.join().expect("it emits");
        assert_eq!(seen.len(), emitted, "what was emitted is there, and nothing comes after");
        assert!(model.flush().is_empty());
    });
}
